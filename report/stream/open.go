package stream

import "sort"

// Limits of the tasks that are open at one time.
const (
	mostOpen = 1 << 18
	mostHeld = 256 << 20 // bytes of their names, threads and metadata
)

// opened are the tasks that have begun and not ended. To begin, to find and to end one takes
// the same time however many there are, but for the logarithm of the number of those that
// overlap others.
type opened struct {
	threads map[Thread]*thread
	byID    map[nameID]*Span // the last of a clock, whatever the thread
	all     chain
	held    int    // bytes
	now     uint64 // number of begins and ends so far
}

type nameID struct{ clock, name, id string }

// thread are the open tasks of a thread.
type thread struct {
	all   chain
	names map[string]*named
	// early are tasks that ended while later ones were open; see overlaps.
	early []early
}

// named are the open tasks of a name on a thread: all, those without an id, and those of each id.
type named struct {
	all, bare chain
	ids       map[string]*Span // the last of each
	from      int64            // when the first of those that overlap began
}

// early is the end of a task (its number among begins and ends) and the number of its begin.
type early struct{ ended, began uint64 }

// chain is a list of open tasks, the last that began first. A task is in several, one of each kind.
type chain struct {
	last *Span
	n    int
}

// The kinds of chains that a task is in.
const (
	ofAll = iota
	ofThread
	ofName
	ofID
	ofClock
	chains
)

// place is where a task is among the open ones.
type place struct {
	began uint64
	id    string
	links [chains]struct{ before, after *Span }
}

func (c *chain) push(s *Span, kind int) {
	s.follow(c.last, kind)
	c.last = s
	c.n++
}

func (c *chain) remove(s *Span, kind int) {
	if before := s.leave(kind); c.last == s {
		c.last = before
	}
	c.n--
}

// follow puts a task into a list behind the one that is the last.
func (s *Span) follow(last *Span, kind int) {
	s.open.links[kind].before = last
	if last != nil {
		last.open.links[kind].after = s
	}
}

// leave takes a task out of a list, and gives the one before it.
func (s *Span) leave(kind int) (before *Span) {
	link := &s.open.links[kind]
	before = link.before
	if before != nil {
		before.open.links[kind].after = link.after
	}
	if link.after != nil {
		link.after.open.links[kind].before = before
	}
	link.before, link.after = nil, nil
	return before
}

func newOpened() *opened {
	return &opened{threads: map[Thread]*thread{}, byID: map[nameID]*Span{}}
}

// bytes are those that a task keeps besides itself.
func (s *Span) bytes() int {
	return len(s.Name) + len(s.Metadata) + len(s.Process) + len(s.Thread.Thread) + len(s.open.id)
}

// begin opens a task. It reports whether there was room for it.
func (o *opened) begin(s *Span, id string) bool {
	s.open.id = id
	if o.all.n >= mostOpen || o.held+s.bytes() > mostHeld {
		return false
	}
	o.held += s.bytes()
	o.now++
	s.open.began = o.now
	th := o.threads[s.Thread]
	if th == nil {
		th = &thread{names: map[string]*named{}}
		o.threads[s.Thread] = th
	}
	s.Depth, s.Parent = th.all.n, th.all.last
	if s.Parent != nil {
		s.Parent.overlaps = th.overlaps(s.Parent)
	}
	n := th.names[s.Name]
	if n == nil {
		n = &named{from: s.From}
		th.names[s.Name] = n
	}
	o.all.push(s, ofAll)
	th.all.push(s, ofThread)
	n.all.push(s, ofName)
	if id == "" {
		n.bare.push(s, ofID)
		return true
	}
	if n.ids == nil {
		n.ids = map[string]*Span{}
	}
	push(n.ids, id, s, ofID)
	push(o.byID, nameID{s.Clock, s.Name, id}, s, ofClock)
	return true
}

func push[K comparable](m map[K]*Span, key K, s *Span, kind int) {
	s.follow(m[key], kind)
	m[key] = s
}

func remove[K comparable](m map[K]*Span, key K, s *Span, kind int) {
	last := m[key] == s
	before := s.leave(kind)
	switch {
	case last && before == nil:
		delete(m, key)
	case last:
		m[key] = before
	}
}

// end closes a task, whose To is known.
func (o *opened) end(s *Span) {
	o.now++
	o.held -= s.bytes()
	th := o.threads[s.Thread]
	n := th.names[s.Name]
	s.overlaps = th.overlaps(s)
	if th.all.last != s {
		th.ended(s, o.now)
	}
	o.all.remove(s, ofAll)
	th.all.remove(s, ofThread)
	n.all.remove(s, ofName)
	if s.open.id == "" {
		n.bare.remove(s, ofID)
	} else {
		remove(n.ids, s.open.id, s, ofID)
		remove(o.byID, nameID{s.Clock, s.Name, s.open.id}, s, ofClock)
	}
	if n.all.n == 0 {
		s.Whole = max(0, s.To-n.from)
		delete(th.names, s.Name)
	}
	if th.all.n == 0 {
		delete(o.threads, s.Thread)
	}
}

// last is the task that began last, nil if none is open.
func (o *opened) last() *Span { return o.all.last }

// find finds the innermost open task that an event ends, nil if there is none. An end that
// says nothing of its thread may end one of its id on any thread of the clock.
func (o *opened) find(t Thread, name, id string) *Span {
	if th := o.threads[t]; th != nil {
		if n := th.names[name]; n != nil {
			if s := n.find(id); s != nil {
				return s
			}
		}
	}
	if t.Process != "" || t.Thread != "" || id == "" {
		return nil
	}
	return o.byID[nameID{t.Clock, name, id}]
}

// find finds the last of a name that an id fits: any where one of the two has none.
func (n *named) find(id string) *Span {
	if id == "" {
		return n.all.last
	}
	s := n.bare.last
	if other := n.ids[id]; other != nil && (s == nil || other.open.began > s.open.began) {
		return other
	}
	return s
}

// overlaps reports whether a task that was open when this one began has ended. That is so if one
// that began before it ended since: of the ends after a moment, the one that began first is kept.
func (t *thread) overlaps(s *Span) bool {
	i := t.after(s)
	return s.overlaps || i < len(t.early) && t.early[i].began < s.open.began
}

// after is the first of the early ends since a task began.
func (t *thread) after(s *Span) int {
	return sort.Search(len(t.early), func(i int) bool { return t.early[i].ended > s.open.began })
}

// ended notes that a task ends before later ones.
func (t *thread) ended(s *Span, now uint64) {
	for n := len(t.early); n > 0 && t.early[n-1].began >= s.open.began; n-- {
		t.early = t.early[:n-1]
	}
	t.early = append(t.early, early{now, s.open.began})
	if len(t.early) <= 2*t.all.n+16 {
		return
	}
	// Only the first end since each open task began is asked for.
	asked := make([]bool, len(t.early))
	for open := t.all.last; open != nil; open = open.open.links[ofThread].before {
		if i := t.after(open); i < len(asked) {
			asked[i] = true
		}
	}
	kept := t.early[:0]
	for i, e := range t.early {
		if asked[i] {
			kept = append(kept, e)
		}
	}
	t.early = kept
}
