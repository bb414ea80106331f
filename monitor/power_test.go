package monitor

import (
	"fmt"
	"testing"
	"time"

	"cg/nemb/simulate"
)

// The power of a counter that moves at every fourth reading is that of its own period, in each
// row; a counter that stands still tells of no power any more.
func TestPowerOfASlowCounter(t *testing.T) {
	w := newWorld(t, simulate.Counter{Power: simulate.Trace{{Watts: 10}, {From: 12 * time.Second, Watts: 0}},
		Period: 4 * time.Second})
	p := w.start(10, 1, "p", "/")
	for k := range 40 {
		w.use(p, time.Second)
		s := w.read(time.Second)
		want := 10.0
		if k < 3 || k > 20 {
			want = 0
		}
		if k >= 3 && k < 7 || k > 15 && k <= 20 { // the first window began before the counter moved
			continue
		}
		near(t, fmt.Sprintf("the machine's power after %d s", k+1), s.Watts(), want)
		for _, p := range s.Processes {
			near(t, fmt.Sprintf("a process' power after %d s", k+1), p.Watts, want)
		}
	}
}
