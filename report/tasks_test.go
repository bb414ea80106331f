package report

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
)

// steadyMachine has samples of a package of 20 W, its memory of 2 W and a GPU of 100 W for some milliseconds.
func steadyMachine(ms int) nemb.Series {
	counter := func(id, kind string, inTotal bool) nemb.Domain {
		return nemb.Domain{ID: id, Kind: kind, Method: nemb.Measured, InTotal: inTotal, Lo: 1, Hi: 1, Period: time.Millisecond}
	}
	s := nemb.Series{Domains: []nemb.Domain{counter("package-0", "cpu_package", true), counter("core", "nested", false), counter("gpu0", "gpu", true)}}
	for i := range ms + 1 {
		s.Samples = append(s.Samples, nemb.Sample{
			Time: checkpoint.Instant(i) * checkpoint.Instant(time.Millisecond), Energy: []nemb.Energy{nemb.Energy(20_000 * i), nemb.Energy(2_000 * i), nemb.Energy(100_000 * i)},
		})
	}
	return s
}

// Tasks within the program have the machine's energy while they ran. Those that overlap
// share that of the processors at each moment, and nobody has what a GPU used meanwhile.
// A test has what its parts have while it runs itself.
func TestMachineInTasks(t *testing.T) {
	span := func(name string, from, to int64) Task {
		return Task{Name: name, Depth: 1, StartedAtMonoNs: from * 1e6, EndedAtMonoNs: to * 1e6, DurationS: float64(to-from) * 1e-3,
			Domains: map[string]Joules{}, DomainsPowerW: map[string]float64{}, ProgramShare: &ProgramShare{}}
	}
	for _, test := range []struct {
		name   string
		tasks  []Task
		want   []float64 // joules
		core   []float64
		method []string
	}{
		{"one after the other", []Task{span("a", 100, 200), span("b", 200, 500)}, []float64{12, 36}, []float64{0.2, 0.6}, []string{"interpolation", "interpolation"}},
		// a is alone for 100 ms and shares for 100, b shares for 100 and is alone for 100.
		{"two overlap", []Task{span("a", 100, 300), span("b", 200, 400)}, []float64{12 + 1, 1 + 12}, []float64{0.3, 0.3}, []string{"shared", "shared"}},
		{"three at once", []Task{span("a", 100, 400), span("b", 100, 400), span("c", 100, 400)}, []float64{2, 2, 2}, []float64{0.2, 0.2, 0.2}, []string{"shared", "shared", "shared"}},
		{"parts in a row", []Task{span("A", 100, 500), span("A/x", 200, 300), span("A/y", 300, 400)}, []float64{48, 12, 12}, []float64{0.8, 0.2, 0.2},
			[]string{"interpolation", "interpolation", "interpolation"}},
		{"parts at once", []Task{span("A", 100, 500), span("A/x", 200, 400), span("A/y", 200, 400)}, []float64{24 + 4, 2, 2}, []float64{0.8, 0.2, 0.2}, []string{"shared", "shared", "shared"}},
		{"beside the parts of another", []Task{span("A", 100, 500), span("A/x", 100, 500), span("B", 100, 500)}, []float64{4, 4, 4}, []float64{0.4, 0.4, 0.4}, []string{"shared", "shared", "shared"}},
		{"a part after its end", []Task{span("A", 100, 200), span("B", 100, 200), span("A/x", 200, 900)}, []float64{1, 1, 84}, []float64{0.1, 0.1, 1.4}, []string{"shared", "shared", "interpolation"}},
		{"of no time", []Task{span("a", 100, 100), span("b", 100, 200)}, []float64{0, 12}, []float64{0, 0.2}, []string{"bracket", "interpolation"}},
	} {
		r := &Run{Tasks: append([]Task{span("all", 0, 1000)}, test.tasks...)}
		r.Totals.EnergyJ, r.Totals.HiJ, r.Totals.Kind = new(Joules), new(Joules), nemb.Measured
		r.machineInTasks(steadyMachine(1000), nil)
		for i, task := range r.Tasks[1:] {
			if task.EnergyJ == nil || task.LoJ == nil || task.HiJ == nil {
				t.Errorf("%s: %s: not known", test.name, task.Name)
				continue
			}
			e := task.EnergyJ.Float()
			if math.Abs(e-test.want[i]) > 1e-3 || task.Method != test.method[i] || math.Abs(task.Domains["core"].Float()-test.core[i]) > 1e-3 {
				t.Errorf("%s: %s: %g J by %s, core %v: want %g J by %s, core %g", test.name, task.Name, e, task.Method, task.Domains["core"], test.want[i], test.method[i], test.core[i])
			}
			if *task.LoJ > *task.EnergyJ || *task.HiJ < *task.EnergyJ || *task.EnergyJ != task.Domains["package-0"]+task.Domains["gpu0"] {
				t.Errorf("%s: %+v", test.name, task)
			}
		}
	}
}

