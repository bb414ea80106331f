package runtimes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/long"
)

// goTrees is a channel and its trees, as FORMAT.md specifies them, that nobody reads
// while the program runs.
type goTrees struct {
	dir            string
	channel, trees []byte
	nodes, count   int    // of a tree, and trees
	busy           uint32 // what sampled tells each thread of the time for which it had a processor
}

const (
	goFirstTree = 4096
	goChunks    = 64
	goBase      = 100
	goKey       = 5
)

func newGoTrees(t testing.TB, nodes, count int) *goTrees {
	t.Helper()
	f := &goTrees{dir: t.TempDir(), nodes: nodes, count: count}
	const table = 4096 + 4096 + goChunks*65536
	const files = table + 1<<21*8
	f.channel = f.file(t, "channel", files+1<<16*16+32<<20)
	size := f.size()
	f.trees = f.file(t, "7", goFirstTree+count*size)
	order := binary.NativeEndian
	for at, v := range map[int]uint32{0: 0x48434743, 4: 4, 8: goChunks, 12: 65536, 16: 1, 20: uint32(os.Getpid()), 320: 7} {
		order.PutUint32(f.channel[at:], v)
	}
	for at, v := range map[int]uint64{152: 256, 192: goBase + 16, 200: 8, 328: ^uint64(0),
		files + goKey*16: goKey, files + goKey*16 + 8: 1<<42 | goBase<<21 | 16} {
		order.PutUint64(f.channel[at:], v)
	}
	for i, v := range []uint32{0x52544743, 4, uint32(count), uint32(nodes), 8, goFunctions} {
		order.PutUint32(f.trees[4*i:], v)
	}
	order.PutUint64(f.trees[24:], uint64(size))
	return f
}

// file makes memory that a program finds under a name, as it finds that of a launcher. A file on a disk would
// have the program wait for the disk at its first write to each page.
func (f *goTrees) file(t testing.TB, name string, size int) []byte {
	t.Helper()
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	path := filepath.Join(f.dir, name)
	if err := os.Symlink(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd), path); err != nil {
		t.Fatal(err)
	}
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		t.Fatal(err)
	}
	b, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(b) })
	return b
}

// goSum is what a path has on all threads.
type goSum struct {
	calls, ticks      uint64
	away              int64
	counted           uint64 // intervals that were not timed
	drawn, drawnTicks uint64 // intervals that a burst was drawn for, and were short
	lasted            uint64 // those that were not
}

// goLong is the record of a long call.
type goLong struct {
	enter, exit uint64
	site        int
}

// goSums is what lies in the trees.
type goSums struct {
	paths                       map[string]goSum // by sites from the root, "2.4"; a place is "2.4.@5"
	trees                       int
	ended, current              int // trees of threads that ended, and that do not
	events, lost, longs, joined uint64
	cost, countedCost           uint32
	stretches                   uint64
	long                        []goLong
	out                         string
}

// goNodeBytes is what a node takes (checkpoint/FORMAT.md, Tree).
const goNodeBytes = 192

// goFunctions is of how many functions a tree has times, each of goTimesBytes.
const goFunctions, goTimesBytes = 16, 1472

// timesAt is where the times of functions begin in a tree.
func (f *goTrees) timesAt() int {
	return (4096+f.nodes/2+4095)&^4095 + (f.nodes*goNodeBytes+4095)&^4095
}

// size is that of a tree.
func (f *goTrees) size() int { return f.timesAt() + (goFunctions*goTimesBytes+4095)&^4095 }

func (f *goTrees) tree(i int) []byte {
	size := f.size()
	return f.trees[goFirstTree+i*size:][:size]
}

func (f *goTrees) command(t testing.TB, k goKind, args ...string) *exec.Cmd {
	cmd := exec.Command(goBuild(t, k), args...)
	cmd.Env = append(os.Environ(), "CG_CHANNEL="+filepath.Join(f.dir, "channel"), fmt.Sprintf("KEY=%d", goKey))
	return cmd
}

// run runs a program to its end.
func (f *goTrees) run(t testing.TB, k goKind, env []string, args ...string) goSums {
	t.Helper()
	cmd := f.command(t, k, args...)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return f.sums(t, string(out))
}

