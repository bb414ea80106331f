package stacks

import (
	"slices"

	"cg/checkpoint"
	"cg/nemb/attribute/paths"
)

// A thread that adds up itself reports what each call path used between two
// samples, in place of its events. Its windows are folded into the same nodes
// and parts as words are, so that whatever comes later sees no difference but
// one: when in the window a call was is not known.

// sumTrees is the trees of all threads that add up themselves.
type sumTrees struct {
	trees map[uint64]*sumTree // by their numbers
	ended []uint64            // trees that are kept
}

// place is where a node of a thread's tree lies.
type place struct {
	node  int32 // of Stacks.Tree
	depth int   // calls, those below MaxDepth included
	deep  bool  // below MaxDepth: node is the caller's
}

// floor is a stack that a tree did not see being made.
type floor struct {
	top   paths.Call
	stack []paths.Call
	sites []checkpoint.SiteID
}

// sumTree is what is known of a thread's tree.
type sumTree struct {
	places  []place
	floors  map[uint32]floor  // of the root, and of nodes that are no calls
	demoted int               // sites that were demoted when the places were found
	top     uint32            // of the latest window
	placed  bool              // top and the stack are the thread's
	back    []checkpoint.Node // suspended frames that ended, or came back
	gaps    map[uint32]*gap   // per node
}

// keptTrees is how many trees that have ended are kept for the children that
// their threads forked.
const keptTrees = 256

// foldSums takes the windows of a run that began with samples earlier
// than until and returns how many these were. A Tally that no writer makes,
// with nodes that are not there, is not taken further than it makes sense.
func (st *Stacks) foldSums(r checkpoint.Run, until checkpoint.Tick) int {
	if r.Forked && r.Start >= until { // nor is there its parent's word of the fork yet
		return 0
	}
	t := st.thread(r)
	t.cost = checkpoint.Tick(r.Cost + .5)
	y := st.sumTree(t, r)
	if t.gone { // its stack was given up meanwhile
		t.gone, y.placed = false, false
	}
	tally := r.Tally
	if len(tally.Nodes) < len(y.places) {
		return len(tally.Windows)
	}
	st.Stats.Events += tally.Events
	st.Stats.Unwound += tally.Unwound
	st.Stats.Closed += tally.Closed
	ready := slices.IndexFunc(tally.Windows, func(w checkpoint.Window) bool { return w.Epoch >= until })
	if ready < 0 {
		ready = len(tally.Windows)
	}
	y.between(tally.Nodes, tally.Windows[:ready])
	for i, w := range tally.Windows {
		if w.Epoch >= until {
			return i
		}
		st.find(y, t, tally.Nodes)
		if int(w.Top) >= len(y.places) {
			return len(tally.Windows)
		}
		t.pass(w.Begin)
		over := uint64(0)
		for _, p := range w.Parts {
			if int(p.Node) < len(y.places) {
				cost := y.checkpointTicks(p, t.cost)
				p.Ticks -= cost
				over += cost
				st.addPart(y, t, tally.Nodes, p)
			}
		}
		if over > 0 {
			st.chargeCheckpoints(t, over)
		}
		for _, p := range w.Parts { // once those that left are known
			if int(p.Node) < len(y.places) && tally.Nodes[p.Node].Parent == checkpoint.SideNode {
				st.closed(tally.Nodes[p.Node].Site, p)
			}
		}
		y.back = slices.DeleteFunc(y.back, func(n checkpoint.Node) bool {
			if n.Born > w.Last {
				return false
			}
			st.suspensions.ended(n.Site, n.Born)
			return true
		})
		if len(t.pending) > 4096 {
			t.pending = st.combine(t.pending)
		}
		t.last = max(t.last, w.Last)
		st.stand(y, t, tally.Nodes, w.Top)
	}
	if r.Last {
		st.end(t, true)
		st.forgetTrees(tally)
	}
	return len(tally.Windows)
}

// gap is what a node owes to its checkpoints: the times between two events that were in
// it, less those that are paid, and the ticks that are there to pay with.
type gap struct {
	n     float64
	ticks uint64
}

