package checkpoint

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"cg/long"
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "cg-checkpoint-test-")
	if err != nil {
		panic(err)
	}
	programs = dir
	before := descriptors()
	code := m.Run()
	if after := descriptors(); code == 0 && after > before {
		fmt.Fprintf(os.Stderr, "%d channels leaked\n", after-before)
		code = 1
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// descriptors counts what this package opens: shared memory.
func descriptors() int {
	names, _ := os.ReadDir("/proc/self/fd")
	n := 0
	for _, name := range names {
		if to, err := os.Readlink("/proc/self/fd/" + name.Name()); err == nil && strings.HasPrefix(to, "/memfd:") {
			n++
		}
	}
	return n
}

// programs is where those of testdata are, compiled when they are first needed.
var programs string

// write starts testdata/writer.c, which uses the native runtime's own channel.h.
func write(t testing.TB, c *Channel, args ...string) *exec.Cmd {
	t.Helper()
	return program(t, c, "writer", args...)
}

// program is a program of testdata that uses the native runtime's own channel.h.
func program(t testing.TB, c *Channel, name string, args ...string) *exec.Cmd {
	t.Helper()
	path := filepath.Join(programs, name)
	if _, err := os.Stat(path); err != nil {
		out, err := exec.Command("cc", "-O2", "-Wall", "-Werror", "-pthread", "-I", "../runtimes/native",
			"-o", path, "testdata/"+name+".c").CombinedOutput()
		if err != nil {
			if errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") != "true" {
				t.Skip("no C compiler")
			}
			t.Fatalf("%v\n%s", err, out)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, path, append([]string{c.Path()}, args...)...)
	cmd.Stderr = os.Stderr
	return cmd
}

func channel(t testing.TB, chunks int) *Channel {
	t.Helper()
	c, err := New(SystemClock(), chunks)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.WriteWords()
	return c
}

// checker reads what the writers of testdata/writer.c wrote and finds what is
// missing, torn or out of order: each thread counts in its sites, as writer.c says.
type checker struct {
	next    map[Thread]uint64
	last    map[Thread]Tick
	total   uint64
	faults  []string
	threads int
	ended   int
	lost    uint64
	forks   int
	parent  uint32 // process that nobody forked
	clock   Clock
}

func (k *checker) fold(r Run) int {
	if r.Tally != nil { // the same events
		return len(r.Tally.Windows)
	}
	if k.next == nil {
		k.next, k.last = map[Thread]uint64{}, map[Thread]Tick{}
	}
	if _, ok := k.next[r.Thread]; !ok {
		k.threads++
		k.next[r.Thread] = 1
		if !r.First {
			k.fault("%s begins without First", r.Thread)
		}
	}
	if r.Forked {
		k.forks++
		if r.Thread.PID == k.parent {
			k.fault("%s passes for a child", r.Thread)
		}
	}
	for _, w := range r.Words {
		kind, site := w.Kind(), w.Site()
		if site == 0 {
			if kind != Fork {
				k.fault("%s: control word of kind %v", r.Thread, kind)
			}
			continue
		}
		at := w.Tick(k.clock.Now() + 1<<16)
		if at < k.last[r.Thread] || at < r.Start {
			k.fault("%s: time runs backwards by %d", r.Thread, k.last[r.Thread]-at)
		}
		k.last[r.Thread] = at
		if r.Lost > 0 {
			k.next[r.Thread] += r.Lost
			k.lost += r.Lost
			r.Lost = 0
		}
		before := k.next[r.Thread] - 1
		if want := before/2%50000 + 1; uint64(site) != want || kind != Kind(before%2) {
			k.fault("%s: %v of site %d instead of %d", r.Thread, kind, site, want)
		}
		k.next[r.Thread]++
		k.total++
	}
	if r.Last {
		k.ended++
	}
	return len(r.Words)
}

func (k *checker) fault(format string, args ...any) {
	if len(k.faults) < 5 {
		k.faults = append(k.faults, fmt.Sprintf(format, args...))
	}
}

// drainUntil drains while the command runs, and what is left afterwards.
func drainUntil(t testing.TB, c *Channel, k *checker, cmd *exec.Cmd) error {
	t.Helper()
	k.clock = c.Clock()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			c.Finish(k.fold)
			return err
		default:
			c.Drain(k.fold)
		}
	}
}

