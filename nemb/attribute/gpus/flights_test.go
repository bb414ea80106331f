package gpus

import (
	"fmt"
	"testing"

	"cg/checkpoint"
)

// BenchmarkAddWithin adds 4,096 flights, each within bounds of 10 s, of few and of many keys.
func BenchmarkAddWithin(b *testing.B) {
	for _, keys := range []int{1, 200} {
		b.Run(fmt.Sprint(keys), func(b *testing.B) {
			for range b.N {
				var w Work
				for i := range 4096 {
					from := checkpoint.Instant(i) * 1_000_000
					w.AddWithin(i%keys, Flight{from, from + 500_000, from, from + 10_000_000_000})
				}
			}
		})
	}
}

// Each key has one portion in a slot, and its place is where it is, also after slots became wider.
func TestPlacesOfPortions(t *testing.T) {
	w := Work{Longest: 300}
	for i := range 400 {
		from := checkpoint.Instant(i) * 3_000_000
		w.AddWithin(i*7%13, Flight{from, from + 2_000_000, from, from + 90_000_000})
	}
	n := 0
	for slot, all := range w.slots {
		for i, p := range all {
			if at, found := w.places[place{slot, p.key}]; !found || at != i {
				t.Fatalf("slot %d: key %d is at %d, its place says %d", slot, p.key, i, at)
			}
			n++
		}
	}
	if w.width == firstWidth || n != w.n || n != len(w.places) {
		t.Fatalf("width %d, %d portions, counted %d, %d places", w.width, n, w.n, len(w.places))
	}
}
