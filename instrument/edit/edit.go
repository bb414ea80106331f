// Package edit replaces byte ranges of a text.
//
// It takes a text and edits against its original offsets, in any order, and returns the
// text with all of them applied. It refuses edits that overlap or lie outside the text,
// and then applies none.
package edit

import (
	"cmp"
	"fmt"
	"slices"
)

// Edit replaces the bytes Start up to End of the original by New. An insertion
// has Start == End. Insertions at one place keep their order.
type Edit struct {
	Start, End int
	New        string
}

// Apply returns the text with the edits applied. The text and the slice of
// edits are left as they are.
func Apply(text []byte, edits []Edit) ([]byte, error) {
	sorted := slices.Clone(edits)
	slices.SortStableFunc(sorted, func(a, b Edit) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	size, at := len(text), 0
	for _, e := range sorted {
		if e.Start < at || e.End < e.Start || e.End > len(text) {
			if e.Start < at && e.End >= e.Start && e.Start >= 0 {
				return nil, fmt.Errorf("edit: %d-%d overlaps the edit that ends at %d", e.Start, e.End, at)
			}
			return nil, fmt.Errorf("edit: %d-%d is outside a text of %d bytes", e.Start, e.End, len(text))
		}
		size += len(e.New) - (e.End - e.Start)
		at = e.End
	}
	out := make([]byte, 0, size)
	at = 0
	for _, e := range sorted {
		out = append(out, text[at:e.Start]...)
		out = append(out, e.New...)
		at = e.End
	}
	return append(out, text[at:]...), nil
}
