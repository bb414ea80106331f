package report

import (
	"fmt"
	"maps"
	"slices"

	"cg/measure"
	"cg/nemb"
	"cg/report/figures"
)

// Baseline is what the machine drew before the program was started (--baseline).
type Baseline struct {
	DurationS float64 `json:"duration_s"`
	// Busy is how many processors were in use meanwhile, on average; 0 also in files of an older cg. BusyPercent is
	// that, of all processors, or of four where there are more. Idle is false from 5 % on: then the idle power may be
	// anything below the figure.
	Busy        float64              `json:"processors_busy,omitempty"`
	BusyPercent float64              `json:"processors_busy_percent"`
	Idle        bool                 `json:"idle"`
	Domains     map[string]IdlePower `json:"domains"` // those whose idle power is known
}

// IdlePower is a domain's idle power, with the 95 % interval of its mean.
type IdlePower struct {
	PowerW   float64 `json:"power_w"`
	PowerLoW float64 `json:"power_lo_w"`
	PowerHiW float64 `json:"power_hi_w"`
	InTotal  bool    `json:"top_level"`
}

func baselineOf(b *measure.Baseline) *Baseline {
	if b == nil || b.Unasked {
		return nil
	}
	out := &Baseline{DurationS: b.Span.Seconds(), Busy: b.Busy, BusyPercent: 100 * b.Use,
		Idle: b.Idle(), Domains: map[string]IdlePower{}}
	for _, d := range b.Domains {
		out.Domains[d.ID] = IdlePower{d.Power, d.Lo, d.Hi, d.InTotal}
	}
	return out
}

// baseline says what was measured before the run.
func (r *Run) baseline(b *measure.Baseline) {
	if r.Baseline = baselineOf(b); r.Baseline == nil {
		return
	}
	if !r.Baseline.Idle {
		r.Warn("baseline-busy",
			fmt.Sprintf("%s in use while the idle power was measured: the idle power may be lower, and the "+
				"program's energy higher, up to the end of its interval", r.Baseline.busy()))
	}
	if len(r.Baseline.Domains) == 0 {
		r.Warn("baseline-unknown",
			"the idle power could not be told in the time of --baseline: the ledger's idle line is as without it; "+
				"give it more seconds")
	}
}

// Line is the idle power in a few words.
func (b *Baseline) Line() string {
	var sum IdlePower
	for _, d := range b.Domains {
		if d.InTotal {
			sum.PowerW, sum.PowerLoW, sum.PowerHiW = sum.PowerW+d.PowerW, sum.PowerLoW+d.PowerLoW,
				sum.PowerHiW+d.PowerHiW
		}
	}
	state := "idle"
	if !b.Idle {
		state = "not idle"
	}
	power := "?"
	if sum.PowerW > 0 {
		power = fmt.Sprintf("%s [%s, %s]", figures.Watts(&sum.PowerW), figures.Watts(&sum.PowerLoW),
			figures.Watts(&sum.PowerHiW))
	}
	return fmt.Sprintf("%s before the run, over %s, %s (%s in use)", power, figures.Seconds(b.DurationS), state,
		b.busy())
}

// busy is how much of the processors was in use, in words.
func (b *Baseline) busy() string {
	if b.Busy > 0 {
		return figures.Digits(b.Busy) + " of the processors"
	}
	return fmt.Sprintf("%.1f %% of the processors", b.BusyPercent)
}

// baseline holds the idle power against itself.
func (c *check) baseline(r *Run) {
	if r.Baseline == nil {
		return
	}
	if idle := r.Baseline.BusyPercent < 100*measure.BusyLimit; idle != r.Baseline.Idle {
		c.fault("baseline.idle", "%v, but %g %% of the processors were in use", r.Baseline.Idle, r.Baseline.BusyPercent)
	}
	for _, id := range slices.Sorted(maps.Keys(r.Baseline.Domains)) {
		if d := r.Baseline.Domains[id]; d.PowerLoW < 0 || d.PowerLoW > d.PowerW || d.PowerHiW < d.PowerW {
			c.fault("baseline.domains."+id, "%g W is outside of its interval, %g to %g W", d.PowerW, d.PowerLoW,
				d.PowerHiW)
		}
	}
}

// others warns where nothing tells what other processes used, and a counter's energy is the program's for want of them.
func (r *Run) others(o *measure.Outcome) {
	// Also what a rank has of its node's counters.
	read := func(d nemb.Domain) bool { return d.InTotal && d.Method.IsRead() }
	if o.OthersUnknown && slices.ContainsFunc(o.Domains, read) {
		r.Warn("others-unknown",
			"/proc/stat cannot be read, so that nobody knows what other processes used: all that they drew is in the "+
				"program's energy, whose interval begins at 0 J; let cg read it, or measure while nothing else runs")
	}
}
