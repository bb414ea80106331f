package windows

import (
	"testing"
	"time"

	"cg/nemb"
	"cg/nemb/account"
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

// Background threads have the part of what ran beside that they have of the program's time, and the program's bounds
// have it with that of its call paths.
func TestBesideBackground(t *testing.T) {
	tree := paths.NewTree()
	one := tree.Path(paths.Root, 1, 0)
	w := New([]nemb.Domain{counter}, 2, tree)
	w.Classes = 1
	w.Begin(sample(0, 0, account.Usage{Background: []time.Duration{0}}))
	usage := account.Usage{
		Program: 10 * ms, Own: 2 * ms, Other: 8 * ms, Background: []time.Duration{4 * ms},
		Threads: []account.ThreadUsage{{Thread: id(1), CPU: 6 * ms}},
	}
	w.Close(sample(10*ms, 2000, usage), false, []Thread{{ID: id(1), Parts: []paths.Part{{Node: one, Ticks: 10 * ms}}}})
	if b := w.PathBeside(0, one); !near(b.Energy, 600) || !near(b.Time, 6000) {
		t.Errorf("%+v", b)
	}
	// 10 ms of others had 1,000 uJ by processor time, and with 0.25 W 2,500.
	w.Doubt(0, .25)
	if b := w.Domains[0]; b.ProgramHi != 2000 || b.ProgramLo != 0 || b.Program != 1000 {
		t.Errorf("%+v", b)
	}
	w.Domains[0].ProgramLo = 1000
	w.Doubt(0, .15)
	if b := w.Domains[0]; !near(b.ProgramLo, 500) {
		t.Errorf("%+v", b)
	}
}

// What ran beside a child of fork(2) before its first event moves to the child's path with its time.
func TestBesideClaimed(t *testing.T) {
	tree := paths.NewTree()
	one := tree.Path(paths.Root, 1, 0)
	w := New([]nemb.Domain{counter}, 2, tree)
	w.Begin(sample(0, 0, account.Usage{}))
	usage := account.Usage{Program: 10 * ms, Other: 10 * ms}
	w.Close(sample(10*ms, 2000, usage), false, nil)
	if b := w.PathBeside(0, paths.Root); !near(b.Energy, 1000) || !near(b.Time, 10_000) {
		t.Fatalf("%+v", b)
	}
	usage.Program, usage.Other = 20*ms, 20*ms
	usage.Threads = []account.ThreadUsage{{Thread: id(2), CPU: 20 * ms}}
	child := Thread{
		ID: id(2), Parts: []paths.Part{{Node: one, Ticks: 20 * ms}}, Forked: Forked{At: 2 * ms, Used: 8 * ms},
	}
	w.Close(sample(20*ms, 4000, usage), false, []Thread{child})
	root, of := w.PathBeside(0, paths.Root), w.PathBeside(0, one)
	if !near(root.Energy, 200) || !near(root.Time, 2000) || !near(of.Energy, 1800) || !near(of.Time, 18_000) {
		t.Errorf("outside %+v, the child %+v", root, of)
	}
	if b := w.Domains[0].Paths; !near(b[paths.Root], 200) || !near(b[one], 1800) {
		t.Errorf("%v", b)
	}
}
