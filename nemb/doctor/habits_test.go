package doctor

import (
	"errors"
	"strings"
	"testing"

	"cg/nemb/habits"
)

// Without a load nothing is said to be known, with the reason; a reading that did not follow one is told.
func TestHabitsOfGPU(t *testing.T) {
	var still habits.Trace
	still.Name, still.Counts = "energy", true
	for i := range 200 {
		still.Points = append(still.Points, habits.Point{Before: float64(i) * 1e8, At: float64(i)*1e8 + 1e6, Value: float64(i) * 10})
	}
	var load []habits.Busy
	for i := range 40 {
		load = append(load, habits.Busy{From: float64(i)*3e8 + 1e9, To: float64(i)*3e8 + 1.1e9 + float64(i%7)*1e7})
	}
	for _, test := range []struct {
		of    habitsOf
		level Level
		want  string
	}{
		{habitsOf{held: 2}, Remark, "gpu0: 2 processes hold it, so no load was put on it"},
		{habitsOf{err: errors.New("no CUDA")}, Remark, "gpu0: no load could be put on it (no CUDA): over how long a time"},
		{habitsOf{busy: load, traces: []habits.Trace{{Name: "power"}}}, Remark, "gpu0: its power changed too rarely under the load"},
		{habitsOf{busy: load, traces: []habits.Trace{still}}, Warning, "gpu0: its counter of energy did not follow the load"},
	} {
		var d Diagnosis
		if found := d.habitsOfGPU("gpu0", "energy", test.of); len(found) > 0 {
			t.Errorf("%+v", found)
		}
		if f := d.Findings[0]; f.Level != test.level || !strings.HasPrefix(f.Text, test.want) {
			t.Errorf("%+v, want %s %q", f, test.level, test.want)
		}
	}
}
