#!/usr/bin/env bash
# How many instructions the checkpoints of a call in C are: callgrind counts them, so other work on the
# machine changes nothing. Plain, with nearly all calls counted, and with each timed: what fib(24) executes
# more than fib(20), by the calls that it makes more, without what starts and ends.
#
#   testdata/bench/instructions.sh        # CG names a cg to use
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cg=${CG:-$work/cg}
[ -n "${CG:-}" ] || (cd "$root" && go build -o "$cg" .)
export XDG_CACHE_HOME=$work/cache RESULT=$work/result
mkdir "$work/project"
cd "$work/project"
cat > fib.c <<'C'
#include <stdlib.h>
__attribute__((noinline)) static long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(int argc, char **argv) { return argc > 1 && fib(atol(argv[1])) == 0; }
C
cat > count.sh <<'SH'
cc -O2 -fno-optimize-sibling-calls -o fib fib.c
for n in 20 24; do
  valgrind --tool=callgrind --callgrind-out-file=/dev/null ./fib $n 2>&1 | sed -n 's/.*Collected : //p'
done > "$RESULT"
SH
each() { # instructions of a call
  local less more
  { read -r less; read -r more; } < "$RESULT"
  echo $(((more - less) / (150049 - 21891)))
}
sh count.sh
plain=$(each)
printf '%-34s %4d instructions\n' "a call of fib, plain" "$plain"
for budget in 1% none; do
  "$cg" measure c -g fine --overhead "$budget" --project . -- sh count.sh 2> "$work/said" || { cat "$work/said" >&2; exit 1; }
  printf '%-34s %4d more\n' "with --overhead $budget" $(($(each) - plain))
done
