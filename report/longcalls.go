package report

import (
	"fmt"

	"cg/events"
	"cg/nemb/attribute"
)

// EventLog is the raw log of the run's checkpoints, a file of its own.
type EventLog struct {
	File   string `json:"file"` // absolute
	Events uint64 `json:"events"`
	Bytes  int64  `json:"bytes"`
	Whole  bool   `json:"whole"` // it was written to its end
}

// LongCall is a call that was long enough to be told by itself, on one thread from its
// beginning to its end: of 20 updates of the counter and more, or of 20 ms where there is none; of
// these the longest 1,000.
type LongCall struct {
	PID             uint32 `json:"pid"`
	TID             uint32 `json:"tid"`
	Site            uint32 `json:"site"`
	StartedAtMonoNs int64  `json:"started_at_mono_ns"`
	EndedAtMonoNs   int64  `json:"ended_at_mono_ns"`
}

// longCalls are those of the run's sites: a task is told elsewhere.
func (r *Run) longCalls(spans []attribute.Span) []LongCall {
	sites := map[uint32]bool{}
	for _, s := range r.Sites {
		sites[s.ID] = true
	}
	var out []LongCall
	for _, s := range spans {
		if !sites[uint32(s.Site)] {
			continue
		}
		out = append(out, LongCall{s.Thread.PID, s.Thread.TID, uint32(s.Site), int64(s.From), int64(s.To)})
	}
	return out
}

// longCalls holds the long calls against the run and the functions.
func (c *check) longCalls(r *Run) {
	sites := map[uint32]bool{}
	for _, s := range r.Sites {
		sites[s.ID] = true
	}
	for i, l := range r.LongCalls {
		field := fmt.Sprintf("long_calls[%d]", i)
		switch {
		case !sites[l.Site]:
			c.fault(field+".site", "%d is no site", l.Site)
		case l.EndedAtMonoNs < l.StartedAtMonoNs:
			c.fault(field+".ended_at_mono_ns", "%d is before its start, %d", l.EndedAtMonoNs, l.StartedAtMonoNs)
		case i > 0 && l.StartedAtMonoNs < r.LongCalls[i-1].StartedAtMonoNs:
			c.fault(field+".started_at_mono_ns", "%d is before that of the one before it", l.StartedAtMonoNs)
		}
	}
}

// LogsEvents notes where the log of the run's checkpoints is. A log whose writing
// failed is as good as far as it goes.
func (r *Run) LogsEvents(l EventLog, fault error) {
	l.Whole = fault == nil
	r.Events = &l
	if fault != nil {
		r.Warn("events-cut", fmt.Sprintf("the event log ends early: %v; %s has what was written until then", fault,
			l.File))
	}
}

// OfRun says why a log does not belong to the run, nil if it does.
func (r *Run) OfRun(l *events.Log) error {
	if l.Info.RunID != r.Meta.RunID {
		return fmt.Errorf("the event log of run %s, and the run is %s", l.Info.RunID, r.Meta.RunID)
	}
	return nil
}
