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
# take longest begin first, and three run at a time, with three tests of each where they are independent, because
# they wait a lot.
# A program that a test has started is ended after 5 minutes (-short; half an hour
# without), so that the test fails, and the others go on (.ci/overdue). A package that
# hangs by itself fails after 30 minutes (-short; an hour without), and its goroutines are shown. Then what
# has not passed of each package that failed is run once more (.ci/again).
# .ci/run has vetted them, and without a debugger's tables the linker takes half the time. Sources have no paths
# (-trimpath), so that what was compiled in another folder is found; each test runs (-count=1).
set -euo pipefail
cd "$(dirname "$0")"
if [ "${CI:-}" != true ]; then
  exec go test -timeout 45m -p 2 -short "$@" ./...
fi
mkdir -p .cache
timeout=60m overdue=1800
for flag in "$@"; do
  [ "$flag" != -short ] || timeout=30m overdue=300
done
.ci/overdue $$ $overdue &
trap "kill $! 2>/dev/null || true" EXIT
status=0
go tool gotestsum --format pkgname --rerun-fails=1 --rerun-fails-max-failures=12 --jsonfile .cache/tests.json \
  --packages "./e2e ./languages/python ./runtimes ./..." -- -timeout $timeout -p 3 -parallel 3 -count=1 -trimpath -vet=off -ldflags=-w "$@" || status=$?
if [ $status != 0 ] && .ci/again .cache/tests.json >.cache/again; then
  status=0
  while IFS=$'\t' read -r package skip; do
    printf '\n=== Once more what has not passed of %s\n' "$package"
    go tool gotestsum --format pkgname --jsonfile .cache/tests-again.json --packages "$package" \
      -- -timeout 15m -trimpath -vet=off -ldflags=-w -count=1 "$@" -skip "$skip" </dev/null || status=$?
  done <.cache/again
fi
printf '\n=== Longest\n'
go tool gotestsum tool slowest --threshold 10s --num 40 --jsonfile .cache/tests.json || true
# The reasons of package long begin so.
printf '\n%d tests or parts of tests are left out here because they take long: .ci/release tests runs them\n' \
  "$(grep -c '"Output":" *[a-z_]*\.go:[0-9]*: takes long' .cache/tests.json)"
grep -o 'Pythons tested: [^"\\]*' .cache/tests.json | head -1 || true
exit $status
