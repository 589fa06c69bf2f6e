#!/usr/bin/env bash
# Checks style: golangci-lint (configured in .golangci.yaml) for Go, Biome and
# the type checker for the UI. Runs all of them, then says which ones failed.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

golangci=$(tools/setup/pins.sh golangci-lint)
failed=()

# Every module of go.work; ./... means one module only.
mapfile -t modules < <(tools/setup/modules.sh)
for module in "${modules[@]}"; do
  (cd "$module" && GOGC=50 "$golangci" run --allow-parallel-runners --timeout 15m ./...) ||
    failed+=("go in $module")
done

# Our programs under tools/ are packages made of files, see tools/run.
for dir in tools/*/; do
  shopt -s nullglob
  files=("$dir"*.go)
  shopt -u nullglob
  ((${#files[@]} == 0)) && continue
  [[ -e ${dir}go.mod ]] && continue # a program of others, which takes minutes to build
  "$golangci" run --allow-parallel-runners --timeout 5m "${files[@]}" || failed+=("${dir%/}")
done

tools/run prose || failed+=("prose")
(cd ui && npx --no-install biome ci .) || failed+=("biome")
(cd ui && npm run --silent types) || failed+=("types")

if ((${#failed[@]} > 0)); then
  echo "lint: FAILED: ${failed[*]}" >&2
  exit 1
fi
echo "lint: OK"
