// Package attribute turns checkpoints and energy samples into joules per
// function and call path.
//
// In go the words of every thread (checkpoint.Run) and, window by window, two
// neighbouring samples (nemb.Sample). Out come self and inclusive energies and
// the ledger that accounts for every microjoule the sensors counted. The
// package is pure: no files, no clock, no goroutines. Its memory grows with
// the number of call paths, up to a limit, and not with the number of calls.
//
// The energy of a window is split in proportion to processor time. First the
// idle power of the domain is set aside: where a model tells it, as told; else
// as the published share of full power, given how busy the processors were. The
// rest goes to the program, cg and everyone else.
//
// The program's goes to its threads by processor time, and to call paths. Where
// a model tells it, power is in proportion to processor time, and so is the
// split. Where a counter does, a regression over blocks of windows finds what
// power goes with each function (package regression), and each block's energy is
// split by power times time; what the data do not tell is split by time. The
// counter is never interpolated onto the edges of a function.
package attribute

import (
	"math"
	"math/bits"
	"slices"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute/regression"
)

// MaxPaths is the number of call paths that are told apart. Further paths are
// kept per function, below "other".
const MaxPaths = 1 << 19

const (
	root   = 0 // the node of everything outside the sites
	noNode = -1
)

// node is a call path: the hot part, 32 bytes.
type node struct {
	site   checkpoint.SiteID
	parent int32
	// The child that was entered last, the answer to most lookups.
	childSite checkpoint.SiteID
	child     int32
	// Ticks in the run being folded, less what its events cost; moved to
	// thread.pending after it. Below zero: what is still owed to events.
	ticks int64
	calls uint64 // with counted, see Demote
}

// counted marks the nodes of a demoted site in their calls.
const counted = 1 << 63

// tally is what a node has cost so far.
type tally struct {
	wall, cpu float64 // nanoseconds
	away      float64 // ticks that strands whose innermost frame it is were on no thread
}

type part struct {
	node  int32
	ticks uint64
	share float64 // of what the thread used in the window, once it is over
}

// frame is a call that is open. since is when it began; a frame that came back,
// from a suspension or with a strand, began at never.
type frame struct {
	since checkpoint.Tick
	node  int32
}

// never is later than every tick.
const never checkpoint.Tick = 1 << 62

type fork struct {
	at    checkpoint.Tick
	stack []frame
	sites []checkpoint.SiteID
}

type thread struct {
	id      checkpoint.Thread
	start   checkpoint.Tick // of the chunk in which it began
	top     frame
	stack   []frame // the frames below top
	last    checkpoint.Tick
	pending []part
	forks   []fork
	cpu     float64 // nanoseconds, at the last sample
	known   bool    // cpu has been read
	credit  float64 // nanoseconds it was there and is not told to have used, yet
	ended   bool
	gone    bool            // the kernel knows it no more
	cost    checkpoint.Tick // of an event
	// In the open window, what it used is a guess for its sites alone.
	sitesOnly bool
	sites     []checkpoint.SiteID // the whole stack, where MaxDepth cuts it

	longCalls // see calls.go

	// Of a thread whose stack is that of the strand it is on, see strand.go.
	proc *proc // nil for other threads
	on   *strand
	idle uint64 // ticks of the open window on no strand
	queue
}

// suspension sums the moments at which frames of a site left and came back:
// the difference is the time suspended, whichever frame it was.
type suspension struct {
	open      int64
	out, back float64 // ticks since the first sample
}

