#!/usr/bin/env bash
# Builds the programs pinned in tools/go.mod, once.
#
#   tools/setup/pins.sh NAME...   build what is missing, print one path per name
#   tools/setup/pins.sh           the same for all of them
#
# A binary is keyed by tools/go.mod, tools/go.sum and the Go version, so a
# changed pin is a new binary and an unchanged one is never built again. Builds
# land in $XDG_CACHE_HOME/nullops/tools (default ~/.cache), shared by all clones
# on this machine; .cache/tools/<key> holds hard links or copies of them.
# sqlc and golangci-lint need about 1 GB of memory each to build, so they are
# built one after the other, and a lock keeps two callers from building twice.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
tools=(sqlc oapi-codegen golangci-lint)

package_of() {
  case $1 in
    sqlc) echo github.com/sqlc-dev/sqlc/cmd/sqlc ;;
    oapi-codegen) echo github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen ;;
    golangci-lint) echo github.com/golangci/golangci-lint/v2/cmd/golangci-lint ;;
    *) echo "pins: no pinned tool is named '$1'; there are: ${tools[*]}" >&2; return 1 ;;
  esac
}

key=$({ go version; cat "$root/tools/go.mod" "$root/tools/go.sum"; } | sha256sum | cut -c1-16)
shared=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/nullops/tools/$key
local_dir=$root/.cache/tools/$key

build() { # NAME: into the shared cache, atomically
  local pkg
  pkg=$(package_of "$1")
  mkdir -p "$shared"
  (
    flock -w 3000 9 || { echo "pins: another build of $1 did not end within 50 minutes" >&2; exit 1; }
    [[ -x $shared/$1 ]] && exit 0
    echo "pins: building $1 (once for this pin; this can take minutes)" >&2
    # sqlc's SQL parser is C: it cannot be built without cgo.
    CGO_ENABLED=1 GOFLAGS='' GOWORK=off nice -n 10 go build -C "$root/tools" -trimpath -buildvcs=false \
      -ldflags '-s -w' -o "$shared/.$1.$$" "$pkg" || { rm -f "$shared/.$1.$$"; exit 1; }
    mv "$shared/.$1.$$" "$shared/$1"
  ) 9>"$shared/.lock"
}

install_local() { # NAME
  [[ -x $local_dir/$1 ]] && return
  [[ -x $shared/$1 ]] || build "$1"
  mkdir -p "$local_dir"
  ln -f "$shared/$1" "$local_dir/$1" 2>/dev/null || {
    cp "$shared/$1" "$local_dir/.$1.$$" && mv "$local_dir/.$1.$$" "$local_dir/$1"
  }
}

(($# > 0)) || set -- "${tools[@]}"
for name in "$@"; do
  package_of "$name" >/dev/null
  install_local "$name"
  echo "$local_dir/$name"
done
