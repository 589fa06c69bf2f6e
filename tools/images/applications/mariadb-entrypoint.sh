#!/bin/sh
# Does what the entrypoint of the official MariaDB image does: a data folder that is empty becomes a
# database with the user of the variables, and the server runs as mysql.
set -eu

if [ "$(id -u)" = 0 ]; then
  mkdir -p /run/mysqld
  chown -R mysql:mysql /run/mysqld /var/lib/mysql
  exec setpriv --reuid=mysql --regid=mysql --clear-groups "$0" "$@"
fi

if [ ! -d /var/lib/mysql/mysql ]; then
  echo "Initializing database files"
  mariadb-install-db --datadir=/var/lib/mysql --auth-root-authentication-method=normal \
    --skip-test-db >/dev/null
  mariadbd --skip-networking --socket=/run/mysqld/init.sock &
  server=$!
  client() { mariadb --socket=/run/mysqld/init.sock -uroot "$@"; }
  tries=0
  until client -e 'SELECT 1' >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt 600 ] || { echo "the server does not start" >&2; exit 1; }
    sleep 0.5
  done
  root=${MARIADB_ROOT_PASSWORD:-$(head -c 18 /dev/urandom | base64)}
  client <<SQL
CREATE DATABASE IF NOT EXISTS \`$MARIADB_DATABASE\`;
CREATE USER '$MARIADB_USER'@'%' IDENTIFIED BY '$MARIADB_PASSWORD';
GRANT ALL ON \`$MARIADB_DATABASE\`.* TO '$MARIADB_USER'@'%';
CREATE USER 'root'@'%' IDENTIFIED BY '$root';
GRANT ALL ON *.* TO 'root'@'%' WITH GRANT OPTION;
ALTER USER 'root'@'localhost' IDENTIFIED BY '$root';
SQL
  kill "$server"
  wait "$server" || true
  echo "MariaDB init process done. Ready for start up."
fi
exec "$@"
