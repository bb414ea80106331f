package reporttest

import (
	"bytes"
	"testing"

	"cg/checkpoint"
	"cg/events"
)

// EventLog is the log of a run with two threads; 1 tick is 1 ns of CLOCK_MONOTONIC,
// and times are in units of us ns.
//
//	thread 7: main 100 - 900, in it work 200-300 and 400-500; used a processor until 500
//	thread 8: work 300-400; waits
func EventLog(t testing.TB, run string, us int64) *events.Log {
	t.Helper()
	var b bytes.Buffer
	w := events.NewWriter(&b, events.Info{RunID: run, Tool: "cg test", Clock: "monotonic"})
	w.Sites([]checkpoint.Site{
		{ID: 1, Func: "app.main</script>", File: "/src/app.py", Line: 3, EndLine: 9, Kind: checkpoint.Function},
		{ID: 2, Func: "app.work", File: "/src/app.py", Line: 12, EndLine: 14, Kind: checkpoint.Function},
	})
	word := func(at int64, kind checkpoint.Kind, site checkpoint.SiteID) checkpoint.Word {
		return checkpoint.Pack(checkpoint.Tick(at*us), kind, site)
	}
	one, two := checkpoint.Thread{PID: 7, TID: 7}, checkpoint.Thread{PID: 7, TID: 8}
	window := func(at int64, cpu ...int64) {
		w.Window(events.Window{At: checkpoint.Tick(at * us), Time: checkpoint.Instant(at * us),
			Threads: []events.ThreadTime{{Thread: one, CPU: cpu[0] * us}, {Thread: two, CPU: cpu[1] * us}}})
	}
	run1 := func(th checkpoint.Thread, words ...checkpoint.Word) {
		w.Run(checkpoint.Run{Thread: th, First: true, Start: 1, Words: words, Last: true}, len(words),
			checkpoint.Tick(1000*us))
	}
	window(0, 0, 0)
	run1(one, word(100, checkpoint.Enter, 1), word(200, checkpoint.Enter, 2), word(300, checkpoint.Exit, 2),
		word(400, checkpoint.Enter, 2), word(500, checkpoint.Exit, 2), word(900, checkpoint.Exit, 1))
	run1(two, word(300, checkpoint.Enter, 2), word(400, checkpoint.Exit, 2))
	window(250, 250, 0)
	window(500, 500, 10)
	window(1000, 600, 20)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := events.Open(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return l
}
