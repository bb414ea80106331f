#!/usr/bin/env bash
# What lines and blocks cost in Go: a turn of a loop that comes to four or five lines, in nanoseconds of processor time,
# without cg, with -g fine, -g block and -g line; and one that calls a function in each turn. The least of 40 rounds in
# each of three runs.
#
#   testdata/bench/lines_go.sh        # CG names a cg to use
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cg=${CG:-}
if [ -z "$cg" ]; then
  cg=$work/cg
  (cd "$root" && go build -o "$cg" .)
fi
cd "$work"
cat >go.mod <<'E'
module turns
go 1.24
E
cat >main.go <<'E'
package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

func now() int64 {
	var t syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 3, uintptr(unsafe.Pointer(&t)), 0) // CLOCK_THREAD_CPUTIME_ID
	return t.Nano()
}

//go:noinline
func work(x float64, n int) float64 {
	for i := 0; i < n; i++ {
		x = x*0.99 + 1.0
		if i&1 != 0 {
			x = x*0.98 + 2.0
		}
		x = x*0.97 + 3.0
	}
	return x
}

//go:noinline
func next(x float64) float64 { return x*0.99 + 1.0 }

//go:noinline
func calls(x float64, n int) float64 {
	for i := 0; i < n; i++ {
		x = next(x)
	}
	return x
}

func main() {
	runtime.LockOSThread()
	x := 1.0
	for _, f := range []func(float64, int) float64{work, calls} {
		least := int64(1) << 60
		for range 40 {
			begin := now()
			x = f(x, 100_000)
			least = min(least, now()-begin)
		}
		fmt.Fprintf(os.Stderr, "turn %.1f\n", float64(least)/100_000)
	}
	fmt.Println(x)
}
E
go build -o plain .
for way in plain fine block line; do
  for run in 1 2 3; do
    if [ "$way" = plain ]; then
      ./plain
    else
      overhead=()
      [ "$way" != fine ] || overhead=(--overhead none)
      "$cg" measure -g "$way" "${overhead[@]}" -o run.json go .
    fi 2>&1 >/dev/null | awk -v way="$way" -v run="$run" '/^turn/ {print way, ++n, $2}'
  done
done | sort -k1,2 -k3n | awk '!($1 $2 in seen) {seen[$1 $2]; print $1, ($2 == 1 ? "lines" : "calls"), $3}'
