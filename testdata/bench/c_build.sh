#!/usr/bin/env bash
# What a build costs with checkpoints in every function: the processor time of a build alone, under cg from
# scratch, and under cg again with nothing changed. cg's own work is in it, that of the sampler too.
# usage: c_build.sh FOLDER COMMAND   FOLDER is a project of C or C++, COMMAND builds it (a command of the shell)
#
#	CG=path   the cg to use; built from this tree otherwise
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cg=${CG:-$work/cg}
[ -n "${CG:-}" ] || (cd "$here" && go build -o "$cg" .)
export XDG_CACHE_HOME=$work/cache
lines=$(find "$1" -name '*.[ch]' -o -name '*.cc' -o -name '*.cpp' -o -name '*.hpp' | xargs cat | wc -l)
mkdir "$work/none"
echo 'int main(void) { return 0; }' >"$work/none/a.c"
"$cg" measure c --project "$work/none" -- cc -c a.c 2>"$work/said" # cg compiles its own library once
TIMEFORMAT='%U %S'
took() { # the processor time of a command in seconds
  { time "$@" >"$work/out" 2>"$work/said"; } 2>"$work/time" || { cat "$work/said" >&2; exit 1; }
  awk 'END { printf "%.2f", $1 + $2 }' "$work/time"
}
cp -a "$1" "$work/plain"
cd "$work/plain"
plain=$(took sh -c "$2")
rm -rf "$work/plain"
cp -a "$1" "$work/project"
under() { took "$cg" measure c -g fine --project "$work/project" -- sh -c "$2"; }
first=$(under "$@")
again=$(under "$@")
awk -v l="$lines" -v p="$plain" -v f="$first" -v a="$again" 'BEGIN {
	printf "%d lines in the folder\nalone          %6.2f s of processor time\nfrom scratch   %6.2f s, %.2f times\nagain          %6.2f s, %.2f times\n", l, p, f, f / p, a, a / p }'
