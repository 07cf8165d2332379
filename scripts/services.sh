#!/usr/bin/env bash
# What some tests and benchmarks need and npm does not bring.
#
# Installs it from Debian's packages, once on a new machine:
#   npm run services                       everything: browser postgres redis
#   npm run services -- postgres           only what is named
#
# Runs servers for use by hand, on this machine alone and without passwords, with the durable settings of the benchmarks:
#   npm run -s services -- start           PostgreSQL; prints its address, which is the same the next time
#   npm run -s services -- start redis     Redis (or both: start postgres redis)
#   npm run -s services -- stop            ends both; their data stays in the folder that is told
#
# Tests start servers of their own and remove them. To make them use this one, where they do not have to stop it:
#   SLUICE_POSTGRES_URL="$(npm run -s services -- start)" npm test
#
# SLUICE_SERVICES      the folder of these servers (default: sluice-services-<your number> in the folder for temporary files)
# SLUICE_POSTGRES_BIN  the folder of initdb and pg_ctl, if it is not where Debian has it
set -euo pipefail

folder="${SLUICE_SERVICES:-${TMPDIR:-/tmp}/sluice-services-$(id -u)}"

fail() {
  echo "$*" >&2
  exit 1
}

# ---- Installing ----

is_installed() {
  dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'
}

install() {
  local packages=()
  for package in "$@"; do
    is_installed "$package" || packages+=("$package")
  done
  if [ "${#packages[@]}" -eq 0 ]; then
    echo "Installed already: $*"
    return
  fi
  command -v apt-get >/dev/null || fail "This installs Debian's packages, and there is no apt-get. Install yourself: ${packages[*]}"
  echo "Installing ${packages[*]} …"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q >/dev/null
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${packages[@]}" >/dev/null
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  else
    command -v sudo >/dev/null || fail "This needs root: $*"
    sudo "$@"
  fi
}

# Debian makes and starts a database of its own with the server; ours are made where they are used.
install_postgres() {
  if [ -n "$(postgres_programs)" ]; then
    echo "Installed already: PostgreSQL in $(postgres_programs)"
    return
  fi
  install postgresql-common
  as_root sed -ri 's/^#?\s*create_main_cluster\s*=.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf
  install postgresql
}

# Debian starts Redis with its installation and at every boot; nobody here asked for that.
install_redis() {
  if command -v redis-server >/dev/null; then
    echo "Installed already: $(command -v redis-server)"
    return
  fi
  local policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod +x "$policy"
    trap 'as_root rm -f /usr/sbin/policy-rc.d' EXIT
  fi
  install redis-server
  if [ -d /run/systemd/system ]; then as_root systemctl disable redis-server; fi
}

# ---- Running ----

# The newest that is installed, if it is not too old.
postgres_programs() {
  if [ -n "${SLUICE_POSTGRES_BIN:-}" ]; then
    echo "$SLUICE_POSTGRES_BIN"
    return
  fi
  local versions newest
  versions="$(cd /usr/lib/postgresql 2>/dev/null && find . -maxdepth 3 -path './*/bin/initdb' | cut -d/ -f2 | sort -n || true)"
  newest="${versions##*$'\n'}"
  if [ -n "$newest" ] && [ "$newest" -ge 15 ]; then echo "/usr/lib/postgresql/$newest/bin"; fi
}

# Servers do not run as root: the packages bring users for them.
as_user() {
  local user="$1"
  shift
  if [ "$(id -u)" -eq 0 ]; then
    (cd / && runuser -u "$user" -- "$@")
  else
    "$@"
  fi
}

# A folder that only its server's user reads, in one that is ours.
make_place() {
  mkdir -p "$folder"
  [ -O "$folder" ] || fail "$folder belongs to somebody else. Name another folder in SLUICE_SERVICES."
  mkdir -p -m 700 "$folder/$1"
  if [ "$(id -u)" -eq 0 ]; then chown "$1" "$folder/$1"; fi
}

