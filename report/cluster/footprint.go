package cluster

import (
	"fmt"
	"slices"
	"time"

	"cg/footprint"
	"cg/report"
)

// Account fills in what the energy of the nodes comes to at these rates. See report.Run.Account. An
// embodied share is that of so many machines as there are nodes.
func (d *Run) Account(rates *footprint.Rates) {
	if rates == nil {
		return
	}
	t := d.Totals
	d.Footprint = nil
	d.Warnings = slices.DeleteFunc(d.Warnings, report.OfFootprint)
	unknown := func(text string) {
		d.Warnings = append(d.Warnings, report.Warning{Slug: "footprint-unknown", Message: text})
	}
	if t.EnergyJ == nil || t.EnergyLoJ == nil || t.EnergyHiJ == nil {
		unknown("the energy of the nodes is not known, and so neither are its emissions and its cost")
		return
	}
	use := footprint.Use{
		Joules: footprint.Range{Value: t.EnergyJ.Float(), Lo: t.EnergyLoJ.Float(), Hi: t.EnergyHiJ.Float()},
		Lasted: time.Duration(t.DurationS * float64(len(d.Nodes)) * 1e9),
	}
	var err error
	if use.From, use.To, err = (report.Meta{StartedAt: d.Meta.StartedAt, EndedAt: d.Meta.EndedAt}).Span(); err == nil {
		d.Footprint, err = rates.Of(use)
	}
	if err != nil {
		unknown(fmt.Sprintf("the emissions are not known: %v", err))
	}
}

// checkFootprint holds what the energy comes to against the energy.
func (d *Run) checkFootprint(fault func(field, format string, args ...any)) {
	if d.Footprint == nil {
		return
	}
	for _, f := range d.Footprint.Check() {
		fault("footprint", "%s", f)
	}
	if e := d.Totals.EnergyJ; e == nil || d.Footprint.EnergyJ.Value != e.Float() {
		fault("footprint.energy_j", "%g, which is not the energy of the nodes", d.Footprint.EnergyJ.Value)
	}
}
