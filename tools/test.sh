#!/usr/bin/env bash
# Runs the parts of the test suite, each of them even when an earlier one failed,
# and ends with one line that says how it went.
#
#   tools/test.sh [go] [ui] [browser]
#
# go and browser need the servers of `tools/run services -- ...`, which `make
# test` provides. PKG narrows the Go tests to a package pattern. NULLOPS_TEST_PART chooses
# the part of the tests in rotation, 1 to 7 or all; without it, the weekday does.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# go_tests runs packages, three at a time: the longest of them wait for containers
# most of their time. Forty minutes are for two slow cores and every part of the tests in rotation;
# ten are enough on fast ones. Up to eight tests that fail are run again alone,
# twice at most, and listed as FLAKY when they pass: real servers on two busy cores are not
# always on time. The packages were vetted before.
go_tests() {
  NULLOPS_TEST_RERUN=8 tools/run gotest -race -vet=off -p 3 -timeout 40m "$@"
}

# timed runs a command and says how long it took: where the time of a run goes.
timed() { # WHAT COMMAND...
  local what=$1 begin=$SECONDS code=0
  shift
  "$@" || code=$?
  echo "== test: $what took $((SECONDS - begin)) s"
  return "$code"
}

part_go() {
  local packages
  local failed=0
  read -ra packages <<<"${PKG:-./...}"
  # Every module of go.work; ./... means one module only.
  local modules
  mapfile -t modules < <(tools/setup/modules.sh)
  timed "go vet" go vet "${modules[@]/%//...}" || return 1
  local previous
  previous=$(sed -n 's/.*"commit": "\(.*\)".*/\1/p' internal/previoustest/release.json)
  git cat-file -e "$previous^{commit}" 2>/dev/null ||
    echo "ATTENTION: this clone lacks commit $previous, the previous release. The story of an" \
      "upgrade starts from today's source; only the fixtures are of the previous release." >&2
  if [[ ${packages[*]} == ./... ]]; then
    # The end-to-end stories use all cores by themselves. Beside other packages that need
    # the engine too, both wait so long for it that limits of the product are passed.
    timed "the end-to-end stories" go_tests ./cmd/nullops || failed=1
    mapfile -t packages < <(go list "${modules[@]/%//...}" | grep -v '/cmd/nullops$')
  fi
  # More at a time than there are cores: the engine's tests wait for containers.
  timed "the other packages" go_tests -parallel 4 "${packages[@]}" && ((failed == 0)) || return 1
  [[ ${PKG:-./...} == ./... ]] || return 0
  timed "the rest of the Go tests" go_rest
}

