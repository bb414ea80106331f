#!/usr/bin/env bash
# Runs all tests: the Go packages, which run the Python, Java and C ones in turn.
# Without CI=true, tests that take long are left out (-short), and a test whose
# tool is missing is skipped. With it every test runs, on the lowest and the
# newest Python, too, and a missing tool is a failure.
set -euo pipefail
cd "$(dirname "$0")"
short=-short
[ "${CI:-}" != true ] || short=
exec go test -timeout 30m -p 2 $short "$@" ./...
