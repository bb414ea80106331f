package cli

import (
	"testing"
	"time"
)

// TestTrialLimit: a run with lines may take 10 s, or ten times the one without, and never longer than --timeout.
func TestTrialLimit(t *testing.T) {
	for _, c := range []struct{ fine, timeout, want time.Duration }{
		{time.Millisecond, 0, 10 * time.Second},
		{3 * time.Second, 0, 30 * time.Second},
		{3 * time.Second, time.Hour, 30 * time.Second},
		{3 * time.Second, 4 * time.Second, 4 * time.Second},
		{time.Millisecond, 2 * time.Second, 2 * time.Second},
	} {
		if got := trialLimit(c.fine, c.timeout); got != c.want {
			t.Errorf("%v after %v: %v, want %v", c.fine, c.timeout, got, c.want)
		}
	}
}
