#!/usr/bin/env bash
# Builds a whole Kubernetes from the sources pinned in tools/kubernetes/go.mod, once, and prints
# the folder with its program. Debian has no packages of Kubernetes servers.
#
#   tools/setup/kubernetes.sh            build it if it is missing, print the folder
#   tools/setup/kubernetes.sh --cached   print the folder; fail when it is not built yet
#
# A build is keyed by the module's files, the flags below and the Go version, and lands in
# $XDG_CACHE_HOME/nullops/kubernetes-<key> (default ~/.cache), shared by all clones on this
# machine. It takes about six minutes on two free cores, and 20 on busy ones; its compiler
# needs 600 MB of memory, its linker 2.3 GB, most of which is the mapped output.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
module=$root/tools/kubernetes

# The module's archive has no version in it: unset, the server says "$Format$".
release=$(awk '$1 == "k8s.io/kubernetes" { print $2; exit }' "$module/go.mod")
minor=${release#v1.}
package=k8s.io/component-base/version
flags="-s -w -X $package.gitVersion=$release -X $package.gitMajor=1 -X $package.gitMinor=${minor%%.*}"
flags+=" -X $package.gitCommit=module -X $package.gitTreeState=clean"

key=$({ go version; echo "$flags"; cat "$module/go.mod" "$module/go.sum" "$module"/*.go; } |
  sha256sum | cut -c1-16)
folder=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/nullops/kubernetes-$key

say() { printf 'kubernetes: %s\n' "$*" >&2; }

if [[ -x $folder/kubernetes ]]; then
  echo "$folder"
  exit 0
fi
if [[ ${1:-} == --cached ]]; then
  say "Kubernetes is not built yet: run tools/setup/kubernetes.sh"
  exit 1
fi

mkdir -p "$folder"
(
  flock -w 3000 9 || { say "another build did not end within 50 minutes"; exit 1; }
  [[ -x $folder/kubernetes ]] && exit 0
  say "building Kubernetes $release (once for this pin; this takes minutes)"
  CGO_ENABLED=0 GOFLAGS=${KUBERNETES_GOFLAGS:-} GOWORK=off nice -n 10 go build -C "$module" \
    -mod=readonly -trimpath -buildvcs=false -ldflags "$flags" -o "$folder/.kubernetes.$$" . ||
    { rm -f "$folder/.kubernetes.$$"; exit 1; }
  mv "$folder/.kubernetes.$$" "$folder/kubernetes"
) 9>"$folder/.lock"
echo "$folder"
