package repeated_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"cg/nemb"
	"cg/report"
	"cg/report/compare"
	"cg/report/format"
	"cg/report/repeated"
	"cg/report/reporttest"
	"cg/report/saved"
)

// used is a run whose functions used so many joules, by name, each in one call of a second.
// Their names are those of functions a and b only where they are in it.
func used(t *testing.T, a, b float64) *report.Run {
	r := reporttest.Example(t, nemb.Measured)
	like := r.Functions[0]
	r.Functions, r.Sites = nil, nil
	for i, j := range []float64{a, b} {
		if j == 0 {
			continue
		}
		f, e := like, report.Joules(j*1e6)
		f.Name, f.Calls, f.SelfEnergyJ, f.InclusiveEnergyJ, f.SelfTimeS = []string{"a", "b"}[i], 1, &e, &e, 1
		f.Verdict = report.Direct
		if j < 1 {
			f.Verdict = report.Minor
		}
		r.Functions = append(r.Functions, f)
		r.Sites = append(r.Sites, report.Site{ID: uint32(i + 1), Name: f.Name, File: f.File, Line: f.Line,
			Language: f.Language, Kind: f.Kind, TextID: "text of " + f.Name})
	}
	return r
}

// repeatedly is what these runs come to.
func repeatedly(runs ...*report.Run) *repeated.Result {
	r := &repeated.Result{Warnings: []report.Warning{}, Commands: []repeated.Command{{Argv: []string{"work.py"},
		Measurements: []repeated.Measurement{}}}}
	for i, run := range runs {
		r.Add(0, i, false, run)
	}
	r.Commands[0].Summarize(false)
	r.Compare()
	return r
}

func TestFunctionsOverRuns(t *testing.T) {
	unknown := used(t, 3, 4)
	unknown.Totals.EnergyJ, unknown.Totals.ProgramEnergyJ = nil, nil
	for i := range unknown.Functions {
		unknown.Functions[i].SelfEnergyJ, unknown.Functions[i].InclusiveEnergyJ = nil, nil
	}
	r := repeatedly(used(t, 2, 3), used(t, 2.5, 0.9), used(t, 3, 0), unknown)
	if len(r.Functions) != 2 || r.Functions[0].Name != "a" {
		t.Fatalf("%+v", r.Functions)
	}
	a, b := r.Functions[0], r.Functions[1]
	if s := a.SelfEnergyJ; s.Mean != 2.5 || s.Std != 0.5 || *s.CVPercent != 20 || *s.CI95Lower >= 2.5 ||
		*s.CI95Upper <= 2.5 || a.Runs != 4 || a.Verdict != report.Direct || a.TextID != "text of a" {
		t.Errorf("%+v %+v", a, s)
	}
	if a.Calls.Mean != 1 || a.SelfTimeS.Mean != 1 || a.EnergyKind != nemb.Measured {
		t.Errorf("%+v", a)
	}
	// A run that did not call it used nothing in it.
	if s := b.SelfEnergyJ; s.Mean != 1.3 || s.Min != 0 || b.Runs != 3 || b.Calls.Mean != 0.75 ||
		b.Verdict != report.NotTold {
		t.Errorf("%+v %+v", b, s)
	}
	if share := 100 * 2.5 / r.ProgramEnergyJ.Mean; a.SharePercent == nil || *a.SharePercent != share {
		t.Errorf("%v, not %g", a.SharePercent, share)
	}
	for i, m := range r.Measurements {
		for _, c := range m.Functions {
			if want := []float64{2, 2.5, 3}; c.Function == 0 && i < 3 && c.SelfEnergyJ.Float() != want[i] {
				t.Errorf("run %d: %v", i, c.SelfEnergyJ)
			}
		}
	}
	if n := len(repeatedly(reporttest.Example(t, nemb.Unavailable)).Functions); n == 0 {
		t.Error("without energies there are no functions")
	}
	// The next to use most comes first.
	if r := repeatedly(used(t, 1, 2)); r.Functions[0].Name != "b" ||
		r.Measurements[0].Functions[0].SelfEnergyJ.Float() != 2 {
		t.Errorf("%+v", r.Functions)
	}
}

