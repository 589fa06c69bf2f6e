#!/usr/bin/env bash
# Runs the tests that need a cluster, beside one:
#
#   tools/run services -- tools/kubernetes/node.sh tools/kubernetes/test.sh [PACKAGE...]
#
# ONLY narrows them to tests by name. The packages use the machines of one cluster, and so one runs
# after the other. Without a Docker Engine and a registry (services --only postgres), the move
# between Docker and a cluster is left out. NULLOPS_TEST_PART chooses the part of the tests in
# rotation, 1 to 7 or all; without it, the weekday does.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."

export NULLOPS_TEST_PART=${NULLOPS_TEST_PART:-$(date -u +%u)}
packages=("$@")
(($# > 0)) || packages=(./agent/kubernetes ./agent/sweep ./cmd/nullops)
tools/run images push --to "$NULLOPS_TEST_KUBERNETES_REGISTRY"
failed=0
for package in "${packages[@]}"; do
  # All tests of cmd/nullops that need a cluster have this word in front of their names.
  only=${ONLY:-}
  if [[ -z $only && $package == ./cmd/nullops ]]; then
    only="^TestKubernetes(EndToEnd|Installation|Manifest|Machines${NULLOPS_TEST_DOCKER:+|Move})\$"
  elif [[ -z $only && $package == ./agent/sweep ]]; then
    only='OnKubernetes$'
  fi
  NULLOPS_TEST_RERUN=4 tools/run gotest -tags kubernetes -count=1 -timeout 25m ${only:+-run "$only"} \
    "$package" && continue
  failed=1
  echo "part $NULLOPS_TEST_PART FAILED in $package" # .ci/run looks for it
done
((failed == 0)) && echo "part $NULLOPS_TEST_PART passed in $SECONDS s"
exit "$failed"
