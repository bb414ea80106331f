package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cg/measure"
	"cg/nemb"
	"cg/nemb/sampler"
	"cg/report/figures"
)

// Values of Meta.MeasurementQuality. Of those that hold the first is told, in the
// order of docs/session.md: no_backend, failed, energy_zero, estimated, ok. A run with
// checkpoints and without a sensor has checkpoints_only in place of no_backend.
const (
	QualityOK        = "ok"
	QualityEstimated = "estimated"
	QualityNoBackend = "no_backend"
	QualityOnlyCalls = "checkpoints_only"
	QualityZero      = "energy_zero"
	QualityFailed    = "failed"
)

// A run has failed where no reading tells the energy of lostMost of its time, or
// where readings that failed for lateMost of it were made good as a sum.
const (
	lostMost = 0.1
	lateMost = 0.5
)

// quality is what can be said before it is known how the readings went.
func (r *Run) quality(domains []nemb.Domain, kind nemb.Method, checkpoints uint64) {
	counted := slices.ContainsFunc(domains, func(d nemb.Domain) bool { return d.InTotal })
	switch {
	case !counted && checkpoints > 0:
		r.Meta.MeasurementQuality = QualityOnlyCalls
	case !counted:
		r.Meta.MeasurementQuality = QualityNoBackend
	case kind == nemb.Unavailable:
		r.Meta.MeasurementQuality = QualityZero
	case kind == nemb.Estimated:
		r.Meta.MeasurementQuality = QualityEstimated
	default:
		r.Meta.MeasurementQuality = QualityOK
	}
}

// WhyUnknown says in a few words why no energy is known.
func (r *Run) WhyUnknown() string {
	switch r.Meta.MeasurementQuality {
	case QualityZero:
		return "no counter moved"
	case QualityFailed:
		return "no counter could be read to the end"
	}
	return "no sensor could be read"
}

// WhyNoShare says in a few words why the program's energy is not known, though the
// machine's is; "" where it is known, or neither is.
func (r *Run) WhyNoShare() string {
	if r.Totals.EnergyJ == nil || r.Totals.ProgramEnergyJ != nil {
		return ""
	}
	return OnlyGPUs
}

// WhyNotKnown is what the report says of energies that are not known, or only how
// much was used at least; "" where it says nothing.
func (r *Run) WhyNotKnown() string {
	for _, w := range r.Warnings {
		switch {
		case w.Slug == "energy-unknown", w.Slug == "gpu-unattributed" && r.WhyNoShare() != "",
			w.Slug == "counter-fault" && !r.Whole():
			return w.Message
		}
	}
	return ""
}

// Whole tells whether the energies of a run are all that was used, and not what
// was used at least.
func (r *Run) Whole() bool {
	return r.Totals.EnergyJ != nil && (r.Totals.HiJ != nil || r.Meta.MeasurementQuality != QualityFailed)
}

// faults warns of counters that did what no counter does, and of those that did
// not move. Where energy is not known, nothing is known of how much there was at
// most.
func (r *Run) faults(o *measure.Outcome) {
	var all []string
	for d, domain := range o.Domains {
		c := sampler.Faults{Domain: domain.ID}
		if d < len(o.Faults) {
			c = o.Faults[d]
		}
		total := drew(o, d)
		text := faultText(domain, c, total, o.Attributed.Wall)
		if text == "" {
			continue
		}
		all = append(all, text)
		if domain.InTotal && lost(domain, c, total, o.Attributed.Wall) > 0 {
			r.unbounded()
		}
		if r.failed(domain, c, total, o.Attributed.Wall) {
			r.Meta.MeasurementQuality = QualityFailed
		}
	}
	switch {
	case len(all) == 0:
	case r.Totals.EnergyJ == nil:
		r.Warn("energy-unknown", strings.Join(all, "; "))
	default:
		r.Warn("counter-fault", strings.Join(all, "; "))
	}
}

// failed tells whether so much of a domain is not known that the run has failed.
// Memory is the least part of a machine: what is known without it is most of it.
func (r *Run) failed(domain nemb.Domain, c sampler.Faults, total nemb.Energy, wall time.Duration) bool {
	if !domain.InTotal || domain.Kind == "dram" && r.Totals.EnergyJ != nil {
		return false
	}
	if r.Totals.EnergyJ == nil {
		return c.Failed+c.Resets+c.Laps > 0 || c.Hung > 0 // else no counter moved
	}
	reaches := func(d time.Duration, part float64) bool { return d > 0 && d.Seconds() >= part*wall.Seconds() }
	return reaches(lost(domain, c, total, wall), lostMost) || reaches(c.Late, lateMost)
}

