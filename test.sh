#!/usr/bin/env bash
# Runs all tests: the Go packages, which run the Python, Java and C ones in turn.
# Without CI=true, tests that take long are left out (-short), and a test whose
# tool is missing is skipped. With it a missing tool is a failure, tests run on the
# lowest and the newest Python, too, and every test runs, unless the arguments are
# -short, as those of .ci/run. A test that fails is then
# run once more by itself: a shared machine stands still now and then. The summary
# at the end names it and the tests that were skipped, with the reason, and a test that
# fails twice is a failure. Below it are the tests that took longest, and how many
# were left out because they take long. The packages that
# take longest begin first, and three run at a time, because their tests wait a lot.
# A package that hangs fails after half an hour (-short; an hour without), its
# goroutines are shown, and nothing is run once more.
# .ci/run has vetted them, and without a debugger's tables the linker takes half the time.
set -euo pipefail
cd "$(dirname "$0")"
if [ "${CI:-}" != true ]; then
  exec go test -timeout 45m -p 2 -short "$@" ./...
fi
mkdir -p .cache
timeout=60m
for flag in "$@"; do
  [ "$flag" != -short ] || timeout=45m
done
status=0
go tool gotestsum --format pkgname --rerun-fails=1 --rerun-fails-max-failures=12 --jsonfile .cache/tests.json \
  --packages "./e2e ./languages/python ./runtimes ./..." -- -timeout $timeout -p 3 -vet=off -ldflags=-w "$@" || status=$?
printf '\n=== Longest\n'
go tool gotestsum tool slowest --threshold 10s --num 40 --jsonfile .cache/tests.json || true
# The reasons of package long begin so.
printf '\n%d tests or parts of tests are left out here because they take long: .ci/release tests runs them\n' \
  "$(grep -c '"Output":" *[a-z_]*\.go:[0-9]*: takes long' .cache/tests.json)"
grep -o 'Pythons tested: [^"\\]*' .cache/tests.json | head -1 || true
exit $status
