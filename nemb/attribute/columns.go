package attribute

import (
	"slices"

	"cg/nemb"
	"cg/nemb/attribute/regression"
)

// counters lists the measured domains, of which a regression finds the powers.
func counters(domains []nemb.Domain) (all []regression.Counter) {
	for d, domain := range domains {
		if domain.Method == nemb.Measured && !domain.Program {
			all = append(all, regression.Counter{Domain: d, Period: nanos(domain.Period)})
		}
	}
	return all
}

// moved reports for each domain whether its counter moved between two samples.
func moved(s, prev nemb.Sample) []bool {
	moved := make([]bool, len(s.Energy))
	for d := range moved {
		moved[d] = s.Energy[d] > prev.Energy[d]
	}
	return moved
}

// columns lists what each column has of the processor time of the window.
func (a *Attributor) columns(weight float64, background []float64) []regression.Entry {
	a.now = a.now[:0]
	left := weight
	for i, used := range background {
		if used > 0 {
			a.now = append(a.now, regression.Entry{Column: regression.Background(i), Time: float32(used)})
			left -= used
		}
	}
	for site, part := range a.sites {
		if part.self > 0 {
			a.now = append(a.now, regression.Entry{Column: regression.Site(site), Time: float32(part.self * weight)})
			left -= part.self * weight
		}
	}
	if left > 1e-6*weight {
		a.now = append(a.now, regression.Entry{Column: regression.Outside, Time: float32(left)})
	}
	slices.SortFunc(a.now, func(x, y regression.Entry) int { return int(x.Column) - int(y.Column) })
	return a.now
}
