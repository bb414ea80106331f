package attribute

import (
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
)

// Readings that took long at the ends of a run widen what is said of its energy by
// the power in that time, of the program and of each function.
func TestLateReadingsWiden(t *testing.T) {
	const second = checkpoint.Instant(time.Second)
	run := func(late time.Duration) Result {
		domain := nemb.Domain{ID: "package-0", Method: nemb.Measured, Period: time.Millisecond, InTotal: true, Lo: 1, Hi: 1}
		a := New([]nemb.Domain{domain}, 1)
		for i := range checkpoint.Instant(11) {
			s := nemb.Sample{At: checkpoint.Tick(i * second), Time: i * second, Energy: []nemb.Energy{nemb.Energy(i) * 20e6}}
			s.Usage.Program = time.Duration(i * second)
			if late > 0 {
				s.Late = []time.Duration{late}
			}
			if i < 10 {
				a.Close(s)
			} else {
				a.Last(s)
			}
		}
		return a.Finish()
	}
	if l := run(0).Total; l.Late != 0 || l.Total != 200e6 || l.ProgramLo != 200e6 || l.ProgramHi != 200e6 {
		t.Errorf("%+v", l)
	}
	// 20 W for 2 s at each end.
	l := run(2 * time.Second).Total
	if l.Late != 80e6 || l.Total != 200e6 || l.ProgramLo != 120e6 || l.ProgramHi != 280e6 {
		t.Errorf("%+v", l)
	}
}
