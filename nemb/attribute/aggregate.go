package attribute

import (
	"slices"

	"cg/checkpoint"
)

// A thread that adds up itself tells what each call path used between two
// samples, in place of its events. Its windows are folded into the same nodes
// and parts as words are, so that whatever comes later sees no difference but
// one: when in the window a call was is not known.

// place is where a node of a thread's tree lies.
type place struct {
	node  int32 // of the attributor
	depth int   // calls, those below MaxDepth included
	deep  bool  // below MaxDepth: node is the caller's
}

// floor is a stack that a tree did not see being made.
type floor struct {
	top   frame
	stack []frame
	sites []checkpoint.SiteID
}

// tree is what is known of a thread's tree.
type tree struct {
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

// FoldAggregates takes the windows of a run that began with samples earlier
// than until and returns how many these were. A Tally that no writer tells,
// with nodes that are not there, is not taken further than it makes sense.
func (a *Attributor) FoldAggregates(r checkpoint.Run, until checkpoint.Tick) int {
	if r.Forked && r.Start >= until { // nor is there its parent's word of the fork yet
		return 0
	}
	t := a.thread(r)
	t.cost = checkpoint.Tick(r.Cost + .5)
	y := a.tree(t, r)
	if t.gone { // its stack was given up meanwhile
		t.gone, y.placed = false, false
	}
	told := r.Tally
	if len(told.Nodes) < len(y.places) {
		return len(told.Windows)
	}
	a.Stats.Events += told.Events
	a.Stats.Unwound += told.Unwound
	a.Stats.Closed += told.Closed
	ready := slices.IndexFunc(told.Windows, func(w checkpoint.Window) bool { return w.Epoch >= until })
	if ready < 0 {
		ready = len(told.Windows)
	}
	y.between(told.Nodes, told.Windows[:ready])
	for i, w := range told.Windows {
		if w.Epoch >= until {
			return i
		}
		a.find(y, t, told.Nodes)
		if int(w.Top) >= len(y.places) {
			return len(told.Windows)
		}
		t.pass(w.Begin)
		over := uint64(0)
		for _, p := range w.Parts {
			if int(p.Node) < len(y.places) {
				cost := y.owed(p, t.cost)
				p.Ticks -= cost
				over += cost
				a.add1(y, t, told.Nodes, p)
			}
		}
		if over > 0 {
			a.probed(t, over)
		}
		for _, p := range w.Parts { // once those that left are known
			if int(p.Node) < len(y.places) && told.Nodes[p.Node].Parent == checkpoint.SideNode {
				a.closed(told.Nodes[p.Node].Site, p)
			}
		}
		y.back = slices.DeleteFunc(y.back, func(n checkpoint.Node) bool {
			if n.Born > w.Last {
				return false
			}
			a.back(n.Site, n.Born)
			return true
		})
		if len(t.pending) > 4096 {
			t.pending = a.combine(t.pending)
		}
		t.last = max(t.last, w.Last)
		a.stand(y, t, told.Nodes, w.Top)
	}
	if r.Last {
		a.end(t, true)
		a.forgetTrees(told)
	}
	return len(told.Windows)
}

// gap is what a node owes to its checkpoints: the times between two events that were in
// it, less those that are paid, and the ticks that are there to pay with.
type gap struct {
	n     float64
	ticks uint64
}

// between counts the times between two events in each node of windows: one ends with each
// call's exit or suspension in the call, one with its enter or its coming back in
// its caller. Each holds the cost of an event (see probed). Calls are told with another window than
// the ticks, where they come between two looks, so what a node owes is of them all.
func (y *tree) between(nodes []checkpoint.Node, windows []checkpoint.Window) {
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

// owed is what of a part's ticks its checkpoints took.
func (y *tree) owed(p checkpoint.Part, cost checkpoint.Tick) uint64 {
	g := y.gaps[p.Node]
	if g == nil || g.ticks == 0 || cost == 0 {
		return 0
	}
	part := min(float64(p.Ticks), max(0, g.n)*float64(cost)*float64(p.Ticks)/float64(g.ticks))
	g.ticks -= min(g.ticks, p.Ticks)
	g.n -= part / float64(cost)
	return uint64(part)
}

// tree finds what is known of a run's tree, and begins it where it is new.
func (a *Attributor) tree(t *thread, r checkpoint.Run) *tree {
	y := a.trees[r.Tally.Tree]
	if y != nil {
		return y
	}
	base := floor{t.top, slices.Clone(t.stack), slices.Clone(t.sites)}
	if r.Tally.Known {
		base = floor{}
	} else if from := a.trees[r.Tally.BaseTree]; from != nil && r.Tally.BaseTree != 0 {
		base = from.floors[r.Tally.BaseNode]
	}
	y = &tree{floors: map[uint32]floor{checkpoint.RootNode: base}}
	if a.trees == nil {
		a.trees = map[uint64]*tree{}
	}
	a.trees[r.Tally.Tree] = y
	return y
}

// forgetTrees forgets a tree that has ended, at once where no other can begin
// with a stack of its.
func (a *Attributor) forgetTrees(told *checkpoint.Tally) {
	if told.Known {
		delete(a.trees, told.Tree)
		return
	}
	a.ended = append(a.ended, told.Tree)
	if len(a.ended) > keptTrees {
		delete(a.trees, a.ended[0])
		a.ended = a.ended[1:]
	}
}

// find finds the places of nodes. Where a site was demoted since, paths lead
// elsewhere now.
func (a *Attributor) find(y *tree, t *thread, nodes []checkpoint.Node) {
	if y.demoted != len(a.demoted) {
		y.demoted = len(a.demoted)
		y.places, y.placed = y.places[:0], false
	}
	for i := len(y.places); i < len(nodes); i++ {
		n := nodes[i]
		if i < checkpoint.FirstNode {
			f := y.floors[checkpoint.RootNode]
			p := place{f.top.node, len(f.sites), false}
			if i != checkpoint.RootNode {
				p = place{node: root}
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
				f = a.after(y, a.stack(y, nodes, n.Parent), n)
				y.floors[uint32(i)] = f
			}
			y.places = append(y.places, place{f.top.node, len(f.sites), a.MaxDepth > 0 && len(f.sites) > a.MaxDepth})
			continue
		}
		above := y.places[n.Parent]
		p := place{above.node, above.depth + 1, a.MaxDepth > 0 && above.depth >= a.MaxDepth}
		a.at = n.Born
		switch {
		case n.Parent == checkpoint.SideNode:
		case n.Parent == checkpoint.OtherNode:
			p.node = a.other(n.Site)
		case !p.deep:
			p.node = a.path(a.timed(above.node), n.Site)
		}
		y.places = append(y.places, p)
	}
}

// other is the node of all the further calls of a site.
func (a *Attributor) other(site checkpoint.SiteID) int32 {
	n, ok := a.edges.find(noNode, site)
	if !ok {
		n = a.add(site, root)
		a.edges.put(noNode, site, n)
	}
	return n
}

// timed is the node that is charged with what a node uses: its caller's where
// its site is demoted.
func (a *Attributor) timed(n int32) int32 {
	for n != root && a.nodes[n].calls&counted != 0 {
		n = a.nodes[n].parent
	}
	return n
}

// after is what an event of a frame below a tree makes of a stack.
func (a *Attributor) after(y *tree, f floor, n checkpoint.Node) floor {
	t := &thread{top: f.top, stack: slices.Clone(f.stack), sites: slices.Clone(f.sites)}
	if a.MaxDepth > 0 && a.deeper(t, n.Kind, n.Site) {
		return floor{t.top, t.stack, t.sites}
	}
	switch n.Kind {
	case checkpoint.Exit:
		switch {
		case a.demoted[n.Site]:
		case a.unwindTo(t, n.Site):
			t.pop()
		default:
			a.Stats.Closed++
			y.back = append(y.back, n)
		}
	case checkpoint.Suspend:
		if a.unwindTo(t, n.Site) {
			t.pop()
		}
	case checkpoint.Unwind:
		if !a.unwindTo(t, n.Site) {
			a.at = n.Born
			t.push(frame{never, a.path(t.top.node, n.Site)})
			y.back = append(y.back, n)
		}
	}
	return floor{t.top, t.stack, t.sites}
}

// stack is the stack of a thread that is in a node: frames whose sites are not
// told apart are not on it.
func (a *Attributor) stack(y *tree, nodes []checkpoint.Node, n uint32) floor {
	var above []uint32
	for n >= checkpoint.FirstNode && nodes[n].Kind == checkpoint.Enter {
		above = append(above, n)
		n = nodes[n].Parent
	}
	base := y.floors[n] // none of other: what is there lies below the root
	t := &thread{sites: slices.Clone(base.sites)}
	for _, f := range append(slices.Clone(base.stack), base.top) {
		if f.node != root && a.timed(f.node) == f.node { // not demoted since
			t.push(f)
		}
	}
	for _, n := range slices.Backward(above) {
		p := y.places[n]
		if a.MaxDepth > 0 {
			t.sites = append(t.sites, nodes[n].Site)
		}
		if !p.deep && a.timed(p.node) == p.node {
			t.push(frame{never, p.node})
		}
	}
	return floor{t.top, t.stack, t.sites}
}

// stand puts a thread into a node.
func (a *Attributor) stand(y *tree, t *thread, nodes []checkpoint.Node, n uint32) {
	if y.placed && y.top == n {
		return
	}
	f := a.stack(y, nodes, n)
	t.top, t.stack, t.sites = f.top, f.stack, f.sites
	y.top, y.placed = n, true
}

// add1 adds a part to the thread's open window.
func (a *Attributor) add1(y *tree, t *thread, nodes []checkpoint.Node, p checkpoint.Part) {
	n, at := nodes[p.Node], y.places[p.Node]
	if p.Ticks > 0 {
		t.pending = append(t.pending, part{node: a.timed(at.node), ticks: p.Ticks})
	}
	if at.deep {
		return
	}
	aside := n.Parent == checkpoint.SideNode
	if n.Kind == checkpoint.Enter && n.Site != 0 && !aside {
		a.nodes[at.node].calls += p.Calls
		if n.Parent == checkpoint.OtherNode {
			a.Stats.Truncated += p.Calls
		}
	}
	if p.Outs == 0 && p.Backs == 0 && p.OutTicks == 0 && p.BackTicks == 0 {
		return
	}
	s := a.suspension(n.Site)
	s.open += int64(p.Outs)
	s.out += a.sinceOrigin(p.OutTicks, p.Outs)
	if !aside {
		s.open -= int64(p.Backs)
		s.back += a.sinceOrigin(p.BackTicks, p.Backs)
	}
}

// closed takes the frames that ended without coming back: as many as are known
// to be suspended.
func (a *Attributor) closed(site checkpoint.SiteID, p checkpoint.Part) {
	s := a.waiting[site]
	if s == nil || s.open <= 0 || p.Backs == 0 {
		return
	}
	n := min(int64(p.Backs), s.open)
	s.open -= n
	s.back += a.sinceOrigin(p.BackTicks, p.Backs) * float64(n) / float64(p.Backs)
}

// sinceOrigin is the sum of n ticks, modulo 2^64, each since the first sample.
func (a *Attributor) sinceOrigin(sum, n uint64) float64 {
	return float64(int64(sum - n*uint64(a.origin)))
}
