#!/usr/bin/env bash
# Real checks by cg gate on this machine: of a program that did not change, and of
# regressions planted in a git history made here. Prints how often each verdict
# was given, and fails when a promise is broken.
#
#   testdata/bench/gate.sh              # 100 checks without a change, 20 of each other kind
#   GATES=10 testdata/bench/gate.sh     # the short form
#
# PAIRS (20) bounds the pairs of each check; CG names a cg to use.
set -euo pipefail
unset $(git rev-parse --local-env-vars) # of a hook that runs this
root=$(cd "$(dirname "$0")/../.." && pwd)
gates=${GATES:-100}
pairs=${PAIRS:-20}
few=$(((gates + 4) / 5))
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cg=${CG:-}
if [ -z "$cg" ]; then
  cg=$work/cg
  (cd "$root" && go build -o "$cg" .)
fi

export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
mkdir "$work/history"
cd "$work/history"
git init -q
commit() { # NAME LOOPS SMALL: programs of so many rounds
  printf '# %s\ni=0\nwhile [ $i -lt %d ]; do i=$((i+1)); done\n' "$1" "$2" >bench.sh
  printf '# %s\ni=0\nwhile [ $i -lt %d ]; do i=$((i+1)); done\n' "$1" "$3" >small.sh
  git add .
  git commit -q -m "$1"
  git tag "$1"
}
commit first 40000 2000
commit other 40000 2000 # other text, the same work
commit twenty 48000 2400
commit five 42000 2100

printf '%-36s %6s | %6s %11s %13s | %6s %8s\n' "change, metric" checks pass regression inconclusive pairs seconds
row() { # TITLE CHECKS MOST LEAST HEAD FLAGS... -- CMD: so many regressions at most, and at least
  local title=$1 n=$2 most=$3 least=$4 head=$5 i status pass=0 bad=0 open=0 sum=0 from=$SECONDS
  shift 5
  for ((i = 0; i < n; i++)); do
    status=0
    "$cg" gate --base first --head "$head" --max-pairs "$pairs" -o "$work/gate.json" "$@" 2>"$work/log" || status=$?
    case $status in
      0) pass=$((pass + 1)) ;;
      1) bad=$((bad + 1)) ;;
      3) open=$((open + 1)) ;;
      *) cat "$work/log" >&2; exit 1 ;;
    esac
    sum=$((sum + $(sed -n 's/^  "pairs": \([0-9]*\),$/\1/p' "$work/gate.json")))
  done
  printf '%-36s %6d | %6d %11d %13d | %6.1f %8d\n' "$title" "$n" "$pass" "$bad" "$open" "$(echo "$sum $n" | awk '{print $1 / $2}')" $((SECONDS - from))
  if [ "$bad" -gt "$most" ] || [ "$bad" -lt "$least" ]; then
    echo "$title: $bad regressions of $n checks, where $least to $most are right" >&2
    failed=1
  fi
}
failed=0
# Of n checks with 5 % false alarms each, more than this are one case in 1,000.
alarms=$(awk -v n="$gates" 'BEGIN { p = 0.05; t = (1 - p) ^ n; s = t; for (k = 0; s < 0.999; k++) { t *= (n - k) / (k + 1) * p / (1 - p); s += t } print k }')
row "none, cpu-energy" "$gates" "$alarms" 0 other --metric cpu-energy -- sh bench.sh
row "+20 %, cpu-energy" "$few" "$few" $((few / 2)) twenty --metric cpu-energy -- sh bench.sh
row "+20 %, cpu-time" "$few" "$few" $((few / 2)) twenty --metric cpu-time -- sh bench.sh
row "none, instructions" "$few" 0 0 other --metric instructions -w 1 -- sh small.sh
row "+5 %, instructions" "$few" "$few" "$few" five --metric instructions -w 1 -- sh small.sh
echo "$(nproc) processors, load $(cut -d' ' -f1-3 /proc/loadavg); at most $pairs pairs; $alarms false alarms of $gates are the bound"
exit $failed
