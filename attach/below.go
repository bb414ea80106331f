package attach

import (
	"cmp"
	"math"
	"slices"

	"cg/attach/native"
	"cg/attach/python"
	"cg/checkpoint"
)

// below has what Python's functions called in machine code.
//
// The interpreter's structures tell in which Python function a thread is, at a moment of cg's. The
// kernel's samples tell which machine code it runs, after each interval of its processor time. The
// two are never of the same moment. But a sample has the registers and the frame of the loop that
// executes bytecode, and there stands the address of an instruction of the innermost Python function,
// or, before 3.11, of its frame. So a sample tells itself of which Python function it is. A look at a
// thread in that function takes over what the nearest such sample shows. The frame may hold addresses
// of functions that ran before, too: a sample that tells of several is of none.
type below struct {
	samples map[checkpoint.Thread][]*sample // in the order of time
	paths   map[checkpoint.Thread]joined    // the last of each thread
	spans   map[uint32]*spans               // by process
}

// sample is one of a thread that executed Python.
type sample struct {
	native.Look
	leaf python.Span // of its Python function, none where that is not known
	of   int         // the version of the spans that were asked; 0 for none
}

// spans are where functions lie that were innermost in a look (python.Stack.Leaf), by address.
type spans struct {
	all     []python.Span
	sites   map[python.Span]checkpoint.SiteID // that lie there, shared for several
	version int
}

// shared is the site of memory in which several functions lay one after another.
const shared = checkpoint.SiteID(math.MaxUint32)

// mostSpans is of how many functions that is kept.
const mostSpans = 1 << 14

// add adds the span of a function, in place of what lay there.
func (s *spans) add(n python.Span, site checkpoint.SiteID) {
	if before, ok := s.sites[n]; !ok {
		s.sites[n] = site
	} else if before != site {
		s.sites[n] = shared
	}
	from, found := slices.BinarySearchFunc(s.all, n, func(a, n python.Span) int { return cmp.Compare(a.From, n.From) })
	if found && s.all[from] == n {
		return
	}
	if from > 0 && s.all[from-1].To > n.From {
		from--
	}
	to := from
	for to < len(s.all) && s.all[to].From < n.To {
		to++
	}
	if to == from && len(s.all) >= mostSpans {
		delete(s.sites, n)
		return
	}
	for _, gone := range s.all[from:to] {
		delete(s.sites, gone)
	}
	s.sites[n] = site
	s.all = slices.Replace(s.all, from, to, n)
	s.version++
}

// has tells whether what lies where a look's function does is that function alone. Nil has nothing.
func (s *spans) has(l *Look) bool {
	return s != nil && len(l.Path) > 0 && s.sites[l.leaf] == l.Path[len(l.Path)-1]
}

// find is the span of an address, false for none.
func (s *spans) find(at uint64) (python.Span, bool) {
	n, found := slices.BinarySearchFunc(s.all, at, func(a python.Span, at uint64) int {
		return cmp.Compare(a.From, at)
	})
	if !found {
		n--
	}
	if n < 0 || at >= s.all[n].To {
		return python.Span{}, false
	}
	return s.all[n], true
}

// only is the one span that words hold addresses of, false where they hold those of several.
func (s *spans) only(words []uint64) (one python.Span, unique bool) {
	for _, w := range words {
		if span, ok := s.find(w); ok && one.To != 0 && span != one {
			return python.Span{}, false
		} else if ok {
			one = span
		}
	}
	return one, true
}

// of is the span of the function in which a sample was taken: by registers, which the loop uses now, else by its
// frame on the stack.
func (s *spans) of(l *sample) python.Span {
	if l.of != s.version {
		one, unique := s.only(l.Held[:min(len(l.Held), native.HeldRegisters)])
		if unique && one.To == 0 {
			one, _ = s.only(l.Held)
		}
		l.leaf, l.of = one, s.version
	}
	return l.leaf
}

// joined is a path of Python's functions and of what they called, and what it was made of.
type joined struct{ python, machine, all []checkpoint.SiteID }

// A look waits for samples that come after it, and takes none that is further away than mostApart.
const (
	mostApart = checkpoint.Instant(50e6) // ns
	waitBelow = checkpoint.Instant(10e6)
)

// mostBelow is how many samples of a thread are kept.
const mostBelow = 1 << 10

// add keeps a sample.
func (b *below) add(l native.Look) {
	if b.samples == nil {
		b.samples, b.paths = map[checkpoint.Thread][]*sample{}, map[checkpoint.Thread]joined{}
	}
	all := append(b.samples[l.Thread], &sample{Look: l})
	if len(all) > mostBelow {
		all = slices.Delete(all, 0, len(all)/2)
	}
	b.samples[l.Thread] = all
}

// meet notes that a look is to be completed.
func (b *below) meet(l *Look, leaf python.Span) {
	l.leaf, l.when = leaf, checkpoint.Monotime()
	if b.spans == nil {
		b.spans = map[uint32]*spans{}
	}
	of := b.spans[l.Thread.PID]
	if of == nil {
		of = &spans{sites: map[python.Span]checkpoint.SiteID{}}
		b.spans[l.Thread.PID] = of
	}
	if n := len(l.Path); leaf.To != 0 && n > 0 {
		of.add(leaf, l.Path[n-1])
	}
}

// settle completes the looks that need not wait any more at a moment, and forgets samples that no look can need.
func (b *below) settle(looks []*Look, now checkpoint.Instant) {
	oldest := now - waitBelow
	for _, l := range looks {
		if l.leaf.To == 0 {
			continue
		}
		if l.open || l.when > now-waitBelow {
			oldest = min(oldest, l.when)
			continue
		}
		if !l.Waiting && b.spans[l.Thread.PID].has(l) {
			if s := b.nearest(l); s != nil && len(s.Path) > 0 {
				l.Path = b.join(l.Thread, l.Path, s.Path)
			}
		}
		l.leaf = python.Span{}
	}
	for thread, all := range b.samples {
		n, _ := slices.BinarySearchFunc(all, oldest-mostApart, byTime)
		if n == len(all) {
			delete(b.samples, thread)
			delete(b.paths, thread)
		} else if n > len(all)/2 {
			b.samples[thread] = slices.Delete(all, 0, n)
		}
	}
}

func byTime(l *sample, at checkpoint.Instant) int {
	if l.At < at {
		return -1
	}
	return 1
}

// nearest is the sample of a look's Python function that is nearest in time, nil for none.
func (b *below) nearest(l *Look) *sample {
	all := b.samples[l.Thread]
	after, _ := slices.BinarySearchFunc(all, l.when, byTime)
	before := after - 1
	for {
		var next *sample
		switch {
		case before >= 0 && (after >= len(all) || l.when-all[before].At <= all[after].At-l.when):
			next = all[before]
			before--
		case after < len(all):
			next = all[after]
			after++
		default:
			return nil
		}
		if next.At-l.when > mostApart || l.when-next.At > mostApart {
			return nil
		}
		if b.spans[l.Thread.PID].of(next) == l.leaf {
			return next
		}
	}
}

// join is a path of Python's functions with what they called, the same one as long as a thread stays there.
func (b *below) join(thread checkpoint.Thread, of, called []checkpoint.SiteID) []checkpoint.SiteID {
	last := b.paths[thread]
	if !slices.Equal(last.python, of) || !slices.Equal(last.machine, called) {
		last = joined{of, called, slices.Concat(of, called)}
		b.paths[thread] = last
	}
	return last.all
}
