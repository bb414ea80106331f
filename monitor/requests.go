package monitor

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"cg/checkpoint"
	"cg/nemb"
)

// Annotation is what a program says of one of its requests: that it begins, or ends.
type Annotation struct {
	From  uint64 // the connection, 1 or more
	ID    string // of the request, among those of the connection
	Name  string // of its route, such as "GET /cart"; of a beginning
	Begin bool
	Gone  bool // the connection is closed: its requests end
	Cut   bool // of an end: the program has not said it, its connection is closed
	At    checkpoint.Instant
	Thread
	// CPU is what the thread had used when the annotation came, negative where no thread is known.
	CPU time.Duration
}

// Thread is a thread of a process. TID is 0 where only the process is known.
type Thread struct{ PID, TID int }

// Bounds of what is kept of requests, whatever programs say.
const (
	MostRoutes   = 200 // the names that come first; all others are one route
	mostRequests = 10_000
	// mostCarried is by how much the time of threads may be ahead of that of their process:
	// some ticks of the kernel.
	mostCarried = 20 * time.Millisecond
)

// OtherRoutes is the name of the route of all that have none of their own.
const OtherRoutes = "other"

// RouteName is the name of a route as it is shown, of so many bytes at most.
func RouteName(s string, most int) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "\ufffd"))
	if len(s) <= most {
		return strings.Clone(s) // and not what it was cut from
	}
	n := most
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// Route is all requests of one name.
type Route struct {
	Name  string
	Count int           // that have ended
	Cut   int           // of these, by the end of their connection or process
	Open  int           // that have not
	Time  time.Duration // of those that have ended
	// Began is when the first began, Ended when the last one ended; 0 where none has.
	Began, Ended checkpoint.Instant
	Energy       []nemb.Energy // per domain
	// Joules, Lo and Hi are of the domains that make up the total.
	Joules, Lo, Hi float64
}

// route is what the book has of a route. low and high bound its energy per domain, in
// microjoules: what only time tells may be none, and all of what its process used.
type route struct {
	Route
	low, high []float64
}

// request is a request that has begun.
type request struct {
	from   uint64
	id     string
	route  *route
	worker *worker
	tid    int // 0: by time
	begun  checkpoint.Instant
}

// worker is a process that has requests.
type worker struct {
	process *process
	at      checkpoint.Instant // up to which loose is
	byTime  []*request
	threads map[int]*busyThread
	// Of the open window: seconds, divided among the requests of one moment, and the
	// processor time of threads.
	loose map[*route]float64
	firm  map[*route]float64
	// carried is what firm has of the window before: what threads had used when the process'
	// own time did not show it yet.
	carried float64
	// pending is, per domain, the processor time of routes since its counter moved.
	pending []map[*route]*work
}

type busyThread struct {
	cpu      time.Duration
	requests []*request
}

// work is processor time in nanoseconds: what threads used, what time alone gives, and the
// most that this may have been.
type work struct{ firm, loose, most float64 }

// requests divides the energy of processes among what they work on.
type requests struct {
	routes  map[string]*route
	listed  []*route
	open    map[uint64]map[string]*request // by connection and id
	count   int                            // of open
	workers map[*process]*worker
	full    bool // there were as many at once as there may be
	ignored int  // annotations: of unknown processes, of too many requests, ends without a beginning
}

// Threads lists those whose processor time the next reading should have.
func (b *Book) Threads() (all []Thread) {
	for p, w := range b.requests.workers {
		for tid := range w.threads {
			all = append(all, Thread{p.PID, tid})
		}
	}
	return all
}

