package compare

import (
	"fmt"
	"strings"

	"cg/nemb/condition"
	"cg/report"
	"cg/report/repeated"
)

// stateOf is the state of the machine around one of repeated runs: that around all of them, with the heat of this
// run alone. What ran between the runs, as --prepare does, may have heated the machine, too.
func stateOf(all *report.MachineState, m repeated.Measurement) *report.MachineState {
	if all == nil || all.Before.ThrottleCount == nil || all.After.ThrottleCount == nil {
		return all
	}
	own, count := *all, *all.Before.ThrottleCount+m.Throttled
	own.After.ThrottleCount = &count
	return &own
}

// machineNotes tell what of the machine differs between the sides, and where it was too hot.
func machineNotes(sides [2]*sideRuns) (notes []string) {
	var first *report.MachineState
	differs := false
	for _, s := range sides {
		throttled := false
		for _, r := range s.runs {
			if r.state == nil {
				continue
			}
			if first == nil {
				first = r.state
			}
			if all := condition.Differs(first.Before, r.state.Before); len(all) > 0 && !differs {
				differs = true
				notes = append(notes, "the machine was not the same (machine-changed): "+strings.Join(all, "; "))
			}
			throttled = throttled || condition.Throttled(r.state.Before, r.state.After) > 0
		}
		if throttled {
			notes = append(notes, fmt.Sprintf("processors were slowed down for their heat while %s ran (throttled)",
				s.name))
		}
	}
	return notes
}