// Between two samples power may be anything: the interval of a task that lies there has
// all of it, and one that is as long as many of them has what lies around its ends.
func TestMachineInTasksBetweenSamples(t *testing.T) {
	task := func(from, to int64) Task {
		return Task{Depth: 1, StartedAtMonoNs: from * 1e6, EndedAtMonoNs: to * 1e6, DurationS: float64(to-from) * 1e-3,
			Domains: map[string]Joules{}, DomainsPowerW: map[string]float64{}}
	}
	s := nemb.Series{Domains: []nemb.Domain{{ID: "package-0", Kind: "cpu_package", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1,
		Period: time.Millisecond}}}
	uj := nemb.Energy(0)
	for at := int64(0); at <= 500; at++ { // 10 W, 50 W in the task of 3 ms, and 40 W behind it
		switch {
		case at > 105:
			uj += 40_000
		case at > 102:
			uj += 50_000
		default:
			uj += 10_000
		}
		if at%10 == 0 {
			s.Samples = append(s.Samples, nemb.Sample{Time: checkpoint.Instant(at * 1e6), Energy: []nemb.Energy{uj}})
		}
	}
	r := &Run{Tasks: []Task{{}, task(102, 105), task(255, 345)}}
	r.Totals.EnergyJ, r.Totals.HiJ, r.Totals.Kind = new(Joules), new(Joules), nemb.Measured
	r.machineInTasks(s, nil)
	for i, truth := range []float64{0.15, 3.6} {
		got := r.Tasks[i+1]
		if got.LoJ == nil || got.LoJ.Float() > truth || got.HiJ.Float() < truth {
			t.Errorf("%g [%g, %g] by %s, and it is %g J", got.EnergyJ.Float(), got.LoJ.Float(), got.HiJ.Float(), got.Method, truth)
		}
	}
	if wide := r.Tasks[2].HiJ.Float() - r.Tasks[2].LoJ.Float(); wide > 1 {
		t.Errorf("the interval of 3.6 J is %g J wide", wide)
	}
}

// A test that waits for others to end or begin (testing.T.Parallel) has no share meanwhile,
// and what is told of it is of the time in which it ran.
func TestMachineInTasksThatWait(t *testing.T) {
	program := Task{Name: "all", StartedAt: 7, StartedAtMonoNs: 0, EndedAtMonoNs: 1000e6}
	waits := func(name string, from, to, paused, continued int64) Task {
		task := Task{Name: name, Depth: 1, StartedAtMonoNs: from * 1e6, EndedAtMonoNs: to * 1e6, paused: paused * 1e6, continued: continued * 1e6,
			Domains: map[string]Joules{}, DomainsPowerW: map[string]float64{}, ProgramShare: &ProgramShare{}}
		task.clock(program)
		return task
	}
	for _, test := range []struct {
		name      string
		tasks     []Task
		want      []float64 // joules
		ran, wait []float64 // seconds
	}{
		{"beside one that is not parallel", []Task{waits("a", 100, 500, 100, 400), waits("b", 100, 400, 0, 0)}, []float64{12, 36}, []float64{0.1, 0.3}, []float64{0.3, 0}},
		{"two go on at once", []Task{waits("a", 100, 500, 110, 300), waits("b", 110, 500, 120, 300)}, []float64{1.2 + 2, 1.2 + 2}, []float64{0.21, 0.21}, []float64{0.19, 0.18}},
		{"a part of one that goes on", []Task{waits("A", 100, 300, 0, 0), waits("A/x", 200, 400, 210, 300)}, []float64{24, 1.2 + 12}, []float64{0.2, 0.11}, []float64{0, 0.09}},
		{"a part that runs while the other waits", []Task{waits("A", 100, 400, 150, 250), waits("A/x", 120, 300, 0, 0)}, []float64{24, 21.6}, []float64{0.2, 0.18}, []float64{0.1, 0}},
		{"a pause that cannot be", []Task{waits("a", 100, 200, 50, 150), waits("b", 300, 400, 350, 450)}, []float64{12, 12}, []float64{0.1, 0.1}, []float64{0, 0}},
	} {
		r := &Run{Tasks: append([]Task{program}, test.tasks...)}
		r.Totals.EnergyJ, r.Totals.HiJ, r.Totals.Kind = new(Joules), new(Joules), nemb.Measured
		r.machineInTasks(steadyMachine(1000), nil)
		for i, task := range r.Tasks[1:] {
			if task.EnergyJ == nil {
				t.Errorf("%s: %s: not known", test.name, task.Name)
				continue
			}
			near := func(a, b float64) bool { return math.Abs(a-b) < 1e-3 }
			if e := task.EnergyJ.Float(); !near(e, test.want[i]) || !near(task.DurationS, test.ran[i]) || !near(task.SuspendedS, test.wait[i]) ||
				math.Abs(*task.AvgPowerW-e/task.DurationS) > 1e-6 || math.Abs(task.DomainsPowerW["gpu0"]-task.Domains["gpu0"].Float()/task.DurationS) > 1e-3 {
				t.Errorf("%s: %s: %g J in %g s and %g s of waiting, %g W: want %g J in %g s and %g s", test.name, task.Name, e, task.DurationS, task.SuspendedS, *task.AvgPowerW,
					test.want[i], test.ran[i], test.wait[i])
			}
			if end := task.StartedAt + task.DurationS + task.SuspendedS; !near(task.EndedAt, end) {
				t.Errorf("%s: %s ends at %g, want %g", test.name, task.Name, task.EndedAt, end)
			}
		}
	}
}

