#!/usr/bin/env bash
# Regenerates everything in this repository that is made from something else.
#
#   tools/generate.sh            writes the files
#   tools/generate.sh --verify   writes them, then fails if git sees a difference,
#                                if the API's description has a fault, if it breaks
#                                programs written for the last release, if Helm's linter
#                                finds fault with a chart, or if a test was flaky twice
#                                and is not fixed (docs/flaky.md)
#
#   migrations/*.sql, queries/*.sql  -> controlplane/postgres/internal/dbsqlc   (sqlc)
#   controlplane/api/openapi.yaml    -> controlplane/api, controlplane/apiclient (oapi-codegen)
#                                    -> ui/src/api/schema.gen.ts      (openapi-typescript)
#   "// promise:" comments of tests  -> docs/promises.md              (tools/promises)
#   "// threat:" and "// fault:"     -> docs/threats.md, docs/faults.md
#   docs/track-record.tsv            -> docs/track-record.md          (tools/trackrecord)
#   the commands and settings        -> docs/cli-json.*, docs/reference/{commands,settings}.md
#   the contract and the code        -> the rest of docs/reference    (tools/reference)
#   internal/instrument, alert rules -> docs/observability.md         (tools/metrics)
#   tools/dashboards                 -> deploy/observability/grafana/dashboards
#   deploy/helm                      -> deploy/manifests/*.yaml       (tools/charts.sh)
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/setup/install.sh
mapfile -t pins < <(tools/setup/pins.sh sqlc oapi-codegen)
sqlc=${pins[0]:?sqlc was not built}
oapi_codegen=${pins[1]:?oapi-codegen was not built}

"$sqlc" generate -f controlplane/postgres/sqlc.yaml
# sqlc never removes the code of a query file that is gone.
for file in controlplane/postgres/internal/dbsqlc/*.sql.go; do
  query=$(basename "$file" .go)
  [[ -e controlplane/postgres/queries/$query ]] || rm -f "$file"
done

for package in api apiclient; do
  "$oapi_codegen" -config "controlplane/$package/oapi.yaml" controlplane/api/openapi.yaml
done

(cd ui && npm run --silent generate >/dev/null)

go run -buildvcs=false ./cmd/nullops reference docs docs
tools/run reference

tools/run promises
tools/run trackrecord
tools/run metrics
GOWORK=off go -C tools/dashboards run . "$PWD/deploy/observability/grafana/dashboards"

charts=()
[[ ${1:-} == --verify ]] && charts=(--lint)
tools/charts.sh "${charts[@]}"

[[ ${1:-} == --verify ]] || exit 0

# The linter asks nobody at home, and its packages change with its lock file only.
redocly=tools/redocly
sum=$(sha256sum <"$redocly/package-lock.json")
if [[ $(cat "$redocly/node_modules/.nullops-installed" 2>/dev/null) != "$sum" ]]; then
  (cd "$redocly" && npm ci --ignore-scripts --no-audit --no-fund >&2)
  printf '%s\n' "$sum" >"$redocly/node_modules/.nullops-installed"
fi
if ! said=$(REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true \
  "$redocly/node_modules/.bin/redocly" lint --config "$redocly/redocly.yaml" \
  controlplane/api/openapi.yaml 2>&1); then
  printf '%s\n' "$said" >&2
  echo "verify: FAILED: controlplane/api/openapi.yaml has faults" >&2
  exit 1
fi
tools/run contract docs/api/released.yaml controlplane/api/openapi.yaml >&2
tools/run flaky check

generated=(
  controlplane/postgres/internal/dbsqlc
  controlplane/api/oapi.gen.go
  controlplane/apiclient/oapi.gen.go
  ui/src/api/schema.gen.ts
  docs/promises.md
  docs/threats.md
  docs/faults.md
  docs/track-record.md
  docs/cli-json.md
  docs/cli-json.schema.json
  docs/reference
  docs/observability.md
  deploy/observability/grafana/dashboards
  deploy/manifests
)
changes=$(git status --porcelain --untracked-files=all -- "${generated[@]}")
if [[ -n $changes ]]; then
  git --no-pager diff --stat -- "${generated[@]}" >&2
  printf '%s\n' "$changes" >&2
  echo "verify: FAILED: generated files differ from what is committed; run make generate and commit" >&2
  exit 1
fi
echo "verify: OK"
