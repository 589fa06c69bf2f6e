#!/usr/bin/env bash
# Breaks a real installation at random for some minutes; `make chaos` and tools/test.sh run it,
# under `tools/run services`. See docs/chaos.md.
#
#   tools/chaos.sh MINUTES [SEED]
#
# Without a seed, it takes a fresh one and prints it.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
minutes=${1:?usage: tools/chaos.sh MINUTES [SEED]}
seed=${2:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
mkdir -p .cache/bin
go test -c -vet=off -ldflags '-s -w' -tags chaos -o .cache/bin/chaos.test ./cmd/nullops
# The program itself, and not go test around it: a signal has to reach what cleans up.
cd cmd/nullops
NULLOPS_CHAOS_MINUTES=$minutes NULLOPS_CHAOS_SEED=$seed exec ../../.cache/bin/chaos.test \
  -test.run '^TestChaos' -test.timeout "$((${minutes%.*} + 12))m"
