package measure

import (
	"maps"
	"os"
	"time"

	"cg/checkpoint"
	"cg/monitor"
	"cg/nemb"
	"cg/nemb/population"
	"cg/nemb/processor"
)

// Requests hears what a program says of its requests.
type Requests interface {
	// Take gives what came since it was called last, in order.
	Take() []monitor.Annotation
	// Settle hears what programs have said that ended already.
	Settle()
}

// Readings for the book are this far apart: as soon as something was said, and else.
const (
	soonAfter = 20 * time.Millisecond
	atLeast   = 100 * time.Millisecond
)

// requests divides the energy of a program among the routes of its requests, as cg monitor does: the processes that
// said something are those of the book, and everyone else is its other. It is idle until something is said.
type requests struct {
	heard     Requests
	book      *monitor.Book // nil before
	domains   []nemb.Domain
	said      []monitor.Annotation
	processes map[int]*requester
	last      nemb.Sample // the last whose reading succeeded
	at        checkpoint.Instant
	clock     func(pid int) (time.Duration, error)
	thread    func(pid, tid int) (time.Duration, error)
}

// requester is a process that has said something, since then.
type requester struct {
	base, used time.Duration            // what it had used before, and has used since
	told       time.Duration            // what its threads told, up to the last reading
	threads    map[int][2]time.Duration // what each had used then, and is heard to have used since
	gone       bool
}

func newRequests(heard Requests, domains []nemb.Domain) *requests {
	if heard == nil {
		return nil
	}
	return &requests{heard: heard, domains: domains, processes: map[int]*requester{}, clock: population.ProcessTime,
		thread: func(pid, tid int) (time.Duration, error) { return population.ThreadTime("/proc", pid, tid) }}
}

// take takes a sample.
func (q *requests) take(s nemb.Sample) {
	if q != nil && !s.Failed {
		s.Energy = append(q.last.Energy[:0], s.Energy...) // the sampler's is used again
		q.last = s
	}
}

// step hears what was said, and brings the book up to date where that is due.
func (q *requests) step(now checkpoint.Instant) {
	if q == nil || q.last.Energy == nil {
		return
	}
	q.hear()
	since := time.Duration(now - q.at)
	if len(q.said) > 0 && (q.book == nil || since >= soonAfter) || q.book != nil && since >= atLeast {
		q.read(now)
	}
}

// hear takes what programs said. A process that says something for the first time has used nothing before.
func (q *requests) hear() {
	said := q.heard.Take()
	q.said = append(q.said, said...)
	for i := range said {
		a := &said[i]
		if a.PID == 0 || a.Gone {
			continue
		}
		p := q.processes[a.PID]
		if p == nil {
			p = &requester{threads: map[int][2]time.Duration{}}
			p.base, _ = q.clock(a.PID)
			q.processes[a.PID] = p
		}
		if a.TID != 0 && a.CPU >= 0 {
			p.hear(a.TID, a.CPU)
		}
	}
}

// hear takes what a thread has used, in all.
func (p *requester) hear(tid int, cpu time.Duration) {
	t, known := p.threads[tid]
	if !known {
		t[0] = cpu
	}
	t[1] = max(t[1], cpu)
	p.threads[tid] = t
}

// bring brings up to date what a process has used: as the kernel tells, and no less than its threads told. A process
// that is over has what is known of it.
func (p *requester) bring(pid int, clock func(int) (time.Duration, error)) {
	cpu, err := clock(pid)
	if p.gone = err != nil; !p.gone {
		p.used = max(p.used, cpu-p.base)
	}
	for tid, t := range p.threads {
		p.told += t[1] - t[0]
		p.threads[tid] = [2]time.Duration{t[1], t[1]}
	}
	p.used = max(p.used, p.told)
}

// forget leaves out the threads that have no request: a number may be used again, and a program may name any.
func (p *requester) forget(pid int, working map[monitor.Thread]bool) {
	maps.DeleteFunc(p.threads, func(tid int, _ [2]time.Duration) bool {
		return !working[monitor.Thread{PID: pid, TID: tid}]
	})
}

// read gives the book a reading. Before the first it gets one in which nobody has used anything.
func (q *requests) read(now checkpoint.Instant) {
	var r monitor.Reading
	if first := q.book == nil; first {
		q.book = monitor.New(q.domains, processor.Online(), os.Getpid())
		q.fill(&r, min(now-1, q.last.Time)) // readings have to be apart
		q.book.Add(&r)
	}
	r.Threads = map[monitor.Thread]time.Duration{}
	for _, t := range q.book.Threads() {
		if cpu, err := q.thread(t.PID, t.TID); err == nil {
			r.Threads[t] = cpu
			if p := q.processes[t.PID]; p != nil {
				p.hear(t.TID, cpu)
			}
		}
	}
	for pid, p := range q.processes {
		if p.gone { // and the reading before had the last of it
			delete(q.processes, pid)
			continue
		}
		p.bring(pid, q.clock)
	}
	r.Annotations, q.said = q.said, nil
	q.fill(&r, now)
	q.book.Add(&r)
	q.at = now
	working := map[monitor.Thread]bool{}
	for _, t := range q.book.Threads() {
		working[t] = true
	}
	for pid, p := range q.processes {
		p.forget(pid, working)
	}
}

// fill fills in what is known of the machine and the processes.
func (q *requests) fill(r *monitor.Reading, at checkpoint.Instant) {
	usage := q.last.Usage
	r.At, r.Energy = at, make([]float64, len(q.domains))
	for d, e := range q.last.Energy {
		r.Energy[d] = float64(e)
	}
	r.Host = population.Reading{Busy: usage.Program + usage.Own + usage.Other, KnowsBusy: true}
	add := func(pid int, used time.Duration) {
		r.Host.Processes = append(r.Host.Processes,
			population.Process{ID: population.ID{PID: pid}, Group: "/", CPU: used})
	}
	add(os.Getpid(), usage.Own)
	for pid, p := range q.processes {
		add(pid, p.used)
	}
}

// finish takes what was said last, and gives the routes and how many annotations were of no use.
func (q *requests) finish(end checkpoint.Instant) (routes []monitor.Route, ignored int) {
	if q == nil {
		return nil, 0
	}
	q.heard.Settle()
	q.hear()
	if q.book == nil && len(q.said) == 0 || q.last.Energy == nil {
		return nil, 0
	}
	q.read(max(end, q.at+1))
	s := q.book.Snapshot()
	return s.Routes, s.Ignored
}
