package report

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute"
	"cg/report/format"
)

// What the attribution does not resolve is said of the function, in text and in a
// warning, and single calls are told.
func TestResolve(t *testing.T) {
	domains := []nemb.Domain{{ID: "package-0", Method: nemb.Measured, Source: "powercap", InTotal: true, Lo: 1, Hi: 1}}
	value := func(e nemb.Energy) attribute.Value { return attribute.Value{Energy: e, Lo: 0, Hi: 2 * e} }
	one := []nemb.Energy{1_000_000}
	result := attribute.Result{
		Wall:    time.Second,
		Total:   attribute.Ledger{Functions: 3_000_000, Total: 3_000_000, ProgramHi: 3_000_000},
		Domains: []attribute.Ledger{{Functions: 3_000_000, Total: 3_000_000}},
		Costs: []attribute.Cost{
			{Site: 1, Calls: 4, Self: value(1_000_000), Inclusive: value(1_000_000), Domains: one,
				Method: attribute.Regression, Reason: attribute.Collinear, Group: []checkpoint.SiteID{2, 0}},
			{Site: 2, Calls: 2, Self: value(1_000_000), Inclusive: value(1_000_000), Domains: one,
				Method: attribute.TimeShare, Reason: attribute.TooLittle, Cut: 1},
			{Site: 3, Calls: 2, Self: value(1_000_000), Inclusive: value(1_000_000), Domains: one,
				Method: attribute.Regression,
				Single: attribute.Calls{N: 2, Min: 400_000, Median: 400_000, P95: 600_000, Max: 600_000,
					Mean: 500_000, Bracketed: 2}},
		},
	}
	sites := []checkpoint.Site{{ID: 1, Func: "a"}, {ID: 2, Func: "b"}, {ID: 3, Func: "c"}}
	r := &Run{}
	r.Attributed(domains, result, sites)
	a, b, c := r.Functions[0], r.Functions[1], r.Functions[2]
	if a.Unresolved != "collinear" || !slices.Equal(a.UnresolvedWith, []string{"b", LineUninstrumented}) ||
		a.EnergyMethod != "regression" || a.EnergySource != "powercap" {
		t.Errorf("%+v", a)
	}
	if b.Unresolved != "too little time" || b.UnresolvedWith != nil || b.EnergyMethod != "time-share" ||
		b.CallsCut != 1 || b.CallsEnergy.N != 0 || b.CallsEnergy.MinJ != nil {
		t.Errorf("%+v", b)
	}
	want := CallsEnergy{MeanJ: 0.5, MeanHiJ: 1, N: 2, MinJ: joules(400_000), MedianJ: joules(400_000),
		P95J: joules(600_000), MaxJ: joules(600_000), Method: "bracket"}
	if c.Unresolved != "" || !reflect.DeepEqual(*c.CallsEnergy, want) {
		t.Errorf("%+v %+v", c, c.CallsEnergy)
	}
	if len(r.Warnings) != 1 || r.Warnings[0].Slug != "not-resolvable" ||
		!strings.Contains(r.Warnings[0].Message, "2 functions with 67 %") {
		t.Errorf("%+v", r.Warnings)
	}
	text := strings.Join(strings.Fields(textOf(t, r, format.Terminal{Width: 200})), " ")
	for _, want := range []string{"not resolvable: a (collinear with b, uninstrumented); b (too little time)",
		"a call", "500 mJ", "regression:"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	none := &Run{}
	result.Total, result.Domains = attribute.Ledger{}, nil
	none.Attributed(nil, result, sites)
	if f := none.Functions[0]; f.Unresolved != NoSensor || f.CallsEnergy != nil || len(none.Warnings) != 0 {
		t.Errorf("%+v %+v", f, none.Warnings)
	}
}

// Where powers were found that waits for processors make too alike, the warning says so, and what helps.
func TestWaitsAreTheReason(t *testing.T) {
	for _, of := range []struct {
		method string
		want   bool
	}{{attribute.Regression, true}, {attribute.TimeShare, false}} {
		r := &Run{Functions: []Function{{Name: "a", SelfEnergyJ: joules(5), Unresolved: string(attribute.Noisy), EnergyMethod: of.method}}}
		r.Totals.Kind = nemb.Measured
		r.unresolved()
		if len(r.Warnings) != 1 || strings.Contains(r.Warnings[0].Message, "; 1 of them share by a power that is near to the mean") != of.want {
			t.Errorf("%s: %+v", of.method, r.Warnings)
		}
	}
}
