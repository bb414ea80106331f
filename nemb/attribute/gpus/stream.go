package gpus

import (
	"math"
	"slices"
	"time"

	"cg/checkpoint"
	"cg/nemb"
)

// Stream divides a GPU's energy among all processes while it is used, for as long as that may be. It takes the counter
// and the driver's answers as they come (Counter, Lost, Answer), and gives, span by span, what each process used
// (Settle): the driver's samples are late, so a span is settled some time after its end. The sum of the pieces is what
// the counter showed, to the microjoule.
//
// Idle power is the mean of the time in which nobody computed, of the last minutes: of that in which nobody held a
// context, if there was such a time. Before there was any it is not known: all is then the processes', whose interval
// tells so. What contexts draw above the idle power while nobody computes is their processes', by the memory that they
// hold. The zero Stream is empty.
type Stream struct {
	Period time.Duration // of the counter
	Habits nemb.Habits   // of the counter

	changes   nemb.Changes
	late      lateness
	knots     []nemb.Knot        // of the counter: At in ns, Joules
	given     nemb.Energy        // in pieces
	done      checkpoint.Instant // up to when there are pieces
	spans     []answered
	asked     checkpoint.Instant
	wasQuiet  bool
	empty     rest // while nobody held a context
	held      rest // while nobody computed
	low       lowest
	active    checkpoint.Instant // when somebody computed last
	seen      bool               // there was a time of which the driver told
	last      map[int]float64    // what each process drew in the piece before, uJ/ns
	lastSpan  float64            // its length, ns
	refused   Reason
	refusedBy error
}

// answered is what the driver told of a time.
type answered struct {
	from, to checkpoint.Instant
	state    state
	uses     []nemb.Use
	contexts []nemb.Context
	atOnce   bool
	reason   Reason
}

// Piece is whose the energy of a span is: Idle + Unattributed + that of Uses = Total.
type Piece struct {
	From, To                  checkpoint.Instant
	Total, Idle, Unattributed nemb.Energy
	Uses                      []Used
	Reason                    Reason // why there is Unattributed
	// Hidden is by how much Total may be off, by chance, in each piece alone, since the counter samples a part of the
	// time alone: in microjoules. It is in Off of those who used it.
	Hidden float64
}

// Used is what a process used of a piece. Lo and Hi bound it, in microjoules. Off is by how much it may be off besides,
// by chance, in each piece alone: by the edges of the driver's samples, and by what the counter hides.
type Used struct {
	PID         int
	Energy      nemb.Energy
	Lo, Hi, Off float64
	// Lag is by how much it may be off since the counter is late. Of the borders between pieces more is known later, so
	// that a piece may have a Lag of who used nothing of it.
	Lag Lag
}

// seam is how far the times of two answers may be apart that follow each other: the driver's clock is another, which is
// read anew for each.
const seam = 10 * time.Millisecond

// Patience is for how long samples of the driver are waited for.
const Patience = 5 * time.Second

// Counter takes what the counter has counted since it was read first.
func (s *Stream) Counter(at checkpoint.Instant, counted nemb.Energy) {
	knot := nemb.Knot{At: float64(at), Joules: counted.Joules()}
	switch n := len(s.knots); {
	case n == 0:
		s.done = at
	case knot.Joules <= s.knots[n-1].Joules:
		return
	}
	s.knots = append(s.knots, knot)
	s.changes.Habits, s.late.habits = s.Habits, s.Habits
	s.changes.Add(knot)
}

// Lost tells that the counter was reset: what it counted since it was read last is lost. It gives the pieces of what it
// counted before.
func (s *Stream) Lost(at checkpoint.Instant) []Piece {
	n := len(s.knots)
	if n == 0 {
		return nil
	}
	pieces := s.Settle(true)
	s.knots = []nemb.Knot{{At: float64(at), Joules: s.knots[len(s.knots)-1].Joules}}
	s.done, s.spans = at, nil
	s.changes.Forget()
	s.late.forget()
	s.changes.Add(s.knots[0])
	return pieces
}

// Answer takes the next answer of the driver.
func (s *Stream) Answer(o nemb.Occupancy) {
	before := s.asked
	s.asked = o.At
	t := answered{from: o.From, to: o.To, contexts: o.Contexts, atOnce: o.AtOnce, state: quiet}
	if !o.KnowsUses {
		s.refused, s.refusedBy = Reason(o.Refused), o.Err
		t.from, t.to, t.reason = before, o.At, s.refused
		if !o.Quiet || !s.wasQuiet {
			t.state = unseen
		}
		if s.wasQuiet = o.Quiet; before == 0 {
			return
		}
	} else {
		s.refused, s.refusedBy = Resolved, nil
		t.take(&o)
	}
	if n := len(s.spans); n > 0 && t.from < s.spans[n-1].to+checkpoint.Instant(seam) {
		t.from = s.spans[n-1].to
	} else if n == 0 && s.seen && t.from < s.done+checkpoint.Instant(seam) {
		t.from = s.done
	}
	if t.to > t.from {
		s.spans = append(s.spans, t)
	}
	end := s.done
	if n := len(s.spans); n > 0 {
		end = s.spans[n-1].to
	}
	if late := o.At - checkpoint.Instant(Patience); end < late {
		s.spans = append(s.spans, answered{from: end, to: late, state: unseen, reason: NoSamples})
	}
}

