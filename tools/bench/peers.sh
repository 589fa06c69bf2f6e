#!/usr/bin/env bash
# Builds what `make bench` measures against and Debian does not have, from the modules that the folders
# beside this script pin: Caddy, Traefik and Docker Compose, into .cache/bin. What is built already is
# left; the first time takes some minutes, which are no part of a measurement.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$here/../../.cache/bin
export GOWORK=off GOFLAGS= CGO_ENABLED=0

build() { # NAME COMMAND...: the command gets the path of the program as its last word
  local sum stamp=$bin/$1.sum
  sum=$(find "$here/$1" -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum)
  if [[ -x $bin/$1 && $(cat "$stamp" 2>/dev/null) == "$sum" ]]; then return; fi
  echo "bench: building $1" >&2
  "${@:2}" "$bin/$1" || return 1
  printf '%s\n' "$sum" >"$stamp"
}

pinned() { # FOLDER PROGRAM OUTPUT
  go build -C "$here/$1" -trimpath -buildvcs=false -ldflags '-s -w' -o "$3" "$2"
}

mkdir -p "$bin"
build caddy pinned caddy github.com/caddyserver/caddy/v2/cmd/caddy
build compose pinned compose github.com/docker/compose/v5/cmd
# Traefik's modules are not to be had from every proxy; without it, its rows are left out.
build traefik "$here/traefik/build.sh" || echo "bench: Traefik could not be built" >&2
