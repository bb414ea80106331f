package picture

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"cg/nemb"
	"cg/report"
	"cg/report/format"
	"cg/report/repeated"
	"cg/report/reporttest"
)

// Costs by a parameter are drawn above the runs of the first commands.
func TestDrawGrowth(t *testing.T) {
	r := reporttest.Repeated(t, nemb.Measured, 2)
	r.Commands = nil
	for i := range 30 {
		size := fmt.Sprint(10 * (i + 1))
		c := repeated.Command{Argv: []string{"./sort", size}, Template: []string{"./sort", "{size}"},
			Parameters: map[string]string{"size": size}, Backend: report.Backend{Name: "powercap", Kind: nemb.Measured}}
		for k := range 2 {
			e := report.Joules(1000*(i+1)*(i+1) + 10*k)
			c.Measurements = append(c.Measurements, repeated.Measurement{Round: k, DurationS: 1, ProgramEnergyJ: &e,
				EnergyJ: &e, Domains: map[string]report.Joules{}})
		}
		c.Summarize(false)
		r.Commands = append(r.Commands, c)
	}
	r.Compare()
	svg := reporttest.Write(t, "svg", r, format.Options{})
	all := strings.Join(texts(t, svg), "|")
	for _, want := range []string{"energy of the program by size: ./sort '{size}'", "power law: 5e-06 J + 1e-05 J · size^2",
		"exponent: 2 [", "models: n^2, 5e-06 J + 1e-05 J · n^2 (the runs speak against all others of 1, a^n, log n, ", "./sort 200"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in %s", want, all)
		}
	}
	if strings.Contains(all, "./sort 210") {
		t.Error("more than 20 commands are drawn")
	}
	dots := len(regexp.MustCompile(`<path d="M[^"]*A`).FindAll(svg, -1))
	if want := 30*2 + 20*2; dots != want { // energies have no power beside them here
		t.Errorf("%d dots, want %d", dots, want)
	}
	reporttest.Write(t, "png", r, format.Options{})
}
