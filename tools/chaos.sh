#!/usr/bin/env bash
# Breaks a real installation at random for some minutes; `make chaos` and .ci/run run it,
# under `tools/run services`. See docs/chaos.md.
#
#   tools/chaos.sh MINUTES [SEED]
#   tools/chaos.sh --sweep           removes what killed runs left
#
# Without a seed, it takes a fresh one and prints it.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
usage='usage: tools/chaos.sh MINUTES [SEED] | --sweep'
prefix=${TMPDIR:-/tmp}/nops-chaos-

# sweep_run ends what still uses the folder of a run, and removes it: a killed run leaves
# containers, whose shims name the folder, network namespaces, named as the engines' folders, and
# mounts.
sweep_run() {
  local dir=$1 file pid root point
  local -a processes
  for file in /proc/[0-9]*/cmdline; do
    if tr '\0' ' ' <"$file" 2>/dev/null | grep -qF "$dir/"; then
      pid=$(basename "$(dirname "$file")")
      # With the children: those of a shim are a container.
      read -ra processes <"/proc/$pid/task/$pid/children" || true
      kill -KILL "$pid" "${processes[@]}" || true # one may have ended
    fi
  done 2>/dev/null
  for root in "$dir"/nullops-engine-*; do
    ip netns del "${root##*/}" 2>/dev/null || true
  done
  while read -r point; do
    umount -l "$point" 2>/dev/null || true
  done < <(awk -v dir="$dir/" 'index($5, dir) == 1 {print $5}' /proc/self/mountinfo | sort -r)
  rm -rf --one-file-system "$dir"
}

# sweep_stale looks at the folders of all runs. One that still runs holds its lock.
sweep_stale() {
  local dir
  for dir in "$prefix"*/; do
    dir=${dir%/}
    if [[ -e $dir/lock ]] && flock -n "$dir/lock" true; then
      sweep_run "$dir"
    fi
  done
}

sweep_stale
[[ ${1:?$usage} != --sweep ]] || exit 0
minutes=$1
seed=${2:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
mkdir -p .cache/bin
go test -c -vet=off -ldflags '-s -w' -tags chaos -o .cache/bin/chaos.test ./cmd/nullops
dir=$(mktemp -d "${prefix}XXXXXX")
chmod 755 "$dir" # the database's own user reaches its folder in it
exec 9>"$dir/lock"
flock -n 9
# The program itself, and not go test around it: a signal has to reach what cleans up.
cd cmd/nullops
TMPDIR=$dir NULLOPS_CHAOS_MINUTES=$minutes NULLOPS_CHAOS_SEED=$seed ../../.cache/bin/chaos.test \
  -test.run '^TestChaos' -test.timeout "$((${minutes%.*} + 30))m" 9>&- &
child=$!
trap 'kill -TERM "$child" 2>/dev/null || true' INT TERM HUP
code=0
wait "$child" || code=$?
while kill -0 "$child" 2>/dev/null; do # a signal ended the wait
  code=0
  wait "$child" || code=$?
done
exec 9>&-
if ((code != 0)); then
  # Of a run that failed, the logs are kept, under the names that it printed.
  rm -rf ../../.cache/chaos
  mkdir -p ../../.cache/chaos
  (cd "$dir" && find . -name '*.log' -size -20000k -exec cp --parents -t "$OLDPWD/../../.cache/chaos" {} +)
  echo "chaos: the logs of $dir are in .cache/chaos" >&2
fi
sweep_run "$dir"
exit "$code"
