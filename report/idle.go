package report

import (
	"fmt"
	"maps"
	"slices"

	"cg/nemb"
	"cg/report/figures"
)

// Idle is the power that the ledger's line idle holds: what the machine draws with idle
// processors, whoever runs, as one figure for the whole run.
type Idle struct {
	// Of the domains in the total, with the method that knows least.
	PowerW   float64              `json:"power_w"`
	PowerLoW float64              `json:"power_lo_w"`
	PowerHiW float64              `json:"power_hi_w"`
	Method   nemb.IdleMethod      `json:"idle_method"`
	Domains  map[string]IdleOfOne `json:"domains"` // those whose idle power was set aside
}

// IdleOfOne is the idle power of a domain and how it was found.
type IdleOfOne struct {
	PowerW   float64         `json:"power_w"`
	PowerLoW float64         `json:"power_lo_w"`
	PowerHiW float64         `json:"power_hi_w"`
	InTotal  bool            `json:"top_level"`
	Method   nemb.IdleMethod `json:"idle_method"`
}

// idlePower says what idle power was set aside, and how it was found.
func (r *Run) idlePower(e energies) {
	idle := &Idle{Domains: map[string]IdleOfOne{}}
	for d, p := range e.result.Idle {
		if p.Method == nemb.IdleUnknown {
			continue
		}
		domain := e.domains[d]
		idle.Domains[domain.ID] = IdleOfOne{p.Power, p.Lo, p.Hi, domain.InTotal, p.Method}
	}
	if idle.add(); idle.Method == nemb.IdleUnknown || !e.known() {
		return
	}
	r.Idle = idle
	for i := range r.Ledger {
		if r.Ledger[i].Name == LineIdle && idle.Method != nemb.IdleModel {
			r.Ledger[i].Source = string(idle.Method)
		}
	}
}

// add adds up the domains in the total.
func (i *Idle) add() {
	i.PowerW, i.PowerLoW, i.PowerHiW, i.Method = 0, 0, 0, nemb.IdleUnknown
	for _, id := range slices.Sorted(maps.Keys(i.Domains)) {
		d := i.Domains[id]
		if !d.InTotal {
			continue
		}
		i.PowerW, i.PowerLoW, i.PowerHiW = i.PowerW+d.PowerW, i.PowerLoW+d.PowerLoW, i.PowerHiW+d.PowerHiW
		if i.Method == nemb.IdleUnknown || d.Method.Weaker(i.Method) {
			i.Method = d.Method
		}
	}
}

// idleWords say where an idle power comes from.
var idleWords = map[nemb.IdleMethod]string{
	nemb.IdleModel:      "from the model of the estimate",
	nemb.IdleBaseline:   "measured before the run",
	nemb.IdleBefore:     "measured before the run, when the machine was idle",
	nemb.IdleRun:        "measured in the run, while the processors were nearly idle",
	nemb.IdleRemembered: "measured on this machine in an earlier run",
	nemb.IdleBound:      "the least that the machine was seen to draw",
	nemb.IdlePublished:  "the share of full power that servers of its age draw",
}

// Line is the idle power in a few words.
func (i *Idle) Line() string {
	return fmt.Sprintf("%s [%s, %s], %s", figures.Watts(&i.PowerW), figures.Watts(&i.PowerLoW),
		figures.Watts(&i.PowerHiW), idleWords[i.Method])
}

// IsWorthTelling reports whether people are told the idle power: that of a model is in the
// model's name, and a baseline has its own line.
func (i *Idle) IsWorthTelling() bool {
	return i != nil && i.Method != nemb.IdleModel && i.Method != nemb.IdleBaseline
}

// idle holds the idle power against itself and the ledger.
func (c *check) idle(r *Run) {
	source := ""
	for i, l := range r.Ledger {
		if l.Name == LineIdle {
			source = l.Source
		} else if l.Source != "" {
			c.fault(fmt.Sprintf("ledger[%d] (%s).source", i, l.Name), "%q, but only idle power has one", l.Source)
		}
	}
	method := nemb.IdleMethod(source)
	switch {
	case r.Idle != nil && r.Idle.Method != nemb.IdleModel && method != r.Idle.Method:
		c.fault("idle_power.idle_method", "%q, but the ledger's line idle has %q", r.Idle.Method, source)
	case method == nemb.IdleBaseline && (r.Baseline == nil || len(r.Baseline.Domains) == 0),
		method != nemb.IdleBaseline && source != "" && r.Idle == nil:
		c.fault("ledger (idle).source", "%q, but there is no idle power that was found so", source)
	}
	if r.Idle == nil {
		return
	}
	again := Idle{Domains: r.Idle.Domains}
	again.add()
	if r.Idle.Method != again.Method || !near(r.Idle.PowerW, again.PowerW) || !near(r.Idle.PowerLoW, again.PowerLoW) ||
		!near(r.Idle.PowerHiW, again.PowerHiW) {
		c.fault("idle_power", "%s, but the domains make it %s", r.Idle.Line(), again.Line())
	}
	for _, id := range slices.Sorted(maps.Keys(r.Idle.Domains)) {
		if d := r.Idle.Domains[id]; d.PowerLoW < 0 || d.PowerLoW > d.PowerW || d.PowerHiW < d.PowerW {
			c.fault("idle_power.domains."+id, "%g W is outside of its interval, %g to %g W", d.PowerW, d.PowerLoW,
				d.PowerHiW)
		} else if idleWords[d.Method] == "" {
			c.fault("idle_power.domains."+id, "%q is no way to find an idle power", d.Method)
		}
	}
}

func near(a, b float64) bool { return a-b <= 1e-9*b && b-a <= 1e-9*b }
