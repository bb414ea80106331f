package checkpoint

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"
)

// grown is a channel whose first tree belongs to this thread: it has called
// site 7 from its begin, and site 8 from there, and two windows.
func grown(t testing.TB) (*Channel, *tree) {
	t.Helper()
	c, err := New(Monotonic, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	y := c.forest.at(0)
	h := y.head
	now := uint64(c.clock.Now())
	atomic.StoreUint64(c.Epoch(), now-500)
	c.forest.state[0] = stateOwned
	h.head = chunk{tick: now - 1000, pid: uint32(os.Getpid()), tid: 1, flags: flagFirst, pidSpace: 1}
	y.nodes[3] = treeNode{site: 7, parent: RootNode, calls: 2, born: now - 900}
	y.nodes[4] = treeNode{site: 8, parent: 3, calls: 5, born: now - 800}
	h.count, h.events = 5, 14
	h.windows[0] = treeWindow{epoch: now - 2000, begin: now - 1000, last: now - 600, top: 4}
	h.windows[1] = treeWindow{epoch: now - 500, begin: now - 400}
	h.window = 1
	y.nodes[3].ticks[0], y.nodes[4].ticks[0] = 100, 250
	y.nodes[4].ticks[1] = 60
	y.touched[0][0], y.touched[1][0] = 1, 1
	y.nodes[4].away, y.nodes[4].awayTicks = 0, 50
	h.aways = 4
	h.long[0] = treeLong{enter: now - 900, exit: now - 650, node: 4}
	h.longs = 1
	h.place = (now-300)<<tickShift | 4
	h.head.seq = atomic.AddUint64(&c.head.head, 1)
	return c, y
}

func TestTree(t *testing.T) {
	c, y := grown(t)
	var runs []Run
	var all []Window
	fold := func(r Run) int {
		runs = append(runs, r)
		all = append(all, r.Tally.Windows...)
		return len(r.Tally.Windows)
	}
	// The open window is not told while the thread may still tell more of it.
	n := c.Drain(fold)
	if n != 1 || len(all[0].Parts) != 2 || all[0].Parts[1].Ticks != 250 || all[0].Parts[1].Calls != 5 ||
		all[0].Top != 4 {
		t.Fatalf("%d windows, %+v", n, all)
	}
	if p := all[0].Parts[1]; p.Away != 0 || p.AwayTicks != 50 {
		t.Errorf("%+v", p)
	}
	if l := all[0].Long; len(l) != 1 || l[0].Node != 4 || l[0].Exit-l[0].Enter != 250 {
		t.Errorf("long calls %+v", l)
	}
	r := runs[0]
	if !r.First || r.Last || r.Tally.Events != 14 || len(r.Tally.Nodes) != 5 ||
		r.Tally.Nodes[4] != (Node{8, 3, Tick(y.nodes[4].born)}) {
		t.Errorf("%+v", r)
	}
	if y.nodes[3].ticks[0] != 0 || y.nodes[4].ticks[0] != 0 || y.touched[0][0] != 0 || y.nodes[4].ticks[1] != 60 {
		t.Errorf("the tree has %d, %d, %d", y.nodes[3].ticks[0], y.nodes[4].ticks[0], y.nodes[4].ticks[1])
	}
	if y.head.taken != 1 || c.Drain(fold) != 0 {
		t.Errorf("%d windows taken, then more", y.head.taken)
	}
	// A sample later it is: the thread has told nothing since.
	atomic.StoreUint64(c.Epoch(), uint64(c.clock.Now()))
	n = c.Drain(fold)
	if n != 1 || len(all) != 2 || all[1].Last-all[1].Begin != 100 || all[1].Parts[0] != (Part{Node: 4, Ticks: 60}) {
		t.Fatalf("%d windows, %+v", n, all)
	}
	if n := c.Drain(fold); n != 0 {
		t.Errorf("the same window %d times more", n)
	}
	// What comes later is told once.
	y.nodes[3].ticks[1] += 30
	y.nodes[3].calls++
	y.head.events++
	y.head.place = uint64(c.clock.Now())<<tickShift | 3
	c.forest.state[0] = stateFull
	n = c.Drain(fold)
	if n != 1 || len(all[2].Parts) != 1 || all[2].Parts[0] != (Part{Node: 3, Ticks: 30, Calls: 1}) ||
		!runs[len(runs)-1].Last {
		t.Fatalf("%d windows, %+v", n, all[2:])
	}
	y = c.forest.at(0)
	if c.forest.state[0] != stateFree || *y.head != (treeHead{}) || y.touched[1][0] != 0 || y.nodes[4] != (treeNode{}) {
		t.Error("the tree is not free, or not empty")
	}
	if all, now := c.SummingThreads(); all != 1 || now != 1 || c.RefusedTrees() != 0 {
		t.Errorf("%d adders, %d now, %d refused", all, now, c.RefusedTrees())
	}
}

// A thread that is late in being read keeps its windows; what it tells beyond
// them is in the last.
func TestTreeIsHeldBack(t *testing.T) {
	c, y := grown(t)
	taken := 0
	c.Drain(func(r Run) int { return 0 })
	if y.head.taken != 1 {
		t.Fatalf("%d windows taken out of the tree", y.head.taken)
	}
	atomic.StoreUint64(c.Epoch(), uint64(c.clock.Now()))
	c.Drain(func(r Run) int {
		if !r.First || len(r.Tally.Windows) != 2 {
			t.Errorf("%+v", r)
		}
		taken++
		return 1
	})
	c.Finish(func(r Run) int {
		if r.First {
			t.Errorf("begins again: %+v", r)
		}
		taken += len(r.Tally.Windows)
		return len(r.Tally.Windows)
	})
	if taken != 3 || c.forest.state[0] != stateFree { // the open window twice
		t.Errorf("%d windows", taken)
	}
}

// What no writer writes is refused, and the rest of the channel is read.
func TestTreeRefused(t *testing.T) {
	for name, spoil := range map[string]func(c *Channel, y *tree){
		"a parent behind its child":   func(_ *Channel, y *tree) { y.nodes[3].parent = 4 },
		"its own parent":              func(_ *Channel, y *tree) { y.nodes[4].parent = 4 },
		"no site":                     func(_ *Channel, y *tree) { y.nodes[4].site = 0 },
		"a site out of range":         func(_ *Channel, y *tree) { y.nodes[4].site = uint32(SiteLimit) },
		"a parent that is no path":    func(_ *Channel, y *tree) { y.nodes[4].parent = 2 },
		"too many nodes":              func(_ *Channel, y *tree) { y.head.count = treeNodes + 1 },
		"too few nodes":               func(_ *Channel, y *tree) { y.head.count = 1 },
		"a top out of range":          func(_ *Channel, y *tree) { y.head.windows[0].top = 5 },
		"a top that is no path":       func(_ *Channel, y *tree) { y.head.windows[0].top = SideNode },
		"a place out of range":        func(_ *Channel, y *tree) { y.head.place |= 1<<tickShift - 1 },
		"a window of the future":      func(_ *Channel, y *tree) { y.head.windows[0].begin += 1 << 50 },
		"a window before the thread":  func(_ *Channel, y *tree) { y.head.windows[0].begin = 1 },
		"windows that are overtaken":  func(_ *Channel, y *tree) { y.head.window = windows + 3 },
		"more time than there was":    func(_ *Channel, y *tree) { y.nodes[3].ticks[0] = 1 << 60 },
		"more calls than can be":      func(_ *Channel, y *tree) { y.nodes[4].calls = 1 << 63 },
		"a thread without a number":   func(_ *Channel, y *tree) { y.head.head.tid = 0 },
		"a begin that is not there":   func(_ *Channel, y *tree) { y.head.head.tick = 1 << 62 },
		"more suspended than entered": func(_ *Channel, y *tree) { y.nodes[4].away = 1 << 60 },
		"a long call of the future":   func(_ *Channel, y *tree) { y.head.long[0].exit += 1 << 50 },
		"a long call of no path":      func(_ *Channel, y *tree) { y.head.long[0].node = 5 },
		"a long call that ends early": func(_ *Channel, y *tree) { y.head.long[0].exit = y.head.long[0].enter - 1 },
		"no such tree of paths":       func(_ *Channel, y *tree) { y.head.paths = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			c, y := grown(t)
			spoil(c, y)
			offset, err := c.TakeChunk(Request{Thread: Thread{PID: uint32(os.Getpid()), TID: 2}, First: true})
			if err != nil {
				t.Fatal(err)
			}
			*(*Word)(unsafe.Pointer(&c.mem[offset+chunkHead])) = Pack(c.clock.Now(), Enter, 3)
			words := 0
			c.Finish(func(r Run) int {
				words += len(r.Words)
				if r.Tally != nil {
					return len(r.Tally.Windows)
				}
				return len(r.Words)
			})
			if c.RefusedTrees() != 1 || words != 1 {
				t.Errorf("%d refused, %d words of another thread", c.RefusedTrees(), words)
			}
			if c.forest.state[0] != stateFree {
				t.Error("the tree is not given back")
			}
		})
	}
}

