#!/bin/sh
# Stands for the entrypoint of the official WordPress image, which copies the application into
# /var/www/html and writes its configuration. Here the image has both in that place, which also
# fills a new volume there.
set -eu

[ -e /var/www/html/index.php ] || {
  echo "/var/www/html is mounted, and has no WordPress in it" >&2
  exit 1
}
exec "$@"