// annotate takes what programs have said since the reading before, and what their threads have
// used up to this one. before is the moment of the last reading.
func (b *Book) annotate(r *Reading, before checkpoint.Instant) {
	q := &b.requests
	for i := range r.Annotations {
		a := &r.Annotations[i]
		a.At = min(max(a.At, before), r.At)
		switch {
		case a.Gone:
			a.Cut = true
			for _, one := range q.open[a.From] {
				q.end(one, a)
			}
		case a.Begin:
			b.begin(a)
		default:
			if one := q.open[a.From][a.ID]; one != nil {
				q.end(one, a)
			} else {
				q.ignored++
			}
		}
	}
	var workers []*worker
	for _, w := range q.workers {
		workers = append(workers, w)
	}
	slices.SortFunc(workers, func(a, b *worker) int {
		return cmp.Or(cmp.Compare(a.process.PID, b.process.PID), cmp.Compare(a.process.Start, b.process.Start))
	})
	for _, w := range workers {
		w.advance(r.At)
		for tid, t := range w.threads {
			cpu, known := r.Threads[Thread{w.process.PID, tid}]
			if known {
				w.settle(t, cpu)
			}
			if len(t.requests) == 0 || !known && w.process.left {
				delete(w.threads, tid)
			}
		}
		used := w.process.used + w.process.waited
		if w.process.reading != b.readings { // what it had used was of the window before
			used = 0
		}
		w.close(float64(used), time.Duration(r.At-before).Seconds(), len(b.domains))
		b.retire(w)
	}
}

// retire ends the requests of a process that is over, and lets go of one that has none.
func (b *Book) retire(w *worker) {
	q := &b.requests
	if w.process.left {
		for _, of := range q.open {
			for _, one := range of {
				if one.worker == w {
					q.end(one, &Annotation{At: b.at, CPU: -1, Cut: true})
				}
			}
		}
	}
	if len(w.byTime) == 0 && len(w.threads) == 0 && len(w.firm) == 0 {
		delete(q.workers, w.process)
	}
}

// begun makes what the first request needs.
func (q *requests) begun() {
	q.workers, q.routes = map[*process]*worker{}, map[string]*route{}
	q.open = map[uint64]map[string]*request{}
}

// begin opens a request. One that has the same name on its connection ends.
func (b *Book) begin(a *Annotation) {
	q := &b.requests
	if one := q.open[a.From][a.ID]; one != nil {
		q.end(one, a)
	}
	p := b.byPID[a.PID]
	if q.count >= mostRequests {
		q.full = true
	}
	if p == nil || p.left || p.PID == b.own || q.count >= mostRequests {
		q.ignored++
		return
	}
	w := p.worker
	if w == nil {
		w = &worker{process: p, threads: map[int]*busyThread{}, pending: make([]map[*route]*work, len(b.domains))}
		p.worker = w
	}
	if q.routes == nil {
		q.begun()
	}
	if q.workers[p] == nil {
		q.workers[p], w.at = w, a.At
	}
	w.advance(a.At)
	one := &request{from: a.From, id: a.ID, route: q.route(a.Name, len(b.domains)), worker: w, begun: a.At}
	one.route.Open++
	if one.route.Began == 0 {
		one.route.Began = a.At
	}
	if q.open[a.From] == nil {
		q.open[a.From] = map[string]*request{}
	}
	q.open[a.From][a.ID] = one
	q.count++
	if a.TID == 0 || a.CPU < 0 {
		w.byTime = append(w.byTime, one)
		return
	}
	one.tid = a.TID
	t := w.threads[a.TID]
	if t == nil {
		t = &busyThread{cpu: a.CPU}
		w.threads[a.TID] = t
	}
	w.settle(t, a.CPU)
	t.requests = append(t.requests, one)
}

// end closes a request.
func (q *requests) end(one *request, a *Annotation) {
	delete(q.open[one.from], one.id)
	if q.count--; len(q.open[one.from]) == 0 {
		delete(q.open, one.from)
	}
	w := one.worker
	w.advance(a.At)
	is := func(other *request) bool { return other == one }
	if t := w.threads[one.tid]; one.tid != 0 && t != nil {
		if a.TID == one.tid && a.PID == w.process.PID && a.CPU >= 0 {
			w.settle(t, a.CPU)
		}
		t.requests = slices.DeleteFunc(t.requests, is)
	} else {
		w.byTime = slices.DeleteFunc(w.byTime, is)
	}
	one.route.Open--
	if one.route.Count++; a.Cut {
		one.route.Cut++
	}
	one.route.Time += max(0, time.Duration(a.At-one.begun))
	one.route.Ended = max(one.route.Ended, a.At)
}

