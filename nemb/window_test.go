package nemb

import (
	"math/rand/v2"
	"testing"
	"time"

	"cg/checkpoint"
)

// levels is a power that changes at some instants, in ns: watts[i] up to until[i], and the
// last one from then on.
type levels struct {
	until []float64
	watts []float64
}

// joules is the energy up to an instant.
func (l levels) joules(t float64) (e float64) {
	from := 0.0
	for i, w := range l.watts {
		to := t
		if i < len(l.until) {
			to = min(t, l.until[i])
		}
		e += w * max(0, to-from) * 1e-9
		from = max(from, to)
	}
	return e
}

// sampledPower are samples of a counter that is updated each millisecond or so and counts a power.
func sampledPower(r *rand.Rand, l levels, every, length time.Duration) Series {
	s := Series{Domains: []Domain{{ID: "d", Period: time.Millisecond}}}
	tick := float64(r.IntN(1_000_000))
	shown := 0.0
	for at := time.Duration(0); at < length; at += every {
		due := float64(at) + float64(r.IntN(50_000))
		for ; tick <= due; tick += 1e6 {
			shown = l.joules(tick)
		}
		s.Samples = append(s.Samples, Sample{Time: checkpoint.Instant(due), Energy: []Energy{Energy(shown * 1e6)}})
	}
	return s
}

// The power may be another after a span than before it: it changed at its start, at its
// end, in it, or somewhere between the updates around it. The interval has the energy.
func TestBracketBetweenTwoPowers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const from, to = 100e6, 110e6
	for _, test := range []struct {
		name  string
		every time.Duration
		levels
	}{
		{"steady", time.Millisecond, levels{[]float64{from, to}, []float64{20, 200, 20}}},
		{"rises in the span", time.Millisecond, levels{[]float64{from, to}, []float64{20, 200, 35}}},
		{"falls in the span", time.Millisecond, levels{[]float64{from, to}, []float64{35, 200, 20}}},
		{"rises before the span", time.Millisecond, levels{[]float64{from - 3e5, from, to}, []float64{20, 35, 200, 35}}},
		{"falls behind the span", time.Millisecond, levels{[]float64{from, to, to + 3e5}, []float64{35, 200, 35, 20}}},
		{"rises in the span, samples each 10 ms", 10 * time.Millisecond, levels{[]float64{from, to}, []float64{20, 200, 35}}},
		{"falls in the span, samples each 10 ms", 10 * time.Millisecond, levels{[]float64{from, to}, []float64{35, 200, 20}}},
	} {
		l := test.levels
		const tries = 1000
		brackets, held, wide := 0, 0, 0.0
		for range tries {
			span, ok := sampledPower(r, l, test.every, 220*time.Millisecond).Between(0, from, to)
			if !ok || span.Method != Bracketed {
				continue
			}
			brackets++
			truth := l.joules(to) - l.joules(from)
			if span.Joules-span.Slack-2e-6 <= truth && truth <= span.Joules+span.Slack+2e-6 {
				held++
			}
			wide += span.Slack / truth
		}
		t.Logf("%s: %d of %d intervals of brackets hold, half as wide as %.2g %% of the energy", test.name, held, brackets, 100*wide/float64(max(1, brackets)))
		if brackets < tries*9/10 || held < brackets*95/100 {
			t.Errorf("%s: %d of %d intervals hold, of %d tries", test.name, held, brackets, tries)
		}
	}
}
