package stacks

import (
	"slices"

	"cg/checkpoint"
	"cg/nemb/attribute/paths"
)

// A thread that adds up itself reports what each call path used between two
// samples, in place of its events. Its windows are folded into the same nodes
// and parts as words are, so that whatever comes later sees no difference but
// one: when in the window a call was is known of long calls alone.

// sumTrees is the trees of paths of all threads that add up themselves.
type sumTrees struct {
	trees map[uint64]*sumTree // by their numbers
}

// place is where a node of a program's tree lies.
type place struct {
	node  int32             // of Stacks.Tree
	depth int               // calls, those below MaxDepth included
	deep  bool              // below MaxDepth: node is the caller's
	place checkpoint.SiteID // at which the call is, 0 for none
}

// sumTree is what is known of a tree of paths.
type sumTree struct {
	places  []place
	threads int // that have sums of its paths
}

// adding is what a thread has that adds up itself.
type adding struct {
	tree    *sumTree
	number  uint64 // of the tree
	strands bool
	gaps    gaps
	ran     []uint32
	closed  []closedFrames
	open    []paths.Call    // the path in which it is, the outermost first
	shares  []share         // what was counted in the open window and is not divided, see counted.go
	ticks   uint64          // of these
	counts  bool            // it counts since the latest event that was timed
	since   checkpoint.Tick // the sample at which it was in a counted interval, 0: none
	begin   checkpoint.Tick // of the latest window
	cost    float64         // of an event that is counted, in ticks
	lasting float64         // ticks of an interval that is drawn as a long one, at least

	counting counting
}

// foldSums takes the windows of a run that began with samples earlier
// than until and returns how many these were. A Tally that no writer makes,
// with nodes that are not there, is not taken further than it makes sense.
func (st *Stacks) foldSums(r checkpoint.Run, until checkpoint.Tick) int {
	tally := r.Tally
	ready := slices.IndexFunc(tally.Windows, func(w checkpoint.Window) bool { return w.Epoch >= until })
	if ready < 0 {
		ready = len(tally.Windows)
	}
	r.Forked = false // the program knows with which stack the child began
	t := st.thread(r)
	if r.First && tally.Used > 0 {
		t.forked = Forked{r.Start, tally.Used}
	}
	t.cost = checkpoint.Tick(r.Cost + .5)
	st.known.costs.learn(float64(tally.Events), r.Cost, tally.CountedCost)
	gone := t.gone // its frames have ended
	t.gone = false
	y := st.adding(t, tally)
	y.cost, y.lasting = tally.CountedCost, tally.Lasting
	y.counting.warms, y.counting.cost = tally.Warms, r.Cost
	st.Stats.Events += tally.Events
	st.Stats.Unwound += tally.Unwound
	st.Stats.Closed += tally.Closed
	st.Tree.Truncated += tally.Joined
	if len(tally.Nodes) < len(y.tree.places) {
		return len(tally.Windows)
	}
	st.find(y.tree, tally.Nodes)
	y.between(tally.Nodes, tally.Windows[:ready])
	for _, w := range tally.Windows[:ready] {
		if int(w.Top) >= len(y.tree.places) && w.Top != checkpoint.NoNode {
			return len(tally.Windows)
		}
		st.foldWindow(t, tally, w)
	}
	if r.Last && ready == len(tally.Windows) {
		st.takeTimes(tally.Times, r.Cost)
		st.endStretch(t, t.last)
		t.nowhere = t.nowhere || gone
		st.end(t, true)
	}
	return ready
}

