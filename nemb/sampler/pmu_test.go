package sampler

import (
	"errors"
	"math"
	"os"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/fixture"
	"cg/nemb/simulate"
)

// From perf_event_open to the energy of a tenth of a second: the sampler reads
// a PMU of the real kernel whose power is known.
func TestSamplerReadsAPMU(t *testing.T) {
	root := nemb.Root{Dir: t.TempDir()}
	fixture.Files(t, root, map[string]string{"proc/cpuinfo": "processor\t: 0\nvendor_id\t: GenuineIntel\n"})
	err := simulate.WritePMU(root.Dir, "0", map[string]float64{"energy-pkg": 100, "energy-ram": 7})
	if errors.Is(err, simulate.ErrNoPMU) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	found, err := nemb.Discover(root, []string{"perf"})
	if err != nil || len(found.Sensors) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	defer found.Close()
	s, err := Start(found.Sensors, Config{Interval: time.Millisecond, Clock: checkpoint.SystemClock()})
	if err != nil {
		t.Fatal(err)
	}
	var samples []nemb.Sample
	for len(samples) < 300 {
		samples = append(samples, s.Poll()...)
		time.Sleep(5 * time.Millisecond)
	}
	samples = append(samples, s.Stop()...)
	fixture.Check(t, samples)
	for d, domain := range s.Domains() {
		want := map[string]float64{"package-0": 100, "dram": 7}[domain.ID]
		if got := fixture.Power(samples, d); math.Abs(got/want-1) > 0.02 || domain.Method != nemb.Measured {
			t.Errorf("%s: %g W, want %g W, %s", domain.ID, got, want, domain.Method)
		}
		// A counter that is always up to date: spans are exact to the stamps.
		series := nemb.Series{Domains: s.Domains(), Samples: samples}
		from := samples[len(samples)/2].Time - checkpoint.Instant(50*time.Millisecond)
		span, ok := series.Between(d, from, from+checkpoint.Instant(100*time.Millisecond))
		if !ok || math.Abs(span.Joules/(want/10)-1) > 0.1 {
			t.Errorf("%s: %+v, want %g J", domain.ID, span, want/10)
		}
	}
	if f := s.Faults(); f[0].Any() || f[1].Any() {
		t.Errorf("%+v", f)
	}
	if err := simulate.WritePMU(os.DevNull, "0", nil); err == nil {
		t.Error("a root that is no folder")
	}
}