// A sum that falls after it was read is refused from there on.
func TestTreeFalls(t *testing.T) {
	c, y := grown(t)
	fold := func(r Run) int { return len(r.Tally.Windows) }
	c.Drain(fold)
	y.nodes[4].calls = 1
	if c.Finish(fold); c.RefusedTrees() != 1 {
		t.Errorf("%d refused", c.RefusedTrees())
	}
}

// A channel can do without trees. Where it is a file, they are one, too.
func TestNoTrees(t *testing.T) {
	var none *forest
	none.end()
	none.close()
	if l := none.list(nil, 1); l != nil {
		t.Errorf("%v", l)
	}
	defer func(old string) { proc = old }(proc)
	proc = t.TempDir()
	c, err := NewIn(Monotonic, 2, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if all, now := c.SummingThreads(); c.head.trees != treesName || all+now+c.RefusedTrees() != 0 {
		t.Errorf("trees %d", c.head.trees)
	}
	path := filepath.Join(filepath.Dir(c.Path()), strconv.Itoa(treesName))
	first, each := forestLayout(fileTrees, fileNodes, fileFunctions)
	if st, err := os.Stat(path); err != nil || st.Size() != first+fileTrees*each {
		t.Errorf("%v, %v", st, err)
	}
	c.Close()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", path, err)
	}
}

