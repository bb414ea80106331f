package windows

import (
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
)

// What threads waited for a processor is that of those who were there in both samples. A kernel that does not count it says 0.
func TestQueuedInWindow(t *testing.T) {
	sample := func(queued map[uint32]time.Duration) (s nemb.Sample) {
		for tid := range uint32(5) {
			if q, is := queued[tid]; is {
				s.Usage.Threads = append(s.Usage.Threads, account.ThreadUsage{Thread: checkpoint.Thread{PID: 1, TID: tid}, Queued: q, Turns: float64(q) / 2})
			}
		}
		return s
	}
	before := sample(map[uint32]time.Duration{0: 5, 1: 10, 3: 20})
	if got, turns := queued(before, sample(map[uint32]time.Duration{1: 14, 2: 100, 3: 23})); got != 7 || turns != 3.5 {
		t.Errorf("%g ns in %g turns, want 7 in 3.5", got, turns)
	}
	if got, _ := queued(before, sample(map[uint32]time.Duration{1: 4, 3: 20})); got != 0 {
		t.Errorf("%g ns of times that do not grow", got)
	}
	if got, _ := queued(nemb.Sample{}, before); got != 0 {
		t.Errorf("%g ns before the first window", got)
	}
}
