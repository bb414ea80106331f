package compare

import "cg/report"

// undivided compares sessions by the machine's energy where one of them has no share of the
// program.
func (c *Result) undivided(sides [2]*sideRuns) {
	var sessions []*comparedRun
	some, all := false, true
	for _, s := range sides {
		for i := range s.runs {
			if r := &s.runs[i]; r.run != nil && r.run.Part() == report.PartSession {
				sessions = append(sessions, r)
				some, all = some || r.run.Undivided(), all && r.run.Undivided()
			}
		}
	}
	if !some || all {
		return
	}
	for _, r := range sessions {
		r.program, r.units = r.machine, unitsOfSession(r.run, report.Unit.Machine)
	}
	c.Notes = append(c.Notes,
		"some of the sessions have no share of the program: the program's energy is the machine's")
}
