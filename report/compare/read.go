package compare

import (
	"errors"
	"fmt"
	"io"

	"cg/report"
)

// Read reads a comparison that was saved, and refuses what is none.
func Read(f io.ReadSeeker) (*Result, error) {
	c := &Result{}
	if err := report.Decode(f, c); err != nil {
		return nil, fmt.Errorf("not a saved comparison: %w", err)
	}
	if v := c.Comparison.SchemaVersion; !report.Reads(v) {
		return nil, report.Unreadable(c.Comparison.CgVersion, v, "compare the runs anew")
	}
	if len(c.Totals) == 0 {
		return nil, errors.New("not a saved comparison: it has no totals")
	}
	return c, nil
}
