package doctor

import (
	"strings"
	"testing"
	"time"

	"cg/nemb"
)

// How often a counter moved is said by the middle of its steps, whatever the first and the last were.
func TestCounterOfGPU(t *testing.T) {
	gpu := nemb.Domain{ID: "gpu0", Method: nemb.Measured, Source: "NVML total energy"}
	var regular []time.Duration
	for i := range 21 {
		regular = append(regular, time.Duration(i)*100*time.Millisecond)
	}
	late := append([]time.Duration{}, regular...)
	late[20] += time.Second
	for _, test := range []struct {
		domain nemb.Domain
		at     []time.Duration
		level  Level
		text   string
	}{
		{gpu, regular, Fine, "moves each 100ms (100ms to 100ms, nine tenths of 20)"},
		{gpu, late, Fine, "moves each 100ms (100ms to 100ms, nine tenths of 20)"},
		{gpu, regular[:2], Warning, "moved 2 times in 2s"},
		{nemb.Domain{ID: "gpu0", Method: nemb.Derived}, nil, Remark, "no counter of energy"},
	} {
		var d Diagnosis
		d.counterOfGPU(test.domain, test.at, 2*time.Second)
		if f := d.Findings[0]; f.Level != test.level || !strings.Contains(f.Text, test.text) {
			t.Errorf("%+v, want %s %q", f, test.level, test.text)
		}
	}
}

// Each thing that a driver does not tell is said with its own words.
func TestProcessesOfGPU(t *testing.T) {
	seen := map[string]bool{}
	for _, refused := range []nemb.Refusal{nemb.RefusedUnsupported, nemb.RefusedDenied, nemb.RefusedPartitioned, nemb.RefusedFailed} {
		var d Diagnosis
		d.processesOfGPU("gpu0", nemb.Occupancy{Refused: refused})
		f := d.Findings[0]
		if f.Level != Warning || seen[f.Text] || strings.Contains(f.Text, "gpu0: :") {
			t.Errorf("%s: %+v", refused, f)
		}
		seen[f.Text] = true
	}
	var d Diagnosis
	d.processesOfGPU("gpu0", nemb.Occupancy{KnowsLifetimes: true, KnowsContexts: true, AtOnce: true, Refused: nemb.RefusedUnsupported})
	if d.Findings[0].Level != Fine || len(d.Findings) != 2 || !strings.Contains(d.Findings[1].Text, "MPS") {
		t.Errorf("%+v", d)
	}
}
