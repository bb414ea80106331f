#!/usr/bin/env bash
# What checkpoints cost whole programs that call at full rate: each alone and under cg measure -g fine,
# in turns. Prints medians of wall-clock and processor time, and for cg what the functions used and what was lost.
#
#   testdata/bench/record.sh                       # 5 rounds of each
#   ROUNDS=3 testdata/bench/record.sh go           # some of python, java, go
#   CG="old/cg new/cg" testdata/bench/record.sh
#
# CG names one cg or several; PYTHON is the interpreter. Without javac or go, their programs are left out.
set -euo pipefail
unset $(git rev-parse --local-env-vars) # of a hook that runs this
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "${CG:-}" ]; then
  CG=$work/cg
  (cd "$root" && go build -o "$CG" .)
fi
read -ra cgs <<<"$CG"
for i in "${!cgs[@]}"; do cgs[i]=$(realpath "${cgs[i]}"); done
cd "$work"
export XDG_CACHE_HOME=$work/cache GOCACHE=${GOCACHE:-$(go env GOCACHE 2>/dev/null || true)}

cat >fib.py <<'P'
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

fib(32)
P
mkdir fibs goroutines
cat >fibs/main.go <<'P'
package main

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func main() { println(fib(36)) }
P
cat >goroutines/main.go <<'P'
package main

import "sync"

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func main() {
	var all sync.WaitGroup
	for range 2000 {
		all.Add(1)
		go func() {
			fib(24)
			all.Done()
		}()
	}
	all.Wait()
}
P
cat >Fib.java <<'P'
public class Fib {
    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    public static void main(String[] a) { System.out.println(fib(33)); }
}
P
cat >Threads.java <<'P'
public class Threads {
    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    public static void main(String[] a) throws InterruptedException {
        Thread[] all = new Thread[64];
        for (int i = 0; i < all.length; i++) (all[i] = new Thread(() -> fib(27))).start();
        for (Thread t : all) t.join();
    }
}
P
"${PYTHON:-python3}" - "$work" "${ROUNDS:-5}" "${cgs[*]}" "$@" <<'PROGRAM'
import json, os, shutil, subprocess, sys, time
from statistics import median

work, rounds, cgs, kinds = sys.argv[1], int(sys.argv[2]), sys.argv[3].split(), sys.argv[4:] or ["python", "java", "go"]
rows = []
if "python" in kinds:
    rows.append(("Python fib(32), 7.0 M calls", [sys.executable, "fib.py"], ["--python", sys.executable, "fib.py"]))
if "java" in kinds and shutil.which("javac"):
    subprocess.check_call(["javac", "Fib.java", "Threads.java"])
    rows.append(("Java fib(33), 11.4 M calls", ["java", "Fib"], ["java", "Fib.java"]))
    rows.append(("Java, 64 threads of fib(27), 41 M calls", ["java", "Threads"], ["java", "Threads.java"]))
if "go" in kinds and shutil.which("go"):
    for folder in "fibs", "goroutines":
        open(folder + "/go.mod", "w").write("module %s\n\ngo 1.22\n" % folder)
        subprocess.check_call(["go", "build", "-o", "../" + folder + ".bin", "."], cwd=folder)
    rows.append(("Go fib(36), 48 M calls", ["./fibs.bin"], ["go", "fibs/main.go"]))
    rows.append(("Go, 2,000 goroutines of fib(24), 300 M calls", ["./goroutines.bin"], ["go", "goroutines/main.go"]))


def run(args):
    begin = time.perf_counter()
    child = subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit("%s: %s" % (args, said.decode(errors="replace")))
    return time.perf_counter() - begin, used.ru_utime + used.ru_stime


print("%-42s %10s %10s %10s %8s %8s" % ("median of %d" % rounds, "wall, s", "program, s", "fib, mJ", "lost", "waits"))
for name, plain, measured in rows:
    figures = {}
    for turn in range(rounds + 1):  # the first fills the caches
        wall, cpu = run(plain)
        if turn:
            figures.setdefault("alone", []).append((wall, cpu, 0, 0, 0))
        for cg in cgs:
            run([cg, "measure", "-g", "fine", "-o", "run.json"] + measured)
            r = json.load(open("run.json"))
            fib = sum(f["self_energy_j"] or 0 for f in r["functions"] if f["name"].endswith("fib"))
            if turn:
                figures.setdefault(cg, []).append((r["totals"]["duration_s"], r["process"]["user_s"] + r["process"]["system_s"], 1e3 * fib,
                                                   r["channel"]["lost"], r["channel"]["waits"]))
    print(name)
    for how, all in figures.items():
        wall, cpu, fib, lost, waits = [median(x) for x in zip(*all)]
        spread = "" if how == "alone" else "%10.1f %8d %8d   fib from %.1f to %.1f mJ" % (
            fib, lost, waits, min(x[2] for x in all), max(x[2] for x in all))
        print("  %-40s %10.3f %10.3f %s" % (how if how == "alone" else "cg" if len(cgs) == 1 else how[-32:], wall, cpu, spread))
print("%d processors, load %s" % (os.cpu_count(), " ".join(open("/proc/loadavg").read().split()[:3])))
PROGRAM