func (f *goTrees) sums(t testing.TB, out string) goSums {
	t.Helper()
	order := binary.NativeEndian
	s := goSums{paths: map[string]goSum{}, out: out, lost: order.Uint64(f.channel[128:])}
	var names []string
	var sites []int
	for i := range f.count {
		state, tree := order.Uint32(f.trees[64+4*i:]), f.tree(i)
		if state == 0 {
			continue
		}
		if state == 2 {
			s.ended++
		}
		s.trees++
		s.cost = order.Uint32(tree[28:])
		nodes := tree[4096+f.nodes/2:]
		node := func(n int) []byte { return nodes[n*goNodeBytes:][:goNodeBytes] }
		if order.Uint32(tree[24:])&128 != 0 { // the program's paths
			count := int(order.Uint32(tree[176:]))
			names, sites = make([]string, max(count, 3)), make([]int, max(count, 3))
			for n := 3; n < count; n++ {
				site, parent := order.Uint32(node(n)), int(order.Uint32(node(n)[4:]))
				place := ""
				if site>>31 != 0 {
					site, place = site&^(1<<31), "@"
				}
				if parent >= n || site <= goBase || site > goBase+16 || order.Uint64(node(n)[24:]) == 0 {
					t.Fatalf("node %d: site %d, parent %d", n, site, parent)
				}
				sites[n] = int(site) - goBase
				names[n] = strings.TrimPrefix(fmt.Sprintf("%s.%s%d", names[parent], place, site-goBase), ".")
			}
			continue
		}
		s.countedCost = order.Uint32(tree[68:])
		for w := range 8 {
			s.stretches += order.Uint64(tree[2624+8*w:])
		}
		s.events += order.Uint64(tree[136:])
		s.joined += order.Uint64(tree[512:])
		s.longs += order.Uint64(tree[184:])
		for r := range min(order.Uint64(tree[184:]), 64) {
			b := tree[576+r*32:]
			s.long = append(s.long, goLong{order.Uint64(b), order.Uint64(b[8:]), sites[order.Uint32(b[16:])]})
		}
		if paths := order.Uint32(tree[64:]); paths != 1 {
			t.Errorf("tree %d has the paths of %d", i, paths)
		}
		if order.Uint64(tree[128:])&0xffffff != 0xffffff {
			s.current++
		}
		for n, name := range names {
			b := node(n)
			sum := s.paths[name]
			sum.calls += order.Uint64(b[16:])
			sum.away += int64(order.Uint64(b[32:]))
			for w := range 8 {
				ticks := order.Uint64(b[64+8*w:])
				counted := order.Uint32(b[128+4*w:])
				sum.counted += uint64(counted)
				if sum.ticks += ticks; ticks+uint64(counted) != 0 && tree[4096+w*f.nodes/16+n/16] == 0 {
					t.Errorf("%q changed in window %d, and is not touched", name, w)
				}
			}
			sum.drawn += order.Uint64(b[160:])
			sum.lasted += order.Uint64(b[168:])
			sum.drawnTicks += order.Uint64(b[176:])
			s.paths[name] = sum
		}
	}
	return s
}

// calls sums up the calls of a site.
func (s goSums) calls(site int) (n uint64) {
	for name, sum := range s.paths {
		if name[strings.LastIndex(name, ".")+1:] == fmt.Sprint(site) {
			n += sum.calls
		}
	}
	return n
}

// TestGoSums: the calls that the trees have are those that the program made, whether all events
// are timed or some.
func TestGoSums(t *testing.T) {
	for _, budget := range []uint32{0, 1, 100} {
		t.Run(fmt.Sprint(budget), func(t *testing.T) { testGoSums(t, budget) })
	}
}

