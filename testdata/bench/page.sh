#!/usr/bin/env bash
# How long the page of a report takes to open, and how long an action in it holds up the browser, with 1,000 to
# 1,000,000 call paths, beside speedscope on the same paths. Needs Chromium and npm.
#
#   testdata/bench/page.sh
#   testdata/bench/page.sh 1000000    # one size
#
# first-ms is when the first figures are seen, ready-ms when all call paths can be used, both since the browser
# began to read the file. A block is the longest task of the page's main thread, in which it answers nothing: by the
# clock (load-block-ms, action-block-ms), and by processor time (load-block-cpu-ms, action-block-cpu-ms), which other
# programs of the machine do not lengthen. Both are from the trace of Chromium.
set -euo pipefail
unset $(git rev-parse --local-env-vars) # of a hook that runs this
cd "$(dirname "$0")/../.."
if [ -z "${CG_VIEWERS:-}" ]; then
  CG_VIEWERS=$(mktemp -d)
  trap 'rm -rf "$CG_VIEWERS"' EXIT
  npm install --prefix "$CG_VIEWERS" --silent --no-audit --no-fund --ignore-scripts speedscope@1.25.0
fi
export CG_VIEWERS
go test ./report/format/html -run xxx -bench "Page/paths=${1:-}${1:+\$}" -benchtime 1x -v 2>&1 | grep -v 'unhandled node event'
