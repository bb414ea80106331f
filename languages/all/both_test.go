package all

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"
	"unsafe"

	"cg/checkpoint"
	"cg/instrument"
	"cg/languages"
	"cg/languages/languagetest"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute"
	"cg/runtimes"
)

// A Python and a Java program whose runtime is built to tell each event and to
// add it up, too, at the same tick: what the words are worth and what the sums
// are worth is the same within 0.1 % of the total, for every function.
func TestBothWaysAgree(t *testing.T) {
	files := fstest.MapFS{
		"both.py": {Mode: 0o644, Data: []byte(`
import threading
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def values(n):
    for i in range(n):
        yield square(i)
def square(i): return i * i
def fails(n):
    if n == 0: raise ValueError
    return fails(n - 1) + 1
class Work:
    def __init__(self, n): self.n = n
    def run(self):
        total = 0
        for _ in range(4):
            total += fib(15) + sum(values(1500)) + sum([len(str(x)) for x in range(3000)])
            for k in range(40):
                try: fails(k % 7)
                except ValueError: total += 1
        return total
def main():
    threads = [threading.Thread(target=Work(i).run) for i in range(2)]
    for t in threads: t.start()
    Work(9).run()
    for t in threads: t.join()
main()
`)},
		"Both.java": {Mode: 0o644, Data: []byte(`
import java.util.*;
public class Both {
    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    static long sort(int n) {
        Random r = new Random(n);
        List<Integer> all = new ArrayList<>();
        for (int i = 0; i < n; i++) all.add(key(r));
        all.sort((a, b) -> { return compare(a, b); });
        return all.get(0);
    }
    static int key(Random r) { return r.nextInt(); }
    static int compare(int a, int b) { return a < b ? -1 : a > b ? 1 : 0; }
    static int fails(int n) {
        if (n == 0) throw new IllegalStateException();
        return fails(n - 1) + 1;
    }
    static void work() {
        long total = 0;
        for (int k = 0; k < 6; k++) {
            total += fib(17) + sort(3000);
            for (int i = 0; i < 60; i++)
                try { fails(i % 9); } catch (IllegalStateException e) { total++; }
        }
    }
    public static void main(String[] args) throws Exception {
        Thread t = new Thread(() -> { work(); });
        t.start();
        work();
        t.join();
    }
}
`)}}
	for _, c := range []struct {
		language, source, target string
		needs                    func()
	}{
		{"python", "python.c", "both.py", func() {}},
		{"java", "java.c", "Both.java", func() { needCompiler(t) }},
	} {
		t.Run(c.language, func(t *testing.T) {
			c.needs()
			dir := t.TempDir()
			if err := os.CopyFS(dir, files); err != nil {
				t.Fatal(err)
			}
			words, added := bothWays(t, dir, c.language, c.source, c.target)
			if !words.Total.Balanced() || !added.Total.Balanced() || words.Total.Total != added.Total.Total {
				t.Errorf("%+v\n%+v", words.Total, added.Total)
			}
			if len(words.Costs) < 6 || len(words.Costs) != len(added.Costs) || len(words.Paths) != len(added.Paths) {
				t.Fatalf("%d functions on %d paths, and %d on %d", len(words.Costs), len(words.Paths),
					len(added.Costs), len(added.Paths))
			}
			told := map[checkpoint.SiteID]attribute.Cost{}
			for _, k := range words.Costs {
				told[k.Site] = k
			}
			for _, got := range added.Costs {
				want := told[got.Site]
				if got.Calls != want.Calls || !nearly(got.Self.Energy, want.Self.Energy, words.Total.Total) ||
					!nearly(got.Inclusive.Energy, want.Inclusive.Energy, words.Total.Total) {
					t.Errorf("site %d: %d calls, %+v, %+v; want %d, %+v, %+v", got.Site, got.Calls, got.Self,
						got.Inclusive, want.Calls, want.Self, want.Inclusive)
				}
			}
		})
	}
}

