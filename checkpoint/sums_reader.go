package checkpoint

import (
	"encoding/binary"
	"slices"
	"sync/atomic"
	"time"
)

// mostWindows is how many windows of a thread wait for their samples. The
// writer goes on with its latest when there are more.
const mostWindows = 1024

// mostParts is how many parts of windows wait for their samples, of all threads together: 180 MB.
// While there are more, windows stay with their writers.
const mostParts = 1 << 21

// waiting is what all threads have that waits for its samples.
type waiting struct {
	most    int // mostParts, but in tests
	parts   int
	denied  int    // 1 + the tree that waits longest for room, 0: none
	scratch []Part // of the window that is read
}

// room reports whether a tree may have a window more. Half of the room is for the tree that waits
// longest, so that each has its turn.
func (b *waiting) room(tree int) bool {
	most := b.most
	if b.denied != 0 && b.denied != tree+1 {
		most /= 2
	}
	if b.parts < most {
		b.leaves(tree)
		return true
	}
	if b.denied == 0 {
		b.denied = tree + 1
	}
	return false
}

// leaves tells that a tree has no more windows: it waits no longer.
func (b *waiting) leaves(tree int) {
	if b.denied == tree+1 {
		b.denied = 0
	}
}

// reading is what the reader knows of a tree.
type reading struct {
	seq       uint64
	paths     int  // the tree that has its paths
	strands   bool // which is another
	pathsOnly bool // it is no thread's
	users     int  // trees that need its paths

	offered bool   // its windows have begun to be taken
	nodes   []Node // of its own
	blocks  []*block
	longs   uint64 // records that were taken
	long    []LongCall
	counted [windows]uint64 // ticks that were not timed
	window  uint64          // the next to be taken
	queue   []Window
	place   treePlace // of the open window when it was read
	read    bool      // the open window has been read at that place
	done    bool      // everything has been read
	refused bool      // it holds what no writer writes

	start Tick
	ran   time.Duration // of its thread, when it was told last for which part of the time it had a processor
	ranAt Instant       // 0: never
	told  counts        // what was handed on of the counts
	lost  uint64        // records of long calls that are not there any more
}

// block is what was read of some nodes that lie side by side: nil of one that the thread
// was never in. The program's paths may be many more than those of a thread.
type block [blockNodes]*knownNode

// knownNode is what was read of a node. What it had in a window is cleared in the tree once that window is
// over and read.
type knownNode struct {
	ticks     uint64 // in the open window
	calls     uint64
	away      int64
	awayTicks uint64
	drawn     *[2]Drawn // nil where nothing was
	others    int32
	counted   uint32 // in the open window
}

// counts is the counts of a tree.
type counts struct{ events, unwound, closed, joined, lost uint64 }

// visit is when a tree is read.
type visit struct {
	epoch         Tick // of the newest sample
	began, latest Tick // what a time in it lies between
	done          bool // its writer has ended
	tree          int
	waiting       *waiting
}

// room reports whether there is room for a window more. What has ended is read in any case.
func (v visit) room() bool { return v.done || v.waiting.room(v.tree) }

// pathSource is the tree that has paths, and what is known of it.
type pathSource struct {
	tree  *tree
	known *reading
}

// read takes the nodes that are new. It gives how many there are, and reports
// whether all were as writers write them.
func (p pathSource) read() (int, bool) {
	n := int(atomic.LoadUint32(&p.tree.head.count))
	nodes := p.known.nodes
	if n < FirstNode || n > len(p.tree.nodes) || n < len(nodes) {
		return 0, false
	}
	for i := len(nodes); i < n; i++ {
		node := &p.tree.nodes[i]
		site, parent := SiteID(node.site), node.parent
		if i < FirstNode {
			site, parent = 0, 0
		} else if site&^placeNode == 0 || site&^placeNode >= SiteLimit || parent >= uint32(i) || parent == 2 {
			return 0, false
		}
		nodes = append(nodes, Node{site, parent, Tick(node.born)})
	}
	p.known.nodes = nodes
	return n, true
}

// tally is what the tree tells since it was last asked.
func (r *reading) tally(h *treeHead, paths reading) *Tally {
	now := counts{
		atomic.LoadUint64(&h.events), atomic.LoadUint64(&h.unwound), atomic.LoadUint64(&h.closed),
		atomic.LoadUint64(&h.joined), r.lost,
	}
	y := &Tally{
		Paths: paths.seq, Strands: r.strands, Nodes: paths.nodes, Windows: r.queue,
		Events: now.events - r.told.events, Unwound: now.unwound - r.told.unwound,
		Closed: now.closed - r.told.closed, Joined: now.joined - r.told.joined, LongLost: now.lost - r.told.lost,
	}
	r.told = now
	return y
}

// collect takes the windows that are over out of the shared memory. It takes
// the open one, too, where the thread has reported nothing since the newest sample,
// or has ended. It reports whether all was as writers write it.
func (r *reading) collect(t *tree, paths pathSource, v visit) bool {
	h := &t.head.head
	if h.pid == 0 || h.tid == 0 || Tick(h.tick) > v.latest || Tick(h.tick) < v.began || paths.tree == nil {
		return false
	}
	r.start = Tick(h.tick)
	// A thread that tells something meanwhile begins a window, or had not heard
	// of the sample yet: look again.
	for range 10 {
		if again, ok := r.look(t, paths, v); !again || !ok {
			return ok
		}
	}
	return true
}

