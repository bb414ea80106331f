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
				s.Usage.Threads = append(s.Usage.Threads, account.ThreadUsage{Thread: checkpoint.Thread{PID: 1, TID: tid}, Queued: q})
			}
		}
		return s
	}
	before := sample(map[uint32]time.Duration{0: 5, 1: 10, 3: 20})
	if got := queued(before, sample(map[uint32]time.Duration{1: 14, 2: 100, 3: 23})); got != 7 {
		t.Errorf("%g ns, want 7", got)
	}
	if got := queued(before, sample(map[uint32]time.Duration{1: 4, 3: 20})); got != 0 {
		t.Errorf("%g ns of times that do not grow", got)
	}
	if got := queued(nemb.Sample{}, before); got != 0 {
		t.Errorf("%g ns before the first window", got)
	}
}