// Whatever stands in a tree, reading it ends, and what is told of it makes sense.
func FuzzTree(f *testing.F) {
	f.Add([]byte{160, 0, 0, 0, 1, 0, 0, 0}, true)
	f.Add([]byte{176, 0, 0, 0, 200, 200, 0, 0, 0, 16, 0, 0, 9, 9, 9, 9}, false)
	f.Fuzz(func(t *testing.T, raw []byte, early bool) {
		c, y := grown(t)
		fold := func(r Run) int {
			for i, n := range r.Tally.Nodes {
				if i >= FirstNode && (int(n.Parent) >= i || n.Site == 0 || n.Site >= SiteLimit) {
					t.Fatalf("node %d: %+v", i, n)
				}
			}
			for _, w := range r.Tally.Windows {
				if int(w.Top) >= len(r.Tally.Nodes) && w.Top != NoNode || w.Last < w.Begin || w.Begin < r.Start {
					t.Fatalf("%+v", w)
				}
				for _, p := range w.Parts {
					if int(p.Node) >= len(r.Tally.Nodes) || p.Ticks > 1<<62 || p.Calls > 1<<62 {
						t.Fatalf("%+v", p)
					}
				}
			}
			return len(r.Tally.Windows)
		}
		if early {
			c.Drain(fold)
		}
		bytes := y.mem
		for ; len(raw) >= 8; raw = raw[8:] {
			at, with := binary.LittleEndian.Uint32(raw), binary.LittleEndian.Uint32(raw[4:])
			if at%8 < 4 {
				at %= page // the header
			} else if at%8 < 6 {
				at = uint32(len(bytes)-treeNodes*treeNodeBytes) + at%1024 // the nodes that are there
			}
			binary.LittleEndian.PutUint32(bytes[uint64(at)%uint64(len(bytes)-4):], with)
		}
		c.Drain(fold)
		c.Finish(fold)
	})
}