// take takes who used the GPU. Of the instances of a divided one it keeps those of which little is known, too: they
// bound what the others used.
func (t *answered) take(o *nemb.Occupancy) {
	for _, u := range o.Used() {
		if u.Part > 0 {
			t.state = active
		}
		if u.Part > 0 || u.Hi > 0 && o.IsDivided() {
			t.uses = append(t.uses, u)
		}
	}
	if t.state == quiet && len(t.uses) > 0 && !o.Quiet {
		t.state, t.uses, t.reason = unseen, nil, NoSamples
	}
}

// SeenUntil is up to when the driver has told who used the GPU, and whether somebody did at the end of that.
func (s *Stream) SeenUntil() (until checkpoint.Instant, used bool) {
	if n := len(s.spans); n > 0 {
		return s.spans[n-1].to, s.spans[n-1].state == active
	}
	return s.done, len(s.last) > 0
}

// Refused is why the driver does not tell who uses the GPU, and what it answered; Resolved where it does.
func (s *Stream) Refused() (Reason, error) { return s.refused, s.refusedBy }

// Settle gives the pieces of which both the energy and the processes are known, in the order of time. With all it gives
// those of all energy that the counter has shown.
func (s *Stream) Settle(all bool) []Piece {
	if len(s.knots) == 0 {
		return nil
	}
	return s.settle(checkpoint.Instant(s.knots[len(s.knots)-1].At), all)
}

func (s *Stream) settle(until checkpoint.Instant, all bool) (pieces []Piece) {
	n := 0
	for ; n < len(s.spans); n++ {
		t := s.spans[n]
		if t.to <= s.done {
			continue
		}
		if t.to >= until && !all && (t.to > until || s.Habits.IsLate()) {
			break // of a late counter the last piece is not given before all are: it tells what is known at the end
		}
		if t.to > until {
			if t.from >= until {
				break
			}
			t.to = until
		}
		if t.from > s.done {
			pieces = append(pieces, s.piece(answered{from: s.done, to: t.from, state: unseen, reason: NoSamples}))
		}
		t.from = s.done
		pieces = append(pieces, s.piece(t))
	}
	s.spans = slices.Delete(s.spans, 0, n)
	if all && until > s.done {
		pieces = append(pieces, s.piece(answered{from: s.done, to: until, state: unseen, reason: s.tail()}))
	}
	if n := len(pieces); all && n > 0 {
		s.late.finish(&pieces[n-1], s.knots)
	}
	keep, since := 0, s.late.since(float64(s.done)) // the knot before that
	for keep+1 < len(s.knots) && s.knots[keep+1].At <= since {
		keep++
	}
	s.knots = slices.Delete(s.knots, 0, keep)
	return pieces
}

// tail is why the driver has not told of the last time.
func (s *Stream) tail() Reason {
	if s.refused != Resolved {
		return s.refused
	}
	return NoSamples
}

// piece divides a time, which begins where the piece before ended.
func (s *Stream) piece(t answered) Piece {
	c := Curve{Knots: s.knots}
	now := max(s.given, nemb.Energy(max(0, math.Round(c.at(float64(t.to))*1e6))))
	p := Piece{From: t.from, To: t.to, Total: now - s.given, Hidden: 1e6 * math.Sqrt(s.changes.Until(float64(t.to)))}
	s.given, s.done = now, t.to
	s.learn(&t, float64(p.Total))
	drew := map[int]float64{}
	length := float64(t.to - t.from)
	idle := s.idle()
	switch t.state {
	case active:
		s.divide(&p, &t, idle)
		for _, u := range p.Uses {
			drew[u.PID] = float64(u.Energy) / length
		}
	case quiet:
		s.hold(&p, &t, idle)
	default:
		p.Idle = min(p.Total, nemb.Energy(math.Round(idle.Power*length*1e-3)))
		p.Unattributed, p.Reason = p.Total-p.Idle, t.reason
	}
	s.edges(&p, t.state, drew, length)
	s.late.add(&p, &t, s.knots)
	s.last, s.lastSpan = drew, length
	return p
}

// divide divides a time in which kernels ran.
func (s *Stream) divide(p *Piece, t *answered, idle nemb.IdlePower) {
	micro := float64(t.to-t.from) * 1e-3 // W * ns = 1e-3 uJ
	e := float64(p.Total)
	aside := min(p.Total, nemb.Energy(math.Round(idle.Power*micro)))
	least, most := max(0, e-idle.Hi*micro), max(0, e-idle.Lo*micro)
	weights, lo, hi := make([]float64, len(t.uses)), 0.0, 0.0
	for i, u := range t.uses {
		weights[i] = u.Part
		lo, hi = lo+u.Lo, hi+u.Hi
	}
	parts := nemb.Split(p.Total-aside, weights)
	p.Idle = p.Total
	for i, u := range t.uses {
		p.Idle -= parts[i]
		used := Used{PID: u.PID, Energy: parts[i]}
		if u.Lo > 0 {
			used.Lo = min(float64(parts[i]), least*u.Lo/(u.Lo+hi-u.Hi))
		}
		used.Hi = max(float64(parts[i]), most*u.Hi/(u.Hi+lo-u.Lo))
		if t.atOnce && len(t.uses) > 1 {
			used.Lo, used.Hi = 0, most
		}
		p.Uses = append(p.Uses, used)
	}
}