func testGoSums(t *testing.T, budget uint32) {
	for _, c := range []struct {
		args   []string
		stdout string
		calls  map[int]uint64
	}{
		{[]string{"counts"}, "-497890\n", map[int]uint64{1: 1, 2: 1973, 3: 1000}},
		{[]string{"unknown"}, "", map[int]uint64{1: 1, 2: 1}},
		{[]string{"many", "5000"}, "", map[int]uint64{1: 1, 2: 5000, 4: 5000}},
		{[]string{"goexit"}, "", map[int]uint64{1: 1, 4: 1}},
		{[]string{"pull", "3000"}, "8000\n", map[int]uint64{1: 1, 2: 5000, 3: 3000, 4: 1}},
		{[]string{"locked", "200"}, "", map[int]uint64{1: 1, 2: 1000, 4: 200}},
		{[]string{"range", "100"}, "50 2\n", map[int]uint64{1: 1, 2: 100, 3: 100 + 50 + 1 + 1, 4: 2, 5: 3}},
		{[]string{"deep", "1000000"}, "", map[int]uint64{1: 1, 2: 1, 3: 1, 4: 1_000_001 + 100_001}},
		{[]string{"migrate", "4000"}, "", nil},
		{[]string{"overload", "20000"}, "", map[int]uint64{1: 1, 3: 1_000_000}},
		{[]string{"threads", "50"}, "", map[int]uint64{1: 1, 3: 50_000}},
		{[]string{"fibs", "200"}, "*", map[int]uint64{1: 1, 2: 200 * 150049}},
	} {
		t.Run(c.args[0], func(t *testing.T) {
			f := newGoTrees(t, 1<<20, 256)
			f.keepTo(budget)
			s := f.run(t, goKinds[0], nil, c.args...)
			if s.out != c.stdout && c.stdout != "*" || s.lost != 0 || s.joined != 0 {
				t.Errorf("%q, %d lost, %d joined", s.out, s.lost, s.joined)
			}
			for site, want := range c.calls {
				if got := s.calls(site); got != want {
					t.Errorf("site %d: %d calls, want %d", site, got, want)
				}
			}
			calls, counted := uint64(0), uint64(0)
			for name, sum := range s.paths {
				calls += sum.calls
				if sum.away < 0 || sum.away > 0 {
					t.Errorf("%q: %d are away", name, sum.away)
				}
				counted += sum.counted
			}
			if (counted == 0) != (s.stretches == 0) || budget == 0 && counted+uint64(s.countedCost) > 0 {
				t.Errorf("%d of %d events counted, in %d ticks, at %d/16", counted, s.events, s.stretches, s.countedCost)
			}
			if s.events != 2*calls {
				t.Errorf("%d events of %d calls", s.events, calls)
			}
			t.Logf("%d trees, %d ended, %d paths, %d events, %d counted, cost %d/16 and %d/16, root %+v, sites %v", s.trees,
				s.ended, len(s.paths), s.events, counted, s.cost, s.countedCost, s.paths[""], s.paths["1"])
			if len(s.paths) < 10 {
				t.Logf("%+v", s.paths)
			}
		})
	}
}

// TestGoSumsStack: checkpoints make frames larger, and the stack of a goroutine may be as much
// larger. What calls itself without end overflows it, with the message that it has without cg.
func TestGoSumsStack(t *testing.T) {
	f := newGoTrees(t, 1<<16, 16)
	if s := f.run(t, goKinds[0], nil, "stack", "1500000"); s.calls(4) != 1_500_001 || s.lost != 0 {
		t.Errorf("%d calls, %d lost", s.calls(4), s.lost)
	}
	overflow := func(channel string) string {
		cmd := newGoTrees(t, 1<<16, 16).command(t, goKinds[0], "stack", "-1")
		cmd.Env = append(cmd.Env, "GOTRACEBACK=none", channel)
		out, err := cmd.CombinedOutput()
		if exit := (&exec.ExitError{}); !errors.As(err, &exit) || exit.ExitCode() != 2 {
			t.Errorf("%v\n%s", err, out)
		}
		line, _, _ := strings.Cut(string(out), "\n")
		return line
	}
	without, with := overflow("CG_CHANNEL="), overflow("X=")
	if without != with || !strings.Contains(with, "goroutine stack exceeds 67108864-byte limit") {
		t.Errorf("%q without, %q with", without, with)
	}
}

// goPairs counts calls of a site by the sites above it, and by the outermost one.
type goPairs struct{ above, outermost map[[2]string]uint64 }

func newGoPairs() goPairs {
	return goPairs{map[[2]string]uint64{}, map[[2]string]uint64{}}
}

func (p goPairs) add(path []string, calls uint64) {
	last := path[len(path)-1]
	p.outermost[[2]string{path[0], last}] += calls
	for i, site := range path[:len(path)-1] {
		if site != last && !slices.Contains(path[:i], site) {
			p.above[[2]string{site, last}] += calls
		}
	}
}

// pairs are those of the paths in the trees.
func (s goSums) pairs() goPairs {
	p := newGoPairs()
	for name, sum := range s.paths {
		if sum.calls > 0 {
			p.add(strings.Split(name, "."), sum.calls)
		}
	}
	return p
}

// goMixed are those of the program's mixed.
func goMixed(n int) goPairs {
	p := newGoPairs()
	p.add([]string{"1"}, 1)
	for i := range n {
		var path []string
		for rest, depth := i*7919, 12; depth >= 0; rest, depth = rest/8, depth-1 {
			path = append(path, strconv.Itoa(4+rest%8))
			p.add(path, 1)
		}
	}
	return p
}

