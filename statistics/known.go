package statistics

import "math"

// Known is a pointer to a value, nil for what is no number and for infinities.
func Known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
