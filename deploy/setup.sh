#!/usr/bin/env bash
# Installs the control plane, the ingress and their database on this machine,
# with compose.yaml beside this file, and waits until they answer.
#
#   deploy/setup.sh
#
# It builds the image, makes the secrets that are not there yet, and starts
# everything. Settings are the variables of compose.yaml, of the shell or in .env.
# Run it again after an update: a secret that exists is never made anew.
set -euo pipefail
umask 077

cd "$(dirname "${BASH_SOURCE[0]}")"

say() { printf 'setup: %s\n' "$*"; }
fail() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

# --- What has to be there ----------------------------------------------------

command -v docker >/dev/null || fail "Docker is missing. Debian: apt-get install docker.io docker-compose"
docker version --format '{{.Server.Version}}' >/dev/null ||
  fail "Docker does not answer. Start it, or run this as a user who may use it."
if docker compose version >/dev/null 2>&1; then
  compose=(docker compose)
elif command -v docker-compose >/dev/null; then
  compose=(docker-compose)
else
  fail "Docker's compose plugin is missing. Debian: apt-get install docker-compose"
fi

# --- The image and the secrets -----------------------------------------------

say "building the image"
"${compose[@]}" build controlplane

# secret FILE COMMAND... writes what the command prints, whole or not at all. The
# containers' users have to read it; the folder keeps everybody else out.
secret() {
  local file=secrets/$1
  shift
  [[ ! -s $file ]] || return 0
  "$@" >"$file.new" || fail "$file could not be made"
  [[ -s $file.new ]] || fail "$file would be empty"
  chmod 644 "$file.new"
  mv "$file.new" "$file"
  say "made $file"
}

mkdir -p -m 700 secrets
# shellcheck disable=SC2329 # Called by its name.
password() { head -c 24 /dev/urandom | base64 | tr '+/' '-_'; }
passfile() { printf 'postgres:5432:nullops:%s:%s\n' "$1" "$2"; }
# .env may say the version, so compose is asked.
image=$("${compose[@]}" config | sed -n 's|^ *image: *"\{0,1\}\(nullops/controlplane:[^"]*\).*|\1|p' | head -1)
secret master_keys docker run --rm --network none "$image" keys new
secret ingress_keys docker run --rm --network none "$image" keys new
secret postgres_password password
# Whose the passwords are: the owner's of the database, the control plane's, the ingress's.
secret pgpass passfile nullops "$(<secrets/postgres_password)"
secret controlplane_pgpass passfile nullops_controlplane "$(password)"
secret ingress_pgpass passfile nullops_ingress "$(password)"

# --- The start ---------------------------------------------------------------

"${compose[@]}" up -d || fail "it does not start. Look at: ${compose[*]} logs migrate postgres"
controlplane=$("${compose[@]}" ps -q controlplane)
for ((tries = 0; tries < 120; tries++)); do
  # The log has the address as soon as the database is migrated and people get in.
  url=$(docker logs "$controlplane" 2>&1 |
    sed -n 's/.*"msg":"control plane","url":"\([^"]*\)".*/\1/p' | tail -1)
  [[ -z $url ]] || break
  sleep 1
done
[[ -n $url ]] || fail "it does not start. Look at: ${compose[*]} logs controlplane"
say "NullOps runs: $url"
say "the first admin's password, shown once: docker logs $(docker inspect --format '{{.Name}}' "$controlplane" | tr -d /)"
say "keep a copy of $PWD/secrets/master_keys elsewhere: without it, nothing sealed can be opened"