// route is the route of a name. The names that come first have one each.
func (q *requests) route(name string, domains int) *route {
	if q.routes[name] == nil && len(q.routes) >= MostRoutes {
		name = OtherRoutes
	}
	r := q.routes[name]
	if r == nil {
		r = &route{Route: Route{Name: name, Energy: make([]nemb.Energy, domains)},
			low: make([]float64, domains), high: make([]float64, domains)}
		q.routes[name] = r
		q.listed = append(q.listed, r)
	}
	return r
}

// advance divides the time up to a moment among the requests that are open.
func (w *worker) advance(to checkpoint.Instant) {
	if to <= w.at {
		return
	}
	part := time.Duration(to-w.at).Seconds() / float64(len(w.byTime))
	w.at = to
	for _, one := range w.byTime {
		if w.loose == nil {
			w.loose = map[*route]float64{}
		}
		w.loose[one.route] += part
	}
}

// settle gives what a thread has used since it was asked last to the requests it works on.
func (w *worker) settle(t *busyThread, cpu time.Duration) {
	spent := float64(max(0, cpu-t.cpu))
	t.cpu = max(t.cpu, cpu)
	for _, one := range t.requests {
		if w.firm == nil {
			w.firm = map[*route]float64{}
		}
		w.firm[one.route] += spent / float64(len(t.requests))
	}
}

// close ends a window of so many seconds: all routes together have the nanoseconds that the
// process used, at most. What its threads had used beyond that is of the next window, so much
// at most, and of that window alone.
func (w *worker) close(used, window float64, domains int) {
	sum := 0.0
	for _, r := range byName(w.firm) {
		sum += w.firm[r]
	}
	scale := 1.0
	if sum > used {
		scale = used / sum
	}
	left := used - sum*scale
	for d := range domains {
		if w.pending[d] == nil && len(w.firm)+len(w.loose) > 0 {
			w.pending[d] = map[*route]*work{}
		}
		for r, spent := range w.firm {
			w.work(d, r).firm += spent * scale
		}
		for r, seconds := range w.loose {
			k := w.work(d, r)
			k.most += left
			if window > 0 {
				k.loose += left * min(1, seconds/window)
			}
		}
	}
	ahead := min(sum-sum*scale, sum-w.carried, float64(mostCarried))
	if ahead < 1 { // less is rounding
		ahead = 0
		clear(w.firm)
	}
	for r := range w.firm {
		w.firm[r] *= ahead / sum
	}
	w.carried = ahead
	clear(w.loose)
}

func (w *worker) work(d int, r *route) *work {
	k := w.pending[d][r]
	if k == nil {
		k = &work{}
		w.pending[d][r] = k
	}
	return k
}

func byName[T any](of map[*route]T) []*route {
	all := make([]*route, 0, len(of))
	for r := range of {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *route) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// pay divides what a process has of a domain's energy, for so much processor time, and tells how much
// requests got. What it did for no request stays its own.
func (w *worker) pay(d int, e nemb.Energy, used time.Duration) (paid nemb.Energy) {
	routes := byName(w.pending[d])
	weights, left := make([]float64, len(routes)+1), float64(used)
	for i, r := range routes {
		k := w.pending[d][r]
		weights[i] = k.firm + k.loose
		left -= weights[i]
	}
	weights[len(routes)] = max(0, left)
	for i, part := range nemb.Split(e, weights)[:len(routes)] {
		r, k := routes[i], w.pending[d][routes[i]]
		r.Energy[d] += part
		paid += part
		if weights[i] > 0 {
			r.low[d] += float64(part) * k.firm / weights[i]
		}
		r.high[d] += max(float64(part), float64(e)*min(1, (k.firm+k.most)/float64(used)))
	}
	w.pending[d] = nil
	return paid
}

// snapshot lists the routes, in the order in which they were named first.
func (q *requests) snapshot(s *Snapshot) (all []Route) {
	for _, r := range q.listed {
		out := r.Route
		out.Energy = slices.Clone(r.Energy)
		total := nemb.Energy(0)
		for d := range s.Domains {
			if domain := &s.Domains[d]; domain.Domain.InTotal {
				total += r.Energy[d]
				out.Lo += r.low[d] * 1e-6 * domain.Lo
				out.Hi += r.high[d] * 1e-6 * domain.Hi
			}
		}
		out.Joules = total.Joules()
		all = append(all, out)
	}
	return all
}