// until is a window whose latest event that was timed was at a moment, in a node since.
func (w *treeWindow) until(last Tick, top uint32) Window {
	return Window{Epoch: Tick(w.epoch), Begin: Tick(w.begin), Last: last, Top: top, Counting: w.counting != 0}
}

// look is collect, but that it may have to be done again.
func (r *reading) look(t *tree, paths pathSource, v visit) (again, ok bool) {
	h := t.head
	now := atomic.LoadUint64(&h.window)
	if now < r.window || now-r.window >= windows {
		return false, false
	}
	for ; r.window < now && len(r.queue) < mostWindows && v.room(); r.window++ {
		w := &h.windows[r.window%windows]
		of := w.until(Tick(w.last), w.top)
		if _, ok := r.parts(t, paths, v, &of, func() bool { return true }); !ok || !r.add(of, paths, v) {
			return false, false
		}
		r.clear(t)
		r.read = false
		atomic.StoreUint64(&h.taken, r.window+1)
	}
	if r.window < now {
		return false, true // there is no more room in the queue
	}
	place := treePlace(atomic.LoadUint64(&h.place))
	w := h.windows[now%windows]
	if !v.done && (Tick(w.epoch) >= v.epoch || r.read && r.place == place) || !v.room() {
		return false, true
	}
	same := func() bool {
		return v.done || treePlace(atomic.LoadUint64(&h.place)) == place && atomic.LoadUint64(&h.window) == now
	}
	// The low 40 bits of a tick of the open window, which is short.
	last := w.begin
	if d := (place.low() - Tick(w.begin)).Low(); d < 1<<39 {
		last += uint64(d)
	}
	of := w.until(Tick(last), place.node())
	whole, ok := r.parts(t, paths, v, &of, same)
	if !ok {
		return false, false
	}
	if !whole {
		return true, true
	}
	r.read, r.place = true, place
	r.done = v.done
	return false, r.add(of, paths, v)
}

// add puts a window into the queue.
func (r *reading) add(w Window, paths pathSource, v visit) bool {
	switch {
	case w.Top == NoNode && r.strands:
	case int(w.Top) >= len(paths.known.nodes), w.Top == SideNode, w.Top == 2:
		return false
	}
	if w.Begin < r.start || w.Begin > v.latest || w.Last > v.latest {
		return false
	}
	w.Last = max(w.Last, w.Begin)
	if !r.takeLong(&w, v.done && r.done) {
		return false
	}
	r.queue = append(r.queue, w)
	v.waiting.parts += len(w.Parts)
	return true
}

// parts reads what nodes have added to the next window since it was read last. It
// changes nothing, and is not whole, where same is false afterwards. It
// reports whether all was as writers write it.
func (r *reading) parts(t *tree, paths pathSource, v visit, w *Window, same func() bool) (whole, ok bool) {
	longs := atomic.LoadUint64(&t.head.longs) // before the nodes, which are there then
	n, ok := paths.read()
	if !ok || !r.readLong(t.head, longs, n, v) {
		return false, false
	}
	blocks := (n + blockNodes - 1) / blockNodes
	r.blocks = append(r.blocks, make([]*block, max(0, blocks-len(r.blocks)))...)
	slot := r.window % windows
	top := -1
	if w.Top != NoNode && int(w.Top) < n {
		top = int(w.Top) / blockNodes
	}
	for range 3 {
		aways := atomic.LoadUint64(&t.head.aways)
		v.waiting.scratch = r.readBlocks(v.waiting.scratch[:0], t, n, slot, top)
		if aways%2 == 0 && atomic.LoadUint64(&t.head.aways) == aways {
			break
		}
	}
	if !same() {
		return false, true
	}
	w.Parts = slices.Clone(v.waiting.scratch)
	most := uint64(v.latest - r.start)
	for _, p := range w.Parts {
		if p.Ticks > most || p.Calls > 1<<48 || p.Away > 1<<48 || p.Away < -1<<48 || !p.drawnWithin(most) {
			return false, false // or a sum that fell
		}
	}
	if w.Counted = atomic.LoadUint64(&t.head.stretches[slot]) - r.counted[slot]; w.Counted > most {
		return false, false
	}
	r.counted[slot] += w.Counted
	if v.done && r.window == atomic.LoadUint64(&t.head.window) {
		return true, true // it is the last
	}
	for _, p := range w.Parts {
		b, i := r.blocks[p.Node/blockNodes], p.Node%blockNodes
		if b == nil {
			b = new(block)
			r.blocks[p.Node/blockNodes] = b
		}
		if b[i] == nil {
			b[i] = new(knownNode)
		}
		b[i].add(p)
	}
	return true, true
}

