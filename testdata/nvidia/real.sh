#!/bin/sh
# Checks cg on a machine with an NVIDIA GPU: real.sh FOLDER [PYTHON]. It writes FOLDER/result.tsv, a line for each check
# (name, what is to be, what is, pass or fail or not run), and keeps each report and output in FOLDER. Its status is 1
# where a check failed, 3 where there is no GPU. It needs Go, gcc, CUPTI (docs/gpu.md) and the rights to sample counters;
# a PYTHON with torch for the training step. The GPU should have nothing else to do. It takes some four minutes.
set -eu
[ $# -ge 1 ] || { echo "usage: real.sh FOLDER [PYTHON]" >&2; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd) python=${2:-python3}
cd "$(dirname "$0")/../.."
if ! nvidia-smi -L >"$folder/gpus" 2>/dev/null || ! grep -q '^GPU' "$folder/gpus"; then
	echo "no GPU here: nvidia-smi finds none" >&2
	exit 3
fi
here=$PWD/testdata/nvidia
go build -trimpath -o "$folder/cg" .
cd "$folder"
: >result.tsv
failed=0
active=sm__cycles_active.avg.pct_of_peak_sustained_elapsed

# check NAME WANT GOT STATUS notes what was found.
check() {
	word=pass
	case $4 in
	0) ;;
	3) word='not run' ;;
	*) word=fail failed=1 ;;
	esac
	printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$word" | tee -a result.tsv
}

# judge NAME WANT PROGRAM ARGS... notes what a program in Python prints, and its status.
judge() {
	name=$1 want=$2 program=$3
	shift 3
	status=0
	got=$("$python" -c "$program" "$@" 2>"$name.err") || status=$?
	check "$name" "$want" "${got:-$(tail -n 1 "$name.err")}" "$status"
}

nvidia-smi -q >nvidia-smi.txt
./cg doctor --gpu >doctor.txt 2>&1 || true

# The habits of the counter, by a load of known phases, and that a run has them.
export XDG_CACHE_HOME="$folder/cache"
./cg doctor --gpu --json >doctor.json 2>doctor.err || true
judge square 'how the counter of energy follows the load' '
import json
found = [f for f in json.load(open("doctor.json"))["findings"] if f["check"] == "habits"]
print("; ".join(f["text"] for f in found) or "nothing")
raise SystemExit(not any(f["level"] == "ok" and "counter of energy" in f["text"] for f in found))'
./cg measure -s nvml -o habits.json "$here/load.py" half 2 >habits.txt 2>&1 || true
judge habits 'measured' '
import json
counter = json.load(open("habits.json"))["gpus"]["devices"][0].get("counter", {})
print(json.dumps(counter))
raise SystemExit(counter.get("origin") != "measured")'
./cg info >info.txt 2>&1 || true

# Half of the processors are busy.
./cg gpu sample --metrics "$active" --interval 100us -o half.csv -- "$python" "$here/load.py" half 3 >half.txt 2>&1 || true
judge half '50 % +- 2' '
import csv
values = sorted(float(r["'"$active"'"]) for r in csv.DictReader(open("half.csv")) if r["'"$active"'"])
values = [v for v in values if v > 5]
middle = values[len(values) // 2]
print(middle)
raise SystemExit(abs(middle - 50) > 2)'

# The same by a program for NVIDIA's own module, with the import changed; and with that module, where it is there.
./cg sdk python sdk >sdk.txt 2>&1
for module in codegreen.pm_sampling cupti.pm_sampling; do
	if [ $module = cupti.pm_sampling ] && ! "$python" -c 'import cupti.pm_sampling' 2>/dev/null; then
		check $module '50 % +- 2' 'the package cupti-python is not there' 3
		continue
	fi
	CODEGREEN_CG="$folder/cg" PYTHONPATH="$folder/sdk" "$python" "$here/pm.py" $module "$active" \
		"$python" "$here/load.py" half 4 >$module.txt 2>&1 || true
	judge $module '50 % +- 2' '
import sys
line = open(sys.argv[1] + ".txt").read().split("\n")[-2]
print(line)
raise SystemExit(abs(float(line.split()[1]) - 50) > 2)' $module
done

# Three kernels of different power: what cg tells of each function, and the counter over its phase.
for level in kernels launches; do
	./cg measure -g fine --gpu-$level -o phases-$level.json "$here/load.py" phases 10 >phases-$level.txt 2>phases-$level.err || true
	judge phases-$level 'within 5 % of the counter' '
import json, sys
run = json.load(open(f"phases-{sys.argv[1]}.json"))
of = {k["name"]: k for k in run["gpus"]["kernels"]}
idle = run["gpus"]["devices"][0]["idle_j"] / run["tasks"][0]["duration_s"]
worst = 0
for line in open(f"phases-{sys.argv[1]}.txt"):
    name, joules, seconds = line.split()[0], *map(float, line.split()[1:])
    worst = max(worst, abs(of[name]["energy_j"] / (joules - idle * seconds) - 1))
print(run["gpus"]["gpu_method"], f"{100 * worst:.1f} %")
raise SystemExit(worst > 0.05)' $level
done

# A million launches, at 100,000 a second or more: none is without a record, and what records cost.
"$python" "$here/load.py" many 1000000 >many-alone.txt 2>&1 || true
for level in kernels launches; do
	./cg measure --gpu-$level -o many-$level.json "$here/load.py" many 1000000 >many-$level.txt 2>many-$level.err || true
	judge many-$level '1000000 runs' '
import json, sys
run = json.load(open(f"many-{sys.argv[1]}.json"))
runs = sum(k["runs"] for k in run["gpus"]["kernels"])
alone, under = (float(open(f"many-{n}.txt").read().split()[-1]) for n in ("alone", sys.argv[1]))
print(runs, f"{1e6 / under:.0f} launches a second, {100 * (under / alone - 1):.1f} % slower than alone")
raise SystemExit(runs != 1000000 or 3 * (alone > 10))' $level
done

# Sampling each 10 us takes the program 3 % at most.
./cg gpu sample --metrics "$active" --interval 10us -o fast.cgpm -- "$python" "$here/load.py" many 1000000 >many-sampled.txt 2>fast.err || true
judge overhead '3 % at most' '
alone, under = (float(open(f"many-{n}.txt").read().split()[-1]) for n in ("alone", "sampled"))
print(f"{100 * (under / alone - 1):.1f} %")
raise SystemExit(under > 1.03 * alone)'

# A training step of PyTorch.
status=0
"$python" "$here/step.py" 1 >step.txt 2>&1 || status=$?
if [ $status = 3 ]; then
	check step 'load, forward, backward, optimizer' 'no PyTorch with CUDA' 3
else
	./cg measure --gpu-kernels -o step.json "$here/step.py" 15 >step.txt 2>step.err || true
	judge step 'load, forward, backward, optimizer' '
import json
gpus = json.load(open("step.json"))["gpus"]
ranges = {g["name"]: g["inclusive"]["energy_j"] for g in gpus["ranges"] if "/" not in g["name"]}
print(", ".join(f"{n} {ranges[n]:.0f} J" for n in ("load", "forward", "backward", "optimizer")))
raise SystemExit(not ranges["backward"] > ranges["forward"] > 0)'
fi
exit $failed
