#!/bin/sh
# The package and the containers of deploy/setup.sh would share ports, and both would be upgraded
# by different commands.
set -e
if command -v docker >/dev/null 2>&1 &&
  docker ps --all --quiet --filter label=com.docker.compose.project=nullops 2>/dev/null | grep -q .; then
  echo "nullops: this machine runs NullOps in containers, which deploy/setup.sh upgrades." >&2
  echo "  To install the package instead, first end it there: docker compose down" >&2
  exit 1
fi
