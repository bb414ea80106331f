package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"cg/measure"
	"cg/nemb"
	"cg/report/format"
)

func TestBaselineIsTold(t *testing.T) {
	tests := []struct {
		name, line, slug string
		base             measure.Baseline
	}{
		{"idle", "8.00 W [7.90 W, 8.10 W] before the run, over 5.00 s, idle (0.0200 of the processors in use)", "",
			measure.Baseline{Span: 5 * time.Second, Busy: .02, Use: .01,
				Domains: []measure.IdlePower{{ID: "package-0", Power: 8, Lo: 7.9, Hi: 8.1, InTotal: true},
					{ID: "core", Power: 3, Lo: 3, Hi: 3}}}},
		{"busy", "8.00 W [0 W, 8.10 W] before the run, over 5.00 s, not idle (1.00 of the processors in use)",
			"baseline-busy",
			measure.Baseline{Span: 5 * time.Second, Busy: 1, Use: .25,
				Domains: []measure.IdlePower{{ID: "package-0", Power: 8, Hi: 8.1, InTotal: true}}}},
		{"unknown", "? before the run, over 5.00 s, idle (0.0 % of the processors in use)", "baseline-unknown",
			measure.Baseline{Span: 5 * time.Second}},
	}
	for _, tt := range tests {
		r := example(nemb.Measured)
		r.baseline(&tt.base)
		slug := ""
		for _, w := range r.Warnings {
			if strings.HasPrefix(w.Slug, "baseline") {
				slug = w.Slug
			}
		}
		if slug != tt.slug || r.Baseline.Line() != tt.line {
			t.Errorf("%s: %q %q", tt.name, slug, r.Baseline.Line())
		}
		if faults := r.Check(); len(faults) > 0 {
			t.Errorf("%s: %s", tt.name, strings.Join(faults, "\n"))
		}
		b, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		validate(t, b)
		for _, f := range format.Of((*Run)(nil)) {
			var out bytes.Buffer
			if f.Name != "text" && f.Name != "markdown" {
				continue
			}
			if err := f.Write(&out, r, format.Options{Terminal: format.Terminal{Width: 120}}); err != nil {
				t.Fatal(err)
			}
			if s := out.String(); !strings.Contains(s, "before the run, over 5.00 s") {
				t.Errorf("%s: %s:\n%s", tt.name, f.Name, s)
			}
		}
	}

	r := example(nemb.Measured)
	r.warnings(Facts{Outcome: &measure.Outcome{}, NoBaseline: true})
	if !slices.ContainsFunc(r.Warnings, func(w Warning) bool { return w.Slug == "baseline-unused" }) {
		t.Errorf("%+v", r.Warnings)
	}
}

func TestCheckOfBaseline(t *testing.T) {
	for field, spoil := range map[string]func(r *Run){
		"baseline.idle": func(r *Run) { r.Baseline.Idle = false },
		"baseline.domains.package-0": func(r *Run) {
			r.Baseline.Domains["package-0"] = IdlePower{PowerW: 9,
				PowerHiW: 8}
		},
	} {
		r := example(nemb.Measured)
		r.baseline(&measure.Baseline{Span: time.Second,
			Domains: []measure.IdlePower{{ID: "package-0", Power: 8, Lo: 7, Hi: 9, InTotal: true}}})
		spoil(r)
		if faults := r.Check(); len(faults) != 1 || !strings.HasPrefix(faults[0], field+": ") {
			t.Errorf("%s: %q", field, faults)
		}
	}
}

// Where nobody knows what others used, the report says so, if a counter's energy depends on it.
func TestOthersUnknownIsTold(t *testing.T) {
	for _, tt := range []struct {
		unknown bool
		method  nemb.Method
		want    bool
		rank    bool
	}{
		{true, nemb.Measured, true, false}, {false, nemb.Measured, false, false}, {true, nemb.Estimated, false, false},
		{true, nemb.Derived, true, true},
	} {
		r := example(nemb.Measured)
		domain := nemb.Domain{InTotal: true, Method: tt.method, Program: tt.rank}
		r.others(&measure.Outcome{OthersUnknown: tt.unknown, Domains: []nemb.Domain{domain}})
		told := slices.ContainsFunc(r.Warnings, func(w Warning) bool { return w.Slug == "others-unknown" })
		if told != tt.want {
			t.Errorf("%+v: %+v", tt, r.Warnings)
		}
	}
}
