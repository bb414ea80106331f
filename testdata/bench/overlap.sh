#!/usr/bin/env bash
# Whether the energies of a function in two runs of one program agree: three programs (Python, C, JavaScript) are
# measured 20 times each, in turns, and of each two runs of a program the intervals of each function are held
# against each other. Prints for each program how many pairs overlap, the median half-width of the intervals in percent of
# the energy, the function whose energy differs most, and the functions of which fewer than 95 of 100 pairs overlap.
# Exits with 1 where fewer than 95 of 100 pairs of all programs overlap.
#
#   testdata/bench/overlap.sh
#   RUNS=5 testdata/bench/overlap.sh     # the short form
#   testdata/bench/overlap.sh -s rapl    # flags of cg measure
#
# CG names the cg.
set -euo pipefail
unset $(git rev-parse --local-env-vars) # of a hook that runs this
root=$(cd "$(dirname "$0")/../.." && pwd)
runs=${RUNS:-20}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "${CG:-}" ]; then
  CG=$work/cg
  (cd "$root" && go build -o "$CG" .)
fi
cp -r "$root/testdata/programs/python/warehouse" "$work"
cat >"$work/sieve.c" <<'P'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { N = 400000 };
static unsigned char sieve[N];
static unsigned values[N];
static unsigned primes(void) { unsigned n = 0; memset(sieve, 1, N);
  for (unsigned i = 2; i < N; i++) if (sieve[i]) { n++; for (unsigned k = 2 * i; k < N; k += i) sieve[k] = 0; } return n; }
static unsigned scramble(unsigned x) { x ^= x << 13; x ^= x >> 17; return x ^ x << 5; }
static void fill(unsigned seed) { for (unsigned i = 0; i < N; i++) values[i] = seed = scramble(seed); }
static int order(const void *a, const void *b) { unsigned x = *(const unsigned *)a, y = *(const unsigned *)b; return (x > y) - (x < y); }
static double matrix(int n) { double s = 0; for (int i = 0; i < n; i++) for (int k = 0; k < n; k++) for (int j = 0; j < n; j++) s += (i * k + j) % 7; return s; }
int main(void) { double s = 0; for (unsigned r = 1; r <= 8; r++) { s += primes(); fill(r); qsort(values, N, sizeof *values, order); s += values[N / 2] + matrix(150); } printf("%.0f\n", s); }
P
cat >"$work/words.js" <<'P'
function noise(seed) { return (seed * 1103515245 + 12345) % 2147483648; }
function words(n, seed) { const out = []; for (let i = 0; i < n; i++) { seed = noise(seed); out.push((seed % 9973).toString(36)); } return out; }
function count(list) { const m = new Map(); for (const w of list) m.set(w, (m.get(w) || 0) + 1); return m; }
function sorted(m) { return [...m].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)); }
function text(list) { return JSON.stringify(list).length; }
let sum = 0;
for (let r = 1; r <= 25; r++) sum += text(sorted(count(words(60000, r))));
console.log(sum);
P
cd "$work"
measure() { # NAME RUN PROGRAM...
  local file=$work/$1.$2.json
  shift 2
  "$CG" measure -g fine "${flags[@]}" -o "$file" "$@" >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
}
flags=("$@")
for ((run = 0; run < runs; run++)); do
  measure python "$run" python3 warehouse/main.py 100
  measure c "$run" sieve.c
  measure javascript "$run" node words.js
done
python3 - "$work" "$runs" <<'P'
import itertools, json, statistics, sys
work, runs = sys.argv[1], int(sys.argv[2])
whole = [0, 0]
print("%-12s %9s %7s %9s %13s   %s" % ("program", "functions", "pairs", "overlap", "half interval", "energies that differ most"))
for program in "python", "c", "javascript":
    values = {}
    for n in range(runs):
        for f in json.load(open("%s/%s.%d.json" % (work, program, n)))["functions"]:
            if f["self_energy_j"]:
                values.setdefault((f["name"], f["file"], f["line"]), []).append((f["self_energy_lo_j"], f["self_energy_j"], f["self_energy_hi_j"]))
    pairs = overlap = 0
    most, apart = (0, ""), []
    for name, all in values.items():
        middle = [v for _, v, _ in all]
        if min(middle) >= 1e-3:
            most = max(most, (max(middle) / min(middle), "%s: %.3g to %.3g J" % (name[0], min(middle), max(middle))))
        held = [a[0] <= b[2] and b[0] <= a[2] for a, b in itertools.combinations(all, 2)]
        pairs, overlap = pairs + len(held), overlap + sum(held)
        if sum(held) < 0.95 * len(held):
            apart.append("  %s: %.0f %%, %.3g to %.3g J" % (name[0], 100 * sum(held) / len(held), min(middle), max(middle)))
    wide = statistics.median([50 * (hi - lo) / v for all in values.values() for lo, v, hi in all])
    whole = [x + y for x, y in zip(whole, (pairs, overlap))]
    print("%-12s %9d %7d %7.1f %% %11.0f %%   %s" % (program, len(values), pairs, 100 * overlap / max(1, pairs), wide, most[1]))
    print("\n".join(apart), end="\n" if apart else "")
print("%-12s %9s %7d %7.1f %%" % ("all", "", whole[0], 100 * whole[1] / max(1, whole[0])))
sys.exit(whole[1] < 0.95 * whole[0] or not whole[0])
P
