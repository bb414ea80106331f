package experiment

import (
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	"cg/measure"
	"cg/nemb"
)

// quietSpan is how long the machine is measured before a run that nobody asked to measure it
// for; the counters have to have quietPeriods in it.
const (
	quietSpan    = 180 * time.Millisecond
	quietPeriods = 20
)

// idleBefore is what was asked to be measured before the run, or else what the machine draws
// now, where it is idle and its idle power is not remembered yet. It is nil where neither is
// known.
func (s Conditions) idleBefore(asked *measure.Baseline) *measure.Baseline {
	return s.idleBy(asked, measure.MeasureIdle)
}

// measuring is measure.MeasureIdle.
type measuring func(context.Context, []nemb.Sensor, time.Duration, time.Duration) (*measure.Baseline, error)

func (s Conditions) idleBy(asked *measure.Baseline, measured measuring) *measure.Baseline {
	if asked != nil || s.Machine.Idle == nil || s.Share != nil || !s.lacksIdle() || !s.Machine.isQuiet() {
		return asked
	}
	b, err := measured(context.Background(), s.Machine.Found.Sensors, s.Interval, quietSpan)
	if err != nil || b == nil || !b.Idle() || len(b.Domains) == 0 {
		return nil // the run tells its own reasons
	}
	b.Unasked = true
	return b
}

// lacksIdle reports whether the idle power of a domain in the total is not remembered, and all of
// them have counters that are fast enough to measure it.
func (s Conditions) lacksIdle() bool {
	lacks := false
	for _, d := range s.Machine.Found.Domains() {
		switch {
		case !d.InTotal || d.Program || !d.FollowsProcessors():
		case d.Method != nemb.Measured || d.Period <= 0 || quietPeriods*d.Period > quietSpan:
			return false
		default:
			lacks = lacks || s.Machine.Idle.Recall(d.ID).Method != nemb.IdleRemembered
		}
	}
	return lacks && quietPeriods*s.Interval <= quietSpan*2
}

// busyThreads is how many threads may be ready to run on an idle machine: those of cg.
const busyThreads = 2

// isQuiet reports whether next to nothing runs at this moment, by the fourth field of
// /proc/loadavg (proc(5)).
func (m *Machine) isQuiet() bool {
	text, err := os.ReadFile(m.Root.Proc("loadavg"))
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 4 {
		return false
	}
	running, _, _ := strings.Cut(fields[3], "/")
	n, err := strconv.Atoi(running)
	return err == nil && n <= busyThreads
}

// noteIdle remembers what a run showed of the machine's idle power, and what was measured
// before it.
func (m *Machine) noteIdle(o *measure.Outcome, now time.Time) error {
	if m.Idle == nil || o == nil {
		return nil
	}
	seen := map[string]nemb.IdlePower{}
	for d, p := range o.Attributed.Seen {
		if d < len(o.Domains) && p.Hi > 0 {
			seen[o.Domains[d].ID] = p
		}
	}
	if err := m.Idle.Note(seen, now); err != nil || o.Baseline == nil || !o.Baseline.Idle() {
		return err
	}
	clear(seen)
	for _, p := range o.Baseline.Domains {
		seen[p.ID] = nemb.IdlePower{Power: p.Power, Lo: p.Lo, Hi: p.Hi, Method: nemb.IdleBaseline}
	}
	return m.Idle.Note(seen, now)
}
