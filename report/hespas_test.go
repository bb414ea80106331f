package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"cg/nemb"
	"cg/report/format"
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
	for name, run := range map[string]*Run{
		"measured": example(nemb.Measured), "estimated": example(nemb.Estimated), "unknown": example(nemb.Unavailable),
		"tasks": suite(nemb.Measured), "hostile": hostile(),
	} {
		run.Meta.EndedAt, run.Meta.EndedAtLocal, run.Meta.DurationTotalS = "2026-01-02T03:04:06.000000+00:00", "", 1
		for i := range run.Tasks {
			run.Tasks[i].StartedAt, run.Tasks[i].EndedAt = 1000, 1001
		}
		b := exported(t, "hespas", format.Options{}, run)
		golden(t, filepath.Join("testdata", name+".hespas.json"), b)
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
		again, err := readHespas(b)
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
			if got, want := exported(t, o.format, o.Options, again),
				exported(t, o.format, o.Options, run); !bytes.Equal(got, want) {
				t.Errorf("%s: %s %v comes back as\n%.2000s\nnot\n%.2000s", name, o.format, o.Chosen, got, want)
			}
		}
		got, want := string(exported(t, "text", format.Options{}, again)),
			string(exported(t, "text", format.Options{}, run))
		if head := want[:strings.Index(want, "\n\n")]; !strings.HasPrefix(got, head) {
			t.Errorf("%s: text begins\n%s\nnot\n%s", name, got, head)
		}
		// What it does not hold is not made up.
		for _, f := range format.Of((*Run)(nil)) {
			if err := f.Write(&bytes.Buffer{}, Together([]*Run{again}),
				format.Options{Chosen: map[string]string{"table": "tasks"}}); (err == nil) != f.Parts {
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
		r, err := readHespas(c.b)
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
		if _, err := readHespas(b); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", b, err, want)
		}
	}
	newer := bytes.Replace(stream(good, event("exit:a", "2", "ns")), []byte("0.0.1"), []byte("0.1.0"), 1)
	if r, err := readHespas(newer); err != nil || len(r.Warnings) != 1 || r.Warnings[0].Slug != "hespas-version" {
		t.Errorf("%+v, %v", r, err)
	}
}

func FuzzReadHespas(f *testing.F) {
	f.Add([]byte(`{"version": "0.0.1", "metadata": {}, "events": [{"event_name": "enter:a", "timestamp": 1, "timeunit": "s", "metadata": {"task": 0, "energy_kind": "measured"}}, {"event_name": "exit:a", "timestamp": "2", "timeunit": "s", "metadata": {}}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := readHespas(b)
		if err != nil {
			return
		}
		// What is read is written, and is read again as it was.
		once := exported(t, "hespas", format.Options{}, r)
		again, err := readHespas(once)
		if err != nil {
			t.Fatalf("%s: %v", once, err)
		}
		if !json.Valid(once) || len(again.Tasks) != len(r.Tasks) || len(again.Samples) != len(r.Samples) {
			t.Errorf("%s", once)
		}
	})
}
