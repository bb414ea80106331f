package report

import (
	"slices"
	"strings"
	"testing"

	"cg/nemb"
	"cg/report/format"
)

// fn is a function with exact energies in millijoules.
func fn(name string, calls uint64, self, inclusive Joules) Function {
	f := Function{Name: name, Calls: calls}
	set := func(to []**Joules, mJ Joules) {
		for _, p := range to {
			e := mJ * 1000
			*p = &e
		}
	}
	set([]**Joules{&f.SelfEnergyJ, &f.SelfEnergyLoJ, &f.SelfEnergyHiJ}, self)
	set([]**Joules{&f.InclusiveEnergyJ, &f.InclusiveEnergyLoJ, &f.InclusiveEnergyHiJ}, inclusive)
	return f
}

// judged is a run of 100 J, all of it the program's, with these functions.
func judged(functions ...Function) *Run {
	r := &Run{Functions: functions}
	t := &r.Totals
	t.Kind = nemb.Measured
	for _, p := range []**Joules{&t.EnergyJ, &t.LoJ, &t.HiJ, &t.ProgramEnergyJ, &t.ProgramEnergyLoJ,
		&t.ProgramEnergyHiJ} {
		e := Joules(100e6)
		*p = &e
	}
	return r
}

func verdictsOf(r *Run) map[string]Verdict {
	r.judge()
	out := map[string]Verdict{}
	for _, f := range r.Functions {
		out[f.Name] = f.Verdict
	}
	return out
}

func TestVerdicts(t *testing.T) {
	// Five functions at 1 J a call make the median.
	plain := []Function{fn("a", 1, 1000, 1000), fn("b", 1, 1000, 1000), fn("c", 1, 1000, 1000),
		fn("d", 1, 1000, 1000), fn("e", 1, 1000, 1000)}
	for _, test := range []struct {
		what string
		f    Function
		want Verdict
	}{
		{"its callees use it", fn("f", 1, 500, 60_000), Wrapper},
		{"its callees use it, and it is little", fn("f", 1, 10, 4_900), Minor},
		{"a fifth is its own", fn("f", 10, 12_000, 60_000), Direct},
		{"a call costs 20 times the median", fn("f", 1, 20_000, 20_000), Inefficient},
		{"a call costs 3 times the median", fn("f", 4, 12_000, 12_000), Inefficient},
		{"a call costs less than 3 times", fn("f", 5, 12_000, 12_000), Direct},
		{"dear calls, less than 5 %", fn("f", 1, 4_900, 4_900), Direct},
		{"many cheap calls", fn("f", 100_001, 40_000, 40_000), Frequent},
		{"as many as are not many", fn("f", 100_000, 40_000, 40_000), Direct},
		{"many calls, and little", fn("f", 1_000_000, 2_999, 2_999), Minor},
		{"little", fn("f", 5, 2_000, 2_000), Minor},
		{"nothing", fn("f", 5, 0, 0), Minor},
	} {
		if got := verdictsOf(judged(append(slices.Clone(plain), test.f)...))["f"]; got != test.want {
			t.Errorf("%s: %s, not %s", test.what, got, test.want)
		}
	}
}

