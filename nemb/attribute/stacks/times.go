package stacks

import "cg/checkpoint"

// siteTimes is how long the calls of a site took, on all threads that have ended.
type siteTimes struct {
	checkpoint.Times
	cost float64 // of the checkpoints in them, in ticks: a sum over the calls that were timed
}

// takeTimes takes the times of the calls of a thread in each of which checkpoints took so
// many ticks: half of what the enter costs, and half of what the exit does.
func (st *Stacks) takeTimes(times []checkpoint.Times, cost float64) {
	for i := range times {
		of := &times[i]
		s := st.times[of.Site]
		if s == nil {
			s = &siteTimes{Times: checkpoint.Times{Site: of.Site, Least: of.Least}}
			st.times[of.Site] = s
		}
		s.Add(of)
		s.cost += cost * float64(of.Exact+of.Drawn)
	}
}

// Times is how long the calls of a site took that were timed, and what their checkpoints
// took in each of them, in ticks; nil where none was.
func (st *Stacks) Times(site checkpoint.SiteID) (times *checkpoint.Times, cost float64) {
	s := st.times[site]
	if s == nil {
		return nil, 0
	}
	return &s.Times, ratio(s.cost, float64(s.Exact+s.Drawn))
}
