#!/usr/bin/env bash
# Installs what building and testing NullOps needs and this machine lacks.
#
#   tools/setup/install.sh          for make demo and make test
#   tools/setup/install.sh bench    also the peers that make bench measures against
#   tools/setup/install.sh engines  also what make test-engines builds Engine 29 with
#   tools/setup/install.sh kubernetes  also what the node of make test-kubernetes needs
#
# It installs Debian packages only where a program is missing, checks Go and Node,
# and fetches the UI's packages when ui/package-lock.json changed. With nothing
# missing it takes a moment. It starts no server, creates no database cluster and
# leaves every service it installs switched off: tests and the demo start their own.
# It needs root or sudo only when a package is missing.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

say() { printf 'setup: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

# --- Debian packages ---------------------------------------------------------

# One line each: the package, then a file or program that shows it is there.
wanted=(
  "docker.io dockerd"
  "postgresql-15 /usr/lib/postgresql/*/bin/postgres"
  "chromium chromium"
  "crun crun" # the other OCI runtime that the engine's tests run with
  "docker-registry docker-registry"
  "docker-compose docker-compose" # deploy/compose.yaml is tested with it
  "debootstrap debootstrap"
  "mariadb-server mariadbd" # plugins are tested against the servers they are for
  "redis-server redis-server"
  "rabbitmq-server /usr/lib/rabbitmq/bin/rabbitmq-server"
  "prometheus prometheus" # what is scraped and alerted is tested with the real one
  "openssh-server sshd" # nodes are provisioned over SSH, tested against the real server
  "sudo sudo" # and by people who are not root
  "systemd /lib/systemd/systemd" # on a machine that systemd runs
  "iptables iptables"
  "iproute2 ip"
  "gcc gcc" # go test -race and the pinned sqlc need a C compiler
  "libc6-dev /usr/include/stdio.h"
  "ca-certificates /etc/ssl/certs/ca-certificates.crt"
)
if [[ ${1:-} == bench ]]; then
  wanted+=("wrk wrk" "nginx-light nginx" "haproxy haproxy" "nghttp2-client h2load")
fi

if [[ ${1:-} == engines ]]; then
  wanted+=("libseccomp-dev /usr/include/seccomp.h" "pkg-config pkg-config")
fi

if [[ ${1:-} == kubernetes ]]; then
  wanted+=("containernetworking-plugins /usr/lib/cni/bridge" "curl curl" "openssl openssl")
fi

present() { # PROGRAM-OR-PATTERN
  if [[ $1 == /* ]]; then
    compgen -G "$1" >/dev/null
  else
    PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null
  fi
}

missing=()
for line in "${wanted[@]}"; do
  present "${line#* }" || missing+=("${line%% *}")
done

as_root() {
  if ((EUID == 0)); then "$@"; else sudo -n "$@"; fi
}

# Debian starts a server as soon as it is installed. A policy-rc.d that answers
# 101 forbids that, for as long as apt runs. One that is there already stays.
policy=/usr/sbin/policy-rc.d
cluster=/etc/postgresql-common/createcluster.conf
undo() {
  if [[ -n ${made_policy:-} ]]; then as_root rm -f "$policy"; fi
  if [[ -n ${kept_cluster:-} ]]; then as_root mv "$cluster.nullops" "$cluster"; fi
}

apt_install() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
    -o DPkg::Lock::Timeout=300 "$@" >&2
}

install_packages() { # PACKAGE...
  command -v apt-get >/dev/null ||
    fail "missing: $*. This script knows Debian's apt-get only; install them by hand."
  if ((EUID != 0)) && ! sudo -n true 2>/dev/null; then
    fail "missing: $*. Run 'sudo apt-get install $*', or run this as root or with sudo."
  fi
  say "installing $*"
  trap undo EXIT
  if [[ ! -e $policy ]]; then
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod 755 "$policy"
    made_policy=yes
  fi
  # Old lists name versions the mirror no longer has, so refresh them when
  # apt cannot simulate the installation or they are older than a day.
  if [[ -z $(find /var/lib/apt/lists -maxdepth 1 -name '*Packages*' -mtime -1 -print -quit 2>/dev/null) ]]; then
    as_root apt-get update -q -o DPkg::Lock::Timeout=300 >&2
  fi
  if [[ " $* " == *" postgresql-15 "* ]]; then
    # Without this, the package would create and register a database cluster.
    apt_install postgresql-common
    as_root cp -p "$cluster" "$cluster.nullops"
    kept_cluster=yes
    printf 'create_main_cluster = false\n' | as_root tee -a "$cluster" >/dev/null
  fi
  apt_install "$@"
  # Nothing of this should start at the next boot either.
  if command -v systemctl >/dev/null && [[ -d /run/systemd/system ]]; then
    local unit
    for unit in docker-registry nginx mariadb redis-server rabbitmq-server ssh; do
      if [[ " $* " == *" ${unit/#ssh/openssh-server}"* ]]; then as_root systemctl disable "$unit" >&2 || true; fi
    done
  fi
  undo
  trap - EXIT
}

if ((${#missing[@]} > 0)); then install_packages "${missing[@]}"; fi

# --- Go and Node -------------------------------------------------------------

command -v go >/dev/null || fail "Go is not installed: NullOps needs Go 1.26 or newer"
go_version=$(go env GOVERSION)
if [[ ! $go_version =~ ^go1\.([0-9]+) ]] || ((BASH_REMATCH[1] < 26)); then
  fail "Go is $go_version: NullOps needs Go 1.26 or newer"
fi

command -v node >/dev/null || fail "Node is not installed: NullOps needs Node 20 or newer"
node_version=$(node --version)
if [[ ! $node_version =~ ^v([0-9]+) ]] || ((BASH_REMATCH[1] < 20)); then
  fail "Node is $node_version: NullOps needs Node 20 or newer"
fi

# --- packages of the UI ------------------------------------------------------

stamp=$root/ui/node_modules/.nullops-installed # goes when npm replaces the folder
lock=$root/ui/package-lock.json
sum=$(cat "$lock" "$root/ui/package.json" | sha256sum | cut -d' ' -f1)
if [[ $(cat "$stamp" 2>/dev/null) != "$sum" ]]; then
  say "fetching the UI's packages"
  # No package of ours needs an install script; refusing them all is safer.
  (cd "$root/ui" && npm ci --ignore-scripts --no-audit --no-fund >&2)
  printf '%s\n' "$sum" >"$stamp"
fi