// Threads whose stacks go from one to another share the paths of one tree, which
// stays until the last of them is read.
func TestSharedPaths(t *testing.T) {
	c, paths := grown(t)
	paths.head.head.flags |= flagPaths
	y := c.forest.at(1)
	c.forest.state[1] = stateOwned
	now := uint64(c.clock.Now())
	y.head.head = chunk{tick: now - 500, pid: uint32(os.Getpid()), tid: 2, flags: flagFirst, pidSpace: 1}
	y.head.paths = 1
	y.head.windows[0] = treeWindow{epoch: now - 600, begin: now - 500}
	y.head.place = (now-300)<<tickShift | NoNode
	y.nodes[4].ticks[0], y.nodes[4].calls, y.touched[0][0] = 77, 3, 1
	y.head.head.seq = atomic.AddUint64(&c.head.head, 1)
	atomic.StoreUint64(c.Epoch(), uint64(c.clock.Now()))
	var runs []Run
	fold := func(r Run) int {
		runs = append(runs, r)
		return len(r.Tally.Windows)
	}
	if n := c.Drain(fold); n != 1 || len(runs) != 1 {
		t.Fatalf("%d windows of %d runs", n, len(runs))
	}
	tally := runs[0].Tally
	if tally.Paths != paths.head.head.seq || !tally.Strands || len(tally.Nodes) != 5 || tally.Windows[0].Top != NoNode ||
		!slices.Equal(tally.Windows[0].Parts, []Part{{Node: 4, Ticks: 77, Calls: 3}}) {
		t.Errorf("%+v", tally)
	}
	c.forest.gone[0] = true
	c.Drain(fold)
	c.Drain(fold)
	if c.forest.state[0] == stateFree {
		t.Error("the paths are gone, and a thread is there")
	}
	c.Finish(fold)
	c.Drain(fold)
	if c.forest.state[0] != stateFree || c.forest.state[1] != stateFree || c.RefusedTrees() != 0 {
		t.Errorf("states %d, %d refused", c.forest.state[:2], c.RefusedTrees())
	}
}

// A tree that waits for room and ends leaves the room to the others.
func TestRoomOfATreeThatEnds(t *testing.T) {
	b := waiting{most: 4, parts: 4}
	if b.room(1) {
		t.Error("there is no room")
	}
	b.parts = 2
	if b.room(0) {
		t.Error("half of the room is for the tree that waits")
	}
	if b.leaves(1); !b.room(0) {
		t.Error("the room is kept for a tree that has ended")
	}
}

// TestWaitingParts: windows that wait for samples are read up to a number of parts, of each thread in its
// turn. The others stay with their writers, and all are read at the end.
func TestWaitingParts(t *testing.T) {
	c, first := grown(t)
	now := uint64(c.clock.Now())
	const threads, over = 4, 6 // windows that are over
	for i := range threads {
		y := first
		if i > 0 {
			y = c.forest.at(i)
			y.head.head = chunk{tick: now - 1000, pid: uint32(os.Getpid()), tid: uint32(1 + i), flags: flagFirst, pidSpace: 1}
			y.nodes[3], y.nodes[4], y.head.count = first.nodes[3], first.nodes[4], 5
			y.head.place = first.head.place
			y.head.head.seq = atomic.AddUint64(&c.head.head, 1)
			c.forest.state[i] = stateOwned
		}
		for w := range uint64(over + 1) {
			y.head.windows[w] = treeWindow{epoch: now - 900 + w, begin: now - 900 + 10*w, last: now - 900 + 10*w + 5, top: 4}
			y.nodes[3].ticks[w], y.nodes[4].ticks[w], y.touched[w][0] = 1, 2, 1
		}
		y.head.longs, y.head.window = 0, over
	}
	c.forest.waiting.most = 4
	read := map[uint32]int{}
	take := 0
	fold := func(r Run) int {
		n := min(take, len(r.Tally.Windows))
		for range r.Tally.Windows[:n] {
			read[r.Thread.TID]++
		}
		return n
	}
	for range 3 {
		if c.Drain(fold); c.forest.waiting.parts != 4 || first.head.taken != 2 {
			t.Fatalf("%d parts wait, %d windows of the first thread", c.forest.waiting.parts, first.head.taken)
		}
	}
	take = over
	c.Drain(fold)
	for i := range uint32(threads) {
		if n := read[1+i]; n < 1 || n > 2 {
			t.Errorf("thread %d: %d windows in the first turn", i, n)
		}
	}
	c.Finish(fold)
	if c.forest.waiting.parts != 0 || c.RefusedTrees() != 0 {
		t.Errorf("%d parts wait, %d refused", c.forest.waiting.parts, c.RefusedTrees())
	}
	for i := range uint32(threads) {
		if n := read[1+i]; n != over+1 {
			t.Errorf("thread %d: %d windows", i, n)
		}
	}
}

