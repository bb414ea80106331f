package report

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"cg/nemb"
	"cg/report/format"
)

// writeIn writes a document in a format.
func writeIn(name string, w io.Writer, d format.Document, o format.Options) error {
	f, err := format.Named(name, d)
	if err != nil {
		return err
	}
	return f.Write(w, d, o)
}

// textOf is a document for people.
func textOf(t *testing.T, d format.Document, terminal format.Terminal) string {
	t.Helper()
	var b bytes.Buffer
	if err := writeIn("text", &b, d, format.Options{Terminal: terminal}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// hostile is a run whose names are made to break out of where they are put.
func hostile() *Run {
	r := suite(nemb.Measured)
	evil := "a`b|c<script>alert(1)</script>;d\n\"e\",=f@g\\_*~#]("
	for i := range r.Sites {
		r.Sites[i].Name, r.Sites[i].File = evil, evil
	}
	for i := range r.Functions {
		r.Functions[i].Name, r.Functions[i].File = evil, evil
	}
	for i := range r.Tasks {
		r.Tasks[i].Name = evil
	}
	for i := range r.Paths {
		if r.Paths[i].Task != "" {
			r.Paths[i].Task = evil
		}
	}
	r.Warnings = []Warning{{"slug", evil}}
	return r
}

// Whatever figure of a saved run is changed, Check names its field.
func TestCheckNamesTheField(t *testing.T) {
	one := Joules(1)
	for field, change := range map[string]func(*Run){
		"totals.energy_j":                  func(r *Run) { *r.Totals.EnergyJ += one },
		"totals.program_energy_j":          func(r *Run) { *r.Totals.ProgramEnergyJ += one },
		"totals.avg_power_w":               func(r *Run) { *r.Totals.AvgPowerW *= 1.001 },
		"totals.domains.package-0":         func(r *Run) { r.Totals.Domains["package-0"]++ },
		"totals.domains_power_w.package-0": func(r *Run) { r.Totals.DomainsPowerW["package-0"] *= 1.001 },
		"totals.energy_kind":               func(r *Run) { r.Totals.Kind = nemb.Unavailable },
		"totals.n_tasks":                   func(r *Run) { r.Totals.NTasks++ },
		"meta.domain_topology": func(r *Run) {
			delete(r.Meta.DomainTopology,
				"package-0")
		},
		"ledger[2] (other processes).energy_j":              func(r *Run) { r.Ledger[2].EnergyJ++ },
		"ledger[1] (uninstrumented).share_percent":          func(r *Run) { r.Ledger[1].SharePercent *= 1.001 },
		"functions[0] (shop.work).self_energy_j":            func(r *Run) { *r.Functions[0].SelfEnergyJ++ },
		"functions[0] (shop.work).inclusive_energy":         func(r *Run) { *r.Functions[0].InclusiveEnergyLoJ = *r.Functions[0].InclusiveEnergyJ + one },
		"functions (shop.work).inclusive_energy_j":          func(r *Run) { *r.Functions[0].InclusiveEnergyJ += one; *r.Functions[0].InclusiveEnergyHiJ += one },
		"functions[0] (shop.work).share_percent":            func(r *Run) { *r.Functions[0].SharePercent *= 1.001 },
		"functions[0] (shop.work).avg_power_w":              func(r *Run) { *r.Functions[0].AvgPowerW *= 1.001 },
		"functions[0] (shop.work).energy_kind":              func(r *Run) { r.Functions[0].EnergyKind = nemb.Estimated },
		"sites[0] (shop.work).calls":                        func(r *Run) { r.Sites[0].Calls++ },
		"paths[1].parent":                                   func(r *Run) { r.Paths[1].Parent = 1 },
		"tasks[1] (test_shop.py::test_work[1]).energy_j":    func(r *Run) { *r.Tasks[1].EnergyJ++ },
		"tasks[1] (test_shop.py::test_work[1]).avg_power_w": func(r *Run) { *r.Tasks[1].AvgPowerW *= 1.001 },
		"samples[1].t_ns":                                   func(r *Run) { r.Samples[1].TNs = 0 },
		"samples[1].energy_j":                               func(r *Run) { *r.Samples[1].EnergyJ++ },
		"samples[1].power_w":                                func(r *Run) { *r.Samples[1].PowerW *= 1.001 },
		"samples[2].domain_j.package-0":                     func(r *Run) { r.Samples[2].DomainJ["package-0"] = 0 },
		"samples[2].domain_w.package-0":                     func(r *Run) { r.Samples[2].DomainW["package-0"] *= 1.001 },
		"totals.duration_s":                                 func(r *Run) { r.Samples[2].TNs += 10_000 },
		"functions[0] (shop.work).inclusive_energy_j":       func(r *Run) { r.Functions[0].InclusiveEnergyJ = nil },
		"functions (shop.work).calls":                       func(r *Run) { r.Functions[0].Calls++ },
		"functions[0] (shop.work).calls_energy.mean_j":      func(r *Run) { r.Functions[0].CallsEnergy.MeanJ *= 1.001 },
		"functions[0] (shop.work).calls_energy.n":           func(r *Run) { r.Functions[0].CallsEnergy.N = 1 << 40 },
		"functions[0] (shop.work).calls_energy.min_j":       func(r *Run) { r.Functions[0].CallsEnergy.MinJ = joules(1) },
		"functions[0] (shop.work).calls_energy.p95_j": func(r *Run) {
			e := r.Functions[0].CallsEnergy
			e.N, e.MinJ, e.MedianJ, e.P95J, e.MaxJ = 1, joules(1), joules(3), joules(2), joules(4)
		},
		"functions[0] (shop.work).calls_time.n":        func(r *Run) { r.Functions[0].CallsTime = &CallsTime{} },
		"functions[0] (shop.work).calls_time.min_s":    timed(func(t *CallsTime) { t.MinS = 2.5 }),
		"functions[0] (shop.work).calls_time.median_s": timed(func(t *CallsTime) { t.MedianS = 1.5 }),
		"functions[0] (shop.work).calls_time.p95_s":    timed(func(t *CallsTime) { t.MedianS, t.P95S, t.P95LoS = 4, 3, 3 }),
		"sha256": func(r *Run) { r.Meta.Hostname += "x" },
	} {
		r := suite(nemb.Measured)
		if _, err := r.JSON(); err != nil { // which sets the digest
			t.Fatal(err)
		}
		if faults := r.Check(); len(faults) > 0 {
			t.Fatal(faults)
		}
		change(r)
		faults := r.Check()
		if !slices.ContainsFunc(faults, func(f string) bool { return strings.HasPrefix(f, field) }) {
			t.Errorf("%s is changed and not named: %q", field, faults)
		}
		if field != "sha256" && !slices.ContainsFunc(faults,
			func(f string) bool { return strings.HasPrefix(f, "sha256") }) {
			t.Errorf("%s is changed and the digest is not", field)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	whole, err := example(nemb.Measured).JSON()
	if err != nil {
		t.Fatal(err)
	}
	loop, unknown := example(nemb.Measured), example(nemb.Measured)
	loop.Paths[1].Parent, unknown.Paths[1].SelfEnergyJ = 1, nil
	saved := func(r *Run) []byte {
		b, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for want, b := range map[string][]byte{
		"paths[1].parent: 1 is no path before it": saved(loop),
		"paths[1].self_energy_j: energies of":     saved(unknown),
		"it has no meta.schema_version":           []byte(`{"a": 1}`),
		"it ends in the middle, after 200 bytes":  whole[:200],
		"line 1: invalid character 'h'":           []byte("hello"),
		"it ends in the middle, after 0 bytes":    nil,
		"saved by cg 9.0 in schema version " +
			"7": []byte(`{"meta": {"schema_version": "7", "cg_version": "9.0"}}`),
		"totals.n_tasks: a text stands where a whole number belongs": bytes.Replace(whole, []byte(`"n_tasks": 1`),
			[]byte(`"n_tasks": "x"`), 1),
		"\"-1\" is not an energy": bytes.Replace(whole,
			[]byte(`"energy_j": 22.000000`), []byte(`"energy_j": -1`), 1),
	} {
		if _, err := Read(b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// timed gives a function times of its calls, of which one is then changed.
func timed(change func(*CallsTime)) func(*Run) {
	return func(r *Run) {
		hi := 5.0
		t := &CallsTime{N: 3, MinS: 1, MedianS: 3, MedianLoS: 2, MedianHiS: &hi, P95S: 4, P95LoS: 3, MaxS: 6}
		r.Functions[0].CallsTime = t
		if f := r.Check(); len(f) > 1 { // its digest is another
			panic(f)
		}
		change(t)
	}
}