// TestGoSumsJoined: where nodes are few, recursion folds, and then paths are joined. No call
// is lost as long as its site has a node. Each caller keeps what it called, however
// recursion folds, and where paths are joined the outermost does.
func TestGoSumsJoined(t *testing.T) {
	for _, c := range []struct {
		nodes, n int
		folded   bool
		joined   bool
	}{
		{nodes: 1 << 20, n: 10000},
		{nodes: 1 << 17, n: 10000, folded: true},
		{nodes: 1 << 12, n: 10000, folded: true, joined: true},
		{nodes: 512, n: 10000, folded: true, joined: true},
	} {
		t.Run(fmt.Sprint(c.nodes), func(t *testing.T) {
			f := newGoTrees(t, c.nodes, 16)
			s := f.run(t, goKinds[0], nil, "mixed", strconv.Itoa(c.n))
			if s.events != uint64(2*(1+13*c.n)) || s.lost != 0 || s.joined > 0 != c.joined || len(s.paths) > c.nodes {
				t.Errorf("%d events, %d paths, %d lost, %d joined", s.events, len(s.paths), s.lost, s.joined)
			}
			if (len(s.paths) > c.nodes/4) != c.folded {
				t.Errorf("%d paths", len(s.paths))
			}
			got, want := s.pairs(), goMixed(c.n)
			if !maps.Equal(got.outermost, want.outermost) {
				t.Errorf("below the outermost call: %v, want %v", got.outermost, want.outermost)
			}
			if !c.joined && !maps.Equal(got.above, want.above) {
				t.Errorf("below each call: %v, want %v", got.above, want.above)
			}
			t.Logf("%d paths, %d joined", len(s.paths), s.joined)
		})
	}
}

// TestGoSumsNone: where no node is left, calls are their callers', and have no end.
func TestGoSumsNone(t *testing.T) {
	f := newGoTrees(t, 64, 16)
	s := f.run(t, goKinds[0], nil, "mixed", "10000")
	calls := uint64(0)
	for _, sum := range s.paths {
		calls += sum.calls
	}
	if s.events != 1+13*10000+calls || s.lost != 0 || s.joined == 0 || len(s.paths) > 64 {
		t.Errorf("%d events of %d calls of %d paths, %d lost, %d joined", s.events, calls, len(s.paths), s.lost, s.joined)
	}
	t.Logf("%d calls, %d paths, %d joined", calls, len(s.paths), s.joined)
}

// TestGoSumsFolded: a long path gets no longer by a cycle. What is called at its end
// for the first time does not fold, since its callers would not keep it.
func TestGoSumsFolded(t *testing.T) {
	f := newGoTrees(t, 1<<12, 16)
	s := f.run(t, goKinds[0], nil, "turn", "1000")
	longest := ""
	for name := range s.paths {
		if len(name) > len(longest) {
			longest = name
		}
	}
	if !strings.HasSuffix(longest, "6.5.4.8.7.8") || len(strings.Split(longest, ".")) > 67 || s.joined != 0 {
		t.Errorf("%d paths up to %s, %d joined", len(s.paths), longest, s.joined)
	}
	for site, want := range map[int]uint64{4: 334, 5: 334, 6: 333, 7: 4, 8: 5} {
		if got := s.calls(site); got != want {
			t.Errorf("site %d: %d calls, want %d", site, got, want)
		}
	}
}

// TestGoSumsLost: with fewer trees than threads, what is not added up is counted. One tree is
// the program's paths.
func TestGoSumsLost(t *testing.T) {
	for _, trees := range []int{0, 1, 3} {
		f := newGoTrees(t, 1<<12, trees)
		s := f.run(t, goKinds[0], nil, "threads", "6")
		if want := uint64(2 + 6*2*1000); s.events+s.lost != want || s.lost == 0 || (s.events == 0) != (trees < 2) {
			t.Errorf("%d trees: %d events and %d lost, want %d together", trees, s.events, s.lost, want)
		}
	}
}

