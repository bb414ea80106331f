package report

import "cg/nemb"

// Mark stands before energies of a kind in what people read: "~" where they are
// estimated.
func Mark(kind nemb.Method) string {
	if kind == nemb.Estimated {
		return "~"
	}
	return ""
}

// Mark stands before every energy of the run that was not measured.
func (r *Run) Mark() string { return Mark(r.Totals.Kind) }