// Attributor folds words and closes windows.
type Attributor struct {
	domains []nemb.Domain
	cpus    float64 // logical processors of the host, 0 where not known
	nodes   []node
	tallies []tally
	energy  [][]float64 // per domain, per node: microjoules
	edges   table
	threads map[checkpoint.Thread]*thread
	touched []int32
	// combined is scratch memory of combine, per node; all 0 between its calls.
	combined []uint64
	waiting  map[checkpoint.SiteID]*suspension
	procs    map[uint32]*proc
	batch    batch
	trees    map[uint64]*tree // by their numbers
	ended    []uint64         // trees that are kept
	spare    []*strand
	demoted  map[checkpoint.SiteID]bool
	probe    int32                                 // the node of what checkpoints cost, 0 until there is one
	met      map[checkpoint.SiteID]checkpoint.Tick // when a site was entered for the first time
	at       checkpoint.Tick                       // of the word being folded, where it is on a new path

	// MaxDepth is how many calls deep sites are told apart, 0 for no limit:
	// what deeper ones use is their caller's. Set before the first Fold.
	MaxDepth int
	// Background names the classes of threads of account.Usage.Background, which
	// have their own lines in the ledger. Set before Begin.
	Background []string

	beside [][]float64 // per domain, per class: microjoules
	direct []float64   // per domain: microjoules of windows in which nobody ran

	longest int64 // ticks from which on a call has joules of its own, and is told
	spans   spans
	single  map[checkpoint.SiteID]*perCall
	unseen  map[checkpoint.SiteID]uint64 // calls whose end nobody has seen
	rates   map[checkpoint.SiteID]*rate
	weight  float64 // ns, the program's processor time in the window before

	data  *regression.Data
	spent []float64 // per domain: the program's energy in the open window
	now   []regression.Entry

	origin  checkpoint.Tick
	begun   bool
	prev    nemb.Sample
	first   nemb.Sample
	rest    float64 // program time outside the followed threads, envelope
	covered float64 // program time of the followed threads
	books   []book
	windows int       // closed
	owed    []float64 // per domain: see base
	slack   float64   // microjoules, of the window and domain that base was asked for last

	// Of the open window, see parts.
	sites     map[checkpoint.SiteID]sitePart
	bounds    map[checkpoint.SiteID]*siteBounds
	recent    []checkpoint.SiteID // that ran in the open window or shortly before
	mark      []uint32            // per node: the epoch in which it was visited
	under     []float64
	outermost []bool // per node: no caller is of the same site
	visited   []int32
	epoch     uint32

	Stats Stats
}

// Stats counts what was seen and what did not fit.
type Stats struct {
	Events    uint64 // words folded
	Unwound   uint64 // frames that ended with an outer one
	Closed    uint64 // suspended frames that ended without coming back
	Backwards uint64 // words whose time ran backwards; taken as no time
	Lost      uint64 // events that writers report as lost
	Truncated uint64 // calls charged to "other" because of MaxPaths
	OpenAtEnd uint64 // frames open when their thread or the run ended
	Threads   int
	Merged    int // windows joined because a reading failed
	// Disordered counts samples that were behind the one before them in time,
	// energy or processor time, or did not tell of every domain.
	Disordered int
}

// New prepares the attribution of energy from these domains, on a host of cpus
// logical processors, 0 where that is not known.
func New(domains []nemb.Domain, cpus int) *Attributor {
	a := &Attributor{
		domains: slices.Clone(domains),
		cpus:    float64(cpus),
		threads: map[checkpoint.Thread]*thread{},
		waiting: map[checkpoint.SiteID]*suspension{},
		procs:   map[uint32]*proc{},
		demoted: map[checkpoint.SiteID]bool{},
		met:     map[checkpoint.SiteID]checkpoint.Tick{},
		energy:  make([][]float64, len(domains)),
		sites:   map[checkpoint.SiteID]sitePart{},
		bounds:  map[checkpoint.SiteID]*siteBounds{},
		books:   make([]book, len(domains)),
		longest: math.MaxInt64,
		rates:   map[checkpoint.SiteID]*rate{},
		single:  map[checkpoint.SiteID]*perCall{},
		unseen:  map[checkpoint.SiteID]uint64{},
		direct:  make([]float64, len(domains)),
		spent:   make([]float64, len(domains)),
	}
	a.data = regression.NewData(counters(domains))
	a.add(0, noNode)
	return a
}

func (a *Attributor) add(site checkpoint.SiteID, parent int32) int32 {
	n := int32(len(a.nodes))
	a.nodes = append(a.nodes, node{site: site, parent: parent, child: noNode})
	if a.demoted[site] {
		a.nodes[n].calls = counted
	}
	a.tallies = append(a.tallies, tally{})
	for d := range a.energy {
		a.energy[d] = append(a.energy[d], 0)
	}
	a.mark, a.under = append(a.mark, 0), append(a.under, 0)
	a.outermost = append(a.outermost, !a.within(parent, site))
	if t, ok := a.met[site]; !ok || a.at < t { // threads are folded one by one
		a.met[site] = a.at
	}
	return n
}

// within reports whether site is among a node and its callers.
func (a *Attributor) within(n int32, site checkpoint.SiteID) bool {
	for ; n > root; n = a.nodes[n].parent {
		if a.nodes[n].site == site {
			return true
		}
	}
	return false
}

