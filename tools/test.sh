#!/usr/bin/env bash
# Runs the parts of the test suite, each of them even when an earlier one failed,
# and ends with one line that says how it went.
#
#   tools/test.sh [go] [ui] [browser]
#
# go and browser need the servers of `tools/run services -- ...`, which `make
# test` provides. PKG narrows the Go tests to a package pattern. NULLOPS_TEST_PART chooses
# the part of the slow suites, 1 to 4 or all; without it, the date does.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# go_tests runs packages, three at a time: the longest of them wait for containers
# most of their time. Forty minutes are for two slow cores, where one of them takes
# twenty-five; ten are enough on fast ones. Up to eight tests that fail are run again alone,
# twice at most, and listed as FLAKY when they pass: real servers on two busy cores are not
# always on time.
go_tests() {
  NULLOPS_TEST_RERUN=8 tools/run gotest -race -p 3 -timeout 40m "$@"
}

part_go() {
  local packages
  local failed=0
  read -ra packages <<<"${PKG:-./...}"
  # Every module of go.work; ./... means one module only.
  local modules
  mapfile -t modules < <(tools/setup/modules.sh)
  go vet "${modules[@]/%//...}" || return 1
  local previous
  previous=$(sed -n 's/.*"commit": "\(.*\)".*/\1/p' internal/previoustest/release.json)
  git cat-file -e "$previous^{commit}" 2>/dev/null ||
    echo "ATTENTION: this clone lacks commit $previous, the previous release. The story of an" \
      "upgrade starts from today's source; only the fixtures are of the previous release." >&2
  if [[ ${packages[*]} == ./... ]]; then
    # The end-to-end stories use all cores by themselves. Beside other packages that need
    # the engine too, both wait so long for it that limits of the product are passed.
    go_tests ./cmd/nullops || failed=1
    mapfile -t packages < <(go list "${modules[@]/%//...}" | grep -v '/cmd/nullops$')
  fi
  # More at a time than there are cores: the engine's tests wait for containers.
  go_tests -parallel 4 "${packages[@]}" && ((failed == 0)) || return 1
  [[ ${PKG:-./...} == ./... ]] || return 0
  # The race detector makes each simulated world ten times as slow, so most of
  # them are played here; and each bug that can be planted has to be found.
  go test -count=1 ./agent/sim || return 1
  go vet -tags planted ./agent/sim ./agent/engine || return 1
  go vet -tags apps ./cmd/nullops || return 1 # which only make test-apps runs
  go vet -tags chaos ./cmd/nullops || return 1 # and only make chaos
  go vet -tags kubernetes ./agent/kubernetes || return 1 # and only make test-kubernetes
  go test -count=1 -tags planted -run FindsPlantedBugs ./agent/sim || return 1
  # A few seconds each beyond the corpus: they read what others wrote.
  local package target
  while read -r package target; do
    go test -run '^$' -fuzz "^$target\$" -fuzztime 5s "$package" || return 1
  done <<'TARGETS'
./agent FuzzReadFrames
./agent/junit FuzzCollector
./agent/wire FuzzReadFrame
./pipeline FuzzParse
./plugins/stdio FuzzDecodeResponse
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
  (cd ui && npm run --silent test)
}

part_browser() {
  # tools/demo starts the whole product with the example defined and a node online.
  # Twenty minutes are for a stuck browser; the stories themselves take about eight.
  timeout --kill-after=60 20m tools/run demo npm --prefix ui run --silent e2e
}

(($# > 0)) || set -- go ui browser
# Suites that are too slow for each run take turns, see internal/testpart.
if [[ -z ${NULLOPS_TEST_PART:-} ]]; then
  NULLOPS_TEST_PART=$((10#$(date +%j) % 4 + 1))
fi
export NULLOPS_TEST_PART
# Names of tests that passed only on a second run: gotest and ui/e2e/run.mjs append to it.
NULLOPS_TEST_FLAKY=$(mktemp)
export NULLOPS_TEST_FLAKY
trap 'rm -f "$NULLOPS_TEST_FLAKY"' EXIT
passed=() failed=()
for part in "$@"; do
  declare -F "part_$part" >/dev/null || {
    echo "test: no part is named '$part'; there are: go ui browser" >&2
    exit 2
  }
  echo "== test: $part"
  begin=$SECONDS
  if "part_$part"; then
    passed+=("$part $((SECONDS - begin)) s")
  else
    failed+=("$part")
  fi
done

# Without its ledger a run in which a test was flaky would look like one in which none was.
tools/run flaky record "$NULLOPS_TEST_FLAKY" || failed+=("the ledger of flaky tests")

if [[ $NULLOPS_TEST_PART != all && " $* " == *" go "* ]]; then
  echo "test: kills at every failpoint: part $NULLOPS_TEST_PART of 4, by date; PART=all runs every part"
fi
join() { local IFS=,; echo "${*}" | sed 's/,/, /g'; }
if ((${#failed[@]} > 0)); then
  echo "test: FAILED in $(join "${failed[@]}")" >&2
  exit 1
fi
echo "test: OK ($(join "${passed[@]}"))"
