#!/bin/sh
set -e
if ! getent group nullops >/dev/null; then
  groupadd --system nullops
fi
if ! getent passwd nullops >/dev/null; then
  useradd --system --gid nullops --home-dir /var/lib/nullops --no-create-home \
    --shell /usr/sbin/nologin --comment NullOps nullops
fi
chgrp nullops /etc/nullops/nullops.env
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  # An upgrade: what runs, runs on as the new release.
  systemctl try-restart nullops-controlplane nullops-ingress nullops-agent
else
  echo "nullops: installed. Fill in /etc/nullops/nullops.env, or agent.env on a node."
fi
