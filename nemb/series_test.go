package nemb

import (
	"math/rand/v2"
	"testing"

	"cg/checkpoint"
)

// Whatever is left out, each sample that is kept is exact, and no gap is lost
// or made up.
func TestRecordingIsExact(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, limit := range []int{2, 3, 7, 100, 1000} {
		for _, n := range []int{0, 1, 2, 3, 99, 100, 101, 5000, 200_000} {
			r := Recording{Limit: limit}
			truth := make([]Energy, n)
			gaps := make([]int, n+1) // gaps before sample i
			failed := make([]bool, n)
			sum := Energy(0)
			buffer := make([]Energy, 1)
			for i := range n {
				sum += Energy(random.IntN(1e6))
				failed[i] = i > 0 && random.IntN(10) == 0
				gap := failed[i] || i > 0 && random.IntN(500) == 0
				gaps[i+1] = gaps[i]
				if gap {
					gaps[i+1]++
				}
				truth[i], buffer[0] = sum, sum // the caller's memory is used again
				r.Add(Sample{At: checkpoint.Tick(i), Energy: buffer, Gap: gap, Failed: failed[i]})
			}
			kept := r.Samples()
			if len(kept) > limit || n > 2*limit && len(kept) < limit/4 {
				t.Errorf("%d of %d samples kept, limit %d", len(kept), n, limit)
			}
			if n > 0 && (len(kept) == 0 || kept[0].At != 0 || kept[len(kept)-1].At != checkpoint.Tick(n-1)) {
				t.Fatalf("limit %d of %d: the ends are not there", limit, n)
			}
			bad := 0
			for i, s := range kept {
				if s.Energy[0] != truth[s.At] {
					t.Fatalf("limit %d of %d: sample %d has %d uJ, want %d", limit, n, s.At, s.Energy[0], truth[s.At])
				}
				if s.Failed {
					bad++
				}
				if i == 0 {
					continue
				}
				if want := gaps[s.At+1] > gaps[kept[i-1].At+1]; s.Gap != want {
					t.Fatalf("limit %d of %d: sample %d is a gap: %v, want %v", limit, n, s.At, s.Gap, want)
				}
			}
			if n > 10*limit && limit > 10 && bad > len(kept)/50 {
				t.Errorf("limit %d of %d: %d of %d samples kept have a failed reading", limit, n, bad, len(kept))
			}
		}
	}
}

// A day of samples each 10 ms, of two counters: what is kept is bounded, the
// energy between two samples kept is exact, and what is left out costs no
// memory.
func TestRecordingOfADay(t *testing.T) {
	const n = 24 * 3600 * 100
	r := Recording{}
	energy := make([]Energy, 2)
	truth := func(i int) (Energy, Energy) { return Energy(i)*200_000 + Energy(i%977), Energy(i) * 31 }
	allocated := testing.AllocsPerRun(1, func() {
		r = Recording{}
		for i := range n {
			energy[0], energy[1] = truth(i)
			r.Add(Sample{At: checkpoint.Tick(i), Time: checkpoint.Instant(i) * 10_000_000, Energy: energy})
		}
	})
	kept := r.Samples()
	if len(kept) < recordingLimit/4 || len(kept) > recordingLimit || kept[len(kept)-1].At != n-1 {
		t.Errorf("%d samples, the last %d", len(kept), kept[len(kept)-1].At)
	}
	for _, s := range kept {
		if a, b := truth(int(s.At)); s.Energy[0] != a || s.Energy[1] != b {
			t.Fatalf("sample %d has %d, want %d and %d", s.At, s.Energy, a, b)
		}
	}
	if most := 9.0 * recordingLimit; allocated > most {
		t.Errorf("%.0f allocations for a day, want less than %.0f", allocated, most)
	}
}

// A sensor that is lost for good does not end the recording.
func TestRecordingOfFailures(t *testing.T) {
	r := Recording{Limit: 100}
	for i := range 10_000 {
		r.Add(Sample{At: checkpoint.Tick(i), Energy: []Energy{1}, Failed: i > 10, Gap: i > 10})
	}
	kept := r.Samples()
	for i := 1; i < len(kept); i++ {
		if kept[i].At-kept[i-1].At > 512 {
			t.Errorf("nothing between %d and %d", kept[i-1].At, kept[i].At)
		}
	}
}
