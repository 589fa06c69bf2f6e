#!/usr/bin/env bash
# Prints the folders of the modules that go.work uses, one a line, for what has to see
# all of them: to Go, ./... is the packages of one module.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
go work edit -json | sed -n 's/.*"DiskPath": "\(.*\)".*/\1/p'
