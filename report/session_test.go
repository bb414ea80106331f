package report

import (
	"encoding/json"
	"strings"
	"testing"

	"cg/docs"
	"cg/nemb"
	"cg/report/format"
)

// One schema holds for what sessions, measure and run write.
func TestSessionSchemaHoldsForReports(t *testing.T) {
	schema := oracle(t, docs.SessionSchema)
	var texts [][]byte
	for _, kind := range []nemb.Method{nemb.Measured, nemb.Estimated, nemb.Unavailable} {
		for _, r := range []*Run{example(kind), suite(kind), hostile()} {
			b, err := r.JSON()
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, b)
		}
	}
	for _, b := range texts {
		var v any
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%v\n%.200s", err, b)
		}
	}
}

const session = `{"meta": {"schema_version": "1", "tool": "codegreen.Session", "session_name": "s", "measurement_quality": "no_backend"},
"tasks": [{"name": "a", "depth": 0, "parent": null, "energy_j": null, "duration_s": 2, "started_at_mono_ns": 5, "ended_at_mono_ns": 7, "energy_kind": "unavailable",
  "timeseries": [{"t_ns": 6, "energy_j": null, "power_w": null, "domain_j": {}, "domain_w": {}}], "noise": null}],
"totals": {"energy_j": null, "energy_kind": "unavailable", "task_duration_s": 2, "duration_s": 2, "wall_duration_s": 3, "gap_duration_s": 1, "n_tasks": 1, "n_top_level_tasks": 1,
  "noise_warnings": [{"task": "a"}]}, "warnings": [{"slug": "no-backend", "message": "nothing"}]}`

// A session without energies is shown and agrees; formats that have no place for
// it say so, and a file that is none is refused.
func TestReadSession(t *testing.T) {
	r, err := Read([]byte(session))
	if err != nil {
		t.Fatal(err)
	}
	if faults := r.Check(); len(faults) > 0 {
		t.Error(faults)
	}
	text := textOf(t, r, format.Terminal{})
	for _, want := range []string{"Energy  ?  no backend", "\na ", "no-backend: nothing"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for name, want := range map[string]string{"html": "", "csv": "", "svg": "", "png": "", "perfetto": "",
		"pprof": "which pprof cannot show", "json": "which json cannot show"} {
		f, err := format.Named(name, (*Run)(nil))
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		err = f.Write(&b, Together([]*Run{r}), format.Options{Chosen: map[string]string{"table": "tasks"}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	f, _ := format.Named("html", (*Run)(nil))
	if err := f.Write(&strings.Builder{}, Together([]*Run{r, r}), format.Options{}); err == nil ||
		!strings.Contains(err.Error(), "side by side") {
		t.Error(err)
	}
	for old, want := range map[string]string{
		`"energy_kind": "unavailable", "task_duration_s"`: "no totals.energy_kind",
		`"depth": 0`:    "no task is around it",
		`"warnings": [`: "not a session's file",
	} {
		broken := strings.NewReplacer(`"energy_kind": "unavailable", "task_duration_s"`, `"task_duration_s"`,
			`"depth": 0`, `"depth": 2`, `"warnings": [`, `"warnings": [1, `)
		text := session
		if i := strings.Index(text, old); i >= 0 {
			text = text[:i] + broken.Replace(old) + text[i+len(old):]
		}
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", old, err, want)
		}
	}
}