// lost is the time for which the energy of a domain is not known.
func lost(domain nemb.Domain, c sampler.Faults, total nemb.Energy, wall time.Duration) time.Duration {
	switch {
	case !domain.Resolves(total):
		return wall
	case domain.InTotal && c.Stuck():
		return c.Unknown + c.Still
	}
	return c.Unknown
}

// tooShort tells whether a run was too short for a counter that did not move, and
// the counter may be in order.
func tooShort(domain nemb.Domain, wall time.Duration) bool { return wall < 10*domain.Period }

// faultText says what a counter did, "" for nothing but count.
func faultText(domain nemb.Domain, c sampler.Faults, total nemb.Energy, wall time.Duration) string {
	var what []string
	tell := func(n int, text string) {
		if n > 0 {
			what = append(what, fmt.Sprintf(text, n))
		}
	}
	tell(c.Failed, "%d readings failed")
	tell(c.Resets, "it started over elsewhere than at its end %d times")
	tell(c.Laps, "it may have gone round more than once between two samples %d times")
	if c.Hung > 0 {
		what = append(what, fmt.Sprintf("it had not answered for %.1f s at the end", c.Hung.Seconds()))
	}
	unmoved := !domain.Resolves(total)
	switch {
	case unmoved && len(what) > 0:
	case unmoved && tooShort(domain, wall):
		what = append(what, fmt.Sprintf("it showed one value for all of the %s of the run, which were too short "+
			"for it: it moves by %s at least", figures.Seconds(wall.Seconds()), stepText(domain)))
	case unmoved:
		what = append(what, fmt.Sprintf("it is stuck: it showed one value for all of the %s of the run",
			figures.Seconds(wall.Seconds())))
	case c.Stuck() && domain.InTotal:
		what = append(what, fmt.Sprintf("it stood still for %.1f s", c.Still.Seconds()))
	}
	if len(what) == 0 {
		return ""
	}
	text := fmt.Sprintf("the counter of %s: %s; ", domain.ID, strings.Join(what, ", "))
	switch {
	case unmoved:
		text += "its energy is not known"
	case c.Unknown > 0:
		text += fmt.Sprintf("the energy of %.3g s is not known, and the figures are lower bounds",
			c.Unknown.Seconds())
	case domain.InTotal && c.Stuck():
		text += "the figures are lower bounds"
	default:
		text += "the energy is complete, but not when it was used in between"
	}
	return text
}

// stepText is what a counter moves by.
func stepText(domain nemb.Domain) string {
	step := Joules(domain.Step)
	if domain.Period >= 10*time.Millisecond {
		return fmt.Sprintf("%s, each %s", figures.Energy(&step), figures.Seconds(domain.Period.Seconds()))
	}
	return figures.Energy(&step)
}

// drew is what the counter of a domain moved by.
func drew(o *measure.Outcome, d int) nemb.Energy {
	if d >= len(o.Attributed.Domains) {
		return 0
	}
	return o.Attributed.Domains[d].Total
}

// unbounded takes away the upper bounds of all energies.
func (r *Run) unbounded() {
	r.Totals.HiJ, r.Totals.ProgramEnergyHiJ = nil, nil
	for i := range r.Functions {
		r.Functions[i].SelfEnergyHiJ, r.Functions[i].InclusiveEnergyHiJ = nil, nil
	}
	for i := range r.Tasks {
		r.Tasks[i].HiJ = nil
		if share := r.Tasks[i].ProgramShare; share != nil {
			share.ProgramEnergyHiJ = nil
		}
	}
}

// untold takes the domains of which nothing is known out of everything that is
// told by domain: they are absent there, which is not 0 J.
func (r *Run) untold(o *measure.Outcome) {
	for i := range r.Samples {
		if r.Totals.EnergyJ == nil {
			r.Samples[i].EnergyJ, r.Samples[i].PowerW = nil, nil
		}
	}
	for d, domain := range o.Domains {
		if domain.Resolves(drew(o, d)) {
			continue
		}
		id := domain.ID
		delete(r.Totals.Domains, id)
		delete(r.Totals.DomainsPowerW, id)
		for _, l := range r.Ledger {
			delete(l.Domains, id)
		}
		for _, f := range r.Functions {
			delete(f.Domains, id)
		}
		for _, t := range r.Tasks {
			delete(t.Domains, id)
			delete(t.DomainsPowerW, id)
		}
		for _, s := range r.Samples {
			delete(s.DomainJ, id)
			delete(s.DomainW, id)
		}
	}
}
