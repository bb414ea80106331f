package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cg/laboratory"
	"cg/nemb/simulate"
)

// Programs whose functions say what they use are measured on counters that show it: each function of each is told, with
// its truth. How many intervals by counters hold depends on what else the machine does (docs/accuracy.md), and is for
// cg validate --program to say; those of the estimate do not depend on it.
func TestLaboratory(t *testing.T) {
	python(t)
	lab := &laboratory.Lab{Cg: filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), Dir: t.TempDir()}
	for _, c := range []laboratory.Case{
		{Name: "five, 5 ms", Program: laboratory.Program{Functions: 5, Mean: 5 * time.Millisecond}},
		{Name: "call trees", Program: laboratory.Program{Functions: 4, Mean: 5 * time.Millisecond, Nested: true}},
		{Name: "two processes, two sockets", Program: laboratory.Program{Functions: 2, Mean: 5 * time.Millisecond, Processes: 2},
			Machine: laboratory.Machine{Sockets: 2}},
		{Name: "a neighbour", Program: laboratory.Program{Functions: 2, Mean: 5 * time.Millisecond},
			Machine: laboratory.Machine{Neighbour: laboratory.Neighbour{Watts: 30, Busy: 50 * time.Millisecond, Quiet: 50 * time.Millisecond}}},
		{Name: "estimate", Program: laboratory.Program{Functions: 3, Mean: 5 * time.Millisecond}, Estimate: true},
	} {
		t.Run(c.Name, func(t *testing.T) {
			c.Language, c.Every, c.Program.Length = "python", 10*time.Millisecond, 500*time.Millisecond
			values, err := lab.Run(t.Context(), c, 1)
			if errors.Is(err, simulate.ErrNoFUSE) && os.Getenv("CI") != "true" {
				t.Skip(err)
			} else if err != nil {
				t.Fatal(err)
			}
			if len(values) != 2*c.Program.Functions {
				t.Errorf("%d values of %d functions", len(values), c.Program.Functions)
			}
			held := 0
			for _, v := range values {
				t.Logf("%+v", v)
				if v.Holds() {
					held++
				}
				if v.Figure <= 0 || v.Truth <= 0 || v.Lo > v.Figure || v.Figure > v.Hi {
					t.Errorf("%+v", v)
				}
			}
			if c.Estimate && 2*held < len(values) {
				t.Errorf("%d of %d intervals hold", held, len(values))
			}
		})
	}
}
