#!/usr/bin/env bash
# Builds the documentation site, with the packages that tools/docs/package-lock.json pins.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")"

sum=$(sha256sum <package-lock.json)
if [[ $(cat node_modules/.nullops-installed 2>/dev/null) != "$sum" ]]; then
  npm ci --ignore-scripts --no-audit --no-fund >&2
  printf '%s\n' "$sum" >node_modules/.nullops-installed
fi
exec node build.mjs