// path returns the node of site called from parent.
func (a *Attributor) path(parent int32, site checkpoint.SiteID) int32 {
	n, ok := a.edges.find(parent, site)
	if !ok {
		if len(a.nodes) >= MaxPaths {
			a.Stats.Truncated++
			if n, ok = a.edges.find(noNode, site); !ok {
				n = a.add(site, root)
				a.edges.put(noNode, site, n)
			}
			return n // not kept for this parent: that would grow without limit
		}
		n = a.add(site, parent)
		a.edges.put(parent, site, n)
	}
	p := &a.nodes[parent]
	p.childSite, p.child = site, n
	return n
}

// table maps (parent, site) to a node: open addressing with linear probing,
// never more than half full. A slot whose node is 0 is empty, since the root
// is nobody's child.
type table struct {
	slots []slot
	used  int
	shift uint
}

type slot struct {
	parent int32
	site   checkpoint.SiteID
	node   int32
}

func (t *table) home(parent int32, site checkpoint.SiteID) int {
	return int((uint64(uint32(parent))<<32 | uint64(site)) * 0x9e3779b97f4a7c15 >> t.shift) // Fibonacci hashing
}

func (t *table) find(parent int32, site checkpoint.SiteID) (int32, bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	for i := t.home(parent, site); ; i = (i + 1) & (len(t.slots) - 1) {
		switch s := &t.slots[i]; {
		case s.node == 0:
			return 0, false
		case s.parent == parent && s.site == site:
			return s.node, true
		}
	}
}

func (t *table) put(parent int32, site checkpoint.SiteID, node int32) {
	if 2*(t.used+1) > len(t.slots) {
		old := t.slots
		size := max(64, 2*len(old))
		t.slots, t.shift = make([]slot, size), uint(64-bits.Len(uint(size-1)))
		for _, s := range old {
			if s.node != 0 {
				t.insert(s)
			}
		}
	}
	t.insert(slot{parent, site, node})
	t.used++
}

func (t *table) insert(s slot) {
	i := t.home(s.parent, s.site)
	for t.slots[i].node != 0 {
		i = (i + 1) & (len(t.slots) - 1)
	}
	t.slots[i] = s
}

// Fold takes the words of a run that are earlier than until and returns how
// many these were. now is a reading of the clock not before the last word: it
// completes the 40 bits of the words' ticks. Words of strands are kept until
// Merge: Fold every run with the same until before it.
func (a *Attributor) Fold(r checkpoint.Run, now, until checkpoint.Tick) int {
	if r.Tally != nil {
		return a.FoldAggregates(r, until)
	}
	if r.Strands {
		a.settled(r)
	}
	if len(r.Words) == 0 {
		a.end(a.thread(r), r.Last)
		return 0
	}
	at := r.Words[0].Tick(now)
	if at < r.Start { // the reader was stopped for longer than 40 bits last
		at = r.Start
	}
	if at >= until { // nor is there its parent's word of the fork yet
		return 0
	}
	t := a.thread(r)
	t.cost = checkpoint.Tick(r.Cost + .5)
	t.gone = false
	var taken int
	if r.Strands {
		if t.proc == nil { // its chunks before were of no strands
			a.follow(t, r)
		}
		taken = a.keep(t, r.Words, at, until)
	} else {
		taken = a.fold(t, r.Words, at, until)
	}
	if taken == len(r.Words) {
		a.end(t, r.Last)
	}
	return taken
}

