// Package stacks folds the words of threads into call paths: for every sampling
// window it gives the time that each thread spent in each path.
//
// It takes the words of every thread, or the sums that a thread adds up itself
// (checkpoint.Run). At the end of a window every thread has the ticks it spent in
// each path (Thread.Parts), the calls that were long and the calls that are open.
// Time means time on a clock: how much of it a thread ran on a processor, and what
// that cost, is not known here. The memory grows with the number of call paths, up
// to a limit, and not with the number of calls.
package stacks

import (
	"math"
	"slices"

	"cg/checkpoint"
	"cg/nemb/attribute/paths"
)

// node is what folding needs of a call path: the hot part, 32 bytes.
type node struct {
	site checkpoint.SiteID
	// The child that was entered last, the answer to most lookups.
	childSite checkpoint.SiteID
	child     int32
	// Ticks in the run being folded, less what its events cost; moved to
	// Thread.pending after it. Below zero: what is still owed to events.
	ticks int64
	calls uint64
}

// Stacks folds words.
type Stacks struct {
	// Tree has the call paths. Others read it.
	Tree *paths.Tree
	// MaxDepth is how many calls deep sites are kept apart, 0 for no limit: what
	// deeper ones use is their caller's. Set before the first Fold.
	MaxDepth int
	// Long is the number of ticks from which on a call is long, see Thread.TakeLong.
	Long  int64
	Stats Stats

	nodes   []node    // per node of Tree
	away    []float64 // of strands, per node: ticks
	others  []int64   // events that are no calls, per node
	parked  []int64   // strands that are on no thread, of threads that add up themselves
	threads map[checkpoint.Thread]*Thread
	order   []*Thread // as they were met
	touched []int32
	// combined is scratch memory of combine, per node; all 0 between its calls.
	combined []uint64
	probe    int32                        // the node of what checkpoints cost, 0 until there is one
	cut      map[checkpoint.SiteID]uint64 // calls whose end nobody has seen

	suspensions suspensions
	strands     strands
	sums        sumTrees
	known       knowledge
	times       map[checkpoint.SiteID]*siteTimes
	places      map[PlaceOn]*PlaceTime                  // nil without places
	window      map[int32]map[checkpoint.SiteID]float64 // see WindowPlaces
	seen        []seenNode                              // by looks, of threads that have ended
	blur        map[checkpoint.SiteID]float64
}

// Stats counts what was seen and what did not fit.
type Stats struct {
	Events    uint64 // words folded
	Unwound   uint64 // frames that ended with an outer one
	Closed    uint64 // suspended frames that ended without coming back
	Backwards uint64 // words whose tick is before that of their thread's word before
	Lost      uint64 // events that writers report as lost
	OpenAtEnd uint64 // frames open when their thread or the run ended
	Threads   int
}

// New begins with no thread.
func New() *Stacks {
	st := &Stacks{
		Tree: paths.NewTree(), Long: math.MaxInt64, threads: map[checkpoint.Thread]*Thread{},
		cut: map[checkpoint.SiteID]uint64{}, times: map[checkpoint.SiteID]*siteTimes{},
	}
	st.suspensions.bySite = map[checkpoint.SiteID]*suspension{}
	st.strands.procs = map[uint32]*proc{}
	st.sums.trees = map[uint64]*sumTree{}
	st.known.sites = map[checkpoint.SiteID]*sample{}
	st.grow()
	return st
}

// Begin says when the first window begins.
func (st *Stacks) Begin(at checkpoint.Tick) { st.suspensions.origin = at }

// grow takes the nodes that the tree has more.
func (st *Stacks) grow() {
	for n := len(st.nodes); n < st.Tree.Len(); n++ {
		site := st.Tree.Site(int32(n))
		st.nodes = append(st.nodes, node{site: site, child: -1})
		st.away, st.parked, st.others = append(st.away, 0), append(st.parked, 0), append(st.others, 0)
	}
}

// path returns the node of a site called from parent.
func (st *Stacks) path(parent int32, site checkpoint.SiteID, at checkpoint.Tick) int32 {
	truncated := st.Tree.Truncated
	n := st.Tree.Path(parent, site, at)
	if int(n) >= len(st.nodes) {
		st.grow()
	}
	if st.Tree.Truncated == truncated { // or its next call would not be counted as truncated
		p := &st.nodes[parent]
		p.childSite, p.child = site, n
	}
	return n
}

