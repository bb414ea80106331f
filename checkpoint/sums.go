package checkpoint

import (
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The nodes that each tree has.
const (
	// RootNode is outside all sites.
	RootNode = 0
	// SideNode is the parent of nodes for frames that were suspended and are
	// on no stack: no path.
	SideNode = 1
	// FirstNode is the first of the others.
	FirstNode = 3
	// NoNode is where a thread is that is on no strand.
	NoNode = 1<<tickShift - 1
)

// Node is a place in the calls of a thread: a call path, of Site called from
// Parent.
type Node struct {
	Site   SiteID // and placeNode
	Parent uint32
	Born   Tick // of the event that made it
}

// Place is the site of a node that is a place in the code of its parent, such as a line; 0 for a call path.
func (n Node) Place() SiteID {
	if n.Site < placeNode {
		return 0
	}
	return n.Site &^ placeNode
}

// Part is what a node adds to a window.
type Part struct {
	Node  uint32
	Ticks uint64
	Calls uint64
	// Others is how many events came there that began no call from there and ended none
	// of its own, less the calls of its own that ended without an exit of theirs.
	Others int64
	// Away is how many frames left the thread there, less those that came back.
	// AwayTicks is the sum of the ticks at which they came back less that of the
	// ticks at which they left, modulo 2^64.
	Away      int64
	AwayTicks uint64
	// Counted is how many intervals between two events were there that were not timed.
	// Their time is in the window's Counted.
	Counted uint64
	// Drawn is what of the timed intervals was timed because a burst was open: the
	// sample that stands for those that were counted. Those that lasted as long as calls
	// that are always timed are the second.
	Drawn [2]Drawn
}

// Drawn is intervals that were timed because a burst was open, and their ticks.
type Drawn struct{ Intervals, Ticks uint64 }

// LongCall is a call that took long.
type LongCall struct {
	Node        uint32
	Enter, Exit Tick
}

// Window is what a thread did between two samples of energy. From Last to the
// begin of the next window it was in Top.
type Window struct {
	Epoch       Tick // the newest sample when it began
	Begin, Last Tick
	Top         uint32 // NoNode: on no strand
	// Counted is the ticks of the intervals that were not timed, of all nodes together.
	Counted uint64
	// Counting is set where events came since Last that were not timed: the thread was
	// not in Top alone until the first sample after the window.
	Counting bool
	Parts    []Part
	Long     []LongCall // that ended in it
}

// Tally is what a thread has added up itself. The number of windows that were
// taken is what fold returns; those that are not taken are offered again.
type Tally struct {
	// Paths is the number of the tree that has the paths. Threads whose stacks go
	// from one to another share it.
	Paths   uint64
	Strands bool
	Nodes   []Node // all so far; the index is the number
	Windows []Window
	// What came since the last Run: events, frames that ended with an outer
	// one, suspended frames that ended without coming back, calls that were added to
	// a path that is not quite theirs, and long calls of which no record is left.
	Events, Unwound, Closed, Joined, LongLost uint64
	// CountedCost is what an event costs that is not timed, in ticks.
	CountedCost float64
	// Lasting is how many ticks an interval lasts at least that is drawn as a long one.
	Lasting float64
	// Warms is set of a program that is compiled as it runs: an event may cost many times as much until then.
	Warms bool
	// Used is the processor time of a thread from the fork(2) that made its process, which is
	// Run.Start, to its first event; 0 of other threads.
	Used time.Duration
	// Times is how long the calls of functions took, of a thread that has ended.
	Times []Times
}

// pauseSkew is how much later than a reading of the clock a time in a tree can be that is
// read after it, in ticks: cg may be stopped in between.
const pauseSkew = clockSkew << 6

// forest is the memory of the trees. A nil one has none.
type forest struct {
	fd      int
	file    string // its path, where it is a file
	mem     []byte // the header and the states
	state   []uint32
	nodes   int // of each tree
	times   int // of each tree: functions that have them
	first   int64
	each    int64
	trees   []tree // mapped where they are in use
	gone    []bool
	reading []reading
	waiting waiting
	used    int // trees of threads that were taken, in all
	refused int // of them, those that hold what no writer writes
	live    int // at the last look
}

// tree is a tree in the memory of this process.
type tree struct {
	mem     []byte
	head    *treeHead
	touched [windows][]byte
	nodes   []treeNode
	times   []treeTimes
}

// newForest makes the memory, sparse: what a thread uses of it is pages. nil where
// the system does not give as many addresses.
func newForest(trees, nodes, functions int) *forest {
	fd, err := unix.MemfdCreate("cg-trees", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil
	}
	f := openForest(fd, trees, nodes, functions, unix.Ftruncate)
	if f != nil {
		// Nobody can cut the memory below the reader.
		unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	return f
}

// newForestIn is newForest in a file of a folder, with all its room reserved. number is
// its name.
func newForestIn(dir string, number, trees, nodes, functions int) *forest {
	path := filepath.Join(dir, strconv.Itoa(number))
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil
	}
	reserve := func(fd int, size int64) error { return unix.Fallocate(fd, 0, 0, size) }
	f := openForest(fd, trees, nodes, functions, reserve)
	if f == nil {
		os.Remove(path)
		return nil
	}
	f.file = path
	return f
}

// openForest lays out the memory of a file, and closes the file where it cannot.
func openForest(fd, trees, nodes, functions int, reserve func(fd int, size int64) error) *forest {
	if bits.UintSize < 64 {
		unix.Close(fd)
		return nil
	}
	first, each := forestLayout(trees, nodes, functions)
	if reserve(fd, first+int64(trees)*each) != nil {
		unix.Close(fd)
		return nil
	}
	mem, err := unix.Mmap(fd, 0, int(first), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil
	}
	*(*forestHead)(unsafe.Pointer(&mem[0])) = forestHead{
		magic: treeMagic, version: treeVersion, trees: uint32(trees), nodes: uint32(nodes), windows: windows,
		functions: uint32(functions), each: uint64(each),
	}
	return &forest{
		fd: fd, mem: mem, state: unsafe.Slice((*uint32)(unsafe.Pointer(&mem[forestStates])), trees),
		nodes: nodes, times: functions, first: first, each: each,
		trees: make([]tree, trees), gone: make([]bool, trees), reading: make([]reading, trees),
		waiting: waiting{most: mostParts},
	}
}

func (f *forest) close() {
	if f == nil {
		return
	}
	for i := range f.trees {
		f.unmap(i)
	}
	unix.Munmap(f.mem)
	unix.Close(f.fd)
	if f.file != "" {
		os.Remove(f.file)
	}
	f.mem, f.state = nil, nil
}

// at is a tree, mapped; nil where there are no addresses for it.
func (f *forest) at(i int) *tree {
	t := &f.trees[i]
	if t.mem != nil {
		return t
	}
	mem, err := unix.Mmap(f.fd, f.first+int64(i)*f.each, int(f.each), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	t.mem, t.head = mem, (*treeHead)(unsafe.Pointer(&mem[0]))
	blocks := f.nodes / blockNodes
	for w := range t.touched {
		t.touched[w] = mem[page+w*blocks:][:blocks:blocks]
	}
	t.nodes = unsafe.Slice((*treeNode)(unsafe.Pointer(&mem[page+windows*blocks])), f.nodes)
	if f.times > 0 {
		t.times = unsafe.Slice((*treeTimes)(unsafe.Pointer(&mem[timesAt(f.nodes)])), f.times)
	}
	return t
}

func (f *forest) unmap(i int) {
	if f.trees[i].mem != nil {
		unix.Munmap(f.trees[i].mem)
	}
	f.trees[i] = tree{}
}

// list adds the trees in use to the chunks in use.
func (f *forest) list(to []liveChunk, numbered uint64) []liveChunk {
	if f == nil {
		return to
	}
	f.live = 0
	for i := range f.state {
		s := atomic.LoadUint32(&f.state[i])
		if s == stateFree {
			continue
		}
		t := f.at(i)
		if t == nil {
			continue
		}
		f.live++
		seq := atomic.LoadUint64(&t.head.head.seq)
		if seq == 0 || seq > numbered {
			continue
		}
		to = append(to, liveChunk{seq, i, s, true})
		if f.reading[i].seq != seq {
			f.begin(i, seq)
		}
	}
	return to
}

// begin begins to read a tree, and the one whose paths it shares.
func (f *forest) begin(i int, seq uint64) {
	r, h := &f.reading[i], f.trees[i].head
	f.drop(r, len(r.queue))
	*r = reading{seq: seq, paths: i}
	if h.head.flags&flagPaths != 0 {
		r.pathsOnly = true
		f.endImage(i)
		return
	}
	f.used++
	if h.paths == 0 {
		return
	}
	p := int(h.paths) - 1
	of := uint64(0)
	if p < len(f.reading) {
		of = f.numberOfPaths(p)
	}
	if of == 0 || of >= seq {
		r.refused, r.done = true, true
		f.refused++
		return
	}
	if f.reading[p].seq != of {
		f.begin(p, of)
	}
	r.paths, r.strands = p, true
	f.reading[p].users++
}

// numberOfPaths is the number of a tree of paths alone, 0 where it is none.
func (f *forest) numberOfPaths(i int) uint64 {
	t := f.at(i)
	if t == nil || atomic.LoadUint32(&f.state[i]) == stateFree || t.head.head.flags&flagPaths == 0 {
		return 0
	}
	return atomic.LoadUint64(&t.head.head.seq)
}

// endImage takes it that the earlier program of a process has ended, where a new one
// has a tree of paths: exec(2).
func (f *forest) endImage(i int) {
	h := &f.trees[i].head.head
	for k := range f.reading {
		r := &f.reading[k]
		if !r.pathsOnly || r.seq >= h.seq || f.trees[k].mem == nil {
			continue
		}
		if of := &f.trees[k].head.head; of.pid == h.pid && of.pidSpace == h.pidSpace {
			f.gone[k] = true
		}
	}
}

// end takes it that every writer has ended.
func (f *forest) end() {
	if f == nil {
		return
	}
	for i := range f.gone {
		f.gone[i] = true
	}
}

// threadName is what the program calls the thread, "" where it did not say.
func (h *treeHead) threadName() string {
	n := min(int(atomic.LoadUint32(&h.named)), len(h.name))
	return strings.ToValidUTF8(string(h.name[:n]), "?")
}

// drainTree hands what a thread has added up to fold.
func (c *Channel) drainTree(l liveChunk, fold func(Run) int) int {
	f := c.forest
	t, r := f.at(l.index), &f.reading[l.index]
	h := &t.head.head
	if r.pathsOnly {
		c.drainPaths(l)
		return 0
	}
	done := l.state == stateFull || f.gone[l.index]
	r.read = r.read && !done
	latest := c.clock.Now() + pauseSkew
	if !r.refused && !r.done {
		epoch := Tick(atomic.LoadUint64(&c.head.epoch))
		v := visit{epoch: epoch, latest: latest, began: c.began.tick - clockSkew, done: done, tree: l.index,
			waiting: &f.waiting}
		if !r.collect(t, f.pathsOf(r), v) {
			r.refused, r.done = true, true
			f.refused++
			f.drop(r, len(r.queue))
			r.long = nil
			// From here on it is not known where the thread is.
			fold(Run{Thread: Thread{h.pid, h.tid}, Start: Tick(h.tick), Last: true, Tally: &Tally{Paths: r.seq}})
		}
	}
	if len(r.queue) == 0 && !done {
		return 0
	}
	run := Run{Thread: Thread{h.pid, h.tid}, Start: Tick(h.tick), Last: done && r.done, Cost: c.cost(h)}
	if !r.offered {
		run.begin(h)
	}
	run.Tally = r.tally(t.head, f.reading[r.paths])
	run.Name = t.head.threadName()
	run.Tally.Used = time.Duration(min(t.head.used, uint64(math.MaxInt64)))
	run.Tally.CountedCost = c.ticks(float64(t.head.counted)/16, h.flags)
	run.Tally.Warms = h.flags&flagWarms != 0
	run.Tally.Lasting = c.ticks(float64(atomic.LoadUint32(&t.head.lasting)), h.flags)
	if run.Last {
		run.Tally.Times = t.timesOfCalls()
	}
	n := len(r.queue)
	taken := min(n, fold(run))
	r.offered = r.offered || taken > 0
	f.drop(r, taken)
	if run.Last && taken == n {
		delete(c.current, source{Thread{h.pid, h.tid}, true})
		c.forest.release(l.index)
	}
	return taken
}

// drop takes the first windows of a queue as done with.
func (f *forest) drop(r *reading, windows int) {
	for _, w := range r.queue[:windows] {
		f.waiting.parts -= len(w.Parts)
	}
	r.queue = append(r.queue[:0:0], r.queue[windows:]...)
}

// drainPaths gives up a tree of paths alone whose process has ended, once no thread's
// tree needs it. A tree that was listed after the end is known.
func (c *Channel) drainPaths(l liveChunk) {
	r := &c.forest.reading[l.index]
	switch {
	case !c.forest.gone[l.index] && l.state != stateFull:
	case !r.done:
		r.done = true
	case r.users == 0:
		c.forest.release(l.index)
	}
}

// pathsOf is the tree that has the paths of a reading, with what is known of it.
func (f *forest) pathsOf(r *reading) pathSource {
	return pathSource{f.at(r.paths), &f.reading[r.paths]}
}

// release gives a tree back to the writers.
func (f *forest) release(i int) {
	r, t := &f.reading[i], f.at(i)
	n := f.nodes
	if !r.refused {
		n = min(n, (len(f.reading[r.paths].nodes)+blockNodes-1)/blockNodes*blockNodes)
	}
	if r.strands {
		f.reading[r.paths].users--
	}
	const punch = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE
	if n <= 1024 || f.file != "" || unix.Fallocate(f.fd, punch, f.first+int64(i)*f.each, f.each) != nil {
		clear(t.times[:min(int(t.head.timed), len(t.times))])
		*t.head = treeHead{}
		for w := range t.touched {
			clear(t.touched[w][:n/blockNodes])
		}
		clear(t.nodes[:n])
	}
	f.unmap(i)
	f.waiting.leaves(i)
	*r = reading{}
	f.gone[i] = false
	atomic.StoreUint32(&f.state[i], stateFree)
}
