package c

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"cg/checkpoint"
	"cg/instrument"
	"cg/languages"
	"cg/runtimes"
)

// pairProgram calls a function that does next to nothing, and says how many nanoseconds of
// processor time a call of it takes, the least of some rounds.
const pairProgram = `#include <stdio.h>
#include <time.h>
#ifdef HOOKS
__attribute__((noinline, no_instrument_function)) void __cyg_profile_func_enter(void *f, void *c) { __asm__ volatile("" : : "r"(f), "r"(c)); }
__attribute__((noinline, no_instrument_function)) void __cyg_profile_func_exit(void *f, void *c) { __asm__ volatile("" : : "r"(f), "r"(c)); }
#endif
__attribute__((noinline)) static int leaf(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
#ifdef CLOCK
static inline unsigned long long clock_reading(void)
{
#if defined(__x86_64__)
	unsigned lo, hi;
	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (unsigned long long)hi << 32 | lo;
#else
	unsigned long long v;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
#endif
}
static volatile unsigned long long sink;
#define CALL(n) (sink = clock_reading(), n = leaf(n), sink = clock_reading())
#else
#define CALL(n) n = leaf(n)
#endif
int main(int argc, char **argv)
{
	enum { CALLS = 50000 }; /* short rounds: some have the processor for themselves */
	int rounds = argc > 1 ? 8 : 280; /* few for what keeps each call */
	double least = 1e9;
	int n = 0;
	for (int r = 0; r < rounds; r++) {
		struct timespec a, b;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
		for (int i = 0; i < CALLS; i++) CALL(n);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
		double took = ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / CALLS;
		if (took < least) least = took;
	}
	printf("%.2f\n", least);
	return n == 1 || !argv;
}
`

// BenchmarkPair measures what the enter and the exit of a call cost: with each event timed, with a
// budget, and in a program that runs without cg; the least of all rounds, beside two readings of the clock, the
// compiler's own hooks with empty bodies, gprof's, and uftrace's where it is installed.
func BenchmarkPair(b *testing.B) {
	needCompiler(b)
	dir := b.TempDir()
	b.Chdir(dir)
	if err := os.WriteFile("pair.c", []byte(pairProgram), 0o600); err != nil {
		b.Fatal(err)
	}
	made := func(name string, flags ...string) string {
		out := filepath.Join(dir, name)
		if said, err := exec.Command("cc", append(flags, "-O2", "pair.c", "-o", out)...).CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, said)
		}
		return out
	}
	cache := runtimes.Cache{Dir: b.TempDir()}
	p := prepareTest(b, plainC, cache, languages.Target{Args: []string{"pair.c"}, Flags: map[string]string{"build-flags": "-O2"}})
	if err := p.compile(context.Background(), choices{Inline: true}); err != nil {
		b.Fatal(err)
	}
	object, err := runtimes.Object(context.Background(), p.compilers[p.linker].words, cache, dir)
	if err != nil {
		b.Fatal(err)
	}
	program, _, err := p.link(context.Background(), object)
	if err != nil {
		b.Fatal(err)
	}
	nanosOf := func(cmd *exec.Cmd) float64 {
		out, err := cmd.Output()
		if err != nil {
			b.Fatal(err)
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	nanos := func(program string, env ...string) float64 {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), env...)
		return nanosOf(cmd)
	}
	under := func(budget float64) float64 {
		channel, err := checkpoint.New(checkpoint.SystemClock(), 0)
		if err != nil {
			b.Fatal(err)
		}
		defer channel.Close()
		if budget > 0 {
			channel.SetBudget(budget)
		}
		channel.SetLong(1 << 40) // as cg does: no call is long
		channel.Stamp()
		return nanos(program, "CG_CHANNEL="+channel.Path())
	}
	plain, clock := made("plain"), made("clock", "-DCLOCK")
	hooks, gprof := made("hooks", "-DHOOKS", "-finstrument-functions"), made("gprof", "-pg")
	least := map[string]float64{}
	for b.Loop() {
		round := map[string]float64{"plain": nanos(plain), "timed": under(0), "budget": under(0.1),
			"alone": nanos(program), "two-readings": nanos(clock), "hooks": nanos(hooks), "gprof": nanos(gprof)}
		if uftrace, err := exec.LookPath("uftrace"); err == nil { // which records each call of what -pg compiles
			round["uftrace"] = nanosOf(exec.Command(uftrace, "record", "-d", filepath.Join(dir, "uftrace.data"), gprof, "few"))
		}
		for name, took := range round {
			if before, is := least[name]; !is || took < before {
				least[name] = took
			}
		}
	}
	for name, took := range least {
		if name != "plain" {
			took -= least["plain"]
		}
		b.ReportMetric(took, "ns-"+name)
	}
}

// placesProgram prints the least of what a turn of a loop takes in 20 rounds, in nanoseconds of the thread's
// processor time. A turn comes to four lines, and in every second to a block.
const placesProgram = `#include <stdio.h>
#include <time.h>
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}
static __attribute__((noinline)) double work(double x, int n)
{
	for (int i = 0; i < n; i++) {
		x = x * 0.99 + 1.0;
		if (i & 1)
			x = x * 0.98 + 2.0;
		x = x * 0.97 + 3.0;
	}
	return x;
}
int main(int argc, char **argv)
{
	double least = 1e9, x = argc;
	for (int round = 0; round < 20; round++) {
		double begin = now();
		x = work(x, 100000);
		double took = (now() - begin) / 100000;
		if (took < least)
			least = took;
	}
	printf("%.2f\n", least);
	return x < 0 && argv;
}
`

// BenchmarkPlaces measures what places cost: a turn of a loop (placesProgram) as it is, with checkpoints of functions
// alone, and with those of blocks and of lines.
func BenchmarkPlaces(b *testing.B) {
	needCompiler(b)
	dir := b.TempDir()
	b.Chdir(dir)
	if err := os.WriteFile("places.c", []byte(placesProgram), 0o600); err != nil {
		b.Fatal(err)
	}
	cache, least := runtimes.Cache{Dir: b.TempDir()}, map[string]float64{}
	note := func(name string, cmd *exec.Cmd) {
		out, err := cmd.Output()
		if err != nil {
			b.Fatal(err)
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		if before, is := least[name]; err == nil && (!is || n < before) {
			least[name] = n
		}
	}
	if said, err := exec.Command("cc", "-O2", "places.c", "-o", "plain").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, said)
	}
	for b.Loop() {
		note("plain", exec.Command("./plain"))
		for _, g := range []instrument.Granularity{instrument.Fine, instrument.Blocks, instrument.Lines} {
			p := prepareTest(b, plainC, cache, languages.Target{Args: []string{"places.c"},
				Flags: map[string]string{"build-flags": "-O2"}})
			p.setup.Options.Granularity = g
			if err := p.compile(context.Background(), choices{}); err != nil {
				b.Fatal(err)
			}
			object, err := runtimes.Object(context.Background(), p.compilers[p.linker].words, cache, dir)
			if err != nil {
				b.Fatal(err)
			}
			program, _, err := p.link(context.Background(), object)
			if err != nil {
				b.Fatal(err)
			}
			channel, err := checkpoint.New(checkpoint.SystemClock(), 0)
			if err != nil {
				b.Fatal(err)
			}
			channel.SetLong(1 << 40)
			channel.Stamp()
			cmd := exec.Command(program)
			cmd.Env = append(os.Environ(), "CG_CHANNEL="+channel.Path())
			note(string(g), cmd)
			channel.Close()
		}
	}
	for name, n := range least {
		b.ReportMetric(n, "ns-"+name)
	}
}
