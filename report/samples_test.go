package report

import (
	"testing"

	"cg/checkpoint"
	"cg/nemb"
)

// However long a run was, its samples are bounded and their energies whole.
func TestSamplesAreThinned(t *testing.T) {
	domains := []nemb.Domain{{ID: "package-0", InTotal: true}, {ID: "core", Parent: "package-0"}}
	for _, n := range []int{0, 1, 2, 3, MaxSamples - 1, MaxSamples, MaxSamples + 1, 2*MaxSamples + 7, 65537} {
		series := nemb.Series{Domains: domains}
		for i := range n {
			// 20 W, of which 5 W in the cores, every 10 ms; counters do not begin at 0.
			series.Samples = append(series.Samples, nemb.Sample{
				Time:   checkpoint.Instant(1e9 + int64(i)*1e7),
				Energy: []nemb.Energy{nemb.Energy(7 + i*200_000), nemb.Energy(9 + i*50_000)},
				// A reading that failed repeats the value before it.
				Failed: i%10 == 5 && i < n-1,
			})
			if i%10 == 5 && i < n-1 {
				series.Samples[i].Energy[0] = series.Samples[i-1].Energy[0]
			}
		}
		r := &Run{}
		r.sampled(series)
		if len(r.Samples) > MaxSamples || (n < 5 && len(r.Samples) != n) ||
			(n > MaxSamples*2 && len(r.Samples) < MaxSamples/2) {
			t.Errorf("%d of %d samples are kept", len(r.Samples), n)
		}
		if n == 0 {
			continue
		}
		last := r.Samples[len(r.Samples)-1]
		if want := Joules((n - 1) * 200_000); *last.EnergyJ != want || last.DomainJ["package-0"] != want ||
			last.TNs != 1e9+int64(n-1)*1e7 {
			t.Errorf("%d samples end with %v J at %d ns", n, last.EnergyJ, last.TNs)
		}
		for i, s := range r.Samples {
			switch {
			case i == 0 && (s.PowerW != nil || len(s.DomainW) > 0 || *s.EnergyJ != 0):
				t.Errorf("the first sample has a power: %+v", s)
			case i > 0 && (*s.PowerW != 20 || s.DomainW["core"] != 5):
				t.Fatalf("%d samples: %d: %v W, %v", n, i, *s.PowerW, s.DomainW)
			}
		}
	}
}

// Ten million samples leave what formats.md says, and no energy is lost.
func TestTenMillionSamples(t *testing.T) {
	const n = 10_000_000
	domains := []nemb.Domain{{ID: "package-0", InTotal: true}}
	recording := nemb.Recording{Domains: domains}
	s := nemb.Sample{Energy: make([]nemb.Energy, 1)}
	for i := range n {
		s.Time, s.Energy[0] = checkpoint.Instant(1e9+int64(i)*1e7), nemb.Energy(7+i*200_000)
		recording.Add(s)
	}
	r := &Run{}
	r.sampled(nemb.Series{Domains: domains, Samples: recording.Samples()})
	if k := len(r.Samples); k > MaxSamples || k < MaxSamples*9/10 {
		t.Errorf("%d samples are kept", k)
	}
	for i, k := range r.Samples[1 : len(r.Samples)-1] {
		if apart := k.TNs - r.Samples[i].TNs; apart != 2560*1e7 {
			t.Fatalf("sample %d is %d ns behind the one before it", i+1, apart)
		}
	}
	if last := r.Samples[len(r.Samples)-1]; *last.EnergyJ != (n-1)*200_000 || last.TNs != 1e9+(n-1)*1e7 {
		t.Errorf("%d samples end with %v J at %d ns", n, last.EnergyJ, last.TNs)
	}
}