// between counts the times between two events in each node of windows: one ends with each
// call's exit or suspension in the call, one with its enter or its coming back in
// its caller. Each holds the cost of an event (see probe.go). Calls are reported with another window
// than the ticks, where they come between two looks, so what a node owes is of them all.
func (y *sumTree) between(nodes []checkpoint.Node, windows []checkpoint.Window) {
	if y.gaps == nil {
		y.gaps = map[uint32]*gap{}
	}
	of := func(n uint32) *gap {
		g := y.gaps[n]
		if g == nil {
			g = &gap{}
			y.gaps[n] = g
		}
		return g
	}
	for _, g := range y.gaps {
		g.ticks = 0
	}
	for _, w := range windows {
		for _, p := range w.Parts {
			if int(p.Node) >= len(nodes) {
				continue
			}
			of(p.Node).ticks += p.Ticks
			if nodes[p.Node].Kind == checkpoint.Enter && p.Calls+p.Outs+p.Backs > 0 {
				of(p.Node).n += float64(p.Calls + p.Outs)
				of(nodes[p.Node].Parent).n += float64(p.Calls + p.Backs)
			}
		}
	}
}

// checkpointTicks is what of a part's ticks its checkpoints took.
func (y *sumTree) checkpointTicks(p checkpoint.Part, cost checkpoint.Tick) uint64 {
	g := y.gaps[p.Node]
	if g == nil || g.ticks == 0 || cost == 0 {
		return 0
	}
	part := min(float64(p.Ticks), max(0, g.n)*float64(cost)*float64(p.Ticks)/float64(g.ticks))
	g.ticks -= min(g.ticks, p.Ticks)
	g.n -= part / float64(cost)
	return uint64(part)
}

// sumTree finds what is known of a run's tree, and begins it where it is new.
func (st *Stacks) sumTree(t *Thread, r checkpoint.Run) *sumTree {
	y := st.sums.trees[r.Tally.Tree]
	if y != nil {
		return y
	}
	base := floor{t.top, slices.Clone(t.stack), slices.Clone(t.sites)}
	if r.Tally.Known {
		base = floor{}
	} else if from := st.sums.trees[r.Tally.BaseTree]; from != nil && r.Tally.BaseTree != 0 {
		base = from.floors[r.Tally.BaseNode]
	}
	y = &sumTree{floors: map[uint32]floor{checkpoint.RootNode: base}}
	st.sums.trees[r.Tally.Tree] = y
	return y
}

// forgetTrees forgets a tree that has ended, at once where no other can begin
// with a stack of its.
func (st *Stacks) forgetTrees(tally *checkpoint.Tally) {
	if tally.Known {
		delete(st.sums.trees, tally.Tree)
		return
	}
	st.sums.ended = append(st.sums.ended, tally.Tree)
	if len(st.sums.ended) > keptTrees {
		delete(st.sums.trees, st.sums.ended[0])
		st.sums.ended = st.sums.ended[1:]
	}
}

// find finds the places of nodes. Where a site was demoted since, paths lead
// elsewhere now.
func (st *Stacks) find(y *sumTree, t *Thread, nodes []checkpoint.Node) {
	if y.demoted != len(st.demoted) {
		y.demoted = len(st.demoted)
		y.places, y.placed = y.places[:0], false
	}
	for i := len(y.places); i < len(nodes); i++ {
		n := nodes[i]
		if i < checkpoint.FirstNode {
			f := y.floors[checkpoint.RootNode]
			p := place{f.top.Node, len(f.sites), false}
			if i != checkpoint.RootNode {
				p = place{node: paths.Root}
			}
			y.places = append(y.places, p)
			continue
		}
		if int(n.Parent) >= i {
			return
		}
		if n.Kind != checkpoint.Enter {
			f, known := y.floors[uint32(i)]
			if !known {
				f = st.after(y, st.stack(y, nodes, n.Parent), n)
				y.floors[uint32(i)] = f
			}
			y.places = append(y.places, place{f.top.Node, len(f.sites), st.MaxDepth > 0 && len(f.sites) > st.MaxDepth})
			continue
		}
		above := y.places[n.Parent]
		p := place{above.node, above.depth + 1, st.MaxDepth > 0 && above.depth >= st.MaxDepth}
		switch {
		case n.Parent == checkpoint.SideNode:
		case n.Parent == checkpoint.OtherNode:
			p.node = st.other(n.Site, n.Born)
		case !p.deep:
			p.node = st.path(st.timed(above.node), n.Site, n.Born)
		}
		y.places = append(y.places, p)
	}
}

// other is the node of all the further calls of a site.
func (st *Stacks) other(site checkpoint.SiteID, at checkpoint.Tick) int32 {
	n := st.Tree.Other(site, at)
	st.grow()
	return n
}

