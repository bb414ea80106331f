package report

import (
	"fmt"
	"slices"
	"time"

	"cg/footprint"
	"cg/report/figures"
)

// OfFootprint tells whether a warning is one of Account, and so of rates of before.
func OfFootprint(w Warning) bool { return w.Slug == "footprint-unknown" }

// Account fills in what the machine's energy comes to at these rates, in place of what was
// there. What a series of rates does not have is a warning. Rates that ask for nothing leave the run as it is.
func (r *Run) Account(rates *footprint.Rates) {
	t := r.Totals
	if rates == nil {
		return
	}
	r.Footprint = nil
	r.Warnings = slices.DeleteFunc(r.Warnings, OfFootprint)
	if t.EnergyJ == nil || t.LoJ == nil || t.HiJ == nil {
		r.Warn("footprint-unknown", "the machine's energy is not known, and so neither are its emissions and its cost")
		return
	}
	use := footprint.Use{
		Joules: footprint.Range{Value: t.EnergyJ.Float(), Lo: t.LoJ.Float(), Hi: t.HiJ.Float()},
		Lasted: time.Duration(t.DurationS * 1e9),
	}
	var err error
	if use.From, use.To, err = r.Meta.Span(); err == nil {
		r.Footprint, err = rates.Of(use)
	}
	if err == nil {
		err = r.accountCalls(rates, use)
	}
	if err != nil {
		r.Warn("footprint-unknown", fmt.Sprintf("the emissions are not known: %v", err))
	}
}

// Span is when the run began and ended.
func (m Meta) Span() (from, to time.Time, err error) {
	if from, err = time.Parse(time.RFC3339Nano, m.StartedAt); err != nil {
		return from, to, fmt.Errorf("meta.started_at: %q is not a time", m.StartedAt)
	}
	if to, err = time.Parse(time.RFC3339Nano, m.EndedAt); err != nil {
		return from, to, fmt.Errorf("meta.ended_at: %q is not a time", m.EndedAt)
	}
	return from, to, nil
}

// footprint holds what the energy comes to against the energy.
func (c *check) footprint(r *Run) {
	if r.Footprint == nil {
		return
	}
	for _, fault := range r.Footprint.Check() {
		c.fault("footprint", "%s", fault)
	}
	if e := r.Totals.EnergyJ; e == nil || r.Footprint.EnergyJ.Value != e.Float() {
		c.fault("footprint.energy_j", "%g, which is not the machine's energy", r.Footprint.EnergyJ.Value)
	}
}

// Lines are a footprint in a few words, each with a name. mark stands before figures that
// are of an estimated energy.
func Lines(f *footprint.Footprint, mark string) (lines [][2]string) {
	if f == nil {
		return nil
	}
	within := func(r footprint.Range, unit string, write func(float64) string) string {
		return fmt.Sprintf("%s%s%s  [%s, %s]", mark, write(r.Value), unit, write(r.Lo), write(r.Hi))
	}
	pue := fmt.Sprintf(", PUE %s", figures.Digits(f.PUE.Value))
	if c := f.Carbon; c != nil {
		text := within(c.Grams, " CO2e", figures.Grams)
		text += fmt.Sprintf("  %s g/kWh (%s)%s", figures.Digits(c.Intensity.Value), c.Source, pue)
		if c.Embodied != nil {
			text += fmt.Sprintf("; %s of it embodied (%s)", figures.Grams(c.Embodied.Value), c.EmbodiedSource)
		}
		lines = append(lines, [2]string{"Carbon", text})
	}
	if c := f.Cost; c != nil {
		money := func(v float64) string { return figures.Money(v, c.Currency) }
		text := within(c.Amount, "", money) + fmt.Sprintf("  %s/kWh%s", money(c.Price.Value), pue)
		lines = append(lines, [2]string{"Cost", text})
	}
	return lines
}