// foldWindow takes a window of a thread.
func (st *Stacks) foldWindow(t *Thread, tally *checkpoint.Tally, w checkpoint.Window) {
	y := t.adding
	if w.Begin > y.begin { // else the window has been read before, up to its end
		st.endStretch(t, min(w.Epoch, w.Begin))
		if y.since != 0 {
			y.counting.crossed(t.top.Node, st.Tree.Site(t.top.Node), float64(w.Begin-y.since), y.lasting)
		}
		y.begin, y.since = w.Begin, 0
	}
	st.pass(t, w.Begin)
	over, idle := uint64(0), int64(w.Last-t.last)-int64(w.Counted)
	for _, p := range w.Parts {
		if int(p.Node) < len(y.tree.places) {
			idle -= int64(p.Ticks)
			cost := y.checkpointTicks(p, t.cost)
			p.Ticks -= cost
			over += cost
			if n := float64(cost) / max(1, float64(t.cost)); y.counting.warms && n > 0 {
				st.known.warming.time(y.tree.places[p.Node].node, n, float64(p.Ticks), y.counting.cost, y.cost)
			}
			st.addPart(t, tally.Nodes, p)
		}
	}
	if over > 0 {
		st.chargeCheckpoints(t, over)
	}
	st.foldCounted(t, w)
	st.closeFrames(y, tally.Nodes, w.Parts)
	for _, l := range w.Long {
		if int(l.Node) < len(y.tree.places) && !y.tree.places[l.Node].deep {
			t.long = append(t.long, paths.Span{
				Call: paths.Call{Since: l.Enter, Node: y.tree.places[l.Node].node}, End: l.Exit,
			})
		}
	}
	if len(t.pending) > 4096 {
		t.pending = st.combine(t.pending)
	}
	if y.strands && idle > 0 {
		t.idle += uint64(idle)
	}
	t.last = max(t.last, w.Last)
	t.nowhere = w.Top == checkpoint.NoNode
	top := paths.Root
	t.at = 0
	if !t.nowhere {
		top, t.at = y.tree.places[w.Top].node, y.tree.places[w.Top].place
	}
	t.top = paths.Call{Since: paths.Never, Node: top}
	y.stay(st.Tree, top, w)
}

// foldCounted divides the ticks of the intervals that a thread counted in a window.
func (st *Stacks) foldCounted(t *Thread, w checkpoint.Window) {
	y := t.adding
	for _, p := range w.Parts {
		if int(p.Node) >= len(y.tree.places) {
			continue
		}
		n := y.tree.places[p.Node].node
		y.counting.learn(n, st.Tree.Site(n), p.Drawn, float64(t.cost))
		if p.Counted > 0 {
			y.shares = append(y.shares, share{n, float64(p.Counted)})
		}
	}
	y.ticks += w.Counted
	if y.counts = w.Counting && y.since == 0; !y.counts {
		st.divideCounted(t)
	}
}

// divideCounted gives the paths of a thread their parts of the ticks that were counted.
func (st *Stacks) divideCounted(t *Thread) {
	y := t.adding
	if len(y.shares) == 0 && y.ticks > 0 {
		t.pending = append(t.pending, paths.Part{Node: t.top.Node, Ticks: y.ticks})
	}
	over := y.counting.divide(st.Tree, y.shares, float64(y.ticks), y.cost, func(n int32, part uint64) {
		if part > 0 {
			t.pending = append(t.pending, paths.Part{Node: n, Ticks: part})
		}
	})
	if over > 0 {
		st.chargeCheckpoints(t, over)
	}
	y.shares, y.ticks = y.shares[:0], 0
}

// endStretch divides the time of a thread that counted until the sample with which its
// window ended: had an event come later, it would have begun another window.
func (st *Stacks) endStretch(t *Thread, at checkpoint.Tick) {
	if t.adding == nil || !t.adding.counts {
		return
	}
	t.adding.counts = false
	if at > t.last && len(t.adding.shares) > 0 && !t.nowhere {
		t.adding.ticks += uint64(at - t.last)
		t.last, t.adding.since = at, at
	}
	st.divideCounted(t)
}

// closeFrames takes the frames that ended without coming back. That one left may be
// read a window later than that it ended: those that are too many wait for the next.
func (st *Stacks) closeFrames(y *adding, nodes []checkpoint.Node, parts []checkpoint.Part) {
	waits := y.closed
	y.closed = nil
	for _, c := range waits {
		c.of.close(&st.suspensions, &c.part)
	}
	for _, p := range parts {
		if int(p.Node) >= len(y.tree.places) || nodes[p.Node].Parent != checkpoint.SideNode {
			continue
		}
		of := st.suspensions.of(nodes[p.Node].Site)
		if of.close(&st.suspensions, &p); p.Away != 0 {
			y.closed = append(y.closed, closedFrames{of, p})
		}
	}
}

// mostOpen is how many open calls of a thread are followed.
const mostOpen = 256