// TestScatteredPaths: of paths that a thread was in, and that are few among the program's, the reader keeps
// what it needs for them, and not for all beside them.
func TestScatteredPaths(t *testing.T) {
	c, y := grown(t)
	const nodes, each = 1 << 16, 12 // so many apart
	for n := 5; n < nodes; n++ {
		y.nodes[n] = treeNode{site: 7, parent: 3, born: y.nodes[3].born}
	}
	y.head.count = nodes
	used := 0
	for n := 5; n < nodes; n += each {
		y.nodes[n].calls, y.nodes[n].ticks[0], y.touched[0][n/blockNodes] = 1, 1, 1
		used++
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	parts := 0
	c.Drain(func(r Run) int {
		for _, w := range r.Tally.Windows {
			parts += len(w.Parts)
		}
		return len(r.Tally.Windows)
	})
	after := heap()
	const known = nodes * 16 // the paths themselves
	if grown := int64(after - before - known); parts < used || grown > int64(used)*400 {
		t.Errorf("%d parts of %d nodes, %d bytes for each", parts, used, grown/int64(used))
	} else {
		t.Logf("%d bytes for each of %d nodes", grown/int64(used), used)
	}
	runtime.KeepAlive(c)
}

// A record of a long call that was overwritten before it was read counts as lost.
func TestLongCallsAreOverwritten(t *testing.T) {
	c, y := grown(t)
	for i := range y.head.long {
		y.head.long[i] = y.head.long[0]
	}
	y.head.longs = 100
	lost, long := uint64(0), 0
	c.Finish(func(r Run) int {
		lost += r.Tally.LongLost
		for _, w := range r.Tally.Windows {
			long += len(w.Long)
		}
		return len(r.Tally.Windows)
	})
	if long != longRecords-1 || lost != 100-uint64(long) {
		t.Errorf("%d long calls, %d lost", long, lost)
	}
}

// Trees in a file that somebody cuts count as zeros from then on.
func TestTreesAreCut(t *testing.T) {
	defer func(old string) { proc = old }(proc)
	proc = t.TempDir()
	dir := t.TempDir()
	c, err := NewIn(Monotonic, 2, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	y := c.forest.at(0)
	c.forest.state[0] = stateOwned
	y.head.head = chunk{tick: uint64(c.clock.Now()), pid: uint32(os.Getpid()), tid: 1, flags: flagFirst}
	y.head.count = FirstNode
	y.head.head.seq = atomic.AddUint64(&c.head.head, 1)
	fold := func(r Run) int { return len(r.Tally.Windows) }
	c.Drain(fold)
	if err := os.Truncate(filepath.Join(dir, strconv.Itoa(treesName)), 0); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		c.Drain(fold)
	}
	c.Finish(fold)
	if !strings.Contains(c.Damage(), "was cut") {
		t.Errorf("damage %q", c.Damage())
	}
}
