package report

import (
	"strings"
	"testing"
	"time"

	"cg/nemb"
	"cg/nemb/sampler"
)

// What no reading tells is not known: it is not 0, it is not measured, and the
// quality of the run says so.
func TestWhatNoReadingTells(t *testing.T) {
	domain := func(id, kind string, inTotal bool) nemb.Domain {
		return nemb.Domain{ID: id, Kind: kind, Source: "powercap", Method: nemb.Measured, InTotal: inTotal, Step: 62,
			Period: time.Millisecond, Lo: 1, Hi: 1}
	}
	pkg, dram, core := domain("package-0", "cpu_package", true), domain("dram-0", "dram", true),
		domain("core-0", "nested", false)
	core.Parent = "package-0"
	battery := domain("battery", "psys", true)
	battery.Step, battery.Period = 36e6, 30*time.Second
	model := nemb.Domain{ID: "machine", Kind: "psys", Method: nemb.Estimated, InTotal: true, Lo: 0.5, Hi: 1.5, Base: 5}
	faulty := func(d nemb.Domain) nemb.Domain { d.Method = nemb.Derived; return d }
	one := kindsOfRuns()["small"]
	for _, tt := range []struct {
		name           string
		domains        []nemb.Domain
		watts          []float64
		faults         []sampler.Faults
		kind           nemb.Method
		quality        string
		known, bounded bool
		slug, says     string
		absent         string // a domain of which nothing is told
	}{
		{"all is well", []nemb.Domain{pkg, dram}, []float64{20, 3}, nil, nemb.Measured, QualityOK, true, true, "", "",
			""},
		{"stuck", []nemb.Domain{pkg}, []float64{0}, nil, nemb.Unavailable, QualityZero, false, false,
			"energy-unknown", "it is stuck", "package-0"},
		{"no step of a battery", []nemb.Domain{battery}, []float64{0}, nil, nemb.Unavailable, QualityZero, false,
			false, "energy-unknown", "it moves by 36.0 J, each 30.0 s", "battery"},
		{"no reading", []nemb.Domain{faulty(pkg)}, []float64{0},
			[]sampler.Faults{{Domain: "package-0", Failed: 9, Unknown: time.Second}},
			nemb.Unavailable, QualityFailed, false, false, "energy-unknown", "9 readings failed", "package-0"},
		{"the package stuck", []nemb.Domain{pkg, dram}, []float64{0, 3}, nil, nemb.Derived, QualityFailed, true,
			false, "counter-fault", "package-0: it is stuck", "package-0"},
		{"its memory stuck", []nemb.Domain{pkg, dram}, []float64{20, 0}, nil, nemb.Derived, QualityOK, true, false,
			"counter-fault", "dram-0: it is stuck", "dram-0"},
		{"a part is off", []nemb.Domain{pkg, core}, []float64{20, 0}, nil, nemb.Measured, QualityOK, true, true, "",
			"", ""},
		{"most is lost", []nemb.Domain{faulty(pkg)}, []float64{20},
			[]sampler.Faults{{Domain: "package-0", Failed: 90, Unknown: 800 * time.Millisecond}},
			nemb.Derived, QualityFailed, true, false, "counter-fault", "0.8 s is not known", ""},
		{"little is lost", []nemb.Domain{faulty(pkg)}, []float64{20},
			[]sampler.Faults{{Domain: "package-0", Resets: 1, Unknown: 10 * time.Millisecond}},
			nemb.Derived, QualityOK, true, false, "counter-fault", "0.01 s is not known", ""},
		{"stuck for most of it", []nemb.Domain{faulty(pkg)}, []float64{20},
			[]sampler.Faults{{Domain: "package-0", Still: 1050 * time.Millisecond}},
			nemb.Derived, QualityFailed, true, false, "counter-fault", "it stood still for 1.1 s", ""},
		{"most is late", []nemb.Domain{faulty(pkg)}, []float64{20},
			[]sampler.Faults{{Domain: "package-0", Failed: 60, Late: 600 * time.Millisecond}},
			nemb.Derived, QualityFailed, true, true, "counter-fault", "the energy is complete", ""},
		{"little is late", []nemb.Domain{faulty(pkg)}, []float64{20},
			[]sampler.Faults{{Domain: "package-0", Failed: 6, Late: 60 * time.Millisecond}},
			nemb.Derived, QualityOK, true, true, "counter-fault", "the energy is complete", ""},
		{"a model", []nemb.Domain{model}, []float64{20}, nil, nemb.Estimated, QualityEstimated, true, true,
			"estimated", "", ""},
		{"no domain of the machine", []nemb.Domain{domain("accelerator", "independent", false)}, []float64{20}, nil,
			nemb.Unavailable, QualityOnlyCalls, false, false, "", "", ""},
	} {
		k := one
		k.domains, k.watts, k.faults = tt.domains, tt.watts, tt.faults
		r := k.run(tt.name)
		if faults := r.Check(); len(faults) > 0 {
			t.Errorf("%s: %q", tt.name, faults)
		}
		b, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		validate(t, b)
		if r.Totals.Kind != tt.kind || r.Meta.MeasurementQuality != tt.quality {
			t.Errorf("%s: %s, %s", tt.name, r.Totals.Kind, r.Meta.MeasurementQuality)
		}
		f := r.Functions[0]
		for what, e := range map[string]*Joules{"machine": r.Totals.EnergyJ, "program": r.Totals.ProgramEnergyJ,
			"task": r.Tasks[0].EnergyJ, "function": f.SelfEnergyJ, "sample": r.Samples[1].EnergyJ} {
			if (e != nil) != tt.known {
				t.Errorf("%s: the energy of the %s is %v", tt.name, what, e)
			}
		}
		for what, e := range map[string]*Joules{"machine": r.Totals.HiJ, "program": r.Totals.ProgramEnergyHiJ,
			"task": r.Tasks[0].HiJ, "function": f.SelfEnergyHiJ} {
			if (e != nil) != tt.bounded {
				t.Errorf("%s: the upper bound of the %s is %v", tt.name, what, e)
			}
		}
		if tt.slug == "" && len(r.Warnings) > 0 || tt.slug != "" && !strings.Contains(warned(r, tt.slug), tt.says) {
			t.Errorf("%s: %+v", tt.name, r.Warnings)
		}
		for _, d := range tt.domains {
			_, total := r.Totals.Domains[d.ID]
			_, sample := r.Samples[1].DomainJ[d.ID]
			if want := d.ID != tt.absent; total != want || sample != want {
				t.Errorf("%s: %s is told: %v, %v", tt.name, d.ID, total, sample)
			}
		}
	}
}

// A counter's step is in the interval of what it tells.
func TestStepIsInTheInterval(t *testing.T) {
	k := kindsOfRuns()["small"]
	k.idle = 0.7 // else others used so much that the program may have used none of it
	plain := k.run("small").Totals
	k.domains[0].Step = 1000
	coarse := k.run("small").Totals
	if *plain.LoJ-*coarse.LoJ != 1000 || *coarse.HiJ-*plain.HiJ != 1000 || *coarse.EnergyJ != *plain.EnergyJ {
		t.Errorf("%+v, %+v", plain.Provenance, coarse.Provenance)
	}
	if *coarse.ProgramEnergyHiJ <= *plain.ProgramEnergyHiJ || *coarse.ProgramEnergyLoJ >= *plain.ProgramEnergyLoJ {
		t.Errorf("the program's: [%d, %d], [%d, %d]", *plain.ProgramEnergyLoJ, *plain.ProgramEnergyHiJ,
			*coarse.ProgramEnergyLoJ, *coarse.ProgramEnergyHiJ)
	}
}