// hold divides a time in which no kernels ran.
func (s *Stream) hold(p *Piece, t *answered, idle nemb.IdlePower) {
	p.Idle = p.Total
	if len(t.contexts) == 0 || s.empty.ns <= 0 {
		return
	}
	micro := float64(t.to-t.from) * 1e-3
	aside := min(p.Total, nemb.Energy(math.Round(idle.Power*micro)))
	above, weights := p.Total-aside, make([]float64, len(t.contexts))
	for i, c := range t.contexts {
		if weights[i] = float64(c.Memory); c.Memory == 0 && len(t.contexts) > 1 {
			p.Idle, p.Unattributed, p.Reason = aside, above, Unmeasured
			return
		}
		weights[i] = max(1, weights[i])
	}
	p.Idle = aside
	for i, part := range nemb.Split(above, weights) {
		p.Uses = append(p.Uses, Used{PID: t.contexts[i].PID, Energy: part,
			Hi: max(float64(part), float64(p.Total)-idle.Lo*micro)})
	}
}

// edges tells by how much the edges of samples may have a process's energy off, as divider.edges does.
func (s *Stream) edges(p *Piece, state state, drew map[int]float64, length float64) {
	width := min(length, max(s.lastSpan, float64(s.Period)), float64(nemb.LongestUseSample)) + float64(s.Period)
	for i := range p.Uses {
		if state == quiet { // what contexts draw has no edges
			break
		}
		u := &p.Uses[i]
		u.Off = math.Hypot(math.Abs(drew[u.PID]-s.last[u.PID])*width, p.Hidden)
	}
	for pid, power := range s.last {
		if _, goesOn := drew[pid]; !goesOn {
			p.used(pid).Off = math.Hypot(power*width, p.Hidden)
		}
	}
}

// rest is the power of a GPU while nobody computes.
type rest struct {
	ns, micro float64
	lo, hi    float64 // watts of the quietest and the busiest second
	open      [2]float64
}

// recent is for how long a rest counts in full.
const recent = float64(10 * time.Minute)

func (r *rest) add(ns, micro float64, period time.Duration) {
	if r.ns+ns > recent {
		r.ns, r.micro = r.ns/2, r.micro/2
		r.lo, r.hi = r.mean(), r.mean()
	}
	r.ns, r.micro = r.ns+ns, r.micro+micro
	r.open[0], r.open[1] = r.open[0]+ns, r.open[1]+micro
	if r.open[0] >= float64(time.Second) {
		watts := r.open[1] / r.open[0] * 1e3
		off := watts * min(1, float64(period)/r.open[0])
		if r.lo == 0 && r.hi == 0 {
			r.lo, r.hi = watts-off, watts+off
		}
		r.lo, r.hi = min(r.lo, watts-off), max(r.hi, watts+off)
		r.open = [2]float64{}
	}
}

func (r *rest) mean() float64 { return r.micro / r.ns * 1e3 }

// lowest is the least mean power over a second or more, watts; 0 before there was one.
type lowest struct{ ns, micro, watts float64 }

func (l *lowest) add(ns, micro float64) {
	l.ns, l.micro = l.ns+ns, l.micro+micro
	if l.ns >= float64(time.Second) {
		if watts := l.micro / l.ns * 1e3; l.watts == 0 || watts < l.watts {
			l.watts = watts
		}
		l.ns, l.micro = 0, 0
	}
}

// learn takes what a time tells of the idle power. Power still falls for a while when kernels end.
func (s *Stream) learn(t *answered, micro float64) {
	ns := float64(t.to - t.from)
	s.low.add(ns, micro)
	if t.state == unseen && !s.seen { // the driver was not asked before
		return
	}
	s.seen = true
	if t.state != quiet {
		s.active = t.to
		return
	}
	if s.active != 0 && t.from < s.active+checkpoint.Instant(max(settled, s.Habits.Settled())) {
		return
	}
	if len(t.contexts) == 0 {
		s.empty.add(ns, micro, s.Period)
	} else {
		s.held.add(ns, micro, s.Period)
	}
}

// idle is the idle power as far as it is known.
func (s *Stream) idle() nemb.IdlePower {
	for _, r := range []*rest{&s.empty, &s.held} {
		if r.ns > 0 {
			mean := r.mean()
			p := nemb.IdlePower{Power: mean, Lo: 0, Hi: mean, Method: nemb.IdleRun}
			if r.hi > 0 {
				p.Lo, p.Hi = max(0, min(mean, r.lo)), max(mean, r.hi)
			}
			return p
		}
	}
	return nemb.IdlePower{Hi: s.low.watts}
}
