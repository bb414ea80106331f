package gpus

import (
	"math"
	"slices"
	"time"

	"cg/nemb"
)

// Lag is by how much energies of a GPU may be off since its counter is late, in microjoules. Those of pieces add up.
// The zero Lag is of a counter that is not.
type Lag struct {
	// Off is what the counter tells too little or too much: what it lacks at the end, less what it lacked at the begin.
	Off float64
	// Squares are those of what it hides in means. More is known of it later, so that a piece may take some back.
	Squares float64
	// Bursts are what it tells of short use later, when that is over.
	Bursts float64
}

// Add adds that of another time, or of another process.
func (l *Lag) Add(b Lag) {
	l.Off, l.Squares, l.Bursts = l.Off+b.Off, l.Squares+b.Squares, l.Bursts+b.Bursts
}

// With is by how much an energy may be off either way, with other errors, of which these are the squares.
func (l Lag) With(squares float64) float64 {
	return math.Abs(l.Off) + l.Bursts + math.Sqrt(max(0, squares+l.Squares))
}

// lateness knows by how much the energy of each process may be off since the counter is late. At a border between two
// pieces a process's part of what is drawn above the idle power is another one. What the counter lacks there it tells
// later, and by then divides as the parts are then. After the last piece nobody has a part: what the counter lacks at
// its end is not told yet, and is taken to be as its last second, until the counter tells more.
type lateness struct {
	habits  nemb.Habits
	borders []border
	runs    map[int]run // by process, of those that had a part in the last piece
	over    []run       // of which the counter may tell more
}

// border is a moment between two pieces, with the parts before and after it by process, and what was said of it.
type border struct {
	at            float64
	before, after map[int]float64
	said          map[int]Lag
}

// run is a time in which a process had a part of a GPU without a break: from, and the mean part times its length.
type run struct {
	pid            int
	from, to, area float64
}

// after is how long after a moment a counter tells of it, in ns.
func (l *lateness) after() float64 { return 2 * float64(l.habits.Settled()) }

// since is the moment up to which the counter's knots are not needed any more.
func (l *lateness) since(done float64) float64 {
	if !l.habits.IsLate() {
		return done
	}
	for _, s := range l.borders {
		done = min(done, s.at)
	}
	for _, r := range l.over {
		done = min(done, r.from)
	}
	for _, r := range l.runs {
		if r.to-r.from < 2*float64(l.habits.Window) {
			done = min(done, r.from)
		}
	}
	return done - l.after() - float64(time.Second)
}

// add adds to a piece by how much the energies of processes may be off, as far as that was not said with the pieces
// before.
func (l *lateness) add(p *Piece, t *answered, knots []nemb.Knot) {
	if !l.habits.IsLate() || len(knots) < 2 {
		return
	}
	parts := partsOf(p, t)
	from, to := float64(p.From), float64(p.To)
	if n := len(l.borders); n > 0 && l.borders[n-1].at == from {
		l.borders[n-1].after = parts
	} else {
		l.borders = append(l.borders, border{at: from, after: parts})
	}
	l.borders = append(l.borders, border{at: to, before: parts})
	told := knots[len(knots)-1].At
	for i := range l.borders {
		l.say(p, &l.borders[i], knots)
	}
	l.borders = slices.DeleteFunc(l.borders, func(s border) bool { return s.at != to && s.at+l.after() <= told })
	l.follow(p, parts, knots)
}

// partsOf are the parts that processes have of what is drawn above the idle power, where the counter shows nothing of
// it, too.
func partsOf(p *Piece, t *answered) map[int]float64 {
	parts, all := map[int]float64{}, 0.0
	switch t.state {
	case active:
		for _, u := range t.uses {
			parts[u.PID] += u.Part
			all += u.Part
		}
	case quiet:
		for _, u := range p.Uses {
			parts[u.PID] += float64(u.Energy)
		}
		all = float64(p.Total - p.Idle)
	}
	for pid := range parts {
		if parts[pid] /= all; all <= 0 || parts[pid] <= 0 {
			delete(parts, pid)
		}
	}
	return parts
}

// lagAt is by how much an energy is off where the part that it is of what is drawn falls by so much at a moment.
func lagAt(h nemb.Habits, knots []nemb.Knot, at, falls float64) Lag {
	lacks, off := h.Lacks(knots, at)
	return Lag{Off: 1e6 * falls * lacks, Squares: 1e12 * falls * falls * off * off}
}

// bursts is what a counter tells of a run when it is over, in microjoules, where the run was short.
func (r run) bursts(h nemb.Habits, knots []nemb.Knot) float64 {
	return 1e6 * r.area / (r.to - r.from) * h.Burst(knots, r.from, r.to)
}

// say adds to a piece what is new of a border.
func (l *lateness) say(p *Piece, s *border, knots []nemb.Knot) {
	if s.said == nil {
		s.said = map[int]Lag{}
	}
	for _, parts := range []map[int]float64{s.before, s.after} {
		for pid := range parts {
			now, said := lagAt(l.habits, knots, s.at, s.before[pid]-s.after[pid]), s.said[pid]
			s.said[pid] = now
			p.used(pid).Lag.Add(Lag{Off: now.Off - said.Off, Squares: now.Squares - said.Squares})
		}
	}
}

