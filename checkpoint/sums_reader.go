package checkpoint

import "sync/atomic"

// mostWindows is how many windows of a thread wait for their samples. The
// writer goes on with its latest when there are more.
const mostWindows = 1024

// reading is what the reader knows of a tree.
type reading struct {
	seq     uint64
	offered bool // its windows have begun to be taken
	nodes   []Node
	seen    [windows][]uint64
	calls   []uint64
	span    []treeSpan
	spans   uint64     // the number of what span is of
	copied  []treeSpan // what is newer, nil in newer where nothing is
	newer   []treeSpan
	window  uint64 // the next to be taken
	queue   []Window
	place   treePlace // of the open window when it was read
	read    bool      // the open window has been read at that place
	done    bool      // everything has been read
	refused bool      // it holds what no writer writes

	start, latest           Tick // what a time in it lies between
	events, unwound, closed uint64
}

// collect takes the windows that are over out of the shared memory. It takes
// the open one, too, where the thread has reported nothing since the sample of
// epoch, or has ended. It reports whether all was as writers write it.
func (r *reading) collect(t *tree, epoch, latest Tick, done bool) bool {
	if t.head.pid == 0 || t.head.tid == 0 || Tick(t.head.tick) > latest {
		return false
	}
	r.start, r.latest = Tick(t.head.tick), latest
	// A thread that tells something meanwhile begins a window, or had not heard
	// of the sample yet: look again.
	for range 100 {
		if again, ok := r.look(t, epoch, done); !again || !ok {
			return ok
		}
	}
	return true
}

// look is collect, but that it may have to be done again.
func (r *reading) look(t *tree, epoch Tick, done bool) (again, ok bool) {
	now := atomic.LoadUint64(&t.window)
	if now < r.window || now-r.window >= windows {
		return false, false
	}
	for ; r.window < now && len(r.queue) < mostWindows; r.window++ {
		w := &t.windows[r.window%windows]
		parts, ok := r.parts(t, r.window, func() bool { return true })
		if !ok || !r.add(Window{Tick(w.epoch), Tick(w.begin), Tick(w.last), w.top, parts}) {
			return false, false
		}
		r.read = false
		atomic.StoreUint64(&t.taken, r.window+1)
	}
	if r.window < now {
		return false, true // there is no more room in the queue
	}
	place := treePlace(atomic.LoadUint64(&t.place))
	w := t.windows[now%windows]
	if !done && (Tick(w.epoch) >= epoch || r.read && r.place == place) {
		return false, true
	}
	same := func() bool {
		return done || treePlace(atomic.LoadUint64(&t.place)) == place && atomic.LoadUint64(&t.window) == now
	}
	parts, ok := r.parts(t, now, same)
	if !ok {
		return false, false
	}
	if parts == nil && !same() {
		return true, true
	}
	// The low 40 bits of a tick of the open window, which is short.
	last := w.begin
	if d := (place.low() - Tick(w.begin)).Low(); d < 1<<39 {
		last += uint64(d)
	}
	r.read, r.place = true, place
	r.done = done
	return false, r.add(Window{Tick(w.epoch), Tick(w.begin), Tick(last), place.node(), parts})
}

// add puts a window into the queue.
func (r *reading) add(w Window) bool {
	if int(w.Top) >= len(r.nodes) || w.Top == SideNode || w.Top == OtherNode {
		return false
	}
	if w.Begin < r.start || w.Begin > r.latest || w.Last > r.latest {
		return false
	}
	w.Last = max(w.Last, w.Begin)
	r.queue = append(r.queue, w)
	return true
}

// parts reads what nodes have added to a window since it was read last. It
// changes nothing, and gives nothing, where same is false afterwards. It
// reports whether all was as writers write it.
func (r *reading) parts(t *tree, window uint64, same func() bool) (parts []Part, ok bool) {
	spans := r.away(t) // before the count: its nodes are all there then
	n := int(atomic.LoadUint32(&t.count))
	if n < FirstNode || n > treeNodes || n < len(r.nodes) {
		return nil, false
	}
	for i := len(r.nodes); i < n; i++ {
		node := &t.nodes[i]
		event := Word(node.event) // without a tick
		k, s := event.Kind(), event.Site()
		if i < FirstNode {
			k, s = Enter, 0
		} else if event.Low() != 0 || s == 0 || k > Unwind || k == Resume || node.parent >= uint32(i) {
			return nil, false
		}
		r.nodes = append(r.nodes, Node{k, s, node.parent, Tick(node.born)})
		r.calls = append(r.calls, 0)
		r.span = append(r.span, treeSpan{})
	}
	slot := window % windows
	if seen := r.seen[slot]; len(seen) < n {
		r.seen[slot] = append(seen, make([]uint64, n-len(seen))...)
	}
	seen := r.seen[slot]
	for i := range n {
		p := Part{Node: uint32(i)}
		p.Ticks = atomic.LoadUint64(&t.ticks[slot][i]) - seen[i]
		p.Calls = atomic.LoadUint64(&t.nodes[i].calls) - r.calls[i]
		if i < len(r.newer) {
			s, was := r.newer[i], r.span[i]
			p.Outs, p.OutTicks = s.outs-was.outs, s.outTicks-was.outTicks
			p.Backs, p.BackTicks = s.backs-was.backs, s.backTicks-was.backTicks
		}
		if p != (Part{Node: uint32(i)}) {
			parts = append(parts, p)
		}
	}
	if !same() {
		return nil, true
	}
	for _, p := range parts {
		if p.Ticks > uint64(r.latest-r.start) || p.Calls > 1<<48 || p.Outs > 1<<48 || p.Backs > 1<<48 {
			return nil, false // or a sum that fell
		}
	}
	for _, p := range parts {
		seen[p.Node] += p.Ticks
		r.calls[p.Node] += p.Calls
		s := &r.span[p.Node]
		s.outs, s.outTicks = s.outs+p.Outs, s.outTicks+p.OutTicks
		s.backs, s.backTicks = s.backs+p.Backs, s.backTicks+p.BackTicks
	}
	r.spans = spans
	return parts, true
}

// away copies what the tree tells of frames that left and came back, if there is
// more of it and it is whole. It gives the number of the copy.
func (r *reading) away(t *tree) uint64 {
	r.newer = nil
	for range 100 {
		before := atomic.LoadUint64(&t.spans)
		if before == r.spans {
			break
		}
		if before%2 != 0 {
			continue
		}
		n := min(treeNodes, int(atomic.LoadUint32(&t.count)))
		r.copied = append(r.copied[:0], t.span[:n]...)
		if atomic.LoadUint64(&t.spans) == before {
			r.newer = r.copied
			return before
		}
	}
	return r.spans
}
