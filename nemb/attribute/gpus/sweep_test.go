package gpus

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cg/checkpoint"
)

// everySlot adds a flight to each slot of its bounds, one after the other, as Work did before it counted flights.
func everySlot(w *Work, key int, f Flight) {
	w.add(key, f.From, f.To, func(ns float64) portion { return portion{key: key, ns: ns} })
	w.add(key, f.Since, f.Done, func(ns float64) portion { return portion{key: key, could: ns} })
}

// What is known of any time is the same as if each flight were added to each slot that it may have run in: with flights
// that follow, overlap, cover slots in part and from end to end, among times that are known, and with wider slots.
func TestFlightsAreInEverySlot(t *testing.T) {
	for seed := range 300 {
		r := rand.New(rand.NewPCG(uint64(seed), 8))
		var fast, slow Work
		both := func(do func(*Work)) { do(&fast); do(&slow) }
		keys, longest := 1+r.IntN(4), []int64{8, 30, 400}[r.IntN(3)]*1_000_000
		within := []int64{40, 500}[r.IntN(2)] * 1_000_000
		for range 1 + r.IntN(60) {
			key, since := r.IntN(keys), checkpoint.Instant(r.Int64N(within))
			if r.IntN(4) == 0 {
				since -= since % firstWidth
			}
			done := since + 1 + checkpoint.Instant(r.Int64N(longest))
			from := since + checkpoint.Instant(r.Int64N(int64(done-since)))
			to := from + checkpoint.Instant(r.Int64N(int64(done-from)+1))
			f := Flight{From: from, To: to, Since: since, Done: done}
			switch r.IntN(8) {
			case 0:
				weight := r.Float64()
				both(func(w *Work) { w.AddWeighed(key, from, to, weight) })
			case 1:
				if fast.slots != nil && fast.width < 8*firstWidth {
					both((*Work).widen)
				}
			default:
				fast.AddWithin(key, f)
				everySlot(&slow, key, f)
			}
		}
		swept, want := fast.sweep(), slow.sweep()
		for range 50 {
			from := r.Float64() * float64(within+longest)
			to := from + r.Float64()*[]float64{5e6, 100e6}[r.IntN(2)]
			sameWork(t, fmt.Sprintf("seed %d, %.0f to %.0f", seed, from, to), swept.between(from, to), want.between(from, to))
		}
	}
}

func sameWork(t *testing.T, when string, got, want map[int]portion) {
	t.Helper()
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(1, math.Abs(b)) }
	for k := range 4 {
		g, w := got[k], want[k]
		if !near(g.ns, w.ns) || !near(g.could, w.could) || !near(g.known, w.known) {
			t.Fatalf("%s: key %d: ran %v ns and may have for %v, want %v and %v", when, k, g.ns, g.could, w.ns, w.could)
		}
	}
}

// A time that is long takes as many portions as one that is short, and slots become wider with flights, too.
func TestFlightsAreBounded(t *testing.T) {
	var w Work
	w.AddWithin(0, Flight{From: 1, To: 2, Since: 1, Done: 3600 * second})
	if w.n > 4 {
		t.Errorf("%d portions of one flight", w.n)
	}
	w.Longest = 100
	for i := range checkpoint.Instant(1000) {
		from := i * 50_000_000
		w.AddWithin(1, Flight{From: from, To: from + 1000, Since: from, Done: from + second})
	}
	if w.n > 100 || w.width == firstWidth {
		t.Errorf("%d portions, slots of %d ns", w.n, w.width)
	}
	if got := w.sweep().between(0, 52e9)[1]; math.Abs(got.ns-1e6) > 1 || got.could < 49e9 || got.could > 52e9 {
		t.Errorf("ran %v ns and may have for %v, want 1e6 and some 51e9", got.ns, got.could)
	}
}

// BenchmarkAddWithin adds 4,096 flights, each within bounds of 10 s or 30 ms, of few and of many keys, and asks for each
// tenth of a second what ran. Beside it: each flight in each slot.
func BenchmarkAddWithin(b *testing.B) {
	for _, form := range []struct {
		name string
		add  func(*Work, int, Flight)
	}{{"counted", (*Work).AddWithin}, {"each", everySlot}} {
		for _, bounds := range []checkpoint.Instant{30_000_000, 10 * second} {
			for _, keys := range []int{1, 200} {
				b.Run(fmt.Sprintf("%s/ms=%d/keys=%d", form.name, bounds/1_000_000, keys), func(b *testing.B) {
					for range b.N {
						var w Work
						for i := range 4096 {
							from := checkpoint.Instant(i) * 1_000_000
							form.add(&w, i%keys, Flight{from, from + 500_000, from, from + bounds})
						}
						swept := w.sweep()
						for at := 0.0; at < 14.2e9; at += 1e8 {
							swept.between(at, at+1e8)
						}
					}
				})
			}
		}
	}
}
