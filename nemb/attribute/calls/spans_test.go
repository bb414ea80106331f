package calls

import (
	"testing"

	"cg/checkpoint"
)

// Of very many long calls the longest are kept.
func TestSpansAreBounded(t *testing.T) {
	var s spans
	for i := range checkpoint.Instant(3 * MaxSpans) {
		k := i * 7919 % (3 * MaxSpans)
		s.keep(Span{From: i * 1e6, To: i*1e6 + k})
	}
	kept := s.sorted()
	if len(kept) != MaxSpans {
		t.Fatalf("%d spans", len(kept))
	}
	for i, c := range kept {
		if c.To-c.From < 2*MaxSpans || i > 0 && c.From < kept[i-1].From {
			t.Fatalf("span %d: %+v", i, c)
		}
	}
}
