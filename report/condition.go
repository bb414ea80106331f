package report

import (
	"fmt"
	"strings"

	"cg/nemb/condition"
)

// MachineState is what the machine was like before and after a run.
type MachineState = condition.Around

// warnOfMachine warns of what happened to the machine during the run.
func (r *Run) warnOfMachine() {
	if r.MachineState == nil {
		return
	}
	if n := condition.Throttled(r.MachineState.Before, r.MachineState.After); n > 0 {
		r.Warn("throttled", fmt.Sprintf("processors were slowed down for their heat %d times while the program ran: "+
			"another run is hard to compare with this one", n))
	}
	if text := r.MachineState.Changed(); text != "" {
		r.Warn("machine-changed", text)
	}
}

// ChangedSince is the warning of a machine that is not what it was before another run; ok is false where it is, or
// where one of the runs does not tell.
func (r *Run) ChangedSince(before *MachineState) (w Warning, ok bool) {
	if r.MachineState == nil || before == nil {
		return w, false
	}
	all := condition.Differs(before.Before, r.MachineState.Before)
	if len(all) == 0 {
		return w, false
	}
	text := "between the runs the machine changed, so they are hard to compare: " + strings.Join(all, "; ")
	return Warning{Slug: "machine-changed", Message: text}, true
}

// StateLine says in words what the machine was like around the run, "" where it told nothing.
func (r *Run) StateLine() string {
	if r.MachineState == nil {
		return ""
	}
	return r.MachineState.Line()
}
