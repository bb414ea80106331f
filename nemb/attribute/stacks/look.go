package stacks

import (
	"maps"
	"slices"

	"cg/checkpoint"
	"cg/nemb/attribute/paths"
)

// Look is where a thread was at a moment, as somebody saw who looked from outside.
type Look struct {
	Thread  checkpoint.Thread
	At      checkpoint.Tick
	Path    []checkpoint.SiteID // the outermost function first; none for outside all functions
	Waiting bool                // it was on no processor
}

// looked is what is known of a thread by looks. Each look stands for the time from the middle
// between it and the one before to the middle between it and the next.
type looked struct {
	path    []checkpoint.SiteID // of the last look
	node    int32
	waiting bool
	at      checkpoint.Tick
	weight  float64         // of the last look, so far: ticks
	sums    map[int32]*seen // by the node of the look
	all     seen            // of all looks but those at a waiting thread

	// Of the last look that was at no waiting thread. since is the time from there on, without that from one look at a
	// waiting thread to the next.
	ran   checkpoint.SiteID
	since checkpoint.Tick
	began bool
}

// seen is what looks stand for: how many there are, their ticks, and the sum of the squares
// of these.
type seen struct {
	looks          uint64
	ticks, squares float64
}

func (s *seen) add(ticks float64) {
	s.looks++
	s.ticks += ticks
	s.squares += ticks * ticks
}

// mostWeight is how many times the mean the time is at most that a look stands for in the
// variance of what looks tell. See onProcessor.
const mostWeight = 3

// Look takes a look at a thread. The looks at a thread come in the order of time, those before
// the end of a window before it is charged.
func (st *Stacks) Look(l Look) {
	t := st.threads[l.Thread]
	if t == nil || t.looked == nil || t.ended || t.gone {
		if t == nil {
			t = &Thread{ID: l.Thread, start: l.At}
			st.threads[l.Thread] = t
			st.order = append(st.order, t)
			st.Stats.Threads++
		}
		t.last, t.ended, t.gone = l.At, false, false
		if st.blur == nil {
			st.blur = map[checkpoint.SiteID]float64{}
		}
		if t.looked != nil { // another thread had its number
			st.seen = t.looked.addTo(st.seen, st.Tree)
		}
		t.looked = &looked{at: l.At, sums: map[int32]*seen{}}
		t.look(st, l)
		return
	}
	t.passLooked(max(t.last, t.looked.at+(l.At-t.looked.at)/2))
	t.looked.book()
	t.look(st, l)
	t.passLooked(l.At)
}

// look takes over where the thread is.
func (t *Thread) look(st *Stacks, l Look) {
	k := t.looked
	if !slices.Equal(k.path, l.Path) || k.path == nil {
		n := paths.Root
		for i, site := range l.Path {
			if st.MaxDepth > 0 && i >= st.MaxDepth {
				break
			}
			n = st.path(n, site, l.At)
		}
		k.node = n
	}
	if !k.waiting || !l.Waiting {
		k.since += l.At - k.at
	}
	k.path, k.waiting, k.at = l.Path, l.Waiting, l.At
	if l.Waiting {
		return
	}
	// Between two looks that saw different functions, what ran for how long is not known: of
	// looks at random moments, half of the square of that time is the variance for either.
	if site := st.Tree.Site(k.node); k.began && site != k.ran {
		d := k.onProcessor(float64(k.since))
		st.blur[site] += d * d / 2
		st.blur[k.ran] += d * d / 2
	}
	k.ran, k.since, k.began = st.Tree.Site(k.node), 0, true
}

// onProcessor is how long a thread may have been on a processor in a time in which it was not seen to wait. Where looks
// were late, that is not all of it.
func (k *looked) onProcessor(ticks float64) float64 {
	if k.all.looks == 0 {
		return ticks
	}
	return min(ticks, mostWeight*k.all.ticks/float64(k.all.looks))
}

// Blur is the variance, in ticks^2, by which looks may tell of each site that it ran while
// another did, summed over the run; that of 0 is of what is outside all sites. It is nil where
// nobody looked.
func (st *Stacks) Blur() map[checkpoint.SiteID]float64 { return st.blur }