// fold takes words of a thread, or of the strand that is on it. at is the full
// tick of the first.
func (a *Attributor) fold(t *thread, words []checkpoint.Word, at, until checkpoint.Tick) int {
	last := t.last
	if last == 0 {
		last = at
	}
	top := t.top
	stack := t.stack
	nodes := a.nodes
	era := at.Era()
	taken := len(words)
	var backwards uint64
	limited := a.MaxDepth > 0
	long := a.longest
	cost, spent := int64(t.cost), uint64(0)

	for i, w := range words {
		at := era | w.Low()
		if at < last {
			if at, era = w.TickAfter(last, era); at < last {
				backwards++
				at = last
			}
		}
		if at >= until {
			taken = i
			break
		}
		n := &nodes[top.node]
		if n.ticks <= 0 {
			a.touched = append(a.touched, top.node)
		}
		// Of the time between two events one half of each is theirs.
		n.ticks += int64(at-last) - cost
		spent += uint64(at - last)
		last = at
		kind, site := w.Kind(), w.Site()
		if limited && a.deeper(t, kind, site) {
			continue
		}
		switch {
		case kind == checkpoint.Enter:
			called := n.child
			if n.childSite != site || called < 0 {
				if site == 0 { // no checkpoint enters it
					continue
				}
				a.at = at
				called = a.path(top.node, site)
				nodes = a.nodes
			}
			nodes[called].calls++
			if nodes[called].calls&counted == 0 {
				stack = append(stack, top)
				top = frame{at, called}
			}
		case kind == checkpoint.Exit && n.site == site && top.node != root:
			if int64(at-top.since) >= long {
				t.long(top, at)
			}
			top = stack[len(stack)-1]
			stack = stack[:len(stack)-1]
		default:
			t.stack, t.top = stack, top
			a.foldRare(t, w, at)
			stack, top, nodes = t.stack, t.top, a.nodes
		}
	}
	t.stack, t.top, t.last = stack, top, last
	a.Stats.Events += uint64(taken)
	a.Stats.Backwards += backwards
	if over := spent - a.flush(t); over > 0 {
		a.probed(t, over)
	}
	if len(t.pending) > 4096 {
		t.pending = a.combine(t.pending)
	}
	return taken
}

// foldRare folds a word that neither enters a site nor leaves the innermost
// frame.
func (a *Attributor) foldRare(t *thread, w checkpoint.Word, at checkpoint.Tick) {
	site := w.Site()
	switch w.Kind() {
	case checkpoint.Exit:
		switch {
		case a.demoted[site]:
		case a.skip(t, site):
			t.pop()
		default:
			a.Stats.Closed++
			a.back(site, at)
		}
	case checkpoint.Suspend:
		if a.unwindTo(t, site) {
			t.pop()
		}
		s := a.suspension(site)
		s.open++
		s.out += a.since(at)
	case checkpoint.Resume:
		if site == 0 {
			return
		}
		a.at = at
		t.push(frame{never, a.path(t.top.node, site)})
		a.resumed(site, at)
	case checkpoint.Unwind:
		if site != 0 && a.nodes[t.top.node].site != site && !a.unwindTo(t, site) {
			a.at = at
			t.push(frame{never, a.path(t.top.node, site)})
			a.back(site, at)
		}
	case checkpoint.Close:
		a.Stats.Closed++
		a.back(site, at)
	case checkpoint.Fork:
		t.fork(fork{at, append(slices.Clone(t.stack), t.top), slices.Clone(t.sites)})
	}
}

// thread finds the state of the run's thread, starting it where it is new.
func (a *Attributor) thread(r checkpoint.Run) *thread {
	t := a.threads[r.Thread]
	switch {
	case t == nil:
		t = &thread{id: r.Thread, start: r.Start}
		a.threads[r.Thread] = t
		a.Stats.Threads++
		a.inherit(t, r)
		a.follow(t, r)
	case r.First && t.start != r.Start: // exec, or the ids were given out again
		a.abandon(t)
		t.start, t.ended, t.forks = r.Start, false, nil
		t.last, t.gone = r.Start, false
		a.inherit(t, r)
		a.follow(t, r)
	case r.Lost > 0 && t.start != r.Start:
		t.start = r.Start
		a.abandon(t)
		a.forget(t)
	}
	if r.Lost > 0 {
		a.Stats.Lost += r.Lost
	}
	if t.last == 0 {
		t.last = r.Start
	}
	return t
}

// inherit gives a forked thread the stack its parent had.
func (a *Attributor) inherit(t *thread, r checkpoint.Run) {
	if !r.Forked {
		return
	}
	parent := a.threads[r.Parent]
	if parent == nil {
		return
	}
	for i, f := range parent.forks {
		if f.at == r.ForkTick {
			t.stack = append(t.stack[:0], f.stack[:len(f.stack)-1]...)
			t.top = f.stack[len(f.stack)-1]
			t.sites = f.sites
			// Its parent's calls did not begin in the child.
			t.top.since = never
			for i := range t.stack {
				t.stack[i].since = never
			}
			parent.forks = append(parent.forks[:i], parent.forks[i+1:]...)
			return
		}
	}
}

