#!/usr/bin/env bash
# Builds Docker Engine 29 from the sources pinned in tools/engine/go.mod, once, and prints the
# folder with its programs. Debian has 20.10 only.
#
#   tools/setup/engine.sh            build what is missing, print the folder
#   tools/setup/engine.sh --cached   print the folder; fail when something is not built yet
#
# A build is keyed by go.mod, go.sum, this script and the Go version, and lands in
# $XDG_CACHE_HOME/nullops/engine-<key> (default ~/.cache), shared by all clones on this machine.
# It takes about ten minutes on two cores that are busy with other things.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
module=$root/tools/engine

key=$({ go version; cat "$module/go.mod" "$module/go.sum" "${BASH_SOURCE[0]}"; } |
  sha256sum | cut -c1-16)
folder=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/nullops/engine-$key

say() { printf 'engine: %s\n' "$*" >&2; }

# dockerd finds the others in its PATH.
programs=(
  "containerd github.com/containerd/containerd/v2/cmd/containerd"
  "containerd-shim-runc-v2 github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2"
  "docker-proxy github.com/moby/moby/v2/cmd/docker-proxy"
  "dockerd github.com/moby/moby/v2/cmd/dockerd"
  "runc github.com/opencontainers/runc"
)

complete() {
  local line
  for line in "${programs[@]}"; do [[ -x $folder/${line%% *} ]] || return 1; done
}

if complete; then
  echo "$folder"
  exit 0
fi
if [[ ${1:-} == --cached ]]; then
  say "Engine 29 is not built yet: run tools/setup/engine.sh"
  exit 1
fi

# runc links with libseccomp; without it every start of a container fails.
if ! pkg-config --exists libseccomp 2>/dev/null; then
  say "missing: libseccomp-dev and pkg-config. Run tools/setup/install.sh engines"
  exit 1
fi

# What the engine calls itself, which the agent reads: unset, it is "library-import".
moby=$(awk '$1 == "github.com/moby/moby/v2" { print $2; exit }' "$module/go.mod")
version="-X github.com/moby/moby/v2/dockerversion.Version=29.x-moby-$moby"

build() { # NAME PACKAGE: into the cache, atomically
  local cgo=0 tags='no_btrfs no_devmapper exclude_graphdriver_btrfs'
  [[ $1 == runc ]] && cgo=1 tags=seccomp
  say "building $1 (once for this pin)"
  CGO_ENABLED=$cgo GOFLAGS='' GOWORK=off nice -n 10 go build -C "$module" -mod=readonly -trimpath \
    -buildvcs=false -tags "$tags" -ldflags "-s -w $version" -o "$folder/.$1.$$" "$2" ||
    { rm -f "$folder/.$1.$$"; return 1; }
  mv "$folder/.$1.$$" "$folder/$1"
}

mkdir -p "$folder"
(
  flock -w 3000 9 || { say "another build did not end within 50 minutes"; exit 1; }
  for line in "${programs[@]}"; do
    [[ -x $folder/${line%% *} ]] || build "${line%% *}" "${line#* }" || exit 1
  done
) 9>"$folder/.lock"
echo "$folder"
