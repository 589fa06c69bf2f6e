#!/usr/bin/env bash
# At a release: the programs of the commit that is checked out write the fixtures of the previous
# release (internal/previoustest), which every later commit upgrades in its tests. Commit the
# result. Everything else has to be committed before, because the fixtures name the commit.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ -n $(git status --porcelain -- . ':!internal/previoustest') ]]; then
  echo "fixtures: commit or put aside your changes first: the fixtures name a commit" >&2
  exit 1
fi
printf '{\n  "commit": "%s"\n}\n' "$(git rev-parse HEAD)" > internal/previoustest/release.json
go test -count=1 ./pipeline ./agent ./agent/wire -record-fixtures \
  -run 'TestDecode_KeepsPreviousForms|TestNew_KeepsPreviousFolders|TestMessages_OfThePreviousRelease'
tools/run services -- go test -count=1 -timeout 30m ./cmd/nullops -run '^TestEndToEnd$/^UpgradedRelease$' \
  -record-fixtures
go test -count=1 ./cmd/nullops/internal/cli -run TestParseDocuments_OfThePreviousRelease -record-fixtures
du -sh internal/previoustest/fixtures