// Ten thousand tests that are open at once, of which a part waits and a part lies in
// others: each has what it has when each millisecond is divided by itself.
func TestMachineInManyTasks(t *testing.T) {
	const n, ms = 10_000, 400
	random := rand.New(rand.NewPCG(1, 2))
	var tasks []Task
	for i := range n {
		from, to := random.Int64N(ms/2), ms/2+random.Int64N(ms/2)
		task := Task{Name: fmt.Sprint("T", i), Depth: 1, StartedAtMonoNs: from * 1e6, EndedAtMonoNs: to * 1e6, Domains: map[string]Joules{}, DomainsPowerW: map[string]float64{}}
		if i%3 == 1 {
			task.Name = fmt.Sprintf("%s/x", tasks[i-1].Name)
		}
		if i%2 == 0 {
			task.paused = (from + random.Int64N(to-from+1)) * 1e6
			task.continued = task.paused + random.Int64N(to*1e6-task.paused+1)/1e6*1e6
		}
		task.clock(Task{})
		tasks = append(tasks, task)
	}
	slices.SortStableFunc(tasks, func(a, b Task) int { return cmp.Compare(a.StartedAtMonoNs, b.StartedAtMonoNs) })
	want := plainly(tasks, ms)
	r := &Run{Tasks: append([]Task{{}}, tasks...)}
	r.Totals.EnergyJ, r.Totals.HiJ, r.Totals.Kind = new(Joules), new(Joules), nemb.Measured
	r.machineInTasks(steadyMachine(ms+10), nil)
	for i, task := range r.Tasks[1:] {
		if got := task.Domains["package-0"].Float(); math.Abs(got-want[i]) > 2e-6 {
			t.Fatalf("%s: %g J, want %g", task.Name, got, want[i])
		}
	}
}

// plainly divides 20 W among tasks, millisecond by millisecond.
func plainly(tasks []Task, ms int64) []float64 {
	states := around(tasks)
	energy := make([]float64, len(tasks))
	running := func(i int, at int64) bool {
		return slices.ContainsFunc(tasks[i].ran(), func(s stretch) bool { return s.from <= at && at < s.to })
	}
	for at := range ms {
		at *= 1e6
		outer, leaves := make([]bool, len(tasks)), 0
		for i := range tasks {
			if up := states[i].within; up >= 0 && running(i, at) {
				outer[up] = true
			}
		}
		alone := func(i int) bool { return running(i, at) && !outer[i] }
		for i := range tasks {
			if alone(i) {
				leaves++
			}
		}
		for i := range tasks {
			if !alone(i) {
				continue
			}
			for up := i; up >= 0; up = states[up].within {
				if running(up, at) {
					energy[up] += 0.02 / float64(leaves)
				}
			}
		}
	}
	return energy
}

// Dividing looks at each begin and each end, not at all that are open then: ten times as
// many tasks take some ten times as long.
func BenchmarkMachineInTasks(b *testing.B) {
	series := steadyMachine(1000)
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for range b.N {
				r := &Run{Tasks: make([]Task, n)}
				for i := range r.Tasks {
					r.Tasks[i] = Task{StartedAtMonoNs: int64(i), EndedAtMonoNs: 1e9 - int64(i), DurationS: 1, Domains: map[string]Joules{}, DomainsPowerW: map[string]float64{}}
				}
				r.Totals.EnergyJ = new(Joules)
				r.machineInTasks(series, nil)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/task")
		})
	}
}

// Nothing tells when a test ran again: what the machine used meanwhile is not known.
func TestMachineInTasksAgain(t *testing.T) {
	task := Task{Depth: 1, StartedAtMonoNs: 100e6, EndedAtMonoNs: 300e6, Domains: map[string]Joules{}, DomainsPowerW: map[string]float64{}, again: true}
	r := &Run{Tasks: []Task{{}, task}}
	r.Totals.EnergyJ = new(Joules)
	r.machineInTasks(steadyMachine(1000), nil)
	if r.Tasks[1].EnergyJ != nil || len(r.Tasks[1].Domains) > 0 {
		t.Errorf("%+v", r.Tasks[1])
	}
}

// Where samples do not reach, nothing is known of a task.
func TestMachineInTasksBeyondSamples(t *testing.T) {
	r := &Run{Tasks: []Task{{}, {Depth: 1, StartedAtMonoNs: 900e6, EndedAtMonoNs: 1100e6, Domains: map[string]Joules{}, DomainsPowerW: map[string]float64{}}}}
	r.Totals.EnergyJ = new(Joules)
	r.machineInTasks(steadyMachine(1000), nil)
	if r.Tasks[1].EnergyJ != nil {
		t.Error(*r.Tasks[1].EnergyJ)
	}
}