// Charge charges every thread with its time up to the end of a window: then the
// Parts of each are whole. Threads that the kernel does not know any more, as
// killed says, ended when they were last charged, or with their last word.
func (st *Stacks) Charge(at checkpoint.Tick, killed func(checkpoint.Thread) bool) {
	for _, t := range st.order {
		if !t.ended && t.proc == nil && !t.gone && killed(t.ID) {
			st.abandon(t)
			t.gone = true
		}
		if t.looked != nil {
			if !t.gone && t.last < at {
				t.passLooked(at)
			}
			t.pending = combineLooked(t.pending)
			continue
		}
		if !t.ended && !t.gone && t.last != 0 && t.last < at {
			st.endStretch(t, at)
			st.pass(t, at)
		}
		t.pending = st.combine(t.pending)
	}
}

// Threads lists the threads that are there or ended in the open window, in the
// order in which they were met. It is for reading, until the next Fold.
func (st *Stacks) Threads() []*Thread { return st.order }

// EndWindow begins the next window. Threads that have ended are forgotten, and those that the kernel does not know any
// more, where looks at them are all that there is.
func (st *Stacks) EndWindow() {
	clear(st.window)
	st.order = slices.DeleteFunc(st.order, func(t *Thread) bool {
		t.pending, t.idle = t.pending[:0], 0
		if t.looked != nil && (t.gone || t.ended) {
			st.forget(t)
			return true
		}
		if t.ended {
			delete(st.threads, t.ID)
		}
		return t.ended
	})
}

// End ends all that is open when the run ends.
func (st *Stacks) End(at checkpoint.Tick) {
	for _, t := range st.order {
		st.abandon(t)
	}
	for _, p := range st.strands.procs {
		st.lapse(p, at)
	}
	for n, parked := range st.parked {
		if parked > 0 {
			st.away[n] += float64(parked) * st.suspensions.since(at)
			st.cutPath(int32(n), uint64(parked))
		}
	}
}

// Calls is how often a path was called.
func (st *Stacks) Calls(n int32) uint64 { return st.nodes[n].calls }

// Others is how many events came in a path that began no call from there and ended none
// of its own, where threads add up.
func (st *Stacks) Others(n int32) int64 { return st.others[n] }

// Away is the ticks for which strands whose innermost frame a path is were on no
// thread.
func (st *Stacks) Away(n int32) float64 { return st.away[n] }

// Cut is how many calls of a site ended where nobody has seen them end.
func (st *Stacks) Cut(site checkpoint.SiteID) uint64 { return st.cut[site] }

// Doubts is the variance of what each path was given of time that was counted and not
// measured, in ticks, nil where there is none. A path beyond its end has none.
func (st *Stacks) Doubts() []float64 {
	all := slices.Clone(st.known.doubts)
	for _, t := range st.order {
		if t.adding != nil {
			all = t.adding.counting.doubts(all)
		}
	}
	return all
}

// Counted is how many intervals between two events were counted, and what an event
// costs that is timed, and one that is counted, in ticks.
func (st *Stacks) Counted() (intervals, timed, counted float64) {
	costs := &st.known.costs
	return st.known.intervals, ratio(costs.timed, costs.events), ratio(costs.counted, costs.events)
}

// Probe is the node of what checkpoints cost, 0 where that is not known.
func (st *Stacks) Probe() int32 { return st.probe }

// flush moves the ticks of the run just folded to the thread's open window, and
// returns how many these are. What a node owes to events beyond its ticks stays
// with it: a clock of coarse steps shows intervals that are shorter than an
// event, and others that are as much longer.
func (st *Stacks) flush(t *Thread) (moved uint64) {
	for _, n := range st.touched {
		if k := st.nodes[n].ticks; k > 0 {
			t.pending = append(t.pending, paths.Part{Node: n, Ticks: uint64(k)})
			st.nodes[n].ticks = 0
			moved += uint64(k)
		}
	}
	st.touched = st.touched[:0]
	return moved
}

// combine adds up parts of the same node.
func (st *Stacks) combine(parts []paths.Part) []paths.Part {
	if more := len(st.nodes) - len(st.combined); more > 0 {
		st.combined = append(st.combined, make([]uint64, more)...)
	}
	for _, p := range parts {
		if p.Ticks > 0 && st.combined[p.Node] == 0 {
			st.touched = append(st.touched, p.Node)
		}
		st.combined[p.Node] += p.Ticks
	}
	parts = parts[:0]
	for _, n := range st.touched {
		parts = append(parts, paths.Part{Node: n, Ticks: st.combined[n]})
		st.combined[n] = 0
	}
	st.touched = st.touched[:0]
	return parts
}
