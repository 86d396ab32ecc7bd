#!/bin/sh
# After the package was installed or upgraded. Nothing is started by itself: the settings come first.
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart prefect-openlineage-listener.service || true
fi
