#!/usr/bin/env bash
# Runs tests on machines that look like those of testdata/cpuinfo: a server of
# AMD's, a laptop of Intel's, an Arm board. /proc/cpuinfo is another's, and the power
# PMU and the powercap zones of this machine, which are not the other's, are hidden.
# This script alone sees that; it takes root.
#
#	testdata/machines.sh [ARGUMENTS OF go test]
#
# Without arguments: what reads sensors, names processors or estimates. Chromium
# refuses to start on a processor that it takes for another, so no page is opened.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# = 0 ]; then
  set -- -skip '^TestPage' ./checkpoint ./gate ./measure ./nemb/... ./report ./track
fi
if ! unshare --mount true 2>/dev/null; then
  echo "machines: /proc/cpuinfo cannot be replaced here: it takes root and mount namespaces" >&2
  exit 1
fi
for machine in "$PWD"/testdata/cpuinfo/*; do
  echo "== ${machine##*/}"
  unshare --mount bash -euc '
    mount --bind "$0" /proc/cpuinfo
    for counters in /sys/bus/event_source/devices/power /sys/class/powercap; do
      if [ -d "$counters" ]; then mount -t tmpfs none "$(readlink -f "$counters")"; fi
    done
    exec go test -count=1 "$@"' "$machine" "$@"
done