// An interval needs three runs, and no figure is below 0.
func TestIntervalOfFewRuns(t *testing.T) {
	if s := repeatedly(used(t, 2, 0), used(t, 3, 0)).Functions[0].SelfEnergyJ; s.CI95Lower != nil ||
		s.CI95Upper != nil || s.CVPercent == nil {
		t.Errorf("%+v", s)
	}
	if s := repeatedly(used(t, 1, 0), used(t, 2, 0), used(t, 9, 0)).Functions[0].SelfEnergyJ; s.CI95Lower == nil ||
		*s.CI95Lower < 0 || *s.CI95Upper <= s.Mean {
		t.Errorf("%+v", s)
	}
}

// What is written is read back, is of the schema, and is shown.
func TestFunctionsAreSaved(t *testing.T) {
	r := repeatedly(used(t, 2, 3), used(t, 2.5, 0.9), used(t, 3, 0))
	b, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	schema := reporttest.Documented(t, "repeated", repeated.Schema())
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err == nil {
		err = schema.Validate(v)
	}
	if err != nil {
		t.Error(err)
	}
	json, err := format.Named("json", r)
	if err != nil {
		t.Fatal(err)
	}
	read, err := json.Read(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := read.(*repeated.Result).JSON(); err != nil || !bytes.Equal(again, b) {
		t.Errorf("%v:\n%s", err, again)
	}
	wrong := bytes.Replace(b, []byte(`"function": 1`), []byte(`"function": 2`), 1)
	if _, err := json.Read(bytes.NewReader(wrong)); err == nil ||
		err.Error() != "measurements[0].functions[1].function: 2 is none of the 2 functions" {
		t.Error(err)
	}
	for name, wants := range map[string][]string{
		"text":     {"function  calls    self", "a             1  2.50 J", "20.0 %", "TYPE_1_DIRECT: a ("},
		"markdown": {"| <code>a</code> | 1 | 2.50 J |", "TYPE_1_DIRECT"},
		"html":     {"<td>a</td><td>1</td><td>2.50 J</td>", "<td>TYPE_1_DIRECT</td>"},
	} {
		text := string(reporttest.Write(t, name, r, format.Options{Terminal: format.Terminal{Width: 100}}))
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", name, want, text)
			}
		}
	}
}

// The schema of sessions holds for repeated runs, of commands and of programs, and for those
// that were not started.
func TestSessionSchemaHolds(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../docs/session.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	failed := report.Start("fine", "python", []string{"cg"}, "1")
	failed.Fail(127, "no such script")
	for name, r := range map[string]*repeated.Result{
		"commands": reporttest.Repeated(t, nemb.Measured, 3), "estimated": reporttest.Repeated(t, nemb.Estimated, 2),
		"program": repeatedly(used(t, 2, 3), used(t, 3, 0)), "not started": repeated.NotStarted(failed, []string{"x"}),
	} {
		b, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err == nil {
			err = schema.Validate(v)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Two runs have a spread and no interval.
func TestTwoRunsInText(t *testing.T) {
	more := used(t, 0.7, 0)
	*more.Totals.ProgramEnergyJ += 2_000_000
	text := string(reporttest.Write(t, "text", repeatedly(used(t, 0.5, 0), more),
		format.Options{Terminal: format.Terminal{Width: 100}}))
	for _, want := range []string{"\n  Program   19.0 J ± 1.41 J\n", "\na             1  600 mJ         ?  23.6 %  600 mJ  3.2 %"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "\n\n\n") {
		t.Errorf("two empty lines in\n%s", text)
	}
}

// Functions of two series are compared as those of as many runs of each side.
func TestFunctionsAreCompared(t *testing.T) {
	series := func(id string, by float64) saved.Document {
		var runs []*report.Run
		for i := range 8 {
			run := used(t, by*(2+0.01*float64(i)), 2+0.01*float64(i))
			run.Meta.RunID = id
			runs = append(runs, run)
		}
		return saved.Document{Repeated: repeatedly(runs...)}
	}
	c, err := compare.Compare(compare.Side{Names: []string{"base"}, Saved: []saved.Document{series("1", 1)}},
		compare.Side{Names: []string{"head"}, Saved: []saved.Document{series("2", 1.5)}}, compare.Options{Threshold: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]string{}
	for _, f := range c.Functions {
		verdicts[f.Name] = string(f.Verdict)
	}
	if verdicts["a"] != string(compare.Higher) || verdicts["b"] == string(compare.Higher) || len(verdicts) != 2 {
		t.Error(verdicts)
	}
}