// timed is the node that is charged with what a node uses: its caller's where
// its site is demoted.
func (st *Stacks) timed(n int32) int32 {
	for n != paths.Root && st.nodes[n].calls&counted != 0 {
		n = st.Tree.Parent(n)
	}
	return n
}

// after is what an event of a frame below a tree makes of a stack.
func (st *Stacks) after(y *sumTree, f floor, n checkpoint.Node) floor {
	t := &Thread{top: f.top, stack: slices.Clone(f.stack), sites: slices.Clone(f.sites)}
	if st.MaxDepth > 0 && st.deeper(t, n.Kind, n.Site) {
		return floor{t.top, t.stack, t.sites}
	}
	switch n.Kind {
	case checkpoint.Exit:
		switch {
		case st.demoted[n.Site]:
		case st.unwindTo(t, n.Site):
			t.pop()
		default:
			st.Stats.Closed++
			y.back = append(y.back, n)
		}
	case checkpoint.Suspend:
		if st.unwindTo(t, n.Site) {
			t.pop()
		}
	case checkpoint.Unwind:
		if !st.unwindTo(t, n.Site) {
			t.push(paths.Call{Since: paths.Never, Node: st.path(t.top.Node, n.Site, n.Born)})
			y.back = append(y.back, n)
		}
	}
	return floor{t.top, t.stack, t.sites}
}

// stack is the stack of a thread that is in a node: frames of demoted sites
// and below MaxDepth are not on it.
func (st *Stacks) stack(y *sumTree, nodes []checkpoint.Node, n uint32) floor {
	var above []uint32
	for n >= checkpoint.FirstNode && nodes[n].Kind == checkpoint.Enter {
		above = append(above, n)
		n = nodes[n].Parent
	}
	base := y.floors[n] // none of other: what is there lies below the root
	t := &Thread{sites: slices.Clone(base.sites)}
	for _, f := range append(slices.Clone(base.stack), base.top) {
		if f.Node != paths.Root && st.timed(f.Node) == f.Node { // not demoted since
			t.push(f)
		}
	}
	for _, n := range slices.Backward(above) {
		p := y.places[n]
		if st.MaxDepth > 0 {
			t.sites = append(t.sites, nodes[n].Site)
		}
		if !p.deep && st.timed(p.node) == p.node {
			t.push(paths.Call{Since: paths.Never, Node: p.node})
		}
	}
	return floor{t.top, t.stack, t.sites}
}

// stand puts a thread into a node.
func (st *Stacks) stand(y *sumTree, t *Thread, nodes []checkpoint.Node, n uint32) {
	if y.placed && y.top == n {
		return
	}
	f := st.stack(y, nodes, n)
	t.top, t.stack, t.sites = f.top, f.stack, f.sites
	y.top, y.placed = n, true
}

// addPart adds a part to the thread's open window.
func (st *Stacks) addPart(y *sumTree, t *Thread, nodes []checkpoint.Node, p checkpoint.Part) {
	n, at := nodes[p.Node], y.places[p.Node]
	if p.Ticks > 0 {
		t.pending = append(t.pending, paths.Part{Node: st.timed(at.node), Ticks: p.Ticks})
	}
	if at.deep {
		return
	}
	aside := n.Parent == checkpoint.SideNode
	if n.Kind == checkpoint.Enter && n.Site != 0 && !aside {
		st.nodes[at.node].calls += p.Calls
		if n.Parent == checkpoint.OtherNode {
			st.Tree.Truncated += p.Calls
		}
	}
	if p.Outs == 0 && p.Backs == 0 && p.OutTicks == 0 && p.BackTicks == 0 {
		return
	}
	s := st.suspensions.of(n.Site)
	s.open += int64(p.Outs)
	s.out += st.suspensions.sum(p.OutTicks, p.Outs)
	if !aside {
		s.open -= int64(p.Backs)
		s.back += st.suspensions.sum(p.BackTicks, p.Backs)
	}
}

// closed takes the frames that ended without coming back: as many as are known
// to be suspended.
func (st *Stacks) closed(site checkpoint.SiteID, p checkpoint.Part) {
	s := st.suspensions.bySite[site]
	if s == nil || s.open <= 0 || p.Backs == 0 {
		return
	}
	n := min(int64(p.Backs), s.open)
	s.open -= n
	s.back += st.suspensions.sum(p.BackTicks, p.Backs) * float64(n) / float64(p.Backs)
}
