#!/usr/bin/env bash
# Builds nfpm from the sources pinned in tools/nfpm/go.mod, once, and prints the program's path.
#
#   tools/setup/nfpm.sh
#
# nfpm is a module of its own, beside tools/go.mod: it needs a git client and formats of packages, and
# neither a linter nor the product should have its versions decided by that. A build is keyed by
# the module's files and the Go version, and lands in $XDG_CACHE_HOME/nullops/tools (default
# ~/.cache), shared by all clones on this machine.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
module=$root/tools/nfpm

key=$({ go version; cat "$module/go.mod" "$module/go.sum"; } | sha256sum | cut -c1-16)
folder=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/nullops/tools/nfpm-$key

if [[ ! -x $folder/nfpm ]]; then
  mkdir -p "$folder"
  (
    flock -w 3000 9 || { echo "nfpm: another build did not end within 50 minutes" >&2; exit 1; }
    [[ -x $folder/nfpm ]] && exit 0
    echo "nfpm: building nfpm (once for this pin; this takes minutes)" >&2
    package=$(sed -n 's/^tool //p' "$module/go.mod")
    CGO_ENABLED=0 GOFLAGS='' GOWORK=off nice -n 10 go build -C "$module" -mod=readonly -trimpath \
      -buildvcs=false -ldflags '-s -w' -o "$folder/.nfpm.$$" "$package" ||
      { rm -f "$folder/.nfpm.$$"; exit 1; }
    mv "$folder/.nfpm.$$" "$folder/nfpm"
  ) 9>"$folder/.lock"
fi
echo "$folder/nfpm"