func TestEveryEventArrives(t *testing.T) {
	for _, c := range []struct {
		name            string
		chunks          int
		args            []string
		events, threads uint64
	}{
		{"one thread", 8, []string{"threads", "1", "3000000"}, 3000000, 1},
		{"a ring of two chunks", 2, []string{"threads", "1", "300000"}, 300000, 1},
		{"four threads", 64, []string{"threads", "4", "500000"}, 2000000, 4},
		{"nearly as many threads as chunks", 16, []string{"threads", "12", "60000"}, 720000, 12},
		{"a thousand threads that wait", 2048, []string{"waiting", "1000", "9"}, 9000, 1000},
		{"many short threads", 16, []string{"short", "2000", "7"}, 14000, 2000},
		{"a process tree", 64, []string{"fork", "5", "200000"}, 1200000, 6},
		{"less than a chunk", 4, []string{"threads", "1", "3"}, 3, 1},
		{"exactly a chunk", 4, []string{"threads", "1", "8184"}, 8184, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			ch := channel(t, c.chunks)
			cmd := write(t, ch, c.args...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var k checker
			if err := drainUntil(t, ch, &k, cmd); err != nil {
				t.Fatal(err)
			}
			if k.total != c.events || uint64(k.threads) != c.threads || len(k.faults) > 0 || ch.Lost() != 0 {
				t.Errorf("%d events of %d threads, %d lost, want %d of %d; %v",
					k.total, k.threads, ch.Lost(), c.events, c.threads, k.faults)
			}
			for i := range ch.state {
				if ch.state[i] != stateFree || ch.next[i] != 0 {
					t.Fatalf("chunk %d is not free at the end", i)
				}
			}
			for i, b := range ch.mem[ch.offset(0):ch.offset(len(ch.state))] {
				if b != 0 {
					t.Fatalf("byte %d of the chunks is not zero at the end", i)
				}
			}
		})
	}
}

