#!/usr/bin/env bash
# Builds the Traefik that go.mod pins: build.sh OUTPUT. It is the release's code without passwords, lego's clients of
# DNS services (see dns/providers.go.txt) and without the page of its dashboard, neither of which a
# measured request meets.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export GOWORK=off GOFLAGS= CGO_ENABLED=0
lego=$here/../../../.cache/bench/lego # where go.mod looks for it

version=$(sed -n 's|.*github.com/go-acme/lego/v5 \(v[0-9.]*\).*|\1|p' "$here/go.mod" | head -1)
empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
from=$(cd "$empty" && go mod download -json "github.com/go-acme/lego/v5@$version" |
  sed -n 's/^\t"Dir": "\(.*\)",\?$/\1/p')
rm -rf "$lego"
mkdir -p "$(dirname "$lego")"
cp -r --no-preserve=mode "$from" "$lego"
rm "$lego"/providers/dns/*.go
cp "$here/dns/providers.go.txt" "$lego/providers/dns/providers.go"
go build -C "$here" -trimpath -buildvcs=false -ldflags '-s -w' -o "$1" \
  github.com/traefik/traefik/v3/cmd/traefik
