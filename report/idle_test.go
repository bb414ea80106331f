package report

import (
	"bytes"
	"strings"
	"testing"

	"cg/measure"
	"cg/nemb"
	"cg/nemb/attribute"
	"cg/report/format"
)

// idleRun is the measured example with an idle power of its package, and of a part of it.
func idleRun(p nemb.IdlePower) *Run {
	r := example(nemb.Measured)
	e := energies{kind: nemb.Measured, domains: []nemb.Domain{
		{ID: "package-0", InTotal: true, Method: nemb.Measured}, {ID: "core", Method: nemb.Measured}, {ID: "gpu0", InTotal: true},
	}}
	e.result = attribute.Result{Total: attribute.Ledger{Total: 1},
		Idle: []nemb.IdlePower{p, {Power: 1, Hi: 2, Method: nemb.IdlePublished}, {}}}
	r.idlePower(e)
	return r
}

// The report says what idle power was set aside, in which interval it lies and where it is from.
func TestIdleIsTold(t *testing.T) {
	for method, words := range idleWords {
		r := idleRun(nemb.IdlePower{Power: 4, Lo: 3.9, Hi: 4.2, Method: method})
		if method == nemb.IdleBaseline {
			r.baseline(&measure.Baseline{Span: 1e9,
				Domains: []measure.IdlePower{{ID: "package-0", Power: 4, Lo: 3.9, Hi: 4.2, InTotal: true}}})
		}
		if faults := r.Check(); len(faults) > 0 {
			t.Errorf("%s: %s", method, strings.Join(faults, "\n"))
		}
		if line := "4.00 W [3.90 W, 4.20 W], " + words; r.Idle.Line() != line || len(r.Idle.Domains) != 2 {
			t.Errorf("%s: %s, want %s", method, r.Idle.Line(), line)
		}
		b, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		validate(t, b)
		for _, f := range format.Of((*Run)(nil)) {
			if f.Name != "text" && f.Name != "markdown" {
				continue
			}
			var out bytes.Buffer
			if err := f.Write(&out, r, format.Options{Terminal: format.Terminal{Width: 120}}); err != nil {
				t.Fatal(err)
			}
			model := method == nemb.IdleModel
			own := !model && method != nemb.IdleBaseline
			if s := out.String(); strings.Contains(s, "("+string(method)+")") == model || strings.Contains(s, words) != own {
				t.Errorf("%s: %s:\n%s", method, f.Name, s)
			}
		}
	}
	if r := idleRun(nemb.IdlePower{}); r.Idle != nil || len(r.Check()) > 0 {
		t.Errorf("%+v", r.Idle)
	}
}

func TestCheckOfIdle(t *testing.T) {
	for field, spoil := range map[string]func(r *Run){
		"idle_power": func(r *Run) { r.Idle.PowerW = 3 },
		"idle_power.domains.core": func(r *Run) {
			r.Idle.Domains["core"] = IdleOfOne{PowerW: 9, PowerHiW: 8, Method: nemb.IdleRun}
		},
		"idle_power.idle_method":       func(r *Run) { r.Ledger[3].Source = "published" },
		"ledger[0] (functions).source": func(r *Run) { r.Ledger[0].Source = "run" },
		"ledger (idle).source":         func(r *Run) { r.Idle = nil },
	} {
		r := idleRun(nemb.IdlePower{Power: 4, Lo: 3.9, Hi: 4.2, Method: nemb.IdleRun})
		spoil(r)
		if faults := r.Check(); len(faults) != 1 || !strings.HasPrefix(faults[0], field+": ") {
			t.Errorf("%s: %q", field, faults)
		}
	}
	// A word that names no way.
	r := idleRun(nemb.IdlePower{Power: 4, Lo: 3.9, Hi: 4.2, Method: "guess"})
	if faults := r.Check(); len(faults) != 1 || !strings.HasPrefix(faults[0], "idle_power.domains.package-0: ") {
		t.Errorf("%q", faults)
	}
}
