#!/bin/sh
# What a line costs with the weave of "cg measure -g line", and with sys.monitoring (PEP 669): LINE events of one function,
# whose callback is a builtin function that does nothing, or one of Python that does nothing. What a real callback would do,
# to read a clock and to add up, comes on top of it. Usage: testdata/bench/monitoring.sh PYTHON... (3.12 and later).
# Each figure is the least of seven runs of a loop of four lines, in nanoseconds of processor time a line, less that of the
# plain loop.
set -eu
dir=$(mktemp -d)
trap 'rm -r "$dir"' EXIT
cat >"$dir/loop.py" <<'EOF'
import operator, sys, time

def work(n):
    a = 0
    for i in range(n):
        a += i
        a ^= 3
        a &= 65535
    return a

def ignore(code, line):
    return None

way = sys.argv[1]
if way != "plain":
    m = sys.monitoring
    m.use_tool_id(m.PROFILER_ID, "bench")
    m.register_callback(m.PROFILER_ID, m.events.LINE, operator.is_ if way == "builtin" else ignore)
    m.set_local_events(m.PROFILER_ID, work.__code__, m.events.LINE)
n, best = 200000, None
for _ in range(7):
    begin = time.process_time_ns()
    work(n)
    took = (time.process_time_ns() - begin) / (4 * n)
    best = took if best is None else min(best, took)
print(best)
EOF
printf '%-12s %10s %10s %10s %10s\n' python plain 'cg' 'builtin' 'python'
for python in "$@"; do
	plain=$("$python" "$dir/loop.py" plain)
	builtin=$("$python" "$dir/loop.py" builtin)
	function=$("$python" "$dir/loop.py" python)
	woven=$(cg measure -g line --python "$python" "$dir/loop.py" plain 2>/dev/null | head -n 1)
	name=$("$python" -c 'import platform; print(platform.python_version())')
	echo "$name $plain $woven $builtin $function" |
		awk '{printf "%-12s %10.1f %10.1f %10.1f %10.1f\n", $1, $2, $3 - $2, $4 - $2, $5 - $2}'
done
