package checkpoint

import (
	"sync/atomic"
	"testing"
	"time"
)

// TestTellBusy: a thread is told for which part of the time it had a processor since it was told last,
// and nothing before that is known.
func TestTellBusy(t *testing.T) {
	c, y := grown(t)
	c.Drain(func(r Run) int { return len(r.Tally.Windows) })
	thread := Thread{y.head.head.pid, y.head.head.tid}
	for _, step := range []struct {
		name string
		ran  time.Duration
		at   Instant
		ok   bool
		want uint32
	}{
		{"never read", 0, 0, false, 0},
		{"once", 5 * time.Millisecond, 1e9, true, 0},
		{"a quarter", 30 * time.Millisecond, 1.1e9, true, 1 + 1<<14},
		{"not read anew", 30 * time.Millisecond, 1.1e9, true, 1 + 1<<14},
		{"could not be read", 0, 0, false, 1 + 1<<14},
		{"waited", 30 * time.Millisecond, 1.2e9, true, 1},
		{"more than there is", 230 * time.Millisecond, 1.3e9, true, 1 + 1<<16},
		{"half of three times as long", 380 * time.Millisecond, 1.6e9, true, 1 + 1<<15},
	} {
		c.toldBusy = 0
		c.TellBusy(func(of Thread) (time.Duration, Instant, bool) {
			if of != thread {
				t.Errorf("%s: asked for %v, want %v", step.name, of, thread)
			}
			return step.ran, step.at, step.ok
		})
		if got := atomic.LoadUint32(&y.head.busy); got != step.want {
			t.Errorf("%s: %d, want %d", step.name, got, step.want)
		}
	}
	c.TellBusy(func(Thread) (time.Duration, Instant, bool) {
		t.Error("asked again at once")
		return 0, 0, false
	})
}