// clear takes what a window that is over has out of the tree: its writer comes back to it once it is
// taken.
func (r *reading) clear(t *tree) {
	slot := r.window % windows
	for b, known := range r.blocks {
		if t.touched[slot][b] == 0 {
			continue
		}
		nodes := t.nodes[b*blockNodes:][:blockNodes]
		for i := range nodes {
			atomic.StoreUint64(&nodes[i].ticks[slot], 0)
			atomic.StoreUint32(&nodes[i].counted[slot], 0)
			if known != nil && known[i] != nil {
				known[i].ticks, known[i].counted = 0, 0
			}
		}
		t.touched[slot][b] = 0
	}
}

// add adds what a node has more.
func (k *knownNode) add(p Part) {
	k.ticks += p.Ticks
	k.counted += uint32(p.Counted)
	k.calls += p.Calls
	k.others += int32(p.Others)
	k.away += p.Away
	k.awayTicks += p.AwayTicks
	if p.Drawn == [2]Drawn{} {
		return
	}
	if k.drawn == nil {
		k.drawn = new([2]Drawn)
	}
	for i := range p.Drawn {
		k.drawn[i].Intervals += p.Drawn[i].Intervals
		k.drawn[i].Ticks += p.Drawn[i].Ticks
	}
}

// drawnWithin reports whether what was drawn is no more than a run can have.
func (p *Part) drawnWithin(ticks uint64) bool {
	for _, d := range p.Drawn {
		if d.Intervals > 1<<48 || d.Ticks > ticks {
			return false
		}
	}
	return true
}

// readBlocks appends the nodes that were touched in a slot, and those beside the one
// in which the thread is, whose last call may not have touched anything, to parts.
func (r *reading) readBlocks(parts []Part, t *tree, n int, slot uint64, top int) []Part {
	touched := t.touched[slot]
	for b := 0; b*blockNodes < n; b++ {
		group := touched[b:min(b+8, len(touched))]
		if b%8 == 0 && len(group) == 8 && (top < b || top >= b+8) && binary.NativeEndian.Uint64(group) == 0 {
			b += 7
			continue
		}
		if touched[b] == 0 && b != top {
			continue
		}
		known := r.blocks[b]
		for i := range min(blockNodes, n-b*blockNodes) {
			var of *knownNode
			if known != nil {
				of = known[i]
			}
			p := t.nodes[b*blockNodes+i].since(of, slot, t.head.head.flags&flagOther != 0)
			p.Node = uint32(b*blockNodes + i)
			if p != (Part{Node: p.Node}) {
				parts = append(parts, p)
			}
		}
	}
	return parts
}

// since is what a node has more than is known of it, nil for nothing. others says that its writer
// counts other events.
func (node *treeNode) since(known *knownNode, slot uint64, others bool) Part {
	p := Part{
		Ticks: atomic.LoadUint64(&node.ticks[slot]), Calls: atomic.LoadUint64(&node.calls),
		Away: atomic.LoadInt64(&node.away), AwayTicks: atomic.LoadUint64(&node.awayTicks),
	}
	counted, other := atomic.LoadUint32(&node.counted[slot]), int32(0)
	for k := range p.Drawn {
		p.Drawn[k] = Drawn{atomic.LoadUint64(&node.drawn[k]), atomic.LoadUint64(&node.drawnTicks[k])}
	}
	if others {
		other = atomic.LoadInt32(&node.others)
	}
	if known != nil {
		p.Ticks -= known.ticks
		counted -= known.counted
		p.Calls -= known.calls
		p.Away -= known.away
		p.AwayTicks -= known.awayTicks
		other -= known.others
		for k := range p.Drawn {
			if known.drawn != nil {
				p.Drawn[k].Intervals -= known.drawn[k].Intervals
				p.Drawn[k].Ticks -= known.drawn[k].Ticks
			}
		}
	}
	p.Others, p.Counted = int64(other), uint64(counted)
	return p
}

// readLong takes the new records of long calls, of which there are now so many. n is
// how many nodes there are.
func (r *reading) readLong(h *treeHead, now uint64, n int, v visit) bool {
	if now == r.longs {
		return true
	}
	if now < r.longs {
		return false
	}
	from := r.longs
	if now-from > longRecords {
		from = now - longRecords
	}
	records := h.long
	after := atomic.LoadUint64(&h.longs)
	for i := from; i < now; i++ {
		if i+longRecords <= after { // overwritten, or about to be
			r.lost++
			continue
		}
		l := records[i%longRecords]
		entered, exited := Tick(l.enter), Tick(l.exit)
		if int(l.node) >= n || l.node < FirstNode || entered < v.began || exited < entered || exited > v.latest {
			return false
		}
		r.long = append(r.long, LongCall{l.node, entered, exited})
	}
	r.lost += from - r.longs
	r.longs = now
	return true
}

// takeLong gives a window the long calls that ended in it, the last window all of
// them.
func (r *reading) takeLong(w *Window, last bool) bool {
	r.long = slices.DeleteFunc(r.long, func(l LongCall) bool {
		if l.Exit > w.Last && !last {
			return false
		}
		w.Long = append(w.Long, l)
		return true
	})
	return len(r.long) < 1<<16
}
