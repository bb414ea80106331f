package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cg/checkpoint"
	"cg/events"
	"cg/nemb"
	"cg/report/format"
)

// eventLog is the log of a run with two threads; 1 tick is 1 ns of CLOCK_MONOTONIC,
// and times are in units of us ns.
//
//	thread 7: main 100 - 900, in it work 200-300 and 400-500; used a processor until 500
//	thread 8: work 300-400; waits
func eventLog(t testing.TB, run string, us int64) *events.Log {
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

// slicesOf lists the slices of a Chrome trace but those of tasks.
func slicesOf(t *testing.T, b []byte) (out []string) {
	t.Helper()
	var f struct {
		Events []struct {
			Name  string         `json:"name"`
			Phase string         `json:"ph"`
			TID   int            `json:"tid"`
			At    float64        `json:"ts"`
			Long  float64        `json:"dur"`
			Args  map[string]any `json:"args"`
		} `json:"traceEvents"`
	}
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	for _, e := range f.Events {
		if _, task := e.Args["energy_kind"]; e.Phase == "X" && !task {
			extra := ""
			for k, v := range e.Args {
				extra += fmt.Sprintf(" %s=%v", k, v)
			}
			out = append(out, fmt.Sprintf("%d: %s %.0f-%.0f%s", e.TID, e.Name, e.At, e.At+e.Long, extra))
		}
	}
	return out
}

func TestPerfettoCalls(t *testing.T) {
	r := example(nemb.Measured)
	r.Meta.PID = 7
	b := exported(t, "perfetto", format.Options{Events: eventLog(t, r.Meta.RunID, 1000)}, r)
	free := fmt.Sprint(9 + len(r.Tasks))
	want := []string{
		free + ": running 0-500 processor=1", free + ": running partly 500-1000 processor=0.2",
		"10: waiting 0-1000 processor=0.02",
		"7: app.main</script> 100-900 source=/src/app.py:3",
		"7: app.work 200-300 source=/src/app.py:12", "7: app.work 400-500 source=/src/app.py:12",
		"8: app.work 300-400 source=/src/app.py:12",
	}
	want[2] = fmt.Sprintf("%d: waiting 0-1000 processor=0.02", 10+len(r.Tasks))
	if got := strings.Join(slicesOf(t, b), "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if !strings.Contains(string(b), `"functions":"all 4 stretches of calls"`) {
		t.Errorf("it does not say what it tells: %.600s", b)
	}
	// With a log of another order of length the longest are told, and that it is so.
	b = exported(t, "perfetto", format.Options{Events: eventLog(t, r.Meta.RunID, 1000), Slices: 1}, r)
	if got := slicesOf(t, b); len(got) != 4 || !strings.Contains(string(b),
		"the longest 1 of 4 stretches of calls: all of at least ") {
		t.Errorf("got %q in %.600s", got, b)
	}
}

func TestFirefoxCalls(t *testing.T) {
	r := example(nemb.Measured)
	b := exported(t, "firefox", format.Options{Events: eventLog(t, r.Meta.RunID, 1000)}, r)
	var f firefoxFile
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	base, _ := r.begun()
	got := map[string][]string{}
	for _, th := range f.Threads {
		if !strings.HasPrefix(th.Name, "thread ") {
			continue
		}
		for i := range th.Samples.Length {
			stack := ""
			for s := th.Samples.Stack[i]; s != nil; s = th.Stacks.Prefix[*s] {
				stack = " > " + th.Strings[th.Funcs.Name[th.Frames.Func[th.Stacks.Frame[*s]]]] + stack
			}
			at := th.Samples.Time[i]*1e3 + float64(base)/1e3
			got[th.Name] = append(got[th.Name], fmt.Sprintf("%.0f for %.0f%s", at, th.Samples.Weight[i]*1e3, stack))
		}
	}
	want := map[string][]string{
		"thread 7": {
			"100 for 100 > app.main</script>", "200 for 100 > app.main</script> > app.work",
			"300 for 100 > app.main</script>",
			"400 for 100 > app.main</script> > app.work", "500 for 400 > app.main</script>", "900 for 0",
		},
		"thread 8": {"300 for 100 > app.work", "400 for 0"},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
}

// What is told of calls does not change what is read back.
func TestHespasCalls(t *testing.T) {
	r := example(nemb.Measured)
	plain, err := readHespas(exported(t, "hespas", format.Options{}, r))
	if err != nil {
		t.Fatal(err)
	}
	b := exported(t, "hespas", format.Options{Events: eventLog(t, r.Meta.RunID, 1000)}, r)
	for _, want := range []string{`"event_name": "call:app.work"`, `"event_name": "return:app.main</script>"`,
		"all 4 stretches of calls"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is missing", want)
		}
	}
	back, err := readHespas(b)
	if err != nil {
		t.Fatal(err)
	}
	a, c := exported(t, "csv", format.Options{Chosen: map[string]string{"table": "tasks"}}, plain),
		exported(t, "csv", format.Options{Chosen: map[string]string{"table": "tasks"}}, back)
	if !bytes.Equal(a, c) || len(back.Warnings) != len(plain.Warnings) {
		t.Errorf("tasks\n%s\nand with calls\n%s, warnings %v", a, c, back.Warnings)
	}
}

func TestLogOfAnotherRun(t *testing.T) {
	r := example(nemb.Measured)
	if err := r.OfRun(eventLog(t, r.Meta.RunID, 1000)); err != nil {
		t.Error(err)
	}
	if err := r.OfRun(eventLog(t, "other", 1000)); err == nil ||
		!strings.Contains(err.Error(), "the event log of run other, and the run is "+r.Meta.RunID) {
		t.Errorf("%v", err)
	}
}

// Without a log the long calls are shown, and that there are no others.
func TestLongCallsOverTime(t *testing.T) {
	r := example(nemb.Measured)
	r.Meta.PID = 7
	site := r.Sites[0]
	r.LongCalls = []LongCall{{7, 7, site.ID, 100e6, 900e6}, {7, 7, site.ID, 200e6, 230e6}}
	if faults := r.Check(); len(faults) > 0 {
		t.Error(faults)
	}
	b := exported(t, "perfetto", format.Options{}, r)
	place := fmt.Sprintf(" source=%s:%d", site.File, site.Line)
	want := []string{"7: " + site.Name + " 100000-900000" + place, "7: " + site.Name + " 200000-230000" + place}
	if got := slicesOf(t, b); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
	if !strings.Contains(string(b), "calls of 30.0 ms and more only: no log of calls is kept") {
		t.Errorf("it does not say what it tells: %.600s", b)
	}
	if got := slicesOf(t, exported(t, "perfetto", format.Options{Slices: 1}, r)); len(got) != 1 {
		t.Errorf("one was asked for: %q", got)
	}
	if page := string(htmlOf(t, format.Options{}, r)); !strings.Contains(page,
		`"timeline":{"note":"calls of 30.0 ms and more only`) {
		t.Error("the page has no timeline")
	}
	for want, spoil := range map[string]func(*Run){
		"long_calls[0].site: 99 is no site": func(r *Run) { r.LongCalls[0].Site = 99 },
		"long_calls[1].ended_at_mono_ns: 100 is before its start, " +
			"200000000": func(r *Run) { r.LongCalls[1].EndedAtMonoNs = 100 },
		"long_calls[1].started_at_mono_ns: 5 is before that of the one " +
			"before": func(r *Run) { r.LongCalls[1].StartedAtMonoNs = 5 },
	} {
		bad := *r
		bad.LongCalls = append([]LongCall{}, r.LongCalls...)
		spoil(&bad)
		if faults := strings.Join(bad.Check(), "\n"); !strings.Contains(faults, want) {
			t.Errorf("%q, want %q", faults, want)
		}
	}
}
