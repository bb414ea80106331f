#!/usr/bin/env bash
# Lines of a Python program as cg measure -g line, Scalene and line_profiler tell them: the part of the time of nine
# lines that each says, and the processor time that each takes, in turns, beside the program alone and -g fine. Scalene
# and line_profiler come from PyPI, into a folder of its own.
# Usage: testdata/bench/lines.sh PYTHON [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -trimpath -o "$dir/cg" .
"$python" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q scalene==2.4.0 line_profiler==5.1.0
python=$dir/venv/bin/python
cd "$dir"
cat >lines.py <<'EOF'
import sys

def words(n):
    t = 0
    for i in range(n):
        a = str(i) * 3
        b = a.replace("1", "one")
        t += len(b.split("e"))
    return t

def numbers(n):
    t = 0
    for i in range(n):
        x = i * i % 97
        if x > 48:
            t += x
        else:
            t -= 1
    return t

for _ in range(int(sys.argv[1])):
    words(100000)
    numbers(200000)
EOF
cat >told.py <<'EOF'
import json, sys
kind, file = sys.argv[1:]
took = {}
if kind == "cg":
    for f in json.load(open(file))["functions"]:
        for p in f.get("places", []):
            if p["kind"] == "line":
                took[p["line"]] = p["cpu_time_s"]
elif kind == "scalene":
    (told,) = json.load(open(file))["files"].values()
    for p in told["lines"]:
        took[p["lineno"]] = p["n_cpu_percent_python"] + p["n_cpu_percent_c"] + p["n_sys_percent"]
else:
    from line_profiler import load_stats
    for lines in load_stats(file).timings.values():
        took.update((line, time) for line, count, time in lines)
lines = 5, 6, 7, 8, 13, 14, 15, 16, 18
all = sum(took.get(n, 0) for n in lines)
print("  %-14s" % kind, *("%d: %4.1f %%" % (n, 100 * took.get(n, 0) / all) for n in lines))
EOF
TIMEFORMAT='%U s user, %S s system, %R s in all'
echo "load: $(cut -d' ' -f1-3 /proc/loadavg)"
"$dir/cg" measure -g line "$python" lines.py 1 >/dev/null 2>&1 # the first run with a new file, and that with -g fine
"$dir/cg" measure -g fine "$python" lines.py 1 >/dev/null 2>&1
for _ in $(seq "${2:-3}"); do
    echo "alone"
    time "$python" lines.py 20
    echo "cg measure -g fine"
    time "$dir/cg" measure -g fine -o fine.json "$python" lines.py 20 >log 2>&1
    echo "cg measure -g line"
    time "$dir/cg" measure -g line -o run.json "$python" lines.py 20 >log 2>&1
    "$python" told.py cg run.json
    echo "scalene run --cpu-only"
    time "$python" -m scalene run --cpu-only -o scalene.json lines.py --- 20 >log 2>&1
    "$python" told.py scalene scalene.json
    echo "kernprof -l"
    time "$python" -m kernprof -l -p lines.py -o profile lines.py 20 >log 2>&1
    "$python" told.py line_profiler profile
done
