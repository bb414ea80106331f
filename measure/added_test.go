package measure

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/launcher"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute"
)

// twice attributes a program's words and what it adds up, each by itself, with
// the same samples of a machine whose power changes from window to window.
type twice struct {
	channel      *checkpoint.Channel
	words, added *attribute.Attributor
	// forked has the sums, and what forked processes used before their first events, which words do not tell:
	// used, in seconds, of so many.
	forked *attribute.Attributor
	used   float64
	forks  int
	energy float64 // microjoules
	last   checkpoint.Tick
}

func (w *twice) fold(until checkpoint.Tick) func(checkpoint.Run) int {
	return func(r checkpoint.Run) int {
		a := w.words
		if r.Tally != nil {
			a = w.added
			told := *r.Tally
			r.Tally.Used = 0
			whole := r
			whole.Tally = &told
			w.forked.Fold(whole, w.channel.Clock().Now()+skew, until)
			if r.First && told.Used > 0 {
				w.used += told.Used.Seconds()
				w.forks++
			}
		}
		return a.Fold(r, w.channel.Clock().Now()+skew, until)
	}
}

// sample is one at this moment: the tick and its publication are close.
func (w *twice) sample(rate float64) nemb.Sample {
	var at checkpoint.Tick
	for range 100 {
		at = w.channel.Clock().Now()
		atomic.StoreUint64(w.channel.Epoch(), uint64(at))
		if w.channel.Clock().Now()-at < checkpoint.Tick(10_000*rate) {
			break
		}
	}
	if w.last != 0 {
		watts := 20 + 100*float64(at%7)/7
		w.energy += watts * float64(at-w.last) / rate * 1e-3
	}
	w.last = at
	time := float64(at) / rate
	return nemb.Sample{At: at, Time: checkpoint.Instant(time), Energy: []nemb.Energy{nemb.Energy(w.energy)}, Usage: account.Usage{Program: processors * clockTime(time)}}
}

// processors is how many the program uses, more than it has threads: what is beyond these is nobody's.
const processors = 4

// lock keeps a program that does both between two events; unlock lets it go on.
func (w *twice) lock() {
	for both := w.both(); !atomic.CompareAndSwapUint64(both, 0, 1); {
		runtime.Gosched()
	}
}

func (w *twice) unlock() { atomic.StoreUint64(w.both(), 0) }

func (w *twice) both() *uint64 { return (*uint64)(unsafe.Add(unsafe.Pointer(w.channel.Epoch()), 8)) }

func clockTime(ns float64) time.Duration { return time.Duration(ns) }

// run gives what the words are worth, and what the sums are.
func (w *twice) run(t *testing.T, path string, args ...string) (words, added attribute.Result) {
	t.Helper()
	domain := nemb.Domain{ID: "package-0", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1}
	w.words, w.added = attribute.New([]nemb.Domain{domain}, 2), attribute.New([]nemb.Domain{domain}, 2)
	w.forked = attribute.New([]nemb.Domain{domain}, 2)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	const rate = 2.5 // of the ticks that samples have; any will do
	s := w.sample(rate)
	w.words.Close(s)
	w.added.Close(s)
	w.forked.Close(s)
	cmd := exec.CommandContext(ctx, path, append([]string{w.channel.Path()}, args...)...)
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
			s := w.sample(rate)
			w.channel.Finish(w.fold(s.At))
			w.words.Last(s)
			w.added.Last(s)
			w.forked.Last(s)
			if err != nil {
				t.Fatal(err)
			}
			return w.words.Finish(), w.added.Finish()
		case <-tick.C:
			w.lock()
			s := w.sample(rate)
			w.channel.Drain(w.fold(s.At))
			w.unlock()
			w.words.Close(s)
			w.added.Close(s)
			w.forked.Close(s)
		}
	}
}

func newTwice(t *testing.T, chunks int) *twice {
	t.Helper()
	c, err := checkpoint.New(checkpoint.SystemClock(), chunks)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.WriteWords()
	return &twice{channel: c}
}

// calls lists the calls of each path by its sites.
func calls(r attribute.Result) map[string]uint64 {
	names := make([]string, len(r.Paths))
	all := map[string]uint64{}
	for i, p := range r.Paths {
		if i > 0 {
			names[i] = fmt.Sprint(names[p.Parent], "/", p.Site)
			if p.Calls > 0 {
				all[names[i]] += p.Calls
			}
		}
	}
	return all
}