// More threads than chunks: the ones without a chunk do not stop the program,
// and what they could not write is counted.
func TestMoreThreadsThanChunks(t *testing.T) {
	ch := channel(t, 8)
	cmd := write(t, ch, "waiting", "20", "6000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var k checker
	if err := drainUntil(t, ch, &k, cmd); err != nil {
		t.Fatal(err)
	}
	if k.total+ch.Lost() != 120000 || ch.Lost() == 0 || len(k.faults) > 0 || ch.Waits() != 0 {
		t.Errorf("%d events, %d lost, %d waits; %v", k.total, ch.Lost(), ch.Waits(), k.faults)
	}
}

// What a thread without a chunk has lost is told although the process ends
// before the thread does.
func TestLostByThreadsThatDoNotEnd(t *testing.T) {
	ch := channel(t, 8)
	cmd := write(t, ch, "leave", "20", "700")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var k checker
	if err := drainUntil(t, ch, &k, cmd); err != nil {
		t.Fatal(err)
	}
	if k.total+ch.Lost() != 20*700 || ch.Lost() == 0 || len(k.faults) > 0 {
		t.Errorf("%d events, %d lost; %v", k.total, ch.Lost(), k.faults)
	}
}

// The child that fork(2) makes goes on with its parent's stack, and so does a
// child's child; a thread that the parent begins later does not.
func TestForked(t *testing.T) {
	for _, c := range []struct {
		mode           string
		events, forked uint64
	}{
		{"forkthread", 1 + 5*2*300, 5},
		{"grandchild", 1 + 5*300, 10},
	} {
		ch := channel(t, 64)
		cmd := write(t, ch, c.mode, "5", "300")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		k := checker{}
		k.parent = uint32(cmd.Process.Pid)
		if err := drainUntil(t, ch, &k, cmd); err != nil {
			t.Fatal(err)
		}
		if k.total != c.events || uint64(k.forks) != c.forked || len(k.faults) > 0 || ch.Lost() != 0 {
			t.Errorf("%s: %d events, %d forked, %d lost; %v", c.mode, k.total, k.forks, ch.Lost(), k.faults)
		}
	}
}

// Twenty times, at a random moment: what a killed writer says it has written
// is there, to the last event, and nothing else.
func TestKilledWriter(t *testing.T) {
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	for round := range long.Rounds(t, 5, 20) {
		ch := channel(t, 64)
		k := checker{clock: ch.Clock()}
		// The moment is a number of events, and a little chance on top.
		said := killed(t, ch, killTime{uint64(rng.IntN(3_000_000)), rng.IntN(3000)}, k.fold)
		// The writer publishes i after event i: one more may be written.
		if k.total < said || k.total > said+1 || len(k.faults) > 0 || ch.Lost() != 0 {
			t.Errorf("round %d: %d events read, %d published, %d lost; %v", round, k.total, said, ch.Lost(), k.faults)
		}
	}
}

// killTime says when a writer is killed: once it has published so many events,
// and so many readings of the clock later.
type killTime struct {
	published uint64
	readings  int
}

// killed starts a writer that publishes how far it is and kills it. It returns
// what was published.
func killed(t *testing.T, ch *Channel, at killTime, fold func(Run) int) uint64 {
	t.Helper()
	published, err := unix.MemfdCreate("published", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(published)
	if err := unix.Ftruncate(published, page); err != nil {
		t.Fatal(err)
	}
	mem, err := unix.Mmap(published, 0, page, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	cmd := write(t, ch, "publish", fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), published))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for *(*uint64)(unsafe.Pointer(&mem[0])) < at.published {
		ch.Drain(fold)
	}
	for range at.readings {
		ch.clock.Now()
	}
	cmd.Process.Kill()
	cmd.Wait()
	ch.Finish(fold)
	return binary.LittleEndian.Uint64(mem)
}

// A reader that stops for good does not stop the program for good.
func TestReaderGone(t *testing.T) {
	ch := channel(t, 2)
	ch.head.reader = 0x7ffffff0 // no process
	cmd := write(t, ch, "threads", "1", "100000")
	if out, err := cmd.Output(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestNoChannel(t *testing.T) {
	for name, content := range map[string][]byte{
		"empty":   nil,
		"short":   []byte("CGCH"),
		"no such": bytes.Repeat([]byte{1}, 2*page),
	} {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		ch := channel(t, 2)
		cmd := write(t, ch)
		cmd.Args = []string{cmd.Path, path, "open"}
		out, err := cmd.Output()
		if err != nil || !bytes.HasPrefix(out, []byte("refused")) {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
}

// A sum that is written again while it is read is of a little later than the reader's
// latest moment: kind and site are told all the same.
func TestSumOfAMomentLater(t *testing.T) {
	for _, clock := range []Clock{SystemClock(), Monotonic} {
		ch, err := New(clock, 4)
		if err != nil {
			t.Fatal(err)
		}
		defer ch.Close()
		for _, later := range []time.Duration{-time.Hour / 4, 0, time.Millisecond, 500 * time.Millisecond} {
			sum := Pack(0, Exit, 77)<<40 + Word(Monotime()) + Word(later)
			if w := ch.fromSums([]Word{sum})[0]; w.Kind() != Exit || w.Site() != 77 {
				t.Errorf("%v, %v later: %v of %d", clock, later, w.Kind(), w.Site())
			}
		}
	}
}

// Words of a writer in plain Python are sums; the reader takes them apart, in
// whichever clock it has.
func TestSums(t *testing.T) {
	for _, clock := range []Clock{SystemClock(), Monotonic} {
		ch, err := New(clock, 4)
		if err != nil {
			t.Fatal(err)
		}
		defer ch.Close()
		parent := Thread{uint32(os.Getpid()), uint32(unix.Gettid())}
		child := Thread{parent.PID, parent.TID + 1}
		time.Sleep(10 * time.Millisecond)
		offset, err := ch.TakeChunk(Request{Thread: parent, First: true, Sums: true})
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := ch.TakeChunk(Request{Thread: parent, Sums: true}); again != offset {
			t.Errorf("%v: a chunk that the thread has not heard of stays behind", clock)
		}
		kinds := []Kind{Enter, Close, Fork, Exit}
		sites := []SiteID{5, SiteLimit - 1, 0, 1}
		var nanos []uint64
		before := clock.Now()
		for i, kind := range kinds {
			nanos = append(nanos, uint64(Monotime()))
			sum := uint64(Pack(0, kind, sites[i]))<<40 + nanos[i]
			binary.NativeEndian.PutUint64(ch.mem[offset+chunkHead+8*i:], sum)
			time.Sleep(time.Millisecond)
		}
		after := clock.Now()
		request := Request{Thread: child, First: true, Parent: parent, ForkTick: Tick(nanos[2]), Sums: true}
		if _, err := ch.TakeChunk(request); err != nil {
			t.Fatal(err)
		}
		binary.NativeEndian.PutUint64(ch.mem[ch.offset(1)+chunkHead:], uint64(1)<<40+uint64(Monotime()))
		var forked Tick
		last := before
		seen := 0
		ch.Drain(func(r Run) int {
			if r.Forked && r.ForkTick != forked {
				t.Errorf("%v: forked at %d, the word says %d", clock, r.ForkTick, forked)
			}
			if r.Thread == child {
				return len(r.Words)
			}
			for i, w := range r.Words {
				kind, site := w.Kind(), w.Site()
				at := w.Tick(clock.Now())
				if kind != kinds[i] || site != sites[i] || at+at/1e6 < last || at > after {
					t.Errorf("%v: word %d is %v of %d at %d, not in %d to %d", clock, i, kind, site, at, last, after)
				}
				if kind == Fork {
					forked = at
				}
				last = at
				seen++
			}
			return len(r.Words)
		})
		if seen != len(kinds) || forked == 0 {
			t.Errorf("%v: %d words", clock, seen)
		}
	}
}

func TestTake(t *testing.T) {
	ch := channel(t, 2)
	self := Thread{uint32(os.Getpid()), uint32(unix.Gettid())}
	offset, err := ch.TakeChunk(Request{Thread: self, First: true})
	if err != nil {
		t.Fatal(err)
	}
	want := Pack(ch.clock.Now(), Enter, 5)
	binary.NativeEndian.PutUint64(ch.mem[offset+chunkHead:], uint64(want))
	var got []Word
	ch.Drain(func(r Run) int {
		if r.Thread != self || !r.First {
			t.Errorf("%+v", r)
		}
		got = append(got, r.Words...)
		return len(r.Words)
	})
	if len(got) != 1 || got[0] != want {
		t.Errorf("%x, want %x", got, want)
	}
	if _, err := ch.TakeChunk(Request{Thread: self}); err != nil {
		t.Error(err)
	}
	if _, err := ch.TakeChunk(Request{Thread: self}); !errors.Is(err, ErrFull) {
		t.Errorf("%v, want ErrFull", err)
	}
}

// Chunks that are taken together are used one behind the other, offered again
// to a thread that did not hear of them, and taken singly when few are left.
func TestTakeSome(t *testing.T) {
	ch := channel(t, 8)
	self := Thread{uint32(os.Getpid()), uint32(unix.Gettid())}
	if _, err := ch.TakeChunks(Request{Thread: Thread{1, 1}, First: true, Sums: true}, 1); err != nil {
		t.Fatal(err)
	}
	offsets, err := ch.TakeChunks(Request{Thread: self, First: true, Lost: 3, Sums: true}, 3)
	if err != nil || len(offsets) != 3 {
		t.Fatal(offsets, err)
	}
	again, err := ch.TakeChunks(Request{Thread: self, Sums: true}, 3)
	if err != nil || !slices.Equal(again, offsets) {
		t.Errorf("%v, %v, want %v", again, err, offsets)
	}
	var want, got []SiteID
	for i, offset := range offsets {
		for k := range 2 {
			site := SiteID(10*i + k + 1)
			want = append(want, site)
			binary.NativeEndian.PutUint64(ch.mem[offset+chunkHead+8*k:], uint64(site)<<40+uint64(Monotime()))
		}
		ch.state[(offset-ch.offset(0))/chunkBytes] = stateFull
	}
	first, lost := 0, uint64(0)
	drain := func() int {
		return ch.Drain(func(r Run) int {
			if r.First {
				first++
			}
			lost += r.Lost
			for _, w := range r.Words {
				got = append(got, w.Site())
			}
			return len(r.Words)
		})
	}
	for drain() > 0 {
	}
	if !slices.Equal(got, want) || first != 1 || lost != 3 {
		t.Errorf("%v, %d first, %d lost", got, first, lost)
	}
	for i := range 2 {
		offsets, err := ch.TakeChunks(Request{Thread: Thread{2, uint32(i)}, First: true, Sums: true}, 1)
		if err != nil || len(offsets) != 1 {
			t.Fatal(offsets, err)
		}
	}
	if offsets, err := ch.TakeChunks(Request{Thread: self, Sums: true}, 3); err != nil || len(offsets) != 1 {
		t.Errorf("%v, %v, want one chunk of the few that are left", offsets, err)
	}
}

// What fold leaves is offered again, and later words of the thread with it.
func TestHeldBack(t *testing.T) {
	ch := channel(t, 4)
	self := Thread{uint32(os.Getpid()), uint32(unix.Gettid())}
	offset, _ := ch.TakeChunk(Request{Thread: self, First: true})
	for i := range 5 {
		binary.NativeEndian.PutUint64(ch.mem[offset+chunkHead+8*i:], uint64(Pack(Tick(i+1), Enter, SiteID(i+1))))
	}
	var seen []SiteID
	take := func(n int) func(Run) int {
		return func(r Run) int {
			for _, w := range r.Words[:min(n, len(r.Words))] {
				s := w.Site()
				seen = append(seen, s)
			}
			return min(n, len(r.Words))
		}
	}
	for _, n := range []int{2, 0, 1, 9} {
		ch.Drain(take(n))
	}
	if fmt.Sprint(seen) != "[1 2 3 4 5]" {
		t.Error(seen)
	}
}

func TestStamp(t *testing.T) {
	c := channel(t, 1)
	if c.head.stamp%2 != 0 || c.head.nanos == 0 {
		t.Errorf("%+v", c.head)
	}
	if c.clock == Monotonic && c.head.rate != 1<<32 {
		t.Errorf("rate %d", c.head.rate)
	}
}

func BenchmarkClock(b *testing.B) {
	for _, c := range []Clock{CycleCounter, Monotonic} {
		b.Run(c.String(), func(b *testing.B) {
			for range b.N {
				c.Now()
			}
		})
	}
}

// BenchmarkDrain reads full chunks; the reference is the clearing of as much
// memory, which every chunk needs.
func BenchmarkDrain(b *testing.B) {
	c := channel(b, 64)
	self := Thread{uint32(os.Getpid()), uint32(unix.Gettid())}
	fill := func() {
		for i := range 64 {
			if _, err := c.TakeChunk(Request{Thread: self, First: i == 0}); err != nil {
				b.Fatal(err)
			}
		}
		for i := range 64 {
			w := c.words(i)
			for k := range w {
				w[k] = 1<<24 | 1
			}
			c.state[i] = stateFull
		}
	}
	b.Run("drain", func(b *testing.B) {
		for range b.N {
			b.StopTimer()
			fill()
			b.StartTimer()
			n := 0
			for n < 64*chunkWords {
				n += c.Drain(func(r Run) int { return len(r.Words) })
			}
		}
		b.ReportMetric(64*chunkWords*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
	})
	b.Run("reference-clear", func(b *testing.B) {
		buf := make([]uint64, 64*chunkWords)
		for range b.N {
			clear(buf)
		}
		b.ReportMetric(64*chunkWords*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
	})
}

// Where /proc is missing the program opens a file, which has its room on disk.
func TestChannelInFile(t *testing.T) {
	defer func(was string) { proc = was }(proc)
	proc = filepath.Join(t.TempDir(), "none")
	dir := t.TempDir()
	c, err := NewIn(Monotonic, 0, dir)
	if errors.Is(err, unix.ENOTSUP) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var st unix.Stat_t
	err = unix.Stat(c.Path(), &st)
	if err != nil || filepath.Dir(c.Path()) != dir || st.Mode&0o777 != 0o600 || st.Blocks*512 < st.Size {
		t.Errorf("%s: %v, %+v", c.Path(), err, st)
	}
	if offset, err := c.TakeChunk(Request{Thread: Thread{1, 2}}); err != nil || int64(offset)+chunkBytes > st.Size {
		t.Errorf("chunk at %d: %v", offset, err)
	}
}

// Each chunk says what an event costs; it is less than the time between two.
func TestCost(t *testing.T) {
	for _, clock := range []Clock{SystemClock(), Monotonic} {
		c, err := New(clock, 8)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.WriteWords()
		if err := write(t, c, "threads", "1", "5000").Run(); err != nil {
			t.Fatal(err)
		}
		seen := 0
		c.Finish(func(r Run) int {
			if r.Tally != nil {
				return len(r.Tally.Windows)
			}
			now := c.clock.Now()
			n := len(r.Words)
			between := float64(r.Words[n-1].Tick(now)-r.Words[0].Tick(now)) / float64(n-1)
			if r.Cost <= 0 || r.Cost > 1.5*between {
				t.Errorf("%v: an event costs %g ticks, and they are %g apart", clock, r.Cost, between)
			}
			seen += len(r.Words)
			return len(r.Words)
		})
		if seen != 5000 {
			t.Errorf("%d words", seen)
		}
	}
}

// What a writer cannot mean is not known; of sums it is in nanoseconds.
func TestCostOfChunks(t *testing.T) {
	c := channel(t, 4)
	for _, tt := range []struct {
		cost uint32
		sums bool
		want float64 // in nanoseconds for sums
	}{{0, false, 0}, {16 * 40, false, 40}, {24, false, 1.5}, {^uint32(0), true, 0}, {16 * 40, true, 40}} {
		i := taken(t, c, Thread{1, 1}, 2)
		c.chunk(i).cost = tt.cost
		if tt.sums {
			c.chunk(i).flags |= flagSums
			time.Sleep(6 * time.Millisecond) // until the rate is known
			c.Stamp()
			tt.want *= float64(c.head.rate) / (1 << 32)
		}
		c.Finish(func(r Run) int {
			if r.Cost != tt.want {
				t.Errorf("%+v: %g", tt, r.Cost)
			}
			return len(r.Words)
		})
		c.bad, c.gone = make([]bool, 4), make([]bool, 4)
	}
}
