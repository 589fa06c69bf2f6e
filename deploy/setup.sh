#!/usr/bin/env bash
# Installs NullOps on this machine with Docker: control plane, ingress and their database from
# compose.yaml beside this file, HTTPS on both, and this machine as the first node.
#
#   deploy/setup.sh                            for this machine only: http://localhost:8080
#   deploy/setup.sh --domain qa.example.org    for others, with HTTPS
#
#   --domain NAME      where people find NullOps; deployments answer below it. It needs two DNS
#                      records that point to this machine: NAME and *.NAME
#   --apps NAME        another domain for deployments: one of its own keeps their cookies away from
#                      the UI. It needs the record *.NAME
#
# HTTPS is signed by an authority of your own, unless you choose one of these:
#   --email ADDRESS    order certificates that browsers know (ACME, Let's Encrypt), one for the UI and
#                      one for each deployment. The authority asks for them at port 80
#   --dns KIND         order them by DNS instead, wildcards for all deployments; KIND is rfc2136 or
#                      webhook, with --dns-server, --dns-user and --dns-secret FILE, see docs/ingress.md
#   --acme URL         another authority, with --acme-roots FILE if machines do not trust it
#   --proxy            a proxy in front has the certificates for NAME and *.NAME
#
#   --address IP       the public address of this machine, if it does not have it itself, as at many
#                      clouds: the DNS records point there
#   --release FOLDER   images and checksums of a release, instead of building from the sources
#   --key FILE         the public key that you trust, instead of the one in that folder
#   --no-node          this machine runs no deployments
#
# Answers are kept in .env and secrets/ beside this file. Run it again to continue after an
# interruption: what exists is never made anew. Run it again to upgrade: it checks first whether the
# release can take over, and writes a backup to backups/ beside this file. It changes nothing else
# on this machine. Further settings are the variables of compose.yaml, of the shell or in .env.
set -euo pipefail
umask 077

here=$PWD # what options name is seen from there
cd "$(dirname "${BASH_SOURCE[0]}")"

say() { printf 'setup: %s\n' "$*"; }
fail() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

domain='' apps='' email='' acme='' roots='' proxy='' release='' key='' node=yes address=''
dns=()
# value OPTION VALUE and file OPTION FILE print what stands after an option, or say what is missing.
value() {
  [[ -n ${2:-} && $2 != --* ]] || fail "$1 needs a value; see deploy/setup.sh --help"
  printf '%s' "$2"
}
file() {
  local name
  name=$(value "$@")
  name=$(cd "$here" && realpath -m -- "$name")
  [[ -r $name ]] || fail "$1 names $name, which does not exist, or which you may not read."
  printf '%s' "$name"
}
while (($# > 0)); do
  case $1 in
    --domain | --apps | --address | --email | --acme | --dns | --dns-server | --dns-user) got=$(value "$@") ;;
    --acme-roots | --dns-secret | --release | --key) got=$(file "$@") ;;
    --proxy | --no-node) got=yes ;;
    -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' setup.sh && exit 0 ;;
    *) fail "there is no option $1; see deploy/setup.sh --help" ;;
  esac
  case $1 in
    --dns*) dns+=("$1" "$got") ;;
    --acme-roots) roots=$got ;;
    --no-node) node='' ;;
    *) printf -v "${1#--}" '%s' "$got" ;;
  esac
  [[ $1 == --proxy || $1 == --no-node ]] || shift
  shift
done

# remember NAME VALUE chooses a setting for compose and for the next run; what is there stays.
# It is written to .env when all checks have passed.
answers=()
remember() {
  [[ -z ${!1:-} && -z $(recall "$1") ]] || return 0
  answers+=("$1=$2")
  printf -v "$1" '%s' "$2"
}
recall() { sed -n "s/^$1=//p" .env 2>/dev/null | tail -1 || true; }
setting() { printf '%s' "${!1:-$(recall "$1")}"; }

[[ -n $domain ]] || domain=$(recall NULLOPS_SETUP_DOMAIN)
if [[ -z $domain && ! -e secrets/master_keys && -t 0 && -z ${NULLOPS_HTTP_URL:-} ]]; then
  read -rp 'Domain under which people find NullOps (empty: this machine only): ' domain
