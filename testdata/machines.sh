#!/usr/bin/env bash
# Runs tests on machines that look like those of testdata/cpuinfo: a server of
# AMD's, a laptop of Intel's, an Arm board. /proc/cpuinfo is another's, and the power
# PMU and the powercap zones of this machine, which are not the other's, are hidden.
# This script alone sees that; it takes root. Each package is compiled once, and three
# run at a time, because they wait a lot.
#
#	testdata/machines.sh [-short] [ARGUMENTS OF go test]
#
# Without packages: what reads sensors, names processors or estimates, and scripts of
# cg; with -short what itself asks this machine what its processor is, and scripts on the first of the machines. Chromium refuses to start
# on a processor that it takes for another, so no page is opened. nemb/attribute/...
# reads no file, so it is the same everywhere.
# MACHINES names some of them: MACHINES="arm-board amd-server".
set -euo pipefail
if [ -n "${CG_TEST_MACHINES:-}" ]; then # started by go test, in the package's folder
  status=0
  for machine in $CG_TEST_MACHINES; do
    echo "== ${machine##*/}"
    env -u CG_TEST_MACHINES unshare --mount bash -euc '
      mount --bind "$0" /proc/cpuinfo
      for counters in /sys/bus/event_source/devices/power /sys/class/powercap; do
        if [ -d "$counters" ]; then mount -t tmpfs none "$(readlink -f "$counters")"; fi
      done
      exec "$@"' "$machine" "$@" || status=$?
  done
  exit $status
fi
cd "$(dirname "$0")/.."
if ! unshare --mount true 2>/dev/null; then
  echo "machines: /proc/cpuinfo cannot be replaced here: it takes root and mount namespaces" >&2
  exit 1
fi
folder=$PWD/testdata
machines=()
for machine in ${MACHINES:-$(ls "$folder/cpuinfo")}; do
  machines+=("$folder/cpuinfo/$machine")
  [ -f "${machines[-1]}" ] || { echo "machines: ${machines[-1]} is not there: see testdata/cpuinfo for the names" >&2; exit 1; }
done
each() { CG_TEST_MACHINES="${machines[*]}" go test -p 3 -trimpath -vet=off -ldflags=-w -timeout 30m -count=1 -exec "$folder/machines.sh" "$@"; }
case "$*" in
'' | -short)
  packages='./nemb ./nemb/cores ./nemb/processor ./nemb/sensor/estimate ./nemb/sensor/hwmon ./nemb/sensor/perf'
  scripts='calibrate|doctor|info|measure'
  if [ $# = 0 ]; then
    packages="./checkpoint ./gate ./measure ./report ./track $(go list ./nemb/... | grep -v '/nemb/attribute')"
    scripts+='|init-sensors|run|benchmark|gate|monitor|noise|report|sampler|samples|track'
  else
    MACHINES=arm-board "$folder/machines.sh" -short ./checkpoint # whose clock is another
  fi
  # shellcheck disable=SC2086
  each "$@" -skip '^TestPage' $packages
  [ $# = 0 ] || machines=("${machines[0]}") # scripts on one: packages ask each
  each "$@" ./e2e -run "TestScripts/^($scripts)$"
  ;;
*) each "$@" ;;
esac
