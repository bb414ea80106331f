package stacks

import "cg/checkpoint"

// gap is what a node owes to its checkpoints: the times between two events that were in
// it, less those that are paid, and the ticks that are there to pay with.
type gap struct {
	n     float64
	ticks uint64
}

// gaps has those of the nodes of a tree: some that lie side by side, nil where the thread
// was in none of them. The program's paths may be many more than those of a thread.
type gaps []*[16]gap

// of is that of a node.
func (g *gaps) of(n uint32) *gap {
	b, i := int(n)/len((*g)[0]), int(n)%len((*g)[0])
	if more := b + 1 - len(*g); more > 0 {
		*g = append(*g, make([]*[16]gap, more)...)
	}
	if (*g)[b] == nil {
		(*g)[b] = new([16]gap)
	}
	return &(*g)[b][i]
}

// between counts the times between two events in each node of windows: one ends with each
// call's exit in the call, one with its enter in its caller, and one with each other
// event. Each holds the cost of an event (see probe.go). Calls are reported with another window
// than the ticks, where they come between two looks, so what a node owes is of them all.
func (y *adding) between(nodes []checkpoint.Node, windows []checkpoint.Window) {
	for _, n := range y.ran {
		y.gaps.of(n).ticks = 0
	}
	y.ran = y.ran[:0]
	for _, w := range windows {
		for _, p := range w.Parts {
			if int(p.Node) >= len(nodes) {
				continue
			}
			g := y.gaps.of(p.Node)
			g.ticks += p.Ticks
			y.ran = append(y.ran, p.Node)
			g.n += float64(p.Others) - float64(p.Counted)
			if p.Calls > 0 && p.Node >= checkpoint.FirstNode {
				g.n += float64(p.Calls)
				if nodes[p.Node].Place() == 0 { // the end of a time at a place is the begin of one at another
					y.gaps.of(nodes[p.Node].Parent).n += float64(p.Calls)
				}
			}
		}
	}
}

// checkpointTicks is what of a part's ticks its checkpoints took.
func (y *adding) checkpointTicks(p checkpoint.Part, cost checkpoint.Tick) uint64 {
	g := y.gaps.of(p.Node)
	if g.ticks == 0 || cost == 0 {
		return 0
	}
	part := min(float64(p.Ticks), max(0, g.n)*float64(cost)*float64(p.Ticks)/float64(g.ticks))
	g.ticks -= min(g.ticks, p.Ticks)
	g.n -= part / float64(cost)
	return uint64(part)
}