fi
[[ -n $proxy ]] || proxy=$(recall NULLOPS_SETUP_PROXY)
[[ -n $address ]] || address=$(recall NULLOPS_SETUP_ADDRESS)
[[ -n $apps ]] || apps=$(recall NULLOPS_SETUP_APPS)
apps=${apps:-$domain}

# --- What has to be there ----------------------------------------------------

[[ -n $release || -e Dockerfile || -n $(recall NULLOPS_VERSION) ]] ||
  fail "there are no sources here to build from. Add --release FOLDER, the folder with the files of a release."
command -v docker >/dev/null || fail "Docker is missing. Debian: apt-get install docker.io docker-compose"
engine=$(docker version --format '{{.Server.Version}}' 2>/dev/null) ||
  fail "Docker does not answer. Start it, or run this as a user who may use it."
[[ $(printf '%s\n20.10\n' "$engine" | sort -V | head -1) == 20.10 ]] ||
  fail "Docker $engine is too old: NullOps needs 20.10 or newer. Update Docker, and run this again."
if docker compose version >/dev/null 2>&1; then
  compose=(docker compose)
elif command -v docker-compose >/dev/null; then
  compose=(docker-compose)
else
  fail "Docker's compose plugin is missing. Debian: apt-get install docker-compose"
fi

memory=$(awk '/^MemTotal:/ {print int($2 / 1024)}' "${NULLOPS_SETUP_MEMINFO:-/proc/meminfo}")
((memory >= 1500)) ||
  fail "this machine has $memory MiB of memory, and NullOps needs 1500. Give it more, and run this again."

if dpkg-query -W -f '${Status}' nullops 2>/dev/null | grep -q 'ok installed' || rpm -q nullops >/dev/null 2>&1; then
  fail "the package nullops is installed here, and would use the same ports. Remove it first: apt-get remove nullops"
fi

# isHere NAME: does one of the name's addresses belong to this machine?
isHere() {
  local found own
  own="$(ip -o addr show) $address"
  while read -r found; do
    grep -qwF -- "$found" <<<"$own" && return 0
  done < <(getent ahosts "$1" | awk '{print $1}' | sort -u)
  return 1
}
if [[ -n $domain ]]; then
  for name in "$domain" "$apps"; do
    [[ $name =~ ^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$ && $name == *.* ]] ||
      fail "'$name' is no domain: write one like qa.example.org"
  done
  if [[ -z $proxy ]]; then
    command -v ip >/dev/null || fail "the program ip is missing, which lists this machine's addresses. Debian: apt-get install iproute2"
    for name in "$domain" "any.$apps"; do
      isHere "$name" || fail "$name does not resolve to this machine. Add DNS records for $domain and *.$apps with one of its addresses ($(hostname -I 2>/dev/null || true)). If it has another one outside, as at many clouds, add --address; if a proxy has the records, --proxy."
    done
  fi