// fork keeps the stack for the child, the newest few: most children of
// fork(2) call exec and never ask.
func (t *thread) fork(f fork) {
	if len(t.forks) >= 64 {
		t.forks = append(t.forks[:0], t.forks[1:]...)
	}
	t.forks = append(t.forks, f)
}

func (t *thread) push(f frame) {
	t.stack = append(t.stack, t.top)
	t.top = f
}

func (t *thread) pop() {
	t.top = t.stack[len(t.stack)-1]
	t.stack = t.stack[:len(t.stack)-1]
}

// cut marks frames that end where nobody has seen them end.
func (a *Attributor) cut(frames ...frame) {
	for _, f := range frames {
		if f.node != root {
			a.unseen[a.nodes[f.node].site]++
		}
	}
}

// skip is unwindTo where the frames should have told their end: they were left
// by longjmp(3), say.
func (a *Attributor) skip(t *thread, site checkpoint.SiteID) bool {
	before, top := len(t.stack), t.top
	open := t.stack
	if !a.unwindTo(t, site) {
		return false
	}
	if n := len(t.stack); n < before {
		a.cut(open[n+1:]...)
		a.cut(top)
	}
	return true
}

// unwindTo ends the frames above the innermost one of site. It reports whether
// there is one; without one nothing changes.
func (a *Attributor) unwindTo(t *thread, site checkpoint.SiteID) bool {
	if t.top.node == root {
		return false
	}
	if a.nodes[t.top.node].site == site {
		return true
	}
	for i := len(t.stack) - 1; i > 0; i-- {
		if a.nodes[t.stack[i].node].site == site {
			a.Stats.Unwound += uint64(len(t.stack) - i)
			t.top = t.stack[i]
			t.stack = t.stack[:i]
			return true
		}
	}
	return false
}

// abandon ends every frame of a thread whose continuation is unknown.
func (a *Attributor) abandon(t *thread) {
	if t.on != nil {
		a.leave(t, t.last)
	}
	if t.top.node != root {
		a.Stats.OpenAtEnd += uint64(len(t.stack))
		a.cut(t.stack...)
		a.cut(t.top)
	}
	t.stack, t.top, t.sites = t.stack[:0], frame{}, nil
}

func (a *Attributor) end(t *thread, last bool) {
	switch {
	case last && len(t.pieces) > 0:
		t.ending = true // with its last word
	case last && !t.ended:
		a.abandon(t)
		t.ended = true
		a.unfollow(t)
	}
}

func (a *Attributor) suspension(site checkpoint.SiteID) *suspension {
	s := a.waiting[site]
	if s == nil {
		s = &suspension{}
		a.waiting[site] = s
	}
	return s
}

// resumed notes that a frame is back. One that goes on on another thread may be
// seen to come before it was seen to leave.
func (a *Attributor) resumed(site checkpoint.SiteID, at checkpoint.Tick) {
	s := a.suspension(site)
	s.open--
	s.back += a.since(at)
}

func (a *Attributor) back(site checkpoint.SiteID, at checkpoint.Tick) {
	if s := a.waiting[site]; s != nil && s.open > 0 {
		s.open--
		s.back += a.since(at)
	}
}

// flush moves the ticks of the run just folded to the thread's open window, and
// returns how many these are. What a node owes to events beyond its ticks stays
// with it: a clock of coarse steps shows intervals that are shorter than an
// event, and others that are as much longer.
func (a *Attributor) flush(t *thread) (moved uint64) {
	for _, n := range a.touched {
		if k := a.nodes[n].ticks; k > 0 {
			t.pending = append(t.pending, part{node: n, ticks: uint64(k)})
			a.nodes[n].ticks = 0
			moved += uint64(k)
		}
	}
	a.touched = a.touched[:0]
	return moved
}

// combine adds up parts of the same node.
func (a *Attributor) combine(parts []part) []part {
	if more := len(a.nodes) - len(a.combined); more > 0 {
		a.combined = append(a.combined, make([]uint64, more)...)
	}
	for _, p := range parts {
		if p.ticks > 0 && a.combined[p.node] == 0 {
			a.touched = append(a.touched, p.node)
		}
		a.combined[p.node] += p.ticks
	}
	parts = parts[:0]
	for _, n := range a.touched {
		parts = append(parts, part{node: n, ticks: a.combined[n]})
		a.combined[n] = 0
	}
	a.touched = a.touched[:0]
	return parts
}
