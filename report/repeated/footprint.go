package repeated

import (
	"fmt"
	"slices"
	"time"

	"cg/footprint"
	"cg/report"
)

// Account fills in what the machine's mean energy in a run comes to, for each command. The
// interval is that of the mean, and from the least run to the most where there are too few
// runs for one. See report.Run.Account.
func (r *Result) Account(rates *footprint.Rates) {
	if rates == nil {
		return
	}
	r.Warnings = slices.DeleteFunc(r.Warnings, report.OfFootprint)
	all := r.Commands
	if len(all) == 0 {
		all = []Command{r.Command}
	}
	var unknown error // the first: one warning tells what a series does not have
	for i := range all {
		if err := all[i].account(rates, r.Meta); err != nil && unknown == nil {
			unknown = err
		}
	}
	if unknown != nil {
		r.Warnings = append(r.Warnings, report.Warning{Slug: "footprint-unknown",
			Message: fmt.Sprintf("the emissions are not known: %v", unknown)})
	}
	r.Command = all[0] // whose fields stand at the top, too
}

func (c *Command) account(rates *footprint.Rates, meta report.Meta) (err error) {
	s := c.EnergyJ
	c.Footprint = nil
	for i := range c.Units {
		c.Units[i].CO2eG = nil
	}
	if s == nil || c.DurationS == nil {
		return fmt.Errorf("the machine's energy is not")
	}
	use := footprint.Use{
		Joules: footprint.Range{Value: s.Mean, Lo: s.Min, Hi: s.Max},
		Lasted: time.Duration(c.DurationS.Mean * 1e9),
	}
	if s.CI95Lower != nil && s.CI95Upper != nil {
		use.Joules.Lo, use.Joules.Hi = min(s.Mean, *s.CI95Lower), max(s.Mean, *s.CI95Upper)
	}
	if use.From, use.To, err = meta.Span(); err == nil {
		c.Footprint, err = rates.Of(use)
	}
	for i := range c.Units {
		if unknown := c.Units[i].account(rates, use); err == nil {
			err = unknown
		}
	}
	return err
}

// checkFootprint holds what the mean energy comes to against it.
func (c Command) checkFootprint() (faults []string) {
	for i, u := range c.Units {
		for _, fault := range u.checkCarbon(c) {
			faults = append(faults, fmt.Sprintf("units[%d].%s", i, fault))
		}
	}
	if c.Footprint == nil {
		return faults
	}
	for _, fault := range c.Footprint.Check() {
		faults = append(faults, "footprint: "+fault)
	}
	if c.EnergyJ == nil || c.Footprint.EnergyJ.Value != c.EnergyJ.Mean {
		faults = append(faults, fmt.Sprintf("footprint.energy_j: %g, which is not the mean energy",
			c.Footprint.EnergyJ.Value))
	}
	return faults
}