elif [[ -n $apps$email$acme$proxy$address ]] || ((${#dns[@]} > 0)); then
  fail "HTTPS needs a name: add --domain, such as --domain qa.example.org"
fi
[[ -z $email || $email == ?*@?*.?* ]] || fail "'$email' is no mail address: the authority writes there before a certificate ends"
[[ -z $email || -z $proxy ]] || fail "--email and --proxy exclude each other: either NullOps has the certificates, or the proxy"
[[ -n $email || -z $acme$roots && ${#dns[@]} == 0 ]] || fail "--acme, --acme-roots and --dns need --email: the authority wants an address"
if ((${#dns[@]} > 0)); then
  for name in --dns --dns-server --dns-secret; do
    [[ " ${dns[*]} " == *" $name "* ]] || fail "orders by DNS need $name too: write --dns rfc2136 or --dns webhook, with --dns-server and --dns-secret; see docs/ingress.md"
  done
  [[ " ${dns[*]} " =~ " --dns "(rfc2136|webhook)" " ]] || fail "--dns is rfc2136 or webhook; see docs/ingress.md"
fi

# --- Settings -----------------------------------------------------------------

if [[ -n $domain ]]; then
  remember NULLOPS_SETUP_DOMAIN "$domain"
  remember NULLOPS_SETUP_APPS "$apps"
  [[ -z $address ]] || remember NULLOPS_SETUP_ADDRESS "$address"
  [[ $apps != "$domain" ]] || remember NULLOPS_INGRESS_SHARED true
  [[ -z $email ]] || remember NULLOPS_HTTP_ORDER true
  if [[ -n $proxy ]]; then
    remember NULLOPS_SETUP_PROXY yes
    remember NULLOPS_HTTP_URL "https://$domain"
    remember NULLOPS_HTTP_TLS off
    remember NULLOPS_INGRESS_URL "https://$apps"
  else
    remember NULLOPS_HTTP_URL "https://$domain:8080"
    remember NULLOPS_HTTP_BIND 0.0.0.0:8080
    remember NULLOPS_INGRESS_URL "https://$apps"
    remember NULLOPS_INGRESS_BIND 0.0.0.0:80
    remember NULLOPS_INGRESS_SECURE_BIND 0.0.0.0:443
  fi
fi

# A port that something else has would let half of it start.
if [[ -z $("${compose[@]}" ps -q controlplane 2>/dev/null) ]]; then
  for bind in "$(setting NULLOPS_HTTP_BIND)" "$(setting NULLOPS_INGRESS_BIND)" "$(setting NULLOPS_INGRESS_SECURE_BIND)"; do
    port=${bind##*:}
    [[ -n $port && $port != 0 ]] || continue
    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      fail "port $port is in use. 'ss -ltnp sport = :$port' says by what; end it, or set another port in .env, and run this again."
    fi
  done
fi
if [[ -n $release ]]; then
  command -v openssl >/dev/null || fail "openssl is missing, which verifies the release. Debian: apt-get install openssl"
  for name in checksums.txt checksums.txt.sig; do
    [[ -r $release/$name ]] || fail "there is no $name in $release: --release names the folder with all files of a release."
  done
  key=${key:-$release/nullops-release.pub}
  openssl pkeyutl -verify -pubin -inkey "$key" -rawin -in "$release/checksums.txt" \
    -sigfile "$release/checksums.txt.sig" >/dev/null 2>&1 ||
    fail "the signature of $release/checksums.txt does not match the key $key. Get the release again from where you trust it."
  architecture=$(docker version --format '{{.Server.Arch}}')
  images=$(cd "$release" && ls nullops-images-*-linux-"$architecture".tar 2>/dev/null) ||
    fail "there are no images for $architecture in $release"
  (cd "$release" && grep "  $images\$" checksums.txt | sha256sum --check --quiet -) >/dev/null 2>&1 ||
    fail "$images is not the file that was signed. Get the release again."
fi
# What runs now; empty before the first start.
before=$("${compose[@]}" ps -a -q controlplane 2>/dev/null | head -1 || true)
[[ -z $before ]] || before=$(docker inspect --format '{{.Image}}' "$before")
((${#answers[@]} == 0)) || printf '%s\n' "${answers[@]}" >>.env

# --- The images and the secrets -----------------------------------------------

if [[ -n $release ]]; then
  version=${images#nullops-images-}
  export NULLOPS_VERSION=${version%-linux-*}
  say "loading the images of $NULLOPS_VERSION, whose signature matches"
  docker load --quiet --input "$release/$images" >/dev/null
elif [[ -e Dockerfile ]]; then
  # Where somebody went back, .env names the image before; what is built now is not that one.
  [[ $(recall NULLOPS_VERSION) != before ]] || sed -i '/^NULLOPS_VERSION=before$/d' .env
  say "building the image"
  "${compose[@]}" build controlplane
fi

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

# Secrets that only you know are in a file too. In earlier releases, that of the backup's bucket was a
# variable in .env: it moves.
settings=secrets/settings.yaml
if [[ ! -e $settings ]]; then
  bucket=$(recall NULLOPS_BACKUP_S3_SECRET | sed "s/^\(['\"]\)\(.*\)\1\$/\2/")
  cat >"$settings.new" <<'END'
# Settings of the control plane that are secrets, and all others that .env cannot set; 'nullops settings'
# lists them. After a change: docker compose restart controlplane
#
# mail: {password: "…"}
# oidc: {secret: "…"}
# backup: {s3: {secret: "…"}}
END
  [[ -z $bucket ]] || printf "backup: {s3: {secret: '%s'}}\n" "${bucket//\'/\'\'}" >>"$settings.new"
  chmod 644 "$settings.new"
  mv "$settings.new" "$settings"
  [[ -z $bucket ]] || sed -i '/^NULLOPS_BACKUP_S3_SECRET=/d' .env
fi

# --- An upgrade: first what could stop it, and a backup --------------------------

if [[ -n $before && $before != "$(docker image inspect --format '{{.Id}}' "$image")" ]]; then
  say "this is an upgrade: checking whether ${image##*:} can take over"
  "${compose[@]}" up -d postgres
  "${compose[@]}" run --rm -T --no-deps migrate migrate check >&2 ||
    fail "it cannot take over, and nothing was changed: what ran runs on."
  # The release that runs writes the backup, so that it can be restored with it.
  docker tag "$before" "${image%%:*}:before"
  mkdir -p -m 700 backups
  backup=backups/before-${image##*:}-$(date -u +%Y%m%dT%H%M%SZ).backup
  if ! NULLOPS_VERSION=before "${compose[@]}" run --rm -T --no-deps controlplane backup >"$backup.new"; then
    rm -f "$backup.new"
    fail "the backup failed, and nothing was changed: what ran runs on. Remove the cause, and run this again."
  fi
  mv "$backup.new" "$backup"
  say "wrote $PWD/$backup: with it and the image ${image%%:*}:before you can go back, see docs/releases.md"
fi
if [[ -n $release ]]; then
  sed -i '/^NULLOPS_VERSION=/d' .env 2>/dev/null || true
  printf 'NULLOPS_VERSION=%s\n' "$NULLOPS_VERSION" >>.env
fi

# --- The start ---------------------------------------------------------------

"${compose[@]}" up -d ||
  fail "it does not start: $("${compose[@]}" logs --no-color --tail 3 migrate 2>/dev/null | tail -1). Look at: ${compose[*]} logs migrate postgres"
controlplane=$("${compose[@]}" ps -q controlplane)
for ((tries = 0; tries < 120; tries++)); do
  # The log has the address as soon as the database is migrated and people get in.
  url=$(docker logs "$controlplane" 2>&1 |
    sed -n 's/.*"msg":"control plane","url":"\([^"]*\)".*/\1/p' | tail -1)
  [[ -z $url ]] || break
  sleep 1
done
[[ -n $url ]] || fail "it does not start. Look at: ${compose[*]} logs controlplane"

# --- HTTPS of deployments, and the first node ----------------------------------

# nullops runs the command line beside the control plane, as the admin of the first start.
nullops() {
  docker run --rm -i --user "$(id -u):$(id -g)" --network "container:$controlplane" \
    -v "$PWD/secrets/cli:/config" -e XDG_CONFIG_HOME=/config "$image" "$@"
}
fingerprint() {
  docker logs "$controlplane" 2>&1 | grep -o 'sha256:[0-9a-f]\{64\}' | head -1 || true
}
if [[ -n $domain ]]; then
  mkdir -p secrets/cli
  if [[ ! -e secrets/cli/nullops/login.json ]]; then
    first=$(docker logs "$controlplane" 2>&1 | sed -n 's/^First admin: user admin, password \(.*\)$/\1/p' | head -1)
    [[ -n $first ]] || fail "the first admin's password is no longer in the log. Sign in by hand: nullops login $url"
    scheme=https print=$(fingerprint)
    [[ -n $print ]] || scheme=http
    printf '%s\n' "$first" | nullops login "$scheme://localhost:8080" --password-stdin \
      ${print:+--fingerprint "$print"} >/dev/null
  fi
  printf 'kind: environment\nname: qa\ndescription: Made by setup.sh\ndomain: %s\n' "$apps" |
    nullops apply -f - >/dev/null
  if [[ $apps == "$domain" ]]; then
    say "deployments share the domain $domain with the UI, and could set cookies for it: run only what you trust, or give them a domain of their own with --apps"
  fi
  if [[ -n $email ]]; then
    # The files of the authority and of the name server, where the command line finds them.
    order=(--challenge http-01 --email "$email" ${acme:+--directory "$acme"})
    if [[ -n $roots ]]; then
      cp "$roots" secrets/cli/roots.pem && order+=(--roots /config/roots.pem)
    fi
    if ((${#dns[@]} > 0)); then
      order[1]=dns-01
      for ((i = 0; i < ${#dns[@]}; i += 2)); do
        if [[ ${dns[i]} == --dns-secret ]]; then
          cp "${dns[i + 1]}" secrets/cli/dns-secret && dns[i + 1]=/config/dns-secret
        fi
      done
      order+=("${dns[@]}")
    fi
    nullops certificate orders qa "${order[@]}" >/dev/null
    rm -f secrets/cli/roots.pem secrets/cli/dns-secret
    say "ordering certificates for $domain and for deployments; 'nullops certificate orders qa' shows how it goes"
  elif [[ -z $proxy && $(setting NULLOPS_HTTP_ORDER) != true ]]; then
    nullops certificate authority show >/dev/null 2>&1 || nullops certificate authority make >/dev/null
    say "deployments answer over HTTPS; everybody trusts them once at $url/trust"
    say "  with public DNS, order certificates that browsers know: run this again with --email"
  fi
  agent=$(docker ps --all --quiet --filter 'name=^nullops-agent$')
  # An agent that trusts the first certificate only would not find the way once another is ordered.
  if [[ -n $agent && $(setting NULLOPS_HTTP_ORDER) == true ]] &&
    docker inspect --format '{{.Config.Env}}' "$agent" | grep -q AGENT_FINGERPRINT=; then
    docker rm --force "$agent" >/dev/null && agent=''
  fi
  if [[ -n $node && -z $agent ]]; then
    line=$(nullops node add this-machine --env qa --connect agent | sed -n '/^docker run/,/^$/p')
    [[ -n $line ]] || line=$(nullops node rotate this-machine | sed -n '/^docker run/,/^$/p')
    [[ -n $line ]] || fail "this machine could not be added as a node. Add it by hand on the page Nodes."
    if [[ -n $roots ]]; then
      install -m 644 "$roots" secrets/authorities.pem
      line=${line/docker run -d/docker run -d -v "'$PWD/secrets/authorities.pem:/authorities.pem:ro'" -e NULLOPS_AGENT_CA=/authorities.pem}
    fi
    if [[ -z $release && -e Dockerfile ]]; then
      say "building the agent's image"
      docker build --quiet --file Dockerfile --target agent --build-arg "VERSION=${image##*:}" \
        --tag "nullops/agent:${image##*:}" .. >/dev/null
    fi
    eval "$line" >/dev/null || fail "the agent does not start. Take this-machine out on the page Nodes, and add it again."
    say "this machine is the first node, this-machine, of the environment qa"
  fi
  # After an upgrade, agents are of the release before.
  nullops node upgrade --all || say "some agents are not upgraded: see nullops node list"
  if [[ -n $node ]]; then
    for ((tries = 0; tries < 60; tries++)); do
      ! nullops node show this-machine --json 2>/dev/null | grep -q '"status": *"online"' || break
      sleep 1
    done
    ((tries < 60)) ||
      say "the agent is not connected yet, so nothing can be deployed: docker logs nullops-agent says why"
  fi
fi

say "NullOps runs: $url"
say "the first admin's password, shown once: docker logs $(docker inspect --format '{{.Name}}' "$controlplane" | tr -d /)"
say "keep a copy of $PWD/secrets/master_keys elsewhere: without it, nothing sealed can be opened"
say "what is left to do for production: nullops login $url, then nullops doctor"