// passLooked charges a thread's time up to a moment to where it was seen last.
func (t *Thread) passLooked(at checkpoint.Tick) {
	if at <= t.last {
		return
	}
	p := paths.Part{Node: t.looked.node, Ticks: uint64(at - t.last)}
	if t.looked.waiting {
		p.Waited = p.Ticks
	}
	t.looked.weight += float64(p.Ticks)
	t.pending = append(t.pending, p)
	t.last = at
}

// book notes what the last look stood for.
func (k *looked) book() {
	if !k.waiting && k.weight > 0 {
		s := k.sums[k.node]
		if s == nil {
			s = &seen{}
			k.sums[k.node] = s
		}
		weight := k.onProcessor(k.weight)
		s.add(weight)
		k.all.add(weight)
	}
	k.weight = 0
}

// combineLooked adds up parts of the same node.
func combineLooked(parts []paths.Part) []paths.Part {
	at := map[int32]int{}
	sums := parts[:0]
	for _, p := range parts {
		i, ok := at[p.Node]
		if !ok {
			at[p.Node] = len(sums)
			sums = append(sums, p)
			continue
		}
		sums[i].Ticks += p.Ticks
		sums[i].Waited += p.Waited
	}
	return sums
}

// Seen is what looks tell of a call path: how many were at it, and the variance, relative to the
// square of its time, by which that may be off as they are a sample of each thread's time
// (binomial, for looks that stand for unequal times). Under has the same for it and all that it
// called. The relative variance of a path without looks is 0.
type Seen struct {
	Looks, LooksUnder       uint64
	Relative, RelativeUnder float64
}

// seenNode is the sums over threads of what looks tell of a node, and of it with all that it called.
type seenNode struct {
	looks           uint64
	ticks, variance float64
	under, doubt    float64 // ticks and variance
}

// addTo adds what looks tell of a thread to the sums of nodes.
func (k *looked) addTo(all []seenNode, tree *paths.Tree) []seenNode {
	if more := tree.Len() - len(all); more > 0 {
		all = append(all, make([]seenNode, more)...)
	}
	k.book()
	own := map[int32]float64{} // with what is below
	for node, s := range k.sums {
		all[node].looks += s.looks
		all[node].ticks += s.ticks
		all[node].variance += k.variance(s.ticks)
		own[node] += s.ticks
		for p := tree.Parent(node); p >= 0; p = tree.Parent(p) {
			if _, ok := own[p]; ok {
				break
			}
			own[p] = 0
		}
	}
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(own))) { // parents have lower numbers
		all[n].under += own[n]
		all[n].doubt += k.variance(own[n])
		if p := tree.Parent(n); p >= 0 {
			own[p] += own[n]
		}
	}
	return all
}

// forget ends a thread that was looked at: what looks tell of it stays.
func (st *Stacks) forget(t *Thread) {
	st.seen = t.looked.addTo(st.seen, st.Tree)
	delete(st.threads, t.ID)
}

// Seen tells that of each node. It is nil where nobody looked.
func (st *Stacks) Seen() []Seen {
	if st.blur == nil {
		return nil
	}
	n := st.Tree.Len()
	all := append(slices.Clone(st.seen), make([]seenNode, n-len(st.seen))...)
	for _, t := range st.order {
		if t.looked != nil {
			all = t.looked.addTo(all, st.Tree)
		}
	}
	out := make([]Seen, n)
	for i := int32(n) - 1; i >= 0; i-- {
		s := &all[i]
		out[i].Looks += s.looks
		out[i].LooksUnder += s.looks
		if p := st.Tree.Parent(i); p >= 0 {
			out[p].LooksUnder += out[i].LooksUnder
		}
		out[i].Relative, out[i].RelativeUnder = relative(s.variance, s.ticks), relative(s.doubt, s.under)
	}
	return out
}

// variance is that of the ticks of looks which are a part of all.
func (k *looked) variance(ticks float64) float64 {
	part := ratio(ticks, k.all.ticks)
	return k.all.squares * part * (1 - part)
}

func relative(variance, ticks float64) float64 { return ratio(variance, ticks*ticks) }
