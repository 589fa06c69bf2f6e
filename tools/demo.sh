#!/usr/bin/env bash
# Starts Docker (where none runs) and a registry with this repository's images,
# then the demo itself; see tools/demo/main.go. `make demo` calls it, and
# `make demo-clean` with --clean, which starts nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p .cache/bin
go build -o .cache/bin/demo ./tools/demo/*.go
if [[ ${1:-} == --clean ]]; then exec .cache/bin/demo --clean; fi
exec tools/run services --only docker,registry -- .cache/bin/demo
