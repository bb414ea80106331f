#!/usr/bin/env bash
# Runs all tests: the Go packages, which run the Python, Java and C ones in turn.
# CI=true runs them on the lowest and the newest Python, too, and fails where a
# tool is missing; without it such a test is skipped.
set -euo pipefail
cd "$(dirname "$0")"
exec go test -timeout 30m -p 2 "$@" ./...
