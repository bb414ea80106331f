#!/usr/bin/env bash
# What cg measure --sample and py-spy say of a program of known shares (a 60 %, b 30 %, c 10 % of
# its processor time), and what they take, in turns. py-spy comes from PyPI, into a folder of its own.
# Usage: testdata/bench/sampling.sh PYTHON [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/cg" .
"$python" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q py-spy
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
            if f + " (" in stack:
                sums[f] += int(n)
all = sum(sums[f] for f in "abc")
print(kind, *(f"{f} {100 * sums[f] / all:.1f} %" for f in "abc"))
END
TIMEFORMAT='  %R s, %U s user, %S s system'
for _ in $(seq "${2:-3}"); do
    time "$dir/venv/bin/py-spy" record -r 1000 -f raw -o "$dir/spy" -- "$python" attach/testdata/shares.py 3 >"$dir/log" 2>&1
    "$python" "$dir/shares.py" py-spy "$dir/spy"
    time "$dir/cg" measure --sample --json -o "$dir/run.json" "$python" attach/testdata/shares.py 3 >"$dir/log" 2>&1
    "$python" "$dir/shares.py" cg "$dir/run.json"
done
