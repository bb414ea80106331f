package hespas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"cg/nemb"
	"cg/report"
	"cg/report/format"
	"cg/report/reporttest"
)

// What HESPAS' CounterEventStream.from_json takes: every field and no other
// one. A time is held to an integer, the only form that keeps nanoseconds.
const hespasRules = `{"type":"object","required":["version","metadata","events"],"additionalProperties":false,"properties":{
 "version":{"type":"string","pattern":"^\\d+\\.\\d+\\.\\d+$"},"metadata":{"type":"object"},
 "events":{"type":"array","items":{"type":"object","required":["event_name","timestamp","timeunit","metadata"],"additionalProperties":false,"properties":{
  "event_name":{"type":"string"},"timestamp":{"type":"integer"},"timeunit":{"const":"ns"},"metadata":{"type":"object"}}}}}}`

func TestHespasRules(t *testing.T) {
	rules, err := jsonschema.UnmarshalJSON(strings.NewReader(hespasRules))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("hespas.json", rules); err != nil {
		t.Fatal(err)
	}
	schema := c.MustCompile("hespas.json")
	reporttest.GoldenKinds(t, "hespas", "hespas.json", format.Options{})
	for name, run := range map[string]*report.Run{
		"measured": reporttest.Example(t, nemb.Measured), "estimated": reporttest.Example(t, nemb.Estimated), "unknown": reporttest.Example(t, nemb.Unavailable),
		"tasks": reporttest.Suite(t, nemb.Measured), "hostile": reporttest.Hostile(t),
	} {
		run.Meta.EndedAt, run.Meta.EndedAtLocal, run.Meta.DurationTotalS = "2026-01-02T03:04:06.000000+00:00", "", 1
		for i := range run.Tasks {
			run.Tasks[i].StartedAt, run.Tasks[i].EndedAt = 1000, 1001
		}
		b := reporttest.Write(t, "hespas", run, format.Options{})
		reporttest.Golden(t, filepath.Join("testdata", name+".hespas.json"), b)
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, c := range b {
			if c < ' ' || c > '~' {
				t.Fatalf("%s: byte %q", name, c)
			}
		}
		// Everything that a stream holds comes back.
		again, err := read(b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		told := *run
		told.LongCalls = nil // which a reader leaves out
		run := &told
		for _, o := range []struct {
			format string
			format.Options
		}{{"csv", format.Options{Chosen: map[string]string{"table": "tasks"}}},
			{"csv", format.Options{Chosen: map[string]string{"table": "samples"}}}, {"hespas", format.Options{}},
			{"perfetto", format.Options{}}} {
			if got, want := reporttest.Write(t, o.format, again, o.Options),
				reporttest.Write(t, o.format, run, o.Options); !bytes.Equal(got, want) {
				t.Errorf("%s: %s %v comes back as\n%.2000s\nnot\n%.2000s", name, o.format, o.Chosen, got, want)
			}
		}
		got, want := string(reporttest.Write(t, "text", again, format.Options{})),
			string(reporttest.Write(t, "text", run, format.Options{}))
		if head := want[:strings.Index(want, "\n\n")]; !strings.HasPrefix(got, head) {
			t.Errorf("%s: text begins\n%s\nnot\n%s", name, got, head)
		}
		// What it does not hold is not made up.
		for _, f := range format.Of((*report.Run)(nil)) {
			if f.IsFolder(again) {
				continue // its own tests write it
			}
			if err := f.Write(&bytes.Buffer{}, report.Together([]*report.Run{again}),
				format.Options{Chosen: map[string]string{"table": "tasks"}}); (err == nil) != (f.Parts || f.Picture) {
				t.Errorf("%s: %v", f.Name, err)
			}
		}
	}
}

func TestHespasOfOthers(t *testing.T) {
	stream := func(events ...string) []byte {
		return []byte(`{"version": "0.0.1", "metadata": {"totals": 3}, "events": [` + strings.Join(events, ",") + `]}`)
	}
	event := func(name, at, unit string) string {
		return fmt.Sprintf(`{"event_name": %q, "timestamp": %s, "timeunit": %q, "metadata": {"energy_j": "much"}}`,
			name, at, unit)
	}
	for _, c := range []struct {
		b    []byte
		want string // name depth start end parent, of each task
		left bool
	}{
		{stream(event("enter:a", "1", "s"), event("exit:a", "2.5", "s")), "a 0 1000000000 2500000000 -", false},
		// in any order
		{stream(event("exit:a", `"12.0"`, "ms"), event("enter:a", `"3"`, "us")), "a 0 3000 12000000 -", false},
		{stream(event("enter:a", "1714155600123456789", "ns"), event("exit:a", `"1714155600123456790"`, "ns")),
			"a 0 1714155600123456789 1714155600123456790 -", false},
		{stream(event("enter:a", "0", "ns"), event("enter:a", "1e3", "ns"), event("exit:a", "2e3", "ns"),
			event("exit:a", "3e3", "ns")), "a 0 0 3000 -, a 1 1000 2000 a", false},
		{stream(event("enter:a", "-5", "ns"), event("enter:b", "1", "ns"), event("exit:a", "2", "ns"),
			event("exit:c", "2", "ns")), "a 0 -5 2 -", true},
		{stream(event("enter:a", "0", "ns"), event("exit:a", "1", "ns"), event("sample", "1", "ns"),
			event("sample", "2", "ns")), "a 0 0 1 -", true},
	} {
		r, err := read(c.b)
		if err != nil {
			t.Errorf("%s: %v", c.b, err)
			continue
		}
		var tasks []string
		for _, k := range r.Tasks {
			parent := "-"
			if k.Parent != nil {
				parent = *k.Parent
			}
			tasks = append(tasks, fmt.Sprint(k.Name, " ", k.Depth, " ", k.StartedAtMonoNs, " ", k.EndedAtMonoNs, " ",
				parent))
			if k.EnergyJ != nil || k.Kind != nemb.Unavailable || k.DurationS <= 0 {
				t.Errorf("%s: %+v", c.b, k)
			}
		}
		if got := strings.Join(tasks, ", "); got != c.want || (len(r.Warnings) == 1) != c.left {
			t.Errorf("%s: %s, %v, want %s", c.b, got, r.Warnings, c.want)
		}
	}
	good := event("enter:a", "1", "ns")
	for want, b := range map[string][]byte{
		"it ends in the middle": stream(good)[:60],
		"line 1: version: a number stands where a text " +
			"belongs": []byte(`{"version": 1, "metadata": {}, "events": []}`),
		"it has no version":                  []byte(`{"metadata": {}, "events": []}`),
		`version "1.0" is not three numbers`: []byte(`{"version": "1.0", "metadata": {}, "events": []}`),
		"it has no object metadata":          []byte(`{"version": "0.0.1", "metadata": [], "events": []}`),
		"it has no events":                   []byte(`{"version": "0.0.1", "metadata": {}}`),
		`unknown field "more"`:               []byte(`{"version": "0.0.1", "metadata": {}, "events": [], "more": 1}`),
		"something follows it":               append(stream(good), '{'),
		"none of its 0 events is a task":     stream(),
		"none of its 1 events is a task":     stream(good),
		"events[0] has no event_name":        stream(`{"timestamp": 1, "timeunit": "ns", "metadata": {}}`),
		"events[1] has no timeunit": stream(good,
			`{"event_name": "x", "timestamp": 1, "metadata": {}}`),
		"events[0] has no object metadata":                   stream(`{"event_name": "x", "timestamp": 1, "timeunit": "ns", "metadata": null}`),
		`events[0].timeunit: "" is none of ns, us, ms and s`: stream(event("x", "1", "")),
		"events[0].timestamp: nothing is not a time in " +
			"ns": stream(`{"event_name": "x", "timeunit": "ns", "metadata": {}}`),
		"events[0].timestamp: null is not a time in ns":      stream(event("x", "null", "ns")),
		"events[0].timestamp: nan is not a time in s":        stream(event("x", `"nan"`, "s")),
		"events[0].timestamp: 1e400 is not a time in ns":     stream(event("x", "1e400", "ns")),
		"events[0].timestamp: 9223372037 is not a time in s": stream(event("x", "9223372037", "s")),
		"events[0].timestamp: [1] is not a time in ns":       stream(event("x", "[1]", "ns")),
		"events[0].metadata: report: \"-1\" is not an energy " +
			"in": stream(`{"event_name": "sample", "timestamp": 1, "timeunit": "ns", "metadata": {"domain_j": {"cpu": -1}}}`),
	} {
		if _, err := read(b); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", b, err, want)
		}
	}
	newer := bytes.Replace(stream(good, event("exit:a", "2", "ns")), []byte("0.0.1"), []byte("0.1.0"), 1)
	if r, err := read(newer); err != nil || len(r.Warnings) != 1 || r.Warnings[0].Slug != "hespas-version" {
		t.Errorf("%+v, %v", r, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"version": "0.0.1", "metadata": {}, "events": [{"event_name": "enter:a", "timestamp": 1, "timeunit": "s", "metadata": {"task": 0, "energy_kind": "measured"}}, {"event_name": "exit:a", "timestamp": "2", "timeunit": "s", "metadata": {}}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := read(b)
		if err != nil {
			return
		}
		// What is read is written, and is read again as it was.
		once := reporttest.Write(t, "hespas", r, format.Options{})
		again, err := read(once)
		if err != nil {
			t.Fatalf("%s: %v", once, err)
		}
		if !json.Valid(once) || len(again.Tasks) != len(r.Tasks) || len(again.Samples) != len(r.Samples) {
			t.Errorf("%s", once)
		}
	})
}

// What is told of calls does not change what is read back.
func TestHespasCalls(t *testing.T) {
	r := reporttest.Example(t, nemb.Measured)
	plain, err := read(reporttest.Write(t, "hespas", r, format.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	b := reporttest.Write(t, "hespas", r, format.Options{Events: reporttest.EventLog(t, r.Meta.RunID, 1000)})
	for _, want := range []string{`"event_name": "call:app.work"`, `"event_name": "return:app.main</script>"`,
		"all 4 stretches of calls"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is missing", want)
		}
	}
	back, err := read(b)
	if err != nil {
		t.Fatal(err)
	}
	a, c := reporttest.Write(t, "csv", plain, format.Options{Chosen: map[string]string{"table": "tasks"}}),
		reporttest.Write(t, "csv", back, format.Options{Chosen: map[string]string{"table": "tasks"}})
	if !bytes.Equal(a, c) || len(back.Warnings) != len(plain.Warnings) {
		t.Errorf("tasks\n%s\nand with calls\n%s, warnings %v", a, c, back.Warnings)
	}
}
