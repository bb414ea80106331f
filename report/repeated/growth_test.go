package repeated_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"cg/nemb"
	"cg/report"
	"cg/report/repeated"
	"cg/report/reporttest"
)

// swept are runs of ./sort {size} -t {threads}, whose energy is 0.1 J and what a law makes of the size, by 1 + 1 % of
// noise that is no noise.
func swept(t *testing.T, kind nemb.Method, law func(size float64) float64) *repeated.Result {
	r := &repeated.Result{Meta: reporttest.Example(t, kind).Meta, Warnings: []report.Warning{}}
	top := ""
	for id, place := range r.Meta.DomainTopology {
		if place.TopLevel && (top == "" || id < top) {
			top = id
		}
	}
	for _, threads := range []string{"1", "2"} {
		for _, size := range []float64{100, 200, 400, 800, 1600, 3200, 6400} {
			text := fmt.Sprint(size)
			c := repeated.Command{Argv: []string{"./sort", text, "-t", threads},
				Template:   []string{"./sort", "{size}", "-t", "{threads}"},
				Parameters: map[string]string{"size": text, "threads": threads},
				Backend:    report.Backend{Name: "powercap", Kind: kind}}
			for k := range 3 {
				m := repeated.Measurement{Round: k, DurationS: 1, CPUS: law(size), Domains: map[string]report.Joules{}}
				if kind != nemb.Unavailable {
					wobble := 1 + 0.01*math.Sin(size+float64(k))
					e := report.Joules(1e6 * (0.1 + law(size)) * wobble)
					m.EnergyJ, m.ProgramEnergyJ = &e, &e
					m.Domains[top] = e
				}
				c.Measurements = append(c.Measurements, m)
			}
			c.Summarize(false)
			r.Commands = append(r.Commands, c)
		}
	}
	r.Compare()
	return r
}

func TestGrowth(t *testing.T) {
	square := func(x float64) float64 { return 1e-6 * x * x }
	for _, c := range []struct {
		kind       nemb.Method
		law        func(float64) float64
		of, models string
		exponent   float64
	}{
		{nemb.Measured, square, "program_energy_j", "n^2, 0.1", 2},
		{nemb.Estimated, square, "program_energy_j", "~0.", 2},
		{nemb.Unavailable, square, "cpu_s", " s · n^2", 2},
		{nemb.Measured, func(x float64) float64 { return 1e-3 * x }, "program_energy_j", "", 1},
	} {
		r := swept(t, c.kind, c.law)
		if !r.Swept() || len(r.Growth) != 3 { // two of the size; of the threads there are two values only
			t.Fatalf("%+v", r.Growth)
		}
		for i, g := range r.Growth[:2] {
			if g.Parameter != "size" || g.With["threads"] != fmt.Sprint(i+1) || g.Of != c.of || g.Values != 7 ||
				!g.Shown || math.Abs(g.Power.Exponent-c.exponent) > 0.05 || g.Power.Lo == nil ||
				*g.Power.Lo > c.exponent || *g.Power.Hi < c.exponent || !strings.Contains(g.Sentence(), c.models) {
				t.Errorf("%+v %+v: %s", g, g.Power, g.Sentence())
			}
			if of := r.Of(g); len(of) != 7 || of[0].Parameters["size"] != "100" || of[6].Parameters["size"] != "6400" {
				t.Errorf("%d commands", len(of))
			}
		}
		if last := r.Growth[2]; last.Parameter != "threads" || last.Power != nil ||
			last.Unfit != "the cost is known of 2 values of threads beside the same others, and a fit needs 4" {
			t.Errorf("%+v", last)
		}
		if faults := r.Check(r.Meta.CgVersion); len(faults) > 0 {
			t.Errorf("%q", faults)
		}
	}
	r := swept(t, nemb.Measured, square)
	r.Growth[0].Power.Exponent = 3
	if faults := strings.Join(r.Check(r.Meta.CgVersion), "; "); !strings.Contains(faults, "growth[0].power_law.exponent: 3, but") {
		t.Errorf("%q", faults)
	}
	if faults := r.Check("another"); len(faults) > 0 {
		t.Errorf("of another version: %q", faults)
	}
	flat := swept(t, nemb.Measured, func(float64) float64 { return 0.2 })
	if s := flat.Growth[0].Sentence(); s != "fit: no dependence on size is shown by 7 values" {
		t.Error(s)
	}
	words := swept(t, nemb.Measured, square)
	for i := range words.Commands {
		words.Commands[i].Parameters["size"] = []string{"small", "large"}[i%2]
	}
	words.Compare()
	for _, g := range words.Growth {
		if g.Parameter == "size" || g.Values != 2 { // the two threads, whose commands stand there several times
			t.Errorf("of words: %+v", g)
		}
	}
}

// A command of which no run counts, such as one that failed, leaves the energies of the others as they are.
func TestGrowthBesideFailed(t *testing.T) {
	r := swept(t, nemb.Measured, func(x float64) float64 { return 1e-6 * x * x })
	c := &r.Commands[3]
	c.Measurements = nil
	c.Summarize(false)
	r.Compare()
	if g := r.Growth[0]; g.Of != "program_energy_j" || g.Values != 6 || g.Power == nil {
		t.Errorf("%+v", g)
	}
}

// What is not above 0 is said, and a file that somebody wrote by hand is shown.
func TestGrowthWithoutFit(t *testing.T) {
	r := swept(t, nemb.Measured, func(x float64) float64 { return x })
	r.Commands[0].Parameters["size"] = "0"
	r.Compare()
	if got := r.Growth[len(r.Growth)-1]; r.Growth[0].Power == nil || got.Power != nil {
		t.Errorf("%+v", r.Growth)
	}
	for i := range r.Commands {
		r.Commands[i].Parameters = map[string]string{"size": fmt.Sprint(-i)}
	}
	r.Compare()
	if len(r.Growth) != 1 || r.Growth[0].Sentence() != "fit: none: size has values that are not above 0" {
		t.Errorf("%+v", r.Growth)
	}
	if s := (repeated.Growth{}).Sentence(); s != "fit: none: " {
		t.Errorf("%q", s)
	}
	if got := (repeated.Command{Argv: []string{"a", "b c"}}).Setting(); got != "a 'b c'" {
		t.Error(got)
	}
}