// needCompiler skips a test without a Java compiler, but not where all is there.
func needCompiler(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("javac"); err != nil {
		languagetest.Missing(t, "no javac on PATH")
	}
}

// nearly reports whether two energies differ by less than 0.1 % of a total.
func nearly(a, b, total nemb.Energy) bool { return 1000*(max(a, b)-min(a, b)) <= total }

// bothWays runs a program with a runtime that does both, with samples of a
// machine whose power changes each 2 ms.
func bothWays(t *testing.T, dir, name, source, target string) (words, added attribute.Result) {
	t.Helper()
	t.Setenv("CC", "cc -DCG_BOTH")
	channel, err := checkpoint.New(checkpoint.SystemClock(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer channel.Close()
	channel.WriteWords()
	scratch, cache := t.TempDir(), runtimes.Cache{Dir: t.TempDir()}
	library, content, err := runtimes.Library(context.Background(), source, cache, scratch)
	if errors.Is(err, runtimes.ErrNoCompiler) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	channel.Stamp()
	language := languages.Named(name)
	options := instrument.Options{Granularity: instrument.Fine}
	server := &instrument.Server{Planner: language.Plan, Weaver: language.Weave, Language: name, Channel: channel, Options: options}
	setup := languages.Setup{
		Dir: scratch, Cache: cache, Channel: channel.Path(), Server: filepath.Join(scratch,
			"server"), PlanKey: "both", Native: languages.Native{Path: library, Content: content},
		Options: options, NumberSites: server.NumberSites, Skip: server.Skip, TakeNumbers: server.TakeNumbers, PlaceSites: server.PlaceSites,
	}
	if err := server.Listen(setup.Server); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	t.Chdir(dir)
	command, err := language.Launch(languages.Target{Args: []string{target}}, setup)
	if err != nil {
		t.Fatal(err)
	}
	if command.Release != nil {
		defer command.Release()
	}
	domain := nemb.Domain{ID: "package-0", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1}
	told, summed := attribute.New([]nemb.Domain{domain}, 2), attribute.New([]nemb.Domain{domain}, 2)
	energy, last := 0.0, checkpoint.Tick(0)
	sample := func() nemb.Sample {
		at := channel.Clock().Now()
		atomic.StoreUint64(channel.Epoch(), uint64(at))
		if last != 0 {
			energy += (20 + 100*float64(at%7)/7) * float64(at-last) * 1e-3
		}
		last = at
		return nemb.Sample{At: at, Time: checkpoint.Instant(at), Energy: []nemb.Energy{nemb.Energy(energy)},
			Usage: account.Usage{Program: time.Duration(at)}}
	}
	fold := func(until checkpoint.Tick) func(checkpoint.Run) int {
		return func(r checkpoint.Run) int {
			if r.Tally != nil {
				return summed.Fold(r, until+1<<20, until)
			}
			return told.Fold(r, until+1<<20, until)
		}
	}
	both := (*uint64)(unsafe.Add(unsafe.Pointer(channel.Epoch()), 8)) // held by a thread in an event
	s := sample()
	told.Close(s)
	summed.Close(s)
	cmd := exec.Command(command.Args[0], command.Args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), command.Env...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			s := sample()
			channel.Finish(fold(s.At))
			told.Last(s)
			summed.Last(s)
			if err != nil || channel.Lost() > 0 || channel.RefusedTrees() > 0 {
				t.Errorf("%v; %d events lost, %d trees refused", err, channel.Lost(), channel.RefusedTrees())
			}
			return told.Finish(), summed.Finish()
		case <-tick.C:
			for !atomic.CompareAndSwapUint64(both, 0, 1) {
				runtime.Gosched()
			}
			s := sample()
			channel.Drain(fold(s.At))
			atomic.StoreUint64(both, 0)
			told.Close(s)
			summed.Close(s)
		}
	}
}