// follow follows the runs of processes, and adds to a piece what their bursts may be off.
func (l *lateness) follow(p *Piece, parts map[int]float64, knots []nemb.Knot) {
	from, to := float64(p.From), float64(p.To)
	if l.runs == nil {
		l.runs = map[int]run{}
	}
	for pid, r := range l.runs {
		if parts[pid] == 0 {
			delete(l.runs, pid)
			if r.to-r.from < 2*float64(l.habits.Window) {
				l.over = append(l.over, r)
			}
		}
	}
	for pid, part := range parts {
		r, is := l.runs[pid]
		if !is {
			r = run{pid: pid, from: from}
		}
		r.to, r.area = to, r.area+part*(to-from)
		l.runs[pid] = r
	}
	told := knots[len(knots)-1].At
	l.over = slices.DeleteFunc(l.over, func(r run) bool {
		if r.to+l.after() > told {
			return false
		}
		l.burst(p, r, knots)
		return true
	})
}

func (l *lateness) burst(p *Piece, r run, knots []nemb.Knot) {
	if burst := r.bursts(l.habits, knots); burst > 0 {
		p.used(r.pid).Lag.Bursts += burst
	}
}

// finish adds to the last piece what is known of bursts that the counter has not told in full.
func (l *lateness) finish(p *Piece, knots []nemb.Knot) {
	for _, r := range l.over {
		l.burst(p, r, knots)
	}
	for _, r := range l.runs {
		l.burst(p, r, knots)
	}
	l.over, l.runs = nil, nil
}

// forget tells that the counter was reset.
func (l *lateness) forget() { *l = lateness{habits: l.habits} }

// used is what a process used of a piece, in which it may have been nothing.
func (p *Piece) used(pid int) *Used {
	i := slices.IndexFunc(p.Uses, func(u Used) bool { return u.PID == pid })
	if i < 0 {
		i = len(p.Uses)
		p.Uses = append(p.Uses, Used{PID: pid})
	}
	return &p.Uses[i]
}

// late widens the bounds by what a late counter tells after the program has begun or ended within the curve, as
// lateness does. Division.Hidden has that of the curve's ends.
func (v *divider) late(d *Division) {
	h := v.curve.Habits
	if !h.IsLate() || len(v.curve.Knots) < 2 {
		return
	}
	var lag Lag
	var r run
	end := func() {
		if r.area > 0 {
			lag.Bursts += r.bursts(h, v.curve.Knots)
		}
		r = run{}
	}
	before := v.aboveIdle(d, 0)
	for i := range v.spans {
		s, now := &v.spans[i], v.aboveIdle(d, i)
		if now != before {
			l := lagAt(h, v.curve.Knots, float64(s.from), before-now)
			lag.Add(l)
			for _, p := range []*part{&d.parts[i-1], &d.parts[i]} {
				p.lo, p.hi = max(0, p.lo-l.With(0)), p.hi+l.With(0)
			}
		}
		switch {
		case now == 0:
			end()
		case r.area == 0:
			r = run{from: float64(s.from), to: float64(s.to), area: now * s.length()}
		default:
			r.to, r.area = float64(s.to), r.area+now*s.length()
		}
		before = now
	}
	end()
	d.ProgramLo -= lag.With(0)
	d.ProgramHi += lag.With(0)
}

// aboveIdle is the program's part of what is drawn above the idle power in a span, 0 to 1.
func (v *divider) aboveIdle(d *Division, i int) float64 {
	s := &v.spans[i]
	mine, all := s.program.part, s.program.part+s.other.part+s.unknown.part
	if s.state != active {
		idle, _, _ := v.aside(i)
		mine, all = d.parts[i].program, float64(v.energy[i]-idle)
	}
	if all <= 0 {
		return 0
	}
	return min(1, mine/all)
}

// whole narrows the bounds by what the run has as a whole: what its counter tells late of a use is in it, too. The
// program used no more than all that is above the idle power, and no less where it is known that nobody else held a
// context.
func (v *divider) whole(d *Division, knowsHeld bool) {
	lo, hi := v.base.Lo, v.base.Hi
	if quiet := v.meanQuiet(func(*span) bool { return true }); quiet.Method != nemb.IdleUnknown {
		lo, hi = min(lo, quiet.Lo), max(hi, quiet.Hi) // the run may have had another than was measured before it
	}
	if len(v.spans) == 0 {
		return
	}
	most, least, alone := 0.0, 0.0, knowsHeld
	for i := range v.spans {
		s, micro := &v.spans[i], v.spans[i].length()*1e-3 // W * ns = 1e-3 uJ
		most += max(0, float64(v.energy[i])-lo*micro)
		least += float64(v.energy[i]) - hi*micro
		others := s.other.hi + s.unknown.hi
		alone = alone && s.state != unseen && others == 0 && !s.othersHold && !s.unknownHolds
	}
	ends := 0.0 // what the counter has not told there yet
	for _, i := range []int{0, len(v.spans) - 1} {
		ends += float64(v.energy[i]) * min(1, float64(v.curve.Period)/v.spans[i].length())
	}
	d.ProgramHi = min(d.ProgramHi, most+ends)
	if alone {
		d.ProgramLo = max(d.ProgramLo, least-ends)
	}
}
