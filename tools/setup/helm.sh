#!/usr/bin/env bash
# Builds Helm from the sources pinned in tools/helm/go.mod, once, and prints the program's path.
#
#   tools/setup/helm.sh
#
# Helm is a module of its own, beside tools/go.mod: it needs most of Kubernetes' client, and
# neither a linter nor the product should have its versions decided by that. A build is keyed by
# the module's files and the Go version, and lands in $XDG_CACHE_HOME/nullops/tools (default
# ~/.cache), shared by all clones on this machine.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
module=$root/tools/helm

key=$({ go version; cat "$module/go.mod" "$module/go.sum"; } | sha256sum | cut -c1-16)
folder=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/nullops/tools/helm-$key

if [[ ! -x $folder/helm ]]; then
  mkdir -p "$folder"
  (
    flock -w 3000 9 || { echo "helm: another build did not end within 50 minutes" >&2; exit 1; }
    [[ -x $folder/helm ]] && exit 0
    echo "helm: building Helm (once for this pin; this takes minutes)" >&2
    package=$(sed -n 's/^tool //p' "$module/go.mod")
    CGO_ENABLED=0 GOFLAGS='' GOWORK=off nice -n 10 go build -C "$module" -mod=readonly -trimpath \
      -buildvcs=false -ldflags '-s -w' -o "$folder/.helm.$$" "$package" ||
      { rm -f "$folder/.helm.$$"; exit 1; }
    mv "$folder/.helm.$$" "$folder/helm"
  ) 9>"$folder/.lock"
fi
echo "$folder/helm"