// TestGoSumsWindows: a sample ends the window of each thread that has an event after it.
func TestGoSumsWindows(t *testing.T) {
	f := newGoTrees(t, 1<<16, 16)
	cmd := f.command(t, goKinds[0], "blocked", "20")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	order := binary.NativeEndian
	taken := make([]uint64, f.count)
	in := map[uint32]uint64{} // ticks in windows, by site
	ticks := func(i int, w uint64) {
		nodes := f.tree(i)[4096+f.nodes/2:]
		for n := range 16 {
			in[order.Uint32(f.tree(0)[4096+f.nodes/2+n*goNodeBytes:])] += order.Uint64(nodes[n*goNodeBytes+64+int(w%8)*8:])
			order.PutUint64(nodes[n*goNodeBytes+64+int(w%8)*8:], 0)
		}
	}
	windows, nowhere := 0, 0
	look := func() {
		for i := 1; i < f.count; i++ {
			tree := f.tree(i)
			for ; taken[i] < atomic.LoadUint64((*uint64)(unsafe.Pointer(&tree[168]))); taken[i]++ {
				w := tree[256+taken[i]%8*32:]
				epoch, begin, last, top := order.Uint64(w), order.Uint64(w[8:]), order.Uint64(w[16:]), order.Uint32(w[24:])
				if begin < epoch || last < begin {
					t.Errorf("window of %d from %d to %d", epoch, begin, last)
				}
				if windows++; top == 0xffffff {
					nowhere++
				}
				ticks(i, taken[i])
				atomic.StoreUint64((*uint64)(unsafe.Pointer(&tree[192])), taken[i]+1)
			}
		}
	}
	for open := true; open; {
		select {
		case err := <-done:
			if open = false; err != nil {
				t.Fatal(err)
			}
		case <-time.After(3 * time.Millisecond):
			atomic.StoreUint64((*uint64)(unsafe.Pointer(&f.channel[256])), uint64(checkpoint.SystemClock().Now()))
			look()
		}
	}
	t.Logf("%d windows, %d end on no goroutine, %v", windows, nowhere, in)
	if windows < 20 || nowhere == 0 {
		t.Errorf("%d windows, %d end on no goroutine", windows, nowhere)
	}
}

// TestGoSumsLong: calls that took long leave records, unless they waited.
func TestGoSumsLong(t *testing.T) {
	f := newGoTrees(t, 1<<16, 16)
	binary.NativeEndian.PutUint64(f.channel[328:], 1<<20)
	s := f.run(t, goKinds[0], nil, "long", "30")
	n := map[int]int{}
	for _, l := range s.long {
		if l.exit-l.enter < 1<<20 || l.exit < l.enter {
			t.Errorf("%+v", l)
		}
		n[l.site]++
	}
	if n[4] == 0 || n[4] > 30 || n[2] != 0 || n[5] != 0 || int(s.longs) != n[4]+n[1] {
		t.Errorf("%d long calls, %v", s.longs, n)
	}
}

// TestGoSumsBusy: a goroutine that the scheduler stops, and that goes on where it was
// because there is no other, has not left its thread. One in whose place another ran has.
func TestGoSumsBusy(t *testing.T) {
	f := newGoTrees(t, 1<<16, 16)
	binary.NativeEndian.PutUint64(f.channel[328:], 1<<24)
	s := f.run(t, goKinds[0], nil, "busy", "6")
	n := map[int]int{}
	for _, l := range s.long {
		n[l.site]++
	}
	if n[4] < 3 || n[4] > 6 || n[5] < 3 || n[5] > 6 || n[6] > 1 {
		t.Errorf("%d long calls, %v", s.longs, n)
	}
	t.Logf("%d long calls, %v", s.longs, n)
}

// TestGoSumsMemory: what a program has in memory more than without a channel.
func TestGoSumsMemory(t *testing.T) {
	rounds := long.Rounds(t, 400, 2000)
	peak := func(f *goTrees) (kib int64) {
		cmd := exec.Command(goBuild(t, goKinds[0]), "fibs", strconv.Itoa(rounds))
		if f != nil {
			cmd = f.command(t, goKinds[0], "fibs", strconv.Itoa(rounds))
		}
		out, err := cmd.CombinedOutput()
		if _, after, ok := strings.Cut(string(out), "VmHWM:"); err == nil && ok {
			_, err = fmt.Sscan(after, &kib)
		}
		if err != nil || kib == 0 {
			t.Fatalf("%v\n%s", err, out)
		}
		return kib
	}
	f := newGoTrees(t, 1<<20, 256)
	without, with := peak(nil), peak(f)
	if s := f.sums(t, ""); s.calls(2) != uint64(rounds)*150049 || s.lost != 0 {
		t.Errorf("%d calls, %d lost", s.calls(2), s.lost)
	}
	t.Logf("%d KiB without a channel, %d with", without, with)
	if with > without+6<<10 {
		t.Errorf("%d KiB without a channel, %d with", without, with)
	}
}

// BenchmarkGoSums gives what checkpoints cost in nanoseconds, as BenchmarkGo does,
// and how long fib(36) takes.
func BenchmarkGoSums(b *testing.B) {
	f := newGoTrees(b, 1<<20, 256)
	s := f.run(b, goKinds[0], nil, "bench", fmt.Sprint(300*b.N))
	for line := range strings.Lines(s.out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		ns, err := strconv.ParseFloat(value, 64)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(ns, name+"-ns")
	}
	b.ReportMetric(float64(s.cost)/16, "cost-ticks")
	b.Log(newGoTrees(b, 1<<20, 256).run(b, goKinds[0], nil, "fib", "36").out)
	b.ReportMetric(0, "ns/op")
}
