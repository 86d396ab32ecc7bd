#!/bin/sh
# Before the package goes. An upgrade calls it too (deb: upgrade, rpm: 1) and must not stop the service for good.
set -e
case "${1:-}" in
  upgrade | 1) exit 0 ;;
esac
if [ -d /run/systemd/system ]; then
  systemctl disable --now prefect-openlineage-listener.service || true
fi
