package habits

import (
	"time"

	"cg/checkpoint"
	"cg/nemb"
)

// pause is the time between two looks at the readings: a small part of the periods that GPUs have.
const pause = time.Millisecond

// Record notes what readings tell until stop is closed. A reading that fails is left out of the moment.
func Record(readings []nemb.Reading, stop <-chan struct{}) []Trace {
	all := make([]Trace, len(readings))
	before := make([]float64, len(readings))
	for i, r := range readings {
		all[i] = Trace{Name: r.Name, Counts: r.Counts}
	}
	for {
		for i, r := range readings {
			from := float64(checkpoint.Monotime())
			value, err := r.Read()
			at := float64(checkpoint.Monotime())
			if err != nil {
				continue
			}
			t := &all[i]
			if n := len(t.Points); n == 0 || t.Points[n-1].Value != value {
				t.Points = append(t.Points, Point{Before: before[i], At: at, Value: value})
			}
			before[i] = from
		}
		select {
		case <-stop:
			return all
		case <-time.After(pause):
		}
	}
}
