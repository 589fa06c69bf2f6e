#!/usr/bin/env bash
# What a person would write instead of NullOps: the example shop, one docker
# command after the other, with the same images, limits and checks.
#
#   REGISTRY=HOST:PORT peer-deploy.sh up     create; ends when the page shows its goods
#   peer-deploy.sh down                      remove everything again
#
# It asks ten times a second whether something is ready.
set -euo pipefail

net=peer-shop
containers=(peer-postgres peer-api peer-web)

down() {
  docker rm --force --volumes "${containers[@]}" >/dev/null 2>&1 || true
  docker volume rm --force peer-data >/dev/null 2>&1 || true
  docker network rm "$net" >/dev/null 2>&1 || true
}

address() { # CONTAINER
  docker inspect --format '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' "$1"
}

await() { # WHAT CHECK ARGUMENT...
  local what=$1
  shift
  for ((i = 0; i < 600; i++)); do
    if "$@" 2>/dev/null; then return 0; fi
    sleep 0.1
  done
  echo "$what is not ready after a minute" >&2
  return 1
}

tcp() { (: >"/dev/tcp/$1/$2"); }

healthy() ( # ADDRESS
  exec 3<>"/dev/tcp/$1/8080"
  printf 'GET /healthz HTTP/1.0\r\nHost: %s\r\n\r\n' "$1" >&3
  IFS= read -r line <&3
  [[ $line == *" 200 "* ]]
)

plugin() { # NAME JSON
  docker run --rm -i --network "$net" "$REGISTRY/plugins/$1:1.0.0" <<<"$2"
}

run() { # NAME ALIAS CPUS MEMORY ARGUMENT...
  docker run --detach --name "$1" --network "$net" --network-alias "$2" \
    --cpus "$3" --memory "$4" "${@:5}" >/dev/null
}

up() {
  local password=peer-admin-password token=peer-token database answer
  docker network create --subnet 10.214.1.0/24 "$net" >/dev/null

  docker volume create peer-data >/dev/null
  run peer-postgres postgres 0.5 256m --env "POSTGRES_PASSWORD=$password" \
    --volume peer-data:/var/lib/postgresql/data "$REGISTRY/shop/postgres:15"
  await postgres tcp "$(address peer-postgres)" 5432

  answer=$(plugin postgres-database '{"action":"create",
    "parameters":{"host":"postgres","port":5432,"database":"shop"},
    "secrets":{"adminPassword":"'"$password"'"}}')
  database=$(sed -n 's/.*"connectionString":"\([^"]*\)".*/\1/p' <<<"$answer")
  [[ -n $database ]] || { echo "no connection string in: $answer" >&2; return 1; }

  plugin sql-script '{"action":"create","secrets":{"connectionString":"'"$database"'"},
    "parameters":{"scripts":[{"name":"schema","sql":"CREATE TABLE products (id integer PRIMARY KEY, name text NOT NULL, blurb text NOT NULL, price_cents integer NOT NULL CHECK (price_cents >= 0), stock integer NOT NULL CHECK (stock >= 0))"},
    {"name":"rows","sql":"INSERT INTO products (id, name, blurb, price_cents, stock) VALUES (1, '\''Green tea'\'', '\''Loose leaves, 100 g'\'', 690, 24), (2, '\''Enamel mug'\'', '\''Blue rim, survives a fall'\'', 1250, 9), (3, '\''Notebook'\'', '\''Dotted, lies flat'\'', 890, 40), (4, '\''Pencil set'\'', '\''Six, from soft to hard'\'', 740, 15), (5, '\''Umbrella'\'', '\''Opens against the wind'\'', 2990, 3), (6, '\''Last lamp'\'', '\''Was popular'\'', 4900, 0)"}]}}' >/dev/null

  run peer-api api 0.5 128m --env "DATABASE_URL=$database" --env "API_TOKEN=$token" \
    "$REGISTRY/shop/api:v1.1.0"
  await api healthy "$(address peer-api)"

  run peer-web web 0.5 128m --env API_URL=http://api:8080 --env "API_TOKEN=$token" \
    --env SHOP_PLACE=peer "$REGISTRY/shop/web:v1.1.0"
  await web healthy "$(address peer-web)"

  plugin http-check '{"action":"create","parameters":{"url":"http://web:8080/",
    "contains":"Green tea","retries":10}}' >/dev/null
}

case ${1:-} in
  up) up ;;
  down) down ;;
  *)
    echo "usage: REGISTRY=HOST:PORT $0 up|down" >&2
    exit 2
    ;;
esac