// stay notes which calls are open when a window ends, and since when they are: since
// the begin of the window in which their path was called last.
func (y *adding) stay(tree *paths.Tree, top int32, w checkpoint.Window) {
	depth := tree.Depth(top)
	for ; depth > mostOpen; depth-- {
		top = tree.Parent(top)
	}
	known := min(depth, len(y.open))
	y.open = append(y.open[:known], make([]paths.Call, depth-known)...)
	for i := depth - 1; i >= 0 && (i >= known || y.open[i].Node != top); i-- {
		y.open[i] = paths.Call{Since: w.Begin, Node: top}
		top = tree.Parent(top)
	}
	for _, p := range w.Parts {
		if p.Calls == 0 || int(p.Node) >= len(y.tree.places) || y.tree.places[p.Node].place != 0 {
			continue
		}
		n := y.tree.places[p.Node].node
		if i := tree.Depth(n) - 1; i >= 0 && i < depth && y.open[i].Node == n {
			y.open[i].Since = w.Begin
		}
	}
}

// adding finds what is known of a thread that adds up itself.
func (st *Stacks) adding(t *Thread, tally *checkpoint.Tally) *adding {
	if t.adding != nil && t.adding.number == tally.Paths {
		return t.adding
	}
	st.leaveTree(t)
	tree := st.sums.trees[tally.Paths]
	if tree == nil {
		tree = &sumTree{}
		st.sums.trees[tally.Paths] = tree
	}
	tree.threads++
	t.adding = &adding{tree: tree, number: tally.Paths, strands: tally.Strands}
	t.adding.counting = counting{known: &st.known, paths: map[int32]*pathSample{}}
	t.stack, t.sites, t.top = t.stack[:0], nil, paths.Call{}
	return t.adding
}

// leaveTree forgets what is known of a thread that added up itself, and the tree
// with the last thread that has sums of its paths and is there.
func (st *Stacks) leaveTree(t *Thread) {
	if t.adding == nil {
		return
	}
	if t.adding.tree.threads--; t.adding.tree.threads == 0 {
		delete(st.sums.trees, t.adding.number)
	}
	st.known.doubts = t.adding.counting.doubts(st.known.doubts)
	t.adding = nil
}

// closedFrames is frames that ended without coming back, of which it is not known that
// they left.
type closedFrames struct {
	of   *suspension
	part checkpoint.Part
}

// find finds the places of the nodes that are new.
func (st *Stacks) find(y *sumTree, nodes []checkpoint.Node) {
	for i := len(y.places); i < len(nodes); i++ {
		n := nodes[i]
		if i < checkpoint.FirstNode {
			y.places = append(y.places, place{node: paths.Root})
			continue
		}
		if int(n.Parent) >= i || n.Site == 0 {
			return
		}
		above := y.places[n.Parent]
		if n.Place() != 0 {
			y.places = append(y.places, st.placeOf(above, n))
			continue
		}
		p := place{node: above.node, depth: above.depth + 1, deep: st.MaxDepth > 0 && above.depth >= st.MaxDepth}
		if n.Parent != checkpoint.SideNode && !p.deep {
			p.node = st.path(above.node, n.Site, n.Born)
		}
		y.places = append(y.places, p)
	}
}

// addPart adds a part to the thread's open window.
func (st *Stacks) addPart(t *Thread, nodes []checkpoint.Node, p checkpoint.Part) {
	n, at := nodes[p.Node], t.adding.tree.places[p.Node]
	st.others[at.node] += p.Others
	if p.Ticks > 0 {
		t.pending = append(t.pending, paths.Part{Node: at.node, Ticks: p.Ticks})
		st.spend(t, at.node, at.place, p.Ticks)
	}
	if n.Place() != 0 {
		st.others[at.node] += int64(p.Calls)
		if at.place != 0 {
			st.arrive(at.node, at.place, p.Calls)
		}
		return
	}
	if t.adding.strands {
		st.parked[at.node] += p.Away
		st.away[at.node] += st.suspensions.sum(p)
		if !at.deep {
			st.nodes[at.node].calls += p.Calls
		}
		return
	}
	if at.deep || n.Site == 0 || n.Parent == checkpoint.SideNode {
		return
	}
	st.nodes[at.node].calls += p.Calls
	if p.Away != 0 || p.AwayTicks != 0 {
		s := st.suspensions.of(n.Site)
		s.open += p.Away
		s.net += st.suspensions.sum(p)
	}
}
