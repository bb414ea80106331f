package windows

import (
	"testing"

	"cg/nemb"
	"cg/nemb/attribute/paths"
)

// What is divided anew stays whole, to the microjoule, and paths keep their proportions.
func TestDivideBeside(t *testing.T) {
	w := New([]nemb.Domain{{ID: "package-0", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1}}, 2, paths.NewTree())
	b := &w.Domains[0]
	b.Total, b.Program, b.Own, b.Other, b.Idle = 1003, 600, 100, 301, 2
	b.Paths, b.Direct, b.Background = []float64{100, 200, 200}, 50, []float64{100}
	b.ProgramLo, b.ProgramHi = 500, 700
	w.DivideBeside(0, -300, 60)
	if sum := b.Program + b.Own + b.Other + b.Idle; sum != b.Total || b.Program != 300 {
		t.Errorf("%+v: %d of %d", b, sum, b.Total)
	}
	if b.Paths[1] != 100 || b.Background[0] != 50 || b.Direct != 25 || b.ProgramLo != 190 || b.ProgramHi != 410 {
		t.Errorf("%+v", b)
	}
	if b.Own != 174 {
		t.Errorf("cg has %d, want its part of 701, 100 of 401", b.Own)
	}
	w.DivideBeside(0, 1e4, 0)
	if b.Program != 1001 || b.Own != 0 || b.Other != 0 {
		t.Errorf("%+v", b)
	}
}

// Others who used 2 ms and 20 mJ by processor time: with none of it the program had that more, and with 30 W, the
// most, 40 mJ less.
func TestBesideOff(t *testing.T) {
	b := Beside{Energy: 15e3, Time: 1500}
	b.Add(Beside{Energy: 5e3, Time: 500})
	if down, up := b.Off(30); down != 40e3 || up != 20e3 {
		t.Errorf("%g, %g", down, up)
	}
	if down, _ := b.Off(5); down != 0 {
		t.Errorf("%g", down)
	}
}
