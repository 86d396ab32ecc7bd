#!/usr/bin/env bash
# Runs every fuzz target of the checkout for a time each: test/fuzz.sh 5m
# Inputs that are only new, not wrong, are made smaller by a few tries: by default each takes a minute of the time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
time=${1:-1m}
for package in $(go list ./...); do
  for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
    echo "== $package $target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 20x "$package"
  done
done
