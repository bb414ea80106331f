package python

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"cg/instrument"
	"cg/languages"
)

// pairScript prints what one call of an empty function costs, the loop
// included, in nanoseconds: the least of many short runs, since the machine is
// shared. Each has chunk changes in it.
const pairScript = `
import sys, time
def f(): pass
def loop(n):
    t = time.perf_counter()
    for _ in range(n): f()
    return (time.perf_counter() - t) / n * 1e9
def main():
    if sys.argv[1] == "profile":
        import cProfile
        p = cProfile.Profile()
        p.enable()
    print(min(loop(9000) for _ in range(150)))
main()
`

// BenchmarkPair gives the cost of a call's enter and exit in each Python:
// plain is the uninstrumented call, native and pure add the checkpoints of the
// two runtimes, words those that write words, too, and cProfile is the reference.
// All are measured in turn.
func BenchmarkPair(b *testing.B) {
	dir := write(b, map[string]string{"pair.py": pairScript})
	number := func(b *testing.B, r ran) float64 {
		v, err := strconv.ParseFloat(strings.TrimSpace(r.Stdout), 64)
		if err != nil {
			b.Fatalf("%v\n%s", err, r.Stderr)
		}
		return v
	}
	for _, python := range pythons(b) {
		b.Run(version(python), func(b *testing.B) {
			least := map[string]float64{}
			note := func(name string, v float64) {
				if old, ok := least[name]; !ok || v < old {
					least[name] = v
				}
			}
			for range b.N {
				for range 3 {
					note("plain", number(b, plainly(b, dir, python, "pair.py", "plain")))
					note("native", number(b, measured(b, dir, python, []string{"pair.py", "native"}, adding)))
					note("words", number(b, measured(b, dir, python, []string{"pair.py", "words"})))
					note("profile", number(b, plainly(b, dir, python, "pair.py", "profile")))
					note("pure", number(b, measured(b, dir, python, []string{"pair.py", "pure"}, pure)))
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(least["plain"], "ns/plain-call")
			b.ReportMetric(least["native"]-least["plain"], "ns/native-pair")
			b.ReportMetric(least["words"]-least["plain"], "ns/words-pair")
			b.ReportMetric(least["pure"]-least["plain"], "ns/pure-pair")
			b.ReportMetric(least["profile"]-least["plain"], "ns/cProfile-pair")
		})
	}
}

// BenchmarkPlan plans the largest modules of the default Python's library, on
// one core. The reference is the same text through the interpreter's own ast,
// which planning must not be slower than.
func BenchmarkPlan(b *testing.B) {
	all := pythons(b)
	r := plainly(b, b.TempDir(), all[len(all)-1], "-c", "import os; print(os.path.dirname(os.__file__))")
	library := strings.TrimSpace(r.Stdout)
	var sources [][]byte
	size := 0
	for _, name := range []string{"_pydecimal.py", "typing.py", "argparse.py", "tarfile.py", "inspect.py", "subprocess.py", "doctest.py"} {
		s, err := os.ReadFile(filepath.Join(library, name))
		if err != nil {
			b.Fatal(err)
		}
		sources = append(sources, s)
		size += len(s)
	}
	plan := languages.Named("python").Plan
	b.Run("plan", func(b *testing.B) {
		b.SetBytes(int64(size))
		for range b.N {
			for _, s := range sources {
				if _, err := plan(s, instrument.Options{Granularity: instrument.Fine}); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("reference-ast", func(b *testing.B) {
		script := "import ast, os, sys, time\ns=[open(os.path.join(" + strconv.Quote(library) + ",n),'rb').read() for n in ['_pydecimal.py','typing.py','argparse.py','tarfile.py','inspect.py','subprocess.py','doctest.py']]\n" +
			"t=time.perf_counter()\nfor x in s: ast.parse(x)\nprint(sum(map(len,s))/(time.perf_counter()-t)/1e6)"
		for range b.N {
			v, err := strconv.ParseFloat(strings.TrimSpace(plainly(b, b.TempDir(), all[len(all)-1], "-c", script).Stdout), 64)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(v, "MB/s")
		}
		b.ReportMetric(0, "ns/op")
	})
}

const fibScript = `
import sys, time
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def run():
    t = time.perf_counter()
    fib(int(sys.argv[2]))
    return time.perf_counter() - t
def main():
    if sys.argv[1] == "profile":
        import cProfile
        cProfile.Profile().enable()
    print(min(run() for _ in range(int(sys.argv[3]))) * 1e3)
main()
`

// BenchmarkFib gives how many times longer fib(27) takes with every call
// timed, in each Python. The reference is cProfile on the same function.
func BenchmarkFib(b *testing.B) {
	dir := write(b, map[string]string{"fib.py": fibScript})
	for _, python := range pythons(b) {
		b.Run(version(python), func(b *testing.B) {
			least := map[string]float64{}
			for range b.N {
				for range 3 {
					args := func(mode string) []string { return []string{"fib.py", mode, "27", "3"} }
					least["plain"] = smaller(b, least["plain"], plainly(b, dir, python, args("plain")...))
					least["native"] = smaller(b, least["native"], measured(b, dir, python, args("native"), adding))
					least["profile"] = smaller(b, least["profile"], plainly(b, dir, python, args("profile")...))
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(least["plain"], "ms/plain")
			b.ReportMetric(least["native"]/least["plain"], "x/native")
			b.ReportMetric(least["profile"]/least["plain"], "x/cProfile")
		})
	}
}

// smaller is the number that a program printed, or least if that is smaller
// and there is one.
func smaller(b *testing.B, least float64, r ran) float64 {
	b.Helper()
	v, err := strconv.ParseFloat(strings.TrimSpace(r.Stdout), 64)
	if err != nil {
		b.Fatalf("%v\n%s", err, r.Stderr)
	}
	if least == 0 || v < least {
		return v
	}
	return least
}

// BenchmarkImport gives how many times longer the import of 40 modules of 250
// lines each takes when their woven code is in the cache. The reference is the
// plain import from the interpreter's own cache.
func BenchmarkImport(b *testing.B) {
	files := map[string]string{"start.py": `
import time
t = time.perf_counter()
import tree
print((time.perf_counter() - t) * 1e3)
`}
	var names strings.Builder
	for m := range 40 {
		var s strings.Builder
		for c := range 5 {
			fmt.Fprintf(&s, "class C%d:\n    \"\"\"Holds values.\"\"\"\n", c)
			for f := range 8 {
				fmt.Fprintf(&s, "    def method%d(self, a, b=%d):\n        total = a\n        for i in range(b):\n            total += i * a\n        return {'total': total, 'name': 'm%d'}\n\n", f, f, f)
			}
		}
		fmt.Fprintf(&names, "from . import m%d\n", m)
		files[fmt.Sprintf("tree/m%d.py", m)] = s.String()
	}
	files["tree/__init__.py"] = names.String()
	dir := write(b, files)
	time.Sleep(2100 * time.Millisecond) // until a change of the files would be seen
	for _, python := range pythons(b) {
		b.Run(version(python), func(b *testing.B) {
			if out, err := exec.Command(python, "-m", "compileall", "-q", dir).CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
			measured(b, dir, python, []string{"start.py"}, adding) // fills the cache
			var plain, woven float64
			for range b.N {
				for range 20 {
					plain = smaller(b, plain, plainly(b, dir, python, "start.py"))
					woven = smaller(b, woven, measured(b, dir, python, []string{"start.py"}, adding))
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(plain, "ms/plain")
			b.ReportMetric(woven, "ms/woven")
			b.ReportMetric(woven/plain, "x/woven")
		})
	}
}