func sameCalls(t *testing.T, want, got map[string]uint64) {
	t.Helper()
	for path, n := range want {
		if got[path] != n {
			t.Errorf("%s: %d calls, want %d", path, got[path], n)
		}
	}
	for path, n := range got {
		if want[path] == 0 {
			t.Errorf("%s: %d calls, want none", path, n)
		}
	}
}

// What a program adds up and what it tells word by word give the same: calls
// to the last one, energies within 0.1 % of the total.
func TestAddedUpIsWhatIsTold(t *testing.T) {
	path := program(t, "random", "-DCG_BOTH") // the reader can keep it between two events, of which it writes words, too
	for _, c := range []struct {
		name string
		args []string
	}{
		{"one thread", []string{"1", "60000", "1", "6", "3", "0"}},
		{"three threads", []string{"3", "30000", "2", "8", "2", "0"}},
		{"forks", []string{"2", "20000", "3", "6", "3", "4"}},
		{"many paths", []string{"1", "150000", "4", "12", "4", "0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newTwice(t, 0)
			words, added := w.run(t, path, c.args...)
			if lost := w.channel.Lost(); lost > 0 || w.channel.RefusedTrees() > 0 || added.Stats.Events == 0 {
				t.Fatalf("%d lost, %d refused, %+v", lost, w.channel.RefusedTrees(), added.Stats)
			}
			if !words.Total.Balanced() || !added.Total.Balanced() || words.Total.Total != added.Total.Total {
				t.Errorf("%+v\n%+v", words.Total, added.Total)
			}
			sameCalls(t, calls(words), calls(added))
			total := float64(words.Total.Total)
			costs := map[checkpoint.SiteID]attribute.Cost{}
			for _, k := range words.Costs {
				costs[k.Site] = k
			}
			if len(added.Costs) != len(words.Costs) {
				t.Errorf("%d functions, want %d", len(added.Costs), len(words.Costs))
			}
			most := 0.0
			for _, got := range added.Costs {
				want := costs[got.Site]
				if got.Calls != want.Calls {
					t.Errorf("site %d: %d calls, want %d", got.Site, got.Calls, want.Calls)
				}
				off := math.Abs(float64(got.Self.Energy)-float64(want.Self.Energy)) / total
				off = max(off, math.Abs(float64(got.Inclusive.Energy)-float64(want.Inclusive.Energy))/total)
				if off > 1e-3 {
					t.Errorf("site %d: %+v %v, want %+v %v", got.Site, got.Self, got.SelfTime, want.Self, want.SelfTime)
				}
				most = max(most, off)
				if d := got.Suspended - want.Suspended; d > time.Millisecond || d < -time.Millisecond {
					t.Errorf("site %d: suspended for %v, want %v", got.Site, got.Suspended, want.Suspended)
				}
			}
			a, b := words.Stats, added.Stats
			if a.Unwound != b.Unwound || a.Closed != b.Closed || a.OpenAtEnd != b.OpenAtEnd || a.Threads != b.Threads {
				t.Errorf("%+v, want %+v", b, a)
			}
			w.checkForks(t, added, c.args[5])
			t.Logf("%d functions, %.3f J: off by %.2g of it at most", len(added.Costs), total*1e-6, most)
		})
	}
}

// checkForks holds what the sums tell of forked processes against what they tell without what these used before their
// first events: the same calls and the same total, and functions have no more time than that besides.
func (w *twice) checkForks(t *testing.T, without attribute.Result, forks string) {
	t.Helper()
	with := w.forked.Finish()
	if strconv.Itoa(w.forks) != forks {
		t.Errorf("%d processes tell what they used before their first events, want %s", w.forks, forks)
	}
	if !with.Total.Balanced() || with.Total.Total != without.Total.Total {
		t.Errorf("%+v\n%+v", with.Total, without.Total)
	}
	sameCalls(t, calls(without), calls(with))
	// Else a process counts as running from its fork to its first event, all in the window of that: also while it waited.
	cpu := func(r attribute.Result) (seconds float64) {
		for _, c := range r.Costs {
			seconds += c.CPUTime.Seconds()
		}
		return seconds
	}
	more, moved := cpu(with)-cpu(without), !reflect.DeepEqual(with.Costs, without.Costs)
	if more > 1.01*w.used+1e-6 {
		t.Errorf("%d processes used %g s before their first events, and functions have %g s more", w.forks, w.used, more)
	}
	if moved != (w.forks > 0) {
		t.Errorf("%d processes used %g s before their first events: figures differ: %t", w.forks, w.used, moved)
	}
}

