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
	for _, want := range []string{"Machine  ?  no backend", "\na ", "no-backend: nothing"} {
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

const sharedSession = `{"meta": {"schema_version": "2", "tool": "codegreen.Session", "session_name": "s", "measurement_quality": "ok",
  "domain_topology": {"package-0": {"top_level": true, "kind": "cpu_package", "includes": []}}},
"tasks": [
  {"name": "a", "depth": 0, "parent": null, "energy_j": 20, "energy_lo_j": 19, "energy_hi_j": 21, "program_energy_j": 8, "program_energy_lo_j": 7, "program_energy_hi_j": 9,
   "duration_s": 1, "started_at_mono_ns": 1000000000, "ended_at_mono_ns": 2000000000, "energy_kind": "measured", "domains": {"package-0": 20}},
  {"name": "b", "depth": 1, "parent": "a", "energy_j": 5, "energy_lo_j": 4, "energy_hi_j": 6, "program_energy_j": 3, "program_energy_lo_j": 2, "program_energy_hi_j": 4,
   "duration_s": 0.25, "started_at_mono_ns": 1000000000, "ended_at_mono_ns": 1250000000, "energy_kind": "measured", "domains": {"package-0": 5}}],
"totals": {"energy_j": 20, "energy_lo_j": 19, "energy_hi_j": 21, "energy_kind": "measured", "domains": {"package-0": 20},
  "program_energy_j": 8, "program_energy_lo_j": 7, "program_energy_hi_j": 9,
  "task_duration_s": 1, "duration_s": 1, "wall_duration_s": 3, "gap_duration_s": 2, "n_tasks": 2, "n_top_level_tasks": 1}, "warnings": []}`

// The program's share of a session is shown beside the machine's energy, is what its call
// paths have, and agrees; a file without it is one of the machine alone.
func TestSharesOfSessions(t *testing.T) {
	r, err := Read([]byte(sharedSession))
	if err != nil {
		t.Fatal(err)
	}
	if faults := r.Check(); len(faults) > 0 || r.Undivided() {
		t.Error(faults)
	}
	if e := *r.Totals.ProgramEnergyJ; e != 8_000_000 || *r.Paths[1].SelfEnergyJ != 5_000_000 || *r.Paths[2].SelfEnergyJ != 3_000_000 {
		t.Errorf("%d uJ, %+v", e, r.Paths)
	}
	text := textOf(t, r, format.Terminal{})
	for _, want := range []string{"Program  8.00 J  [7.00 J, 9.00 J]", "task  energy  program", "  b   5.00 J   3.00 J"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, fault := range []struct{ old, new, want string }{
		{"\n  \"program_energy_j\": 8,", "\n  \"program_energy_j\": 8.5,", "totals.program_energy_j: 8.5 J, but the tasks at the top level"},
		{`"program_energy_j": 3,`, `"program_energy_j": 5.5,`, "tasks[2] (b).program_energy_j: 5.5 J, which is more than the machine's"},
		{`"program_energy_lo_j": 2`, `"program_energy_lo_j": 3.5`, "tasks[2] (b).program_energy_j: 3 J is below its interval"},
	} {
		r, err := Read([]byte(strings.Replace(sharedSession, fault.old, fault.new, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if faults := strings.Join(r.Check(), "\n"); !strings.Contains(faults, fault.want) {
			t.Errorf("no %q in %q", fault.want, faults)
		}
	}
	alone := strings.ReplaceAll(sharedSession, `"program_energy_`, `"later_`)
	nulls := strings.NewReplacer(`"program_energy_j": 8`, `"program_energy_j": null`, `"program_energy_lo_j": 7`, `"program_energy_lo_j": null`,
		`"program_energy_hi_j": 9`, `"program_energy_hi_j": null`).Replace(sharedSession)
	for _, text := range []string{alone, nulls} {
		r, err := Read([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if faults := r.Check(); len(faults) > 0 || !r.Undivided() || *r.Totals.ProgramEnergyJ != 20_000_000 || r.Tasks[1].ProgramShare != nil {
			t.Error(faults, r.Tasks[1])
		}
	}
}
