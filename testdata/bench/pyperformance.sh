#!/usr/bin/env bash
# Runs five programs of pyperformance (PyPI) alone, and under cg measure -g fine without and
# with a budget, in turns. It prints the least processor time of each, in seconds, and the median of
# the rounds' ratios.
#
#   [CG=cg] [PYTHON=python3] [ROUNDS=5] testdata/bench/pyperformance.sh
#
# The programs are taken from the package pyperformance, which pip downloads into a
# folder that is removed at the end. They run their bench function directly, so that
# each run is one process that does the same work.
set -euo pipefail
cg=$(command -v "${CG:-cg}") python=${PYTHON:-python3} rounds=${ROUNDS:-5}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$python" -m pip download -q --no-deps -d "$dir" pyperformance==1.11.0
"$python" - "$dir" <<'P'
import glob, sys, zipfile
wheel, = glob.glob(sys.argv[1] + "/pyperformance-*.whl")
zipfile.ZipFile(wheel).extractall(sys.argv[1] + "/package")
P
# pyperf is imported by each program, and used under __main__ alone.
mkdir "$dir/programs"
echo 'perf_counter = __import__("time").perf_counter' >"$dir/programs/pyperf.py"
write() { # NAME CALL
  cp "$dir/package/pyperformance/data-files/benchmarks/bm_$1/run_benchmark.py" "$dir/programs/bm_$1.py"
  printf 'import time, bm_%s as b\nstart = time.process_time()\n%s\nprint(time.process_time() - start)\n' \
    "$1" "$2" >"$dir/programs/$1.py"
}
write richards 'r = b.Richards(); r.run(8)'
write deltablue 'b.delta_blue(3000)'
write raytrace 'b.bench_raytrace(1, 80, 80, None)'
write hexiom 'b.main(20, 25)'
write go 'b.random.seed(1); [b.versus_cpu() for _ in range(2)]'
cd "$dir/programs"
for name in richards deltablue raytrace hexiom go; do
  "$cg" measure -g fine --overhead none -o /dev/null "$name.py" >/dev/null 2>&1 # its files are woven
  for _ in $(seq "$rounds"); do
    "$python" "$name.py" >>"$name.plain"
    "$cg" measure -g fine --overhead none -o "$name.json" "$name.py" >>"$name.none" 2>/dev/null
    "$cg" measure -g fine --overhead 10% -o "$name.json" "$name.py" >>"$name.ten" 2>/dev/null
  done
done
"$python" - <<'P'
import statistics
print("%-10s %8s %8s %8s %12s %12s" % ("program", "plain", "none", "10%", "none/plain", "10%/plain"))
for name in "richards", "deltablue", "raytrace", "hexiom", "go":
    all = {k: [float(x) for x in open(name + "." + k)] for k in ("plain", "none", "ten")}
    ratios = {k: statistics.median(a / b for a, b in zip(all[k], all["plain"])) for k in ("none", "ten")}
    print("%-10s %8.3f %8.3f %8.3f %12.2f %12.2f" % (name, *(min(all[k]) for k in all), ratios["none"], ratios["ten"]))
P
