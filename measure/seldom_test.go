package measure

import (
	"testing"
	"time"
)

// Processor times are read for two samples at most, where that is not too often.
func TestReadingsOfFastSamples(t *testing.T) {
	for interval, want := range map[time.Duration]time.Duration{
		100 * time.Microsecond: time.Millisecond, time.Millisecond: 2 * time.Millisecond,
		2 * time.Millisecond: 4 * time.Millisecond, 100 * time.Millisecond: 4 * time.Millisecond,
	} {
		if got := (&recorder{interval: interval}).seldom(); got != want {
			t.Errorf("samples each %v: %v, want %v", interval, got, want)
		}
	}
}
