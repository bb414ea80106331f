package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/measure"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute"
	"cg/report/format"
)

// costly is a second of a program at 20 W whose 1000 calls have checkpoints of
// 100 us each.
func costly(domains []nemb.Domain) *Run {
	const us = 1000
	a := attribute.New(domains, 2)
	sample := func(at int64) nemb.Sample {
		s := nemb.Sample{At: checkpoint.Tick(at + 1), Time: checkpoint.Instant(at + 1),
			Usage: account.Usage{Program: time.Duration(at)}}
		for range domains {
			s.Energy = append(s.Energy, nemb.Energy(20*at/1000))
		}
		return s
	}
	var words []checkpoint.Word
	for i := range int64(1000) {
		words = append(words, checkpoint.Pack(checkpoint.Tick(1+i*1000*us+50*us), checkpoint.Enter, 1),
			checkpoint.Pack(checkpoint.Tick(1+i*1000*us+950*us), checkpoint.Exit, 1))
	}
	a.Close(sample(0))
	a.Fold(checkpoint.Run{Thread: checkpoint.Thread{PID: 1, TID: 1}, First: true, Start: 1, Words: words,
		Cost: 100 * us}, 1<<40, 1<<40)
	a.Last(sample(1000_000 * us))
	r := Start("fine", "python", []string{"cg"}, "test")
	r.Finish(Facts{
		Outcome: &measure.Outcome{
			Domains: domains, Attributed: a.Finish(),
			Series: nemb.Series{Domains: domains, Samples: []nemb.Sample{sample(0), sample(1000_000 * us)}},
		},
		Program: "main.py", Interval: 10 * time.Millisecond,
		Sites: []checkpoint.Site{{ID: 1, Language: "python", Func: "f", File: "/f.py", Line: 1, EndLine: 2,
			Kind: checkpoint.Function}},
	})
	return r
}

// What checkpoints cost has a line of its own in every format that shows the
// ledger, and is in no function.
func TestCheckpointsHaveALine(t *testing.T) {
	d := nemb.Domain{ID: "package-0", Kind: "cpu_package", Source: "powercap", Method: nemb.Measured, InTotal: true,
		Lo: 1, Hi: 1}
	for name, domains := range map[string][]nemb.Domain{"a counter": {d}, "none": nil} {
		r := costly(domains)
		c := r.Channel.Cost
		if c == nil || c.TimeS < .1995 || c.TimeS > .2 || c.EventNs < 99_000 || c.EventNs > 100_000 ||
			(c.EnergyJ != nil) != (domains != nil) {
			t.Fatalf("%s: %+v", name, c)
		}
		if self := r.Functions[0].SelfTimeS; self < .799 || self > .801 {
			t.Errorf("%s: f took %g s, want 0.8", name, self)
		}
		if faults := r.Check(); len(faults) > 0 {
			t.Errorf("%s: %s", name, strings.Join(faults, "\n"))
		}
		b, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		validate(t, b)
		if domains == nil {
			continue
		}
		if *c.EnergyJ < 3_990_000 || *c.EnergyJ > 4_000_000 ||
			*r.Totals.ProgramEnergyJ != *r.Totals.EnergyJ-*c.EnergyJ {
			t.Errorf("checkpoints %d uJ, program %d of %d", *c.EnergyJ, *r.Totals.ProgramEnergyJ, *r.Totals.EnergyJ)
		}
		for name, want := range map[string]string{
			"text":     "200 ms and 4.00 J in all, counted for no function",
			"markdown": "| checkpoints | 4.00 J | 20.0 % |",
			"csv":      "checkpoints,", "html": `"name":"checkpoints"`,
		} {
			found := false
			for _, f := range format.Of((*Run)(nil)) {
				if f.Name != name {
					continue
				}
				found = true
				var out bytes.Buffer
				if err := f.Write(&out, r, format.Options{Chosen: map[string]string{"table": "ledger"},
					Terminal: format.Terminal{Width: 200}}); err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(out.String(), want) {
					t.Errorf("%s has no %q:\n%.2000s", name, want, out.String())
				}
			}
			if !found {
				t.Errorf("there is no format %s", name)
			}
		}
	}
}

func TestCheckOfCheckpoints(t *testing.T) {
	d := nemb.Domain{ID: "package-0", Kind: "cpu_package", Source: "powercap", Method: nemb.Measured, InTotal: true,
		Lo: 1, Hi: 1}
	for field, spoil := range map[string]func(r *Run){
		"channel.cost":          func(r *Run) { r.Channel.Cost = nil },
		"channel.cost.energy_j": func(r *Run) { *r.Channel.Cost.EnergyJ++ },
		"channel.cost.event_ns": func(r *Run) { r.Channel.Cost.EventNs *= 2 },
		"channel.runtime.energy_j": func(r *Run) {
			r.Channel.Runtime = &RuntimeCost{EnergyJ: joules(nemb.Energy(*r.Totals.EnergyJ))}
		},
	} {
		r := costly([]nemb.Domain{d})
		spoil(r)
		if faults := r.Check(); len(faults) != 1 || !strings.HasPrefix(faults[0], field+": ") {
			t.Errorf("%s: %q", field, faults)
		}
	}
	r := costly([]nemb.Domain{d})
	r.Ledger = slices.DeleteFunc(r.Ledger, func(l Line) bool { return l.Name == LineOwn })
	r.Channel.Runtime = &RuntimeCost{EnergyJ: joules(0)}
	if faults := r.Check(); len(faults) > 0 {
		t.Errorf("cg's runtime used 0 J, and cg has no line: %q", faults)
	}
}
