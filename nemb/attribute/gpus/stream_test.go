package gpus

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
)

// stream is a GPU of known power in virtual time: 50 W, and what processes draw while their kernels run. It is asked
// once a second, and the driver's samples are late.
type stream struct {
	t      *testing.T
	s      Stream
	now    checkpoint.Instant
	seen   checkpoint.Instant
	joules float64
	used   map[int]nemb.Energy
	lo, hi map[int]float64
	off    map[int]float64
	total  nemb.Energy
	idle   nemb.Energy
	nobody nemb.Energy
}

func newStream(t *testing.T) *stream {
	s := &stream{t: t, now: second, seen: second, used: map[int]nemb.Energy{}, lo: map[int]float64{}, hi: map[int]float64{},
		off: map[int]float64{}}
	s.s.Period = 20 * time.Millisecond
	s.s.Answer(nemb.Occupancy{At: s.now, From: s.now, To: s.now, KnowsUses: true, KnowsContexts: true, Quiet: true})
	s.s.Counter(s.now, 0)
	return s
}

// answer is what the driver tells in the second that ends now.
type answer struct {
	watts    float64
	uses     []nemb.Use
	contexts []nemb.Context
	refused  nemb.Refusal
	none     bool // it has no samples yet
	atOnce   bool
	quiet    bool // of one that refuses
}

func (s *stream) second(a answer) {
	s.now += second
	s.joules += a.watts
	o := nemb.Occupancy{At: s.now, From: s.seen, To: s.now, KnowsUses: a.refused == "", Refused: a.refused, Uses: a.uses,
		Contexts: a.contexts, KnowsContexts: true, AtOnce: a.atOnce, Quiet: a.quiet}
	if a.none {
		o.To = o.From
	} else {
		s.seen = s.now
	}
	s.s.Answer(o)
	s.s.Counter(s.now, nemb.Energy(math.Round(s.joules*1e6)))
	s.take(s.s.Settle(false))
}

func (s *stream) take(pieces []Piece) {
	for _, p := range pieces {
		sum := p.Idle + p.Unattributed
		for _, u := range p.Uses {
			sum += u.Energy
			s.used[u.PID] += u.Energy
			s.lo[u.PID] += u.Lo
			s.hi[u.PID] += u.Hi
			s.off[u.PID] = math.Hypot(s.off[u.PID], u.Off)
			if u.Lo > float64(u.Energy) || u.Hi < float64(u.Energy) || u.Lo < 0 {
				s.t.Errorf("%d: %v uJ is not in %v to %v", u.PID, u.Energy, u.Lo, u.Hi)
			}
		}
		if sum != p.Total {
			s.t.Errorf("the parts are %v uJ, the piece is %v uJ", sum, p.Total)
		}
		s.total, s.idle, s.nobody = s.total+p.Total, s.idle+p.Idle, s.nobody+p.Unattributed
	}
}

// is checks energies in joules, and that what remains is settled at the end.
func (s *stream) is(one, two, idle, nobody float64) {
	s.t.Helper()
	s.take(s.s.Settle(true))
	for _, c := range []struct {
		what      string
		got, want float64
	}{{"process 1", s.used[1].Joules(), one}, {"process 2", s.used[2].Joules(), two}, {"idle", s.idle.Joules(), idle},
		{"unattributed", s.nobody.Joules(), nobody}, {"total", s.total.Joules(), s.joules}} {
		if math.Abs(c.got-c.want) > 1e-3 {
			s.t.Errorf("%s: %v J, want %v J", c.what, c.got, c.want)
		}
	}
}

func of(pid int, part float64) nemb.Use {
	return nemb.Use{PID: pid, Part: part, Lo: max(0, part-0.01), Hi: min(1, part+0.01)}
}

func TestStreamDividesByUse(t *testing.T) {
	s := newStream(t)
	for range 3 {
		s.second(answer{watts: 50})
	}
	for range 4 {
		s.second(answer{watts: 250, uses: []nemb.Use{of(1, 0.6), of(2, 0.2)}})
	}
	s.is(600, 200, 350, 0)
	if s.lo[1]*1e-6 > 600 || s.hi[1]*1e-6 < 600 || (s.hi[1]-s.lo[1])*1e-6 > 60 {
		t.Errorf("process 1: %v to %v uJ", s.lo[1], s.hi[1])
	}
	if got, want := s.off[1]*1e-6, 150*1.02; math.Abs(got-want) > 1 { // one edge, of a second and a period
		t.Errorf("the edges of process 1 are off by %v J, want %v J", got, want)
	}
	// Where its kernels end, and a context stays, is another edge.
	s.second(answer{watts: 50, contexts: []nemb.Context{{PID: 1, Memory: 1}}})
	s.second(answer{watts: 50})
	if got, want := s.off[1]*1e-6, 150*1.02*math.Sqrt2; math.Abs(got-want) > 1 {
		t.Errorf("with the end, the edges of process 1 are off by %v J, want %v J", got, want)
	}
}

// Until the GPU was seen without kernels its idle power is not known, and the processes' intervals have it.
func TestStreamWithoutIdlePower(t *testing.T) {
	s := newStream(t)
	s.second(answer{watts: 250, uses: []nemb.Use{of(1, 1)}})
	s.is(250, 0, 0, 0)
	if s.lo[1] > 1e6 || s.hi[1] < 250e6-1 {
		t.Errorf("%v to %v uJ", s.lo[1], s.hi[1])
	}
}

