#!/usr/bin/env bash
# Runs all tests: the Go packages, which run the Python, Java and C ones in turn.
# Without CI=true, tests that take long are left out (-short), and a test whose
# tool is missing is skipped. With it every test runs, on the lowest and the
# newest Python, too, and a missing tool is a failure. A test that fails is then
# run once more by itself: a shared machine stands still now and then. The summary
# at the end names it and the tests that were skipped, with the reason, and a test that
# fails twice is a failure. Below it are the tests that took longest. The packages that
# take longest begin first, and three run at a time, because their tests wait a lot.
# .ci/run has vetted them, and without a debugger's tables the linker takes half the time.
set -euo pipefail
cd "$(dirname "$0")"
if [ "${CI:-}" != true ]; then
  exec go test -timeout 30m -p 2 -short "$@" ./...
fi
mkdir -p .cache
status=0
go tool gotestsum --format pkgname --rerun-fails=1 --rerun-fails-max-failures=12 --jsonfile .cache/tests.json \
  --packages "./e2e ./languages/python ./runtimes ./..." -- -timeout 60m -p 3 -vet=off -ldflags=-w "$@" || status=$?
printf '\n=== Longest\n'
go tool gotestsum tool slowest --threshold 10s --num 40 --jsonfile .cache/tests.json || true
exit $status