// Twenty times, at a random moment: what a killed program says it has called
// is there.
func TestKilledAdder(t *testing.T) {
	path := program(t, "random")
	for round := range 20 {
		c, err := checkpoint.New(checkpoint.SystemClock(), 0)
		if err != nil {
			t.Fatal(err)
		}
		published, err := unix.MemfdCreate("published", 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Ftruncate(published, 4096); err != nil {
			t.Fatal(err)
		}
		mem, err := unix.Mmap(published, 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(path, c.Path(), "publish", fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), published))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		calls := map[checkpoint.SiteID]uint64{}
		fold := func(r checkpoint.Run) int {
			for _, w := range r.Tally.Windows {
				for _, p := range w.Parts {
					calls[r.Tally.Nodes[p.Node].Site] += p.Calls
				}
			}
			return len(r.Tally.Windows)
		}
		for *(*uint64)(unsafe.Pointer(&mem[0])) < uint64(round)*20_000+uint64(round*round*37%1000) {
			atomic.StoreUint64(c.Epoch(), uint64(c.Clock().Now()))
			c.Drain(fold)
		}
		cmd.Process.Kill()
		cmd.Wait()
		c.Finish(fold)
		said := binary.LittleEndian.Uint64(mem)
		if n := calls[7]; n < said || n > said+1 || c.RefusedTrees() > 0 || c.Lost() > 0 {
			t.Errorf("round %d: %d calls read, %d published, %d refused", round, n, said, c.RefusedTrees())
		}
		unix.Munmap(mem)
		unix.Close(published)
		c.Close()
	}
}

// BenchmarkAdded gives what an event costs, beside a reading of the clock, for few
// sites and for many; and what share of a processor cg takes while a program tells next
// to nothing, a million or ten million events a second.
func BenchmarkAdded(b *testing.B) {
	path := program(b, "random")
	for _, sites := range []string{"1", "16", "512", "4000"} {
		b.Run("event-"+sites, func(b *testing.B) {
			least := map[string]float64{}
			for range 3 * b.N {
				out := filepath.Join(b.TempDir(), "out")
				bench(b, out, path, "cost", sites)
				text, err := os.ReadFile(out)
				var event, clock float64
				if _, e := fmt.Sscan(string(text), &event, &clock); err != nil || e != nil {
					b.Fatalf("%v %v %q", err, e, text)
				}
				for name, ns := range map[string]float64{"event": event, "clock": clock} {
					if was, there := least[name]; !there || ns < was {
						least[name] = ns
					}
				}
			}
			b.ReportMetric(0, "ns/op")
			for name, ns := range least {
				b.ReportMetric(ns, "ns/"+name)
			}
		})
	}
	for _, rate := range []string{"0.001", "1", "10"} {
		b.Run("reader-"+rate+"M/s", func(b *testing.B) {
			b.ReportMetric(0, "ns/op")
			share := math.Inf(1)
			var events uint64
			for range b.N {
				before := own(b)
				o := bench(b, os.DevNull, path, "pace", rate, "2000")
				share = min(share, float64(own(b)-before)/float64(o.Attributed.Wall))
				events = o.Attributed.Stats.Events
			}
			b.ReportMetric(100*share, "%cpu")
			b.ReportMetric(float64(events)/2e6, "M/s")
		})
	}
}

// own is the processor time of this process.
func own(t testing.TB) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// bench measures a program that says something into a file.
func bench(b *testing.B, out, path string, args ...string) *Outcome {
	b.Helper()
	channel, err := checkpoint.New(checkpoint.SystemClock(), 0)
	if err != nil {
		b.Fatal(err)
	}
	defer channel.Close()
	file, err := os.OpenFile(out, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	o, err := Run(Config{
		Command:  launcher.Cmd{Args: append([]string{path, channel.Path()}, args...), Stdout: file, Stderr: os.Stderr, Pty: launcher.Never},
		Interval: 10 * time.Millisecond, Channel: channel,
	})
	if err != nil || o.Result.Status != 0 {
		b.Fatalf("%v, %+v", err, o)
	}
	return o
}
