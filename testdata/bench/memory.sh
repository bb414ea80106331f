#!/usr/bin/env bash
# What checkpoints take of memory, whatever the number of calls: the peak of each program (VmHWM of
# /proc/self/status, which it prints at its end) alone and under cg measure -g fine, and the peak of cg.
#
#   testdata/bench/memory.sh                       # 10^8 calls in Go and in Java
#   CALLS=10000000000 testdata/bench/memory.sh go java
#
# The last rows have 128 threads that each call the same function. CG and PYTHON name a cg and an interpreter
# to use. Without javac or go, their programs are left out.
set -euo pipefail
unset $(git rev-parse --local-env-vars) # of a hook that runs this
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "${CG:-}" ]; then
  CG=$work/cg
  (cd "$root" && go build -o "$CG" .)
fi
CG=$(realpath "$CG")
cd "$work"
export XDG_CACHE_HOME=$work/cache GOCACHE=${GOCACHE:-$(go env GOCACHE 2>/dev/null || true)}

cat >small.py <<'P'
def f(n):
    return n

def peak():
    with open("/proc/self/status") as status:
        return [line for line in status if line.startswith("VmHWM")][0].split()[1]

for i in range(10000):
    f(i)
print("peak", peak())
P
mkdir peaks
cat >peaks/main.go <<'P'
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

//go:noinline
func f(n int) int { return n + 1 }

func loop(n int) (x int) {
	for range n {
		x = f(x)
	}
	return x
}

func main() {
	threads, _ := strconv.Atoi(os.Args[1])
	calls, _ := strconv.Atoi(os.Args[2])
	var all sync.WaitGroup
	for range threads {
		all.Add(1)
		go func() {
			loop(calls / threads)
			all.Done()
		}()
	}
	all.Wait()
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	fmt.Println("peak", strings.Fields(rest)[0])
}
P
cat >Peak.java <<'P'
import java.nio.file.*;

public class Peak {
    static int f(int n) { return n + 1; }

    static int loop(long n) {
        int x = 0;
        for (long i = 0; i < n; i++) x = f(x);
        return x;
    }

    public static void main(String[] a) throws Exception {
        int threads = Integer.parseInt(a[0]);
        long calls = Long.parseLong(a[1]) / threads;
        Thread[] all = new Thread[threads];
        for (int i = 0; i < threads; i++) (all[i] = new Thread(() -> loop(calls))).start();
        for (Thread t : all) t.join();
        for (String line : Files.readAllLines(Path.of("/proc/self/status")))
            if (line.startsWith("VmHWM")) System.out.println("peak " + line.replaceAll("[^0-9]", ""));
    }
}
P
"${PYTHON:-python3}" - "$CG" "${CALLS:-100000000}" "${ROUNDS:-3}" "$@" <<'PROGRAM'
import os, re, shutil, subprocess, sys, time
from statistics import median

cg, calls, rounds, kinds = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:] or ["python", "java", "go"]
rows = []
if "python" in kinds:
    rows.append(("Python, 10,000 calls", [sys.executable, "small.py"], ["--python", sys.executable, "small.py"]))
if "java" in kinds and shutil.which("javac"):
    subprocess.check_call(["javac", "Peak.java"])
    java = ["java", "-Xmx64m", "-XX:+UseSerialGC"]
    os.environ["JDK_JAVA_OPTIONS"] = " ".join(java[1:])
    for threads in "1", "128":
        rows.append(("Java, %s calls, %s threads" % (calls, threads), ["java", "Peak", threads, calls], ["java", "Peak.java", threads, calls]))
if "go" in kinds and shutil.which("go"):
    open("peaks/go.mod", "w").write("module peaks\n\ngo 1.22\n")
    subprocess.check_call(["go", "build", "-o", "../peaks.bin", "."], cwd="peaks")
    for threads in "1", "128":
        rows.append(("Go, %s calls, %s goroutines" % (calls, threads), ["./peaks.bin", threads, calls], ["go", "peaks/main.go", threads, calls]))


def run(args):
    """(peak of the program, peak of the command itself) in MiB."""
    child = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    peak = 0
    while child.poll() is None:
        try:
            with open("/proc/%d/status" % child.pid) as f:
                found = re.search(r"VmHWM:\s*(\d+)", f.read())
            peak = int(found.group(1)) if found else peak
        except OSError:
            pass
        time.sleep(0.01)
    out, said = child.communicate()
    if child.returncode:
        sys.exit("%s: %s" % (args, said.decode(errors="replace")))
    return int(re.search(rb"peak (\d+)", out).group(1)) / 1024, peak / 1024


print("%-40s %10s %10s %10s %10s" % ("median of %d, MiB" % rounds, "alone", "under cg", "more", "cg itself"))
for name, plain, measured in rows:
    alone, under = [], []
    run([cg, "measure", "-g", "fine"] + measured)  # fills the caches
    for _ in range(rounds):
        alone.append(run(plain)[0])
        under.append(run([cg, "measure", "-g", "fine"] + measured))
    a, u, c = median(alone), median(x for x, _ in under), median(y for _, y in under)
    print("%-40s %10.1f %10.1f %10.1f %10.1f" % (name, a, u, u - a, c), flush=True)
PROGRAM