# go_rest runs what is no package of the modules, or runs in another way than with the race detector.
go_rest() {
  # The race detector makes each simulated world ten times as slow, so most of
  # them are played here; and each bug that can be planted has to be found.
  go test -count=1 ./agent/sim || return 1
  go vet -tags planted ./agent/sim ./agent/engine || return 1
  go vet -tags apps ./cmd/nullops || return 1 # which only make test-apps runs
  go vet -tags chaos ./cmd/nullops || return 1 # and only make chaos
  go vet -tags kubernetes ./agent/kubernetes ./cmd/nullops || return 1 # and only make test-kubernetes
  go test -count=1 -tags planted -run FindsPlantedBugs ./agent/sim || return 1
  # A few seconds each beyond the corpus, in rotation: they read what others wrote. The corpus is a
  # part of each run. It is a number of inputs and no time: a deadline that passes while workers are
  # at work fails the target now and then, without an input.
  local part package target
  while read -r part package target; do
    if [[ $NULLOPS_TEST_PART != all && $NULLOPS_TEST_PART != "$part" ]]; then
      echo "left $package $target" >>"$NULLOPS_TEST_ROTATION"
      continue
    fi
    echo "ran $package $target" >>"$NULLOPS_TEST_ROTATION"
    go test -run '^$' -fuzz "^$target\$" -fuzztime 20000x "$package" || return 1
  done <<'TARGETS'
1 ./agent FuzzReadFrames
2 ./agent/junit FuzzCollector
3 ./agent/wire FuzzReadFrame
4 ./pipeline FuzzParse
5 ./plugins/stdio FuzzDecodeResponse
TARGETS
  # Our programs under tools/ are packages made of files, see tools/run.
  local dir files
  for dir in tools/*/; do
    shopt -s nullglob
    files=("$dir"*.go)
    shopt -u nullglob
    ((${#files[@]} == 0)) && continue
    [[ -e ${dir}go.mod ]] && continue # a program of others, which takes minutes to build
    go vet "${files[@]}" || return 1
    if compgen -G "$dir*_test.go" >/dev/null; then go test "${files[@]}" || return 1; fi
  done
}

part_ui() {
  nice -n "${ui_nice:-0}" npm --prefix ui run --silent test
}

# The browser waits much of its time, and the tests of the UI need no server: both together run at
# the same time, and the browser goes first.
begin_ui() {
  ui_nice=5 ui_log=$(mktemp)
  part_ui >"$ui_log" 2>&1 &
  ui_process=$!
}

part_browser() {
  # tools/demo starts the whole product with the example defined and a node online.
  # Twenty minutes are for a stuck browser; the stories themselves take about eight.
  timeout --kill-after=60 20m tools/run demo npm --prefix ui run --silent e2e
}

(($# > 0)) || set -- go ui browser # in this order: see begin_ui
# Tests that are too slow for each run are in rotation, see internal/testpart.
if [[ -z ${NULLOPS_TEST_PART:-} ]]; then
  NULLOPS_TEST_PART=$(date -u +%u)
fi
export NULLOPS_TEST_PART
# Names of tests that passed only on a second run: gotest and ui/e2e/run.mjs append to it.
NULLOPS_TEST_FLAKY=$(mktemp)
# Names of tests in rotation: "ran" or "left" and the name, from the same two programs.
NULLOPS_TEST_ROTATION=$(mktemp)
# Why tests failed, in a few lines each: the same two programs say it, and it is shown last, where it is
# found when the whole output is long.
NULLOPS_TEST_REASONS=$(mktemp)
export NULLOPS_TEST_FLAKY NULLOPS_TEST_ROTATION NULLOPS_TEST_REASONS
ui_process= ui_log=
end_all() {
  [[ -z $ui_process ]] || kill "$ui_process" 2>/dev/null || true
  rm -f "$NULLOPS_TEST_FLAKY" "$NULLOPS_TEST_ROTATION" "$NULLOPS_TEST_REASONS" "$ui_log"
}
trap end_all EXIT
passed=() failed=()
for part in "$@"; do
  declare -F "part_$part" >/dev/null || {
    echo "test: no part is named '$part'; there are: go ui browser" >&2
    exit 2
  }
  if [[ $part == ui && " $* " == *" browser "* ]]; then
    begin_ui
    continue
  fi
  echo "== test: $part"
  begin=$SECONDS
  if "part_$part"; then
    passed+=("$part $((SECONDS - begin)) s")
  else
    failed+=("$part")
  fi
done
if [[ -n $ui_process ]]; then
  code=0
  wait "$ui_process" || code=$?
  ui_process=
  echo "== test: ui, beside the browser"
  cat "$ui_log"
  if ((code == 0)); then
    passed+=(ui)
  else
    failed+=(ui)
    sed 's/\x1b\[[0-9;]*m//g' "$ui_log" | grep -A 3 -E '^ *(FAIL|Error:|AssertionError)' |
      head -40 >>"$NULLOPS_TEST_REASONS" || true
  fi
fi

# Without its ledger a run in which a test was flaky would look like one in which none was.
tools/run flaky record "$NULLOPS_TEST_FLAKY" || failed+=("the ledger of flaky tests")

join() { local IFS=,; echo "${*}" | sed 's/,/, /g'; }
# say_rotation names the tests in rotation that this run had, and counts those of the others.
say_rotation() {
  local ran left
  mapfile -t ran < <(sed -n 's/^ran //p' "$NULLOPS_TEST_ROTATION" | sort -u)
  left=$(sed -n 's/^left //p' "$NULLOPS_TEST_ROTATION" | sort -u | wc -l)
  ((${#ran[@]} + left > 0)) || return 0
  echo "test: in rotation: part $NULLOPS_TEST_PART of 7; $left tests are left to other days;" \
    "PART=all runs all of them. Today ran:"
  ((${#ran[@]} == 0)) || printf '%s\n' "${ran[@]}" | sed 's/^/  /'
}
[[ $NULLOPS_TEST_PART == all ]] || say_rotation
if [[ -s $NULLOPS_TEST_REASONS ]]; then
  echo "test: what failed, also if it passed when it ran again:"
  head -n 150 "$NULLOPS_TEST_REASONS" | cut -c 1-300
fi
if ((${#failed[@]} > 0)); then
  echo "test: FAILED in $(join "${failed[@]}")" >&2
  exit 1
fi
echo "test: OK ($(join "${passed[@]}"))"
