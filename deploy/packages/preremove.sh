#!/bin/sh
# deb says "remove", rpm says 0 when the last one goes: an upgrade stops nothing.
set -e
case "${1:-remove}" in
  remove | 0)
    if [ -d /run/systemd/system ]; then
      systemctl disable --now nullops-controlplane nullops-ingress nullops-agent
    fi
    ;;
esac
