package windows

import (
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute/paths"
)

// Threads that are not there any more and whose end nobody has told are forgotten, with a model and with a counter.
func TestThreadsAreForgotten(t *testing.T) {
	for _, method := range []nemb.Method{nemb.Estimated, nemb.Measured} {
		tree := paths.NewTree()
		f := tree.Path(paths.Root, 1, 0)
		w := New([]nemb.Domain{{ID: "machine", Method: method, InTotal: true, Lo: 1, Hi: 1}}, 2, tree)
		w.Begin(sample(0, 0, account.Usage{}))
		const windows = 1000
		for i := range int64(windows) {
			th := checkpoint.Thread{PID: 1, TID: uint32(i + 1)}
			u := account.Usage{Program: time.Duration((i + 1) * 5 * ms), Threads: []account.ThreadUsage{{Thread: th, CPU: 5 * ms}}}
			w.Close(sample((i+1)*10*ms, nemb.Energy((i+1)*5000), u), false,
				[]Thread{{ID: th, Parts: []paths.Part{{Node: f, Ticks: 10 * ms}}}})
			if n := max(len(w.threads.threads), len(w.divided.spans)); n > manyGone+2 {
				t.Fatalf("%s: %d threads are known after %d", method, n, i+1)
			}
		}
		w.End()
		if e := w.Domains[0].Paths[f]; !near(e, windows*5000) {
			t.Errorf("%s: %g uJ, want %d", method, e, windows*5000)
		}
	}
}