// An interval that reaches over a threshold leaves the verdict open.
func TestVerdictsOfIntervals(t *testing.T) {
	at := func(lo, e, hi Joules) Function {
		f := fn("f", 5, e, e)
		lo, hi = lo*1000, hi*1000
		f.SelfEnergyLoJ, f.InclusiveEnergyLoJ, f.SelfEnergyHiJ, f.InclusiveEnergyHiJ = &lo, &lo, &hi, &hi
		return f
	}
	others := []Function{fn("a", 1, 1000, 1000), fn("b", 1, 1000, 1000), fn("c", 1, 1000, 1000)}
	for _, test := range []struct {
		what string
		f    Function
		want Verdict
	}{
		{"all of it above 3 %", at(3_100, 4_000, 4_900), Direct},
		{"from below 3 %", at(2_900, 4_000, 4_900), NotTold},
		{"all of it below", at(1_000, 2_000, 2_900), Minor},
		{"to above 3 %", at(1_000, 2_000, 3_100), NotTold},
		{"to where a call is dear", at(6_000, 10_000, 16_000), Direct},
	} {
		if got := verdictsOf(judged(append(slices.Clone(others), test.f)...))["f"]; got != test.want {
			t.Errorf("%s: %s, not %s", test.what, got, test.want)
		}
	}

	// Most functions may have used nothing, so nothing is known to be dear or cheap by the median.
	small := func(name string) Function {
		f, none := fn(name, 1, 1000, 1000), Joules(0)
		f.SelfEnergyLoJ, f.InclusiveEnergyLoJ = &none, &none
		return f
	}
	for calls, want := range map[uint64]Verdict{50: Direct, 10: Inefficient, 100_001: NotTold} {
		f := fn("f", calls, 40_000, 40_000)
		if got := verdictsOf(judged(small("a"), small("b"), small("c"), small("d"), f))["f"]; got != want {
			t.Errorf("40 %% in %d calls: %s, not %s", calls, got, want)
		}
	}

	unknown := fn("f", 5, 40_000, 40_000)
	unknown.SelfEnergyHiJ = nil
	if got := verdictsOf(judged(append(others, unknown)...))["f"]; got != NotTold {
		t.Errorf("nothing bounds its energy, and it is %s", got)
	}
	none := judged(Function{Name: "f", Calls: 1})
	none.Totals = Totals{}
	if got := verdictsOf(none)["f"]; got != NotTold {
		t.Errorf("no energy is known, and it is %s", got)
	}
}

// What an estimate may be off by is the same for the program and its functions.
func TestVerdictsOfAnEstimate(t *testing.T) {
	exact := judged(fn("main", 1, 500, 100_000), fn("f", 5, 40_000, 40_000), fn("g", 5, 2_000, 2_000))
	want := verdictsOf(exact)
	half := func(j **Joules, by float64) {
		e := Joules(float64(**j) * by)
		*j = &e
	}
	r := judged(exact.Functions...)
	for i := range r.Functions {
		f := &r.Functions[i]
		half(&f.SelfEnergyLoJ, 0.5)
		half(&f.InclusiveEnergyLoJ, 0.5)
		half(&f.SelfEnergyHiJ, 1.5)
		half(&f.InclusiveEnergyHiJ, 1.5)
	}
	half(&r.Totals.LoJ, 0.5)
	half(&r.Totals.ProgramEnergyLoJ, 0.5)
	half(&r.Totals.HiJ, 1.5)
	half(&r.Totals.ProgramEnergyHiJ, 1.5)
	for name, v := range verdictsOf(r) {
		if v != want[name] || v == NotTold {
			t.Errorf("%s: %s, not %s", name, v, want[name])
		}
	}
}

func TestVerdictsInText(t *testing.T) {
	r := judged(fn("main", 1, 500, 100_000), fn("hot", 500, 60_000, 60_000), fn("g", 5, 2_000, 2_000))
	r.judge()
	text := strings.Join(strings.Fields(textOf(t, r, format.Terminal{Width: 200})), " ")
	for _, want := range []string{"wrapper: main (most of its energy is that of what it calls)",
		"TYPE_1_DIRECT: hot (its own code takes 3 % of the program's energy or more)"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	for _, not := range []string{string(Minor) + ":", string(NotTold)} {
		if strings.Contains(text, not) {
			t.Errorf("%q in %s", not, text)
		}
	}
}

// A file whose verdicts are not those of its figures is found out.
func TestCheckVerdicts(t *testing.T) {
	r := judged(fn("main", 1, 500, 100_000), fn("hot", 500, 60_000, 60_000))
	r.judge()
	faults := func() (out []string) {
		for _, f := range r.Check() {
			if strings.Contains(f, "verdict") {
				out = append(out, f)
			}
		}
		return out
	}
	if got := faults(); len(got) > 0 {
		t.Error(got)
	}
	r.Functions[1].Verdict = Minor
	if got := faults(); len(got) != 1 || !strings.HasPrefix(got[0], "functions (hot).verdict: minor, but") {
		t.Error(got)
	}
	r.Functions[1].Verdict = ""
	if got := faults(); len(got) > 0 {
		t.Errorf("of an older cg: %v", got)
	}
}
