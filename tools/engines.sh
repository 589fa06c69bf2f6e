#!/usr/bin/env bash
# Runs the tests that depend on the container engine on every combination of engine, image store
# and OCI runtime that docs/engines.md lists. The list of tests is the same for all of them, and
# nothing is skipped.
#
#   tools/engines.sh                  every combination, the whole list
#   tools/engines.sh 29-classic/runc  this one
#   tools/engines.sh --daily          one combination, which the date chooses, and the part of the
#                                     list that takes two to three minutes; prints which it was
#
# Each combination has a network namespace of its own: two engines in one take each other's rules
# away. That needs root. ONLY narrows the tests of the agent, and STORIES those of the whole
# product, as go test -run does; with one of them, the others are left out.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Debian's 20.10 with runc is what every other test runs on: it comes last here, and is not in the
# rotation. The others have passed the daily part, see docs/engines.md.
combinations=(29/runc 29-classic/runc 20.10/crun 29/crun 29-classic/crun 20.10/runc)
daily=5 # of them in rotation
limit=900 # seconds for the daily part

stories='Story|EngineDies|PluginsLeaveNothing|FullEngine|Isolation|Registries|RefusedStarts|ServiceModel'
# What an engine is most likely to do differently.
short='KeepsTheContract|TestPull|TestImages|TestPlugin_(HostConfig|Sees|EveryEnd|LeavesNo)'
short+='|TestService_(Secrets|Limits|GPUs)|TestProbeIsolation|TestVitals|TestEngine_|TestSandbox'

say() { printf 'engines: %s\n' "$*" >&2; }

namespace=nullops-engines-$$
trap 'ip netns delete "$namespace" 2>/dev/null || true' EXIT

# The namespace has an address besides loopback: tests reach it as the outside.
make_namespace() {
  ip netns add "$namespace" && ip -n "$namespace" link set lo up &&
    ip -n "$namespace" link add outside type veth peer name outside-peer &&
    ip -n "$namespace" addr add 192.0.2.1/24 dev outside &&
    ip -n "$namespace" link set outside up && ip -n "$namespace" link set outside-peer up
}

in_namespace() { # COMMAND...: with a network of its own
  [[ -e /var/run/netns/$namespace ]] || make_namespace || return 1
  # Not ip netns exec, which mounts another /sys.
  nsenter --net="/var/run/netns/$namespace" "$@"
}

run_tests() { # COMBINATION SERVERS [ARG...]: go test with these arguments
  local engine=${1%/*} oci=${1#*/} servers=$2
  shift 2
  in_namespace tools/run services --engine "$engine" --oci "$oci" --only "$servers" \
    --images="$([[ $servers == *postgres* ]] && echo true || echo false)" -- \
    tools/run gotest -count=1 "$@"
}

run_all() { # COMBINATION
  local failed=0 chosen=${STORIES:-$stories}
  if [[ -n ${ONLY:-} || -z ${STORIES:-} ]]; then
    run_tests "$1" docker,registry -p 1 -parallel 4 -timeout 40m ${ONLY:+-run "$ONLY"} \
      ./agent/docker ./agent/sweep || failed=1
  fi
  if [[ -n ${STORIES:-} || -z ${ONLY:-} ]]; then
    run_tests "$1" docker,postgres,registry -timeout 40m -run "^TestEndToEnd\$/^($chosen)\$" \
      ./cmd/nullops || failed=1
  fi
  return "$failed"
}

run_daily() {
  if ((EUID != 0)); then
    printf 'not run: it needs root'
    return
  fi
  local today=${combinations[$(($(date -u +%s) / 86400 % daily))]} code=0
  printf '%s' "$today"
  if [[ $today == 29* ]] && ! tools/setup/engine.sh --cached >/dev/null 2>&1; then
    # Building takes longer than a day's share; crun needs no build.
    today=20.10/crun
    printf ' is not built on this machine (make test-engines builds it), so %s' "$today"
  fi
  # Far more than it takes: only an engine that hangs comes to this end.
  timeout --kill-after=60 "$limit" "$0" --short "$today" >&2 || code=$?
  case $code in
    0) printf ', passed' ;;
    124 | 137) printf ', FAILED: not finished after %s s' "$limit" ;;
    *) printf ', FAILED' ;;
  esac
  return "$code"
}

[[ ${1:-} == --daily ]] || ((EUID == 0)) || { say "a network namespace for each engine needs root"; exit 1; }
case ${1:-} in
  --daily) run_daily ;;
  --short) run_tests "$2" docker,registry -parallel 4 -timeout 10m -run "$short" ./agent/docker ;;
  *)
    (($# > 0)) || set -- "${combinations[@]}"
    tools/setup/install.sh engines
    # The namespaces have no way out: what is downloaded has to be here before. A story once never
    # got its S3 and OpenID servers, whose modules were missing.
    tools/setup/engine.sh >/dev/null
    tools/run images build >/dev/null
    while read -r module; do
      go list -C "$module" -deps -test ./... >/dev/null || exit 1
    done < <(tools/setup/modules.sh)
    failed=()
    for combination in "$@"; do
      begin=$SECONDS
      say "$combination"
      run_all "$combination" || failed+=("$combination")
      say "$combination took $((SECONDS - begin)) s"
    done
    ((${#failed[@]} == 0)) || { say "FAILED: ${failed[*]}"; exit 1; }
    say "OK"
    ;;
esac