# The port is chosen once, so that the address stays. Outgoing connections are given higher ones, so none of them is in the way.
port_of() {
  local file="$folder/$1.port" port="$2"
  if [ ! -e "$file" ]; then
    while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 1)); done
    echo "$port" >"$file"
  fi
  cat "$file"
}

is_postgres_up() {
  [ -e "$folder/postgres/data" ] && as_user postgres "$1/pg_ctl" status -s -D "$folder/postgres/data" >/dev/null
}

start_postgres() {
  local programs port
  programs="$(postgres_programs)"
  [ -n "$programs" ] || fail 'PostgreSQL 15 or later is not installed. Run: npm run services -- postgres'
  make_place postgres
  local data="$folder/postgres/data"
  if [ ! -e "$data" ]; then
    as_user postgres "$programs/initdb" -D "$data" -U postgres --auth=trust --encoding=UTF8 --locale=C --no-instructions >/dev/null
  fi
  port="$(port_of postgres 15432)"
  if ! is_postgres_up "$programs"; then
    as_user postgres "$programs/pg_ctl" start -s -w -D "$data" -l "$folder/postgres/log" \
      -o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c shared_buffers=256MB -c max_wal_size=4GB" \
      >/dev/null || fail "PostgreSQL did not start: see $folder/postgres/log"
    echo "PostgreSQL runs on its data in $data" >&2
  fi
  echo "postgres://postgres@127.0.0.1:$port/postgres"
}

stop_postgres() {
  local programs
  programs="$(postgres_programs)"
  if [ -n "$programs" ] && is_postgres_up "$programs"; then
    as_user postgres "$programs/pg_ctl" stop -s -w -m fast -D "$folder/postgres/data"
    echo "PostgreSQL has stopped. Its data stays in $folder/postgres" >&2
  fi
}

is_redis_up() {
  [ -e "$folder/redis.port" ] && [ "$(redis-cli -h 127.0.0.1 -p "$(port_of redis 0)" ping 2>/dev/null)" = PONG ]
}

start_redis() {
  command -v redis-server >/dev/null || fail 'Redis is not installed. Run: npm run services -- redis'
  make_place redis
  local port tries=0
  port="$(port_of redis 63790)"
  if ! is_redis_up; then
    as_user redis redis-server --bind 127.0.0.1 --port "$port" --dir "$folder/redis" --daemonize yes --save '' \
      --appendonly yes --appendfsync always --logfile "$folder/redis/log" >/dev/null
    until is_redis_up; do
      tries=$((tries + 1))
      [ "$tries" -le 100 ] || fail "Redis did not start: see $folder/redis/log"
      sleep 0.1
    done
    echo "Redis runs on its data in $folder/redis" >&2
  fi
  echo "redis://127.0.0.1:$port"
}

stop_redis() {
  if command -v redis-cli >/dev/null && is_redis_up; then
    redis-cli -h 127.0.0.1 -p "$(port_of redis 0)" shutdown
    echo "Redis has stopped. Its data stays in $folder/redis" >&2
  fi
}

# ---- What was asked for ----

order=install
case "${1:-}" in
  start | stop)
    order="$1"
    shift
    ;;
esac
case "$order" in
  install) wanted="${*:-browser postgres redis}" ;;
  start) wanted="${*:-postgres}" ;;
  stop) wanted="${*:-postgres redis}" ;;
esac

for service in $wanted; do
  case "$order $service" in
    'install browser') install chromium ;;
    'install postgres') install_postgres ;;
    'install redis') install_redis ;;
    'start postgres') start_postgres ;;
    'start redis') start_redis ;;
    'stop postgres') stop_postgres ;;
    'stop redis') stop_redis ;;
    'start browser' | 'stop browser') fail 'The browser is no server: tests start it themselves.' ;;
    *)
      echo "There is no service $service. There is: browser, postgres, redis; or start, stop, with postgres, redis." >&2
      exit 2
      ;;
  esac
done
