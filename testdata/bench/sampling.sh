#!/usr/bin/env bash
# What cg measure --sample and another sampler say of a program of known shares (a 60 %, b 30 %, c 10 % of
# its processor time), and what they take, in turns. The other one is py-spy, which comes from PyPI into a folder of
# its own, and with Python 3.15 and later that of its library, profiling.sampling.
# Usage: testdata/bench/sampling.sh PYTHON [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/cg" .
if "$python" -c 'import profiling.sampling' 2>/dev/null; then
    name=Tachyon
    other() { "$python" -m profiling.sampling run --mode cpu -a -r 1khz --collapsed -o "$dir/stacks" attach/testdata/shares.py 3; }
else
    name=py-spy
    "$python" -m venv "$dir/venv"
    "$dir/venv/bin/pip" install -q py-spy==0.4.3
    other() { "$dir/venv/bin/py-spy" record -r 1000 -f raw -o "$dir/stacks" -- "$python" attach/testdata/shares.py 3; }
fi
cat >"$dir/shares.py" <<'END'
import collections, json, sys
sums, kind = collections.Counter(), sys.argv[1]
if kind == "cg":
    for f in json.load(open(sys.argv[2]))["functions"]:
        sums[f["name"].removeprefix("__main__.")] += f["inclusive_energy_j"]
else:
    for line in open(sys.argv[2]):
        stack, n = line.rsplit(" ", 1)
        for f in "abc":
            if f + " (" in stack or ":" + f + ":" in stack:
                sums[f] += int(n)
all = sum(sums[f] for f in "abc")
print(kind, *(f"{f} {100 * sums[f] / all:.1f} %" for f in "abc"))
END
uptime
TIMEFORMAT='  %R s, %U s user, %S s system'
for _ in $(seq "${2:-3}"); do
    time other >"$dir/log" 2>&1
    "$python" "$dir/shares.py" "$name" "$dir/stacks"
    time "$dir/cg" measure --sample --json -o "$dir/run.json" "$python" attach/testdata/shares.py 3 >"$dir/log" 2>&1
    "$python" "$dir/shares.py" cg "$dir/run.json"
done
