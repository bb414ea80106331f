package report

import (
	"fmt"

	"cg/checkpoint"
	"cg/measure"
	"cg/nemb"
	"cg/nemb/attribute"
)

// siteOf tells the site of a cost. A number that nobody gave out is in the
// words of a program that wrote over them.
func siteOf(sites []checkpoint.Site, id checkpoint.SiteID) (checkpoint.Site, bool) {
	if id == 0 || int(id) > len(sites) || sites[id-1].ID == 0 {
		return checkpoint.Site{}, false
	}
	return sites[id-1], true
}

// nowhere books what sites used that do not exist where the program's code
// without checkpoints is booked.
func (r *Run) nowhere(c attribute.Cost, domains []nemb.Domain) {
	if r.Totals.ProgramEnergyJ != nil {
		r.between(c, domains)
	}
	r.unknownSites++
}

// damaged warns of what a program did to the channel, and of clocks and
// counters that went backwards.
func (r *Run) damaged(o *measure.Outcome) {
	text := o.Damage
	if n := r.unknownSites; n > 0 {
		if text != "" {
			text += "; "
		}
		text += fmt.Sprintf("%d numbers in it are of no function, and what was booked on them is uninstrumented", n)
	}
	if text != "" {
		r.Warn("channel-damaged",
			"the memory through which the program reports its calls holds what no checkpoint writes: "+text+
				"; calls may be missing, and energies of functions are not to be trusted")
	}
	if n := o.Attributed.Stats.Disordered; n > 0 {
		r.Warn("samples-disordered",
			fmt.Sprintf("%d of %d samples were behind the one before them in time, energy or processor time; that "+
				"counts as standing still, and the figures are lower bounds",
				n, max(n, o.Sampler.Samples)))
	}
}
