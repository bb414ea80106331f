package windows

import (
	"testing"

	"cg/checkpoint"
)

// However many windows there are, those that are kept are few, and hold all that was outside the threads.
func TestPastIsBounded(t *testing.T) {
	const period, n = 10_000_000, 50_000
	var p past
	for i := range checkpoint.Tick(n) {
		p.open = pastWindow{
			from: i * period, to: (i + 1) * period, begun: float64(i) * period, end: float64(i+1) * period,
			weight: period, outside: 1000, machine: 2, beside: pastBeside{5, 6},
			domains: []pastDomain{{3, 2, programEnergy{4, 3, 5, 6, 7}}},
		}
		p.keep()
		if len(p.windows) >= mostPast {
			t.Fatalf("%d windows", len(p.windows))
		}
	}
	outside, machine, energy, hi, beside := 0.0, 0.0, 0.0, 0.0, 0.0
	for i, w := range p.windows {
		if i > 0 && w.from != p.windows[i-1].to {
			t.Errorf("window %d begins at %d, the one before it ends at %d", i, w.from, p.windows[i-1].to)
		}
		outside += w.outside
		machine += w.machine
		energy += w.domains[0].outside
		hi += w.domains[0].program.hi
		beside += w.beside.cpu + w.beside.machine + w.domains[0].beside
	}
	if outside != 1000*n || machine != 2*n || energy != 3*n || hi != 5*n || beside != 13*n ||
		p.windows[len(p.windows)-1].to != n*period {
		t.Errorf("%g ns, %g us, %g and %g uJ, %g beside", outside, machine, energy, hi, beside)
	}
	latest := p.windows[len(p.windows)-1]
	if latest.to-latest.from != period {
		t.Errorf("the latest is %d long", latest.to-latest.from)
	}
	kept := len(p.windows)
	p.open = pastWindow{from: n * period, to: n * period, outside: 1000}
	if p.keep(); len(p.windows) != kept {
		t.Error("a window without a length is kept")
	}
	claims, sum := p.claims(Forked{At: (n - 100) * period, Used: 50_000}, 7, 1, 0)
	if len(claims) == 0 || sum < 49_999 || sum > 50_001 {
		t.Errorf("%d claims of %g ns", len(claims), sum)
	}
}
