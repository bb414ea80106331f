package report

import (
	"bytes"
	"math"
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

// noisy is a run of 10 s with a sample each 10 ms. In its first half the
// machine draws 20 W, in its second 10 W and 30 W in turn.
func noisy(lost func(i int) bool, limits *NoiseLimits) *Run {
	const ms = 1_000_000
	d := nemb.Domain{ID: "package-0", Kind: "cpu_package", Source: "powercap", Method: nemb.Measured, InTotal: true,
		Lo: 1, Hi: 1}
	a := attribute.New([]nemb.Domain{d}, 2)
	r := nemb.Recording{Domains: []nemb.Domain{d}, Limit: 256}
	e := nemb.Energy(0)
	for i := range 1001 {
		switch {
		case i == 0:
		case i <= 500:
			e += 200_000
		default:
			e += 100_000 + nemb.Energy(i&1)*200_000
		}
		if lost(i) {
			continue
		}
		s := nemb.Sample{At: checkpoint.Tick(i * 10 * ms), Time: checkpoint.Instant(i * 10 * ms),
			Energy: []nemb.Energy{e}, Usage: account.Usage{Program: time.Duration(i * 10 * ms)}}
		r.Add(s)
		if i < 1000 {
			a.Close(s)
		} else {
			a.Last(s)
		}
	}
	run := Start("fine", "python", []string{"cg"}, "test")
	run.Finish(Facts{
		Outcome: &measure.Outcome{Domains: []nemb.Domain{d}, Attributed: a.Finish(), Begin: 0, End: 10_000 * ms,
			Series: nemb.Series{Domains: []nemb.Domain{d}, Samples: r.Samples(), Interval: r.Interval()}},
		Program: "main.py", Interval: 10 * time.Millisecond, Noise: limits,
	})
	return run
}

func none(int) bool { return false }

func TestNoise(t *testing.T) {
	quarter := func(i int) bool { return i%4 == 1 }
	// Half of the time 20 W, half of it 10 or 30: a deviation of the root of 50.
	tests := []struct {
		name    string
		lost    func(int) bool
		limits  *NoiseLimits
		quality string
		reasons string
		warning string
	}{
		{"default", none, nil, "high-noise", "within_task_power_cv_above_10pct",
			"main.py: the machine's power varied by 35.4 % (limits 10 % and 20 %): a run is one of many, repeat it " +
				"before you compare (cg run)"},
		{"wide", none, &NoiseLimits{Quality: []float64{20, 30, 40}, WarnCVPercent: 36, WarnDropPercent: 20},
			"moderate", "", ""},
		{"samples lost", quarter, &NoiseLimits{Quality: []float64{40, 50, 60}, WarnCVPercent: 50,
			WarnDropPercent: 20}, "excellent", "drop_ratio_above_20pct",
			"main.py: 24.9 % of the samples are missing (limits 50 % and 20 %): a run is one of many, repeat it " +
				"before you compare (cg run)"},
		{"both", quarter, &NoiseLimits{Quality: []float64{2, 5, 10}, WarnCVPercent: 12.5, WarnDropPercent: 20},
			"high-noise", "within_task_power_cv_above_12.5pct drop_ratio_above_20pct",
			"main.py: the machine's power varied by 25.0 %, 24.9 % of the samples are missing (limits 12.5 % and " +
				"20 %): a run is one of many, repeat it before you compare (cg run)"},
	}
	for _, tt := range tests {
		r := noisy(tt.lost, tt.limits)
		n := r.Tasks[0].Noise
		if n == nil || word(n.Quality) != tt.quality || n.PowerOf != "machine" || math.Abs(*n.PowerMeanW-20) > .1 ||
			n.SamplesExpectedMethod != "observed_median" {
			t.Errorf("%s: %+v", tt.name, n)
			continue
		}
		if *r.Totals.WorstWithinTaskCVPct != *n.PowerCVPercent {
			t.Errorf("%s: worst %v, task %v", tt.name, *r.Totals.WorstWithinTaskCVPct, *n.PowerCVPercent)
		}
		reasons, warning := "", ""
		if w := r.Totals.NoiseWarnings; len(w) > 0 {
			reasons = strings.Join(w[0].Reasons, " ")
		}
		for _, w := range r.Warnings {
			if w.Slug == "noise" {
				warning = w.Message
			}
		}
		if reasons != tt.reasons || warning != tt.warning {
			t.Errorf("%s:\n got %q, %q\nwant %q, %q", tt.name, reasons, warning, tt.reasons, tt.warning)
		}
		if faults := r.Check(); len(faults) > 0 {
			t.Errorf("%s: %s", tt.name, strings.Join(faults, "\n"))
		}
		b, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		validate(t, b)
		var text, md, html bytes.Buffer
		for name, w := range map[string]*bytes.Buffer{"text": &text, "markdown": &md, "html": &html} {
			for _, f := range format.Of((*Run)(nil)) {
				if f.Name == name {
					if err := f.Write(w, r, format.Options{}); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		if want := tt.quality + ": the machine's power 20.0 W ± "; !strings.Contains(text.String(),
			"Noise    "+want) || !strings.Contains(md.String(), "Noise: "+want) {
			t.Errorf("%s: no noise in\n%s\n%s", tt.name, text.String(), md.String())
		}
	}
}

// verify finds a figure of the noise that was changed.
func TestCheckOfNoise(t *testing.T) {
	good := "good"
	one := 1.0
	for field, spoil := range map[string]func(r *Run){
		"totals.noise.drop_ratio":                   func(r *Run) { r.Totals.Noise.DropRatio = .5 },
		"totals.noise.samples_captured":             func(r *Run) { r.Totals.Noise.SamplesCaptured = 5000 },
		"totals.noise.quality":                      func(r *Run) { r.Totals.Noise.Quality = &good },
		"totals.noise.power_cv_percent":             func(r *Run) { r.Totals.Noise.PowerStdW = nil },
		"tasks[0] (main.py).noise.power_cv_percent": func(r *Run) { r.Tasks[0].Noise.PowerMeanW = &one },
		"totals.worst_within_task_power_cv_percent": func(r *Run) { r.Totals.WorstWithinTaskCVPct = nil },
		"totals.noise_warnings":                     func(r *Run) { r.Totals.NoiseWarnings = nil },
		"totals.noise_limits.quality_cv_percent":    func(r *Run) { r.Totals.NoiseLimits.Quality = []float64{3, 2, 1} },
	} {
		r := noisy(none, nil)
		r.SHA256 = ""
		spoil(r)
		faults := r.Check()
		if len(faults) != 1 || !strings.HasPrefix(faults[0], field+": ") {
			t.Errorf("%s: %q", field, faults)
		}
	}
}

func TestNoiseLimits(t *testing.T) {
	for _, tt := range []struct {
		quality []float64
		ok      bool
	}{{[]float64{2, 5, 10}, true}, {[]float64{5, 5, 5}, true}, {nil, false}, {[]float64{1, 2}, false},
		{[]float64{3, 2, 1}, false}, {[]float64{0, 1, 2}, false}, {[]float64{1, 2, math.NaN()}, false},
		{[]float64{1, 2, math.Inf(1)}, false}} {
		if err := (NoiseLimits{Quality: tt.quality}).Valid(); (err == nil) != tt.ok {
			t.Errorf("%v: %v", tt.quality, err)
		}
	}
}
