package report

import (
	"strings"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/measure"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute"
)

// spoilt is a run whose words name a site that does not exist, below one that
// does.
func spoilt(t *testing.T, domains []nemb.Domain, damage string) *Run {
	t.Helper()
	const ms = 1_000_000
	a := attribute.New(domains, 2)
	sample := func(at int64) nemb.Sample {
		s := nemb.Sample{At: checkpoint.Tick(at + 1), Time: checkpoint.Instant(at + 1),
			Usage: account.Usage{Program: time.Duration(at)}}
		for range domains {
			s.Energy = append(s.Energy, nemb.Energy(20*at/1000))
		}
		return s
	}
	a.Close(sample(0))
	a.Fold(checkpoint.Run{
		Thread: checkpoint.Thread{PID: 1, TID: 1}, First: true, Start: 1,
		Words: []checkpoint.Word{
			checkpoint.Pack(100*ms, checkpoint.Enter, 1), checkpoint.Pack(200*ms, checkpoint.Enter, 99),
			checkpoint.Pack(400*ms, checkpoint.Exit, 99), checkpoint.Pack(500*ms, checkpoint.Exit, 1),
		},
	}, 1000*ms, 1000*ms)
	a.Last(sample(1000 * ms))
	o := &measure.Outcome{
		Domains: domains, Attributed: a.Finish(), Damage: damage,
		Series: nemb.Series{Domains: domains, Samples: []nemb.Sample{sample(0), sample(1000 * ms)}},
	}
	r := Start("fine", "python", []string{"cg"}, "test")
	r.Finish(Facts{
		Outcome: o, Program: "main.py", Interval: 10 * time.Millisecond,
		Sites: []checkpoint.Site{{ID: 1, Language: "python", Func: "f", File: "/f.py", Line: 1, EndLine: 2,
			Kind: checkpoint.Function}},
	})
	return r
}

// A call of a function that does not exist is the program's, outside its
// functions; the report adds up and says so.
func TestUnknownSites(t *testing.T) {
	d := nemb.Domain{ID: "package-0", Kind: "cpu_package", Source: "powercap", Method: nemb.Measured, InTotal: true,
		Lo: 1, Hi: 1}
	for name, domains := range map[string][]nemb.Domain{"a counter": {d}, "no counter": nil} {
		r := spoilt(t, domains, "")
		if faults := r.Check(); len(faults) > 0 {
			t.Errorf("%s: %s", name, strings.Join(faults, "\n"))
		}
		if len(r.Functions) != 1 || r.Functions[0].Name != "f" {
			t.Errorf("%s: %+v", name, r.Functions)
		}
		want := "channel-damaged: the memory through which the program reports its calls holds what no checkpoint " +
			"writes: 1 numbers in it are of no function, and what was booked on them is uninstrumented; calls may " +
			"be missing, and energies of functions are not to be trusted"
		if "channel-damaged: "+warned(r, "channel-damaged") != want {
			t.Errorf("%s: %+v", name, r.Warnings)
		}
		b, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		validate(t, b)
	}
	r := spoilt(t, []nemb.Domain{d}, "its header was overwritten")
	if got := warned(r, "channel-damaged"); !strings.Contains(got, "its header was overwritten; 1 numbers in it") {
		t.Error(got)
	}
}

// warned is what a run's warning of a slug says, "" where there is none.
func warned(r *Run, slug string) string {
	for _, w := range r.Warnings {
		if w.Slug == slug {
			return w.Message
		}
	}
	return ""
}

// A run of no length, and one whose clock and counter went backwards, have a
// report that says what is known.
func TestDisorder(t *testing.T) {
	d := nemb.Domain{ID: "package-0", Kind: "cpu_package", Source: "powercap", Method: nemb.Measured, InTotal: true,
		Lo: 1, Hi: 1}
	sample := func(at int64, e nemb.Energy) nemb.Sample {
		return nemb.Sample{At: checkpoint.Tick(at), Time: checkpoint.Instant(at), Energy: []nemb.Energy{e},
			Usage: account.Usage{Program: time.Duration(at)}}
	}
	tests := []struct {
		name    string
		samples []nemb.Sample
		energy  Joules // 0 for none that is known
		warning string
	}{
		{"no length", []nemb.Sample{sample(5, 0), sample(5, 0)}, 0, ""},
		{"no length, and energy", []nemb.Sample{sample(5, 0), sample(5, 7)}, 7, ""},
		{"one sample", []nemb.Sample{sample(5, 0)}, 0, ""},
		{"backwards", []nemb.Sample{sample(10, 0), sample(2e9, 20), sample(1e9, 10), sample(3e9, 30)}, 30,
			"1 of 1 samples were behind the one before them in time, energy or processor time; that counts as " +
				"standing still, and the figures are lower bounds"},
	}
	for _, tt := range tests {
		a := attribute.New([]nemb.Domain{d}, 2)
		for i, s := range tt.samples {
			if i < len(tt.samples)-1 || i == 0 {
				a.Close(s)
			} else {
				a.Last(s)
			}
		}
		r := Start("fine", "", []string{"cg"}, "test")
		r.Finish(Facts{Outcome: &measure.Outcome{Domains: []nemb.Domain{d}, Attributed: a.Finish()},
			Program: "main.py"})
		got := ""
		for _, w := range r.Warnings {
			if w.Slug == "samples-disordered" {
				got = w.Message
			}
		}
		if e := r.Totals.EnergyJ; (e == nil) != (tt.energy == 0) || e != nil && *e != tt.energy || got != tt.warning {
			t.Errorf("%s: %v, %q", tt.name, e, got)
		}
		if faults := r.Check(); len(faults) > 0 {
			t.Errorf("%s: %s", tt.name, strings.Join(faults, "\n"))
		}
		b, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		validate(t, b)
	}
}
