package languages

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"cg/instrument"
)

// pairScript prints what one call of an empty function costs, the loop
// included, in nanoseconds: the least of several runs, since the machine is
// shared.
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
    print(min(loop(200000) for _ in range(12)))
main()
`

// BenchmarkPair gives the cost of a call's enter and exit in each Python:
// plain is the uninstrumented call, native and pure add the checkpoints of the
// two runtimes, and cProfile is the reference. All four are measured in turn.
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
					note("native", number(b, measured(b, dir, python, []string{"pair.py", "native"})))
					note("profile", number(b, plainly(b, dir, python, "pair.py", "profile")))
				}
				note("pure", number(b, measured(b, dir, python, []string{"pair.py", "pure"}, pure)))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(least["plain"], "ns/plain-call")
			b.ReportMetric(least["native"]-least["plain"], "ns/native-pair")
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
	plan := Named("python").Plan
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