// Kernels that run side by side: whose the energy is, is not known.
func TestStreamAtOnce(t *testing.T) {
	s := newStream(t)
	s.second(answer{watts: 50})
	s.second(answer{watts: 250, uses: []nemb.Use{of(1, 0.5), of(2, 0.5)}, atOnce: true})
	s.is(100, 100, 100, 0)
	if s.lo[1] != 0 || s.hi[1] < 200e6-1 {
		t.Errorf("%v to %v uJ", s.lo[1], s.hi[1])
	}
}

// What contexts keep up while no kernels run is theirs by memory, and nobody's where that is not known.
func TestStreamOfContexts(t *testing.T) {
	for _, test := range []struct {
		one, two                   uint64
		first, other, idle, nobody float64
	}{{300, 100, 30, 10, 150, 0}, {300, 0, 0, 0, 150, 40}} {
		s := newStream(t)
		s.second(answer{watts: 50})
		s.second(answer{watts: 50})
		s.second(answer{watts: 90, contexts: []nemb.Context{{PID: 1, Memory: test.one}, {PID: 2, Memory: test.two}}})
		s.is(test.first, test.other, test.idle, test.nobody)
	}
}

// A driver that refuses, and one whose samples never come: the energy is nobody's, less idle power.
func TestStreamWithoutSamples(t *testing.T) {
	s := newStream(t)
	s.second(answer{watts: 50})
	for range 3 {
		s.second(answer{watts: 150, refused: nemb.RefusedPartitioned})
	}
	if why, _ := s.s.Refused(); why != Reason(nemb.RefusedPartitioned) {
		t.Errorf("refused: %q", why)
	}
	s.is(0, 0, 200, 300)

	s = newStream(t)
	s.second(answer{watts: 50})
	for range 8 {
		s.second(answer{watts: 150, none: true})
	}
	if until, _ := s.s.SeenUntil(); until != s.now-checkpoint.Instant(Patience) {
		t.Errorf("waits since %v", s.now-until)
	}
	s.is(0, 0, 450, 800)
}

// A driver without samples of processes tells when nobody computed.
func TestStreamRefusesAndIsQuiet(t *testing.T) {
	s := newStream(t)
	for range 3 {
		s.second(answer{watts: 50, refused: nemb.RefusedUnsupported, quiet: true})
	}
	s.second(answer{watts: 150, refused: nemb.RefusedUnsupported})
	s.is(0, 0, 150, 150) // of the first second it is not known whether it was quiet from its beginning
}

// A counter that was reset: what came before is settled, what came meanwhile is lost, and the rest goes on.
func TestStreamOfLostCounter(t *testing.T) {
	s := newStream(t)
	s.second(answer{watts: 50})
	s.second(answer{watts: 250, uses: []nemb.Use{of(1, 1)}})
	s.now += second
	s.seen = s.now
	s.take(s.s.Lost(s.now))
	s.second(answer{watts: 250, uses: []nemb.Use{of(1, 1)}})
	s.is(400, 0, 150, 0)
}

// Whatever is told: the pieces are the counter, none begins before the one before ended, and each adds up.
func TestStreamLosesNothing(t *testing.T) {
	for seed := range 200 {
		r := rand.New(rand.NewPCG(uint64(seed), 21))
		s := newStream(t)
		for range 40 {
			a := answer{watts: r.Float64() * 400, atOnce: r.IntN(5) == 0, none: r.IntN(3) == 0, quiet: r.IntN(2) == 0}
			for pid := range r.IntN(4) {
				a.uses = append(a.uses, of(pid, r.Float64()))
			}
			for pid := range r.IntN(4) {
				a.contexts = append(a.contexts, nemb.Context{PID: pid, Memory: uint64(r.IntN(3))})
			}
			if r.IntN(6) == 0 {
				a.refused = nemb.RefusedFailed
			}
			if r.IntN(20) == 0 {
				s.take(s.s.Lost(s.now))
			}
			s.second(a)
		}
		s.take(s.s.Settle(true))
		if math.Abs(s.total.Joules()-s.joules) > 2e-6 || len(s.s.spans) > 1 || len(s.s.knots) > 2 {
			t.Fatalf("seed %d: %v J of %v J, %d spans and %d knots wait", seed, s.total.Joules(), s.joules, len(s.s.spans),
				len(s.s.knots))
		}
	}
}

// The times of two answers do not meet to the microsecond, and the first has a beginning: the idle power is known all
// the same.
func TestStreamAnswersThatDoNotMeet(t *testing.T) {
	s := newStream(t)
	gap := checkpoint.Instant(700)
	for i, watts := range []float64{50, 50, 150} {
		from, to := s.now+checkpoint.Instant(i+1)*gap, s.now+second
		if i == 0 {
			from += second / 100 // before the first sample of the driver
		}
		s.now, s.joules = to, s.joules+watts
		o := nemb.Occupancy{At: s.now, From: from, To: to, KnowsUses: true, KnowsContexts: true}
		if watts > 50 {
			o.Uses = []nemb.Use{{PID: 7, Part: 1, Lo: 1, Hi: 1}}
		}
		s.s.Answer(o)
		s.s.Counter(s.now, nemb.Energy(math.Round(s.joules*1e6)))
		s.take(s.s.Settle(false))
	}
	if got := s.used[7].Joules(); math.Abs(got-100) > 1 {
		t.Errorf("the process used %v J, want 100: idle power is %+v", got, s.s.idle())
	}
	if s.nobody.Joules() > 1 {
		t.Errorf("%v J are nobody's", s.nobody.Joules())
	}
}
