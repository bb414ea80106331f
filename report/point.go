package report

import "fmt"

// Point is what a run says of its machine for a calibration: which share of the
// time its processors were busy with the program, and the power meanwhile. It is
// an error if the power was not measured. Other programs are taken to have
// rested.
func (r *Run) Point(processors int) (share, watts float64, err error) {
	t := r.Totals
	switch {
	case !t.Kind.IsRead():
		return 0, 0, fmt.Errorf("its power is %s, not measured", t.Kind)
	case t.AvgPowerW == nil || t.WallDurationS < 1:
		return 0, 0, fmt.Errorf("it lasted %.1f s: a second at least is needed", t.WallDurationS)
	case processors <= 0:
		return 0, 0, fmt.Errorf("how many processors there are is not known")
	}
	return (r.Process.UserS + r.Process.SystemS) / (t.WallDurationS * float64(processors)), *t.AvgPowerW, nil
}
