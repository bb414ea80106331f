#!/usr/bin/env bash
# Runs all tests: the Go packages, which run the Python and C ones in turn.
set -euo pipefail
cd "$(dirname "$0")"
exec go test -timeout 30m -p 2 "$@" ./...
