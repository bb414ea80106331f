package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/report/figures"
	"cg/runtimes/sdk/spec"
)

// Noise says how steady the machine's power was in a span, and how many of the
// samples came. It is the power of the whole machine, all domains that make up
// the total, and not the share of the program.
type Noise struct {
	SamplesCaptured       int      `json:"samples_captured"`
	SamplesExpected       int      `json:"samples_expected"`
	SamplesExpectedMethod string   `json:"samples_expected_method"` // observed_median or configured
	DropRatio             float64  `json:"drop_ratio"`              // 0 to 1
	PowerMeanW            *float64 `json:"power_mean_w"`
	PowerStdW             *float64 `json:"power_std_w"`
	PowerCVPercent        *float64 `json:"power_cv_percent"`
	PowerOf               string   `json:"power_of"`           // machine
	PowerWindows          int      `json:"power_windows"`      // over how many windows the power is taken,
	PowerWindowMs         *float64 `json:"power_window_ms"`    // of what mean length
	SampleIntervalMs      float64  `json:"sample_interval_ms"` // between the samples
	// Quality is excellent, good, moderate or high-noise, by the coefficient of
	// variation.
	Quality *string `json:"quality"`
}

// NoiseWarning is a task whose noise is above a limit.
type NoiseWarning struct {
	Task      string   `json:"task"`
	Depth     int      `json:"depth"`
	CVPercent *float64 `json:"within_task_power_cv_percent"`
	DropRatio float64  `json:"drop_ratio"`
	Quality   *string  `json:"quality"`
	Reasons   []string `json:"reasons"`
}

// NoiseLimits are the bounds of the qualities and of what is warned of.
type NoiseLimits struct {
	// Quality are the coefficients of variation, in percent, from which on a
	// span is good, moderate and high-noise.
	Quality         []float64 `json:"quality_cv_percent"`
	WarnCVPercent   float64   `json:"warn_cv_percent"`
	WarnDropPercent float64   `json:"warn_drop_percent"`
}

// DefaultNoise are the limits unless the user sets others.
var DefaultNoise = NoiseLimits{
	Quality: spec.NoiseQualityEndsPercent, WarnCVPercent: spec.NoiseCvPercent,
	WarnDropPercent: 100 * spec.NoiseDropPart,
}

var qualities = spec.NoiseQualities

// Valid is an error for limits that are none: the three of the qualities rise.
func (l NoiseLimits) Valid() error {
	if len(l.Quality) != len(qualities)-1 || !slices.IsSorted(l.Quality) || l.Quality[0] <= 0 ||
		!(l.Quality[len(l.Quality)-1] <= 1e6) {
		return fmt.Errorf("%v are no limits of qualities: use three rising percentages, such as 2,5,10", l.Quality)
	}
	return nil
}

func (l NoiseLimits) quality(cv *float64) *string {
	if cv == nil {
		return nil
	}
	name := l.Name(*cv)
	return &name
}

// Name is the quality of a coefficient of variation in percent.
func (l NoiseLimits) Name(cv float64) string {
	i := 0
	for i < len(l.Quality) && cv >= l.Quality[i] {
		i++
	}
	return qualities[i]
}

// reasons tells why a span is warned of.
func (l NoiseLimits) reasons(n *Noise) []string {
	var why []string
	if n.PowerCVPercent != nil && *n.PowerCVPercent >= l.WarnCVPercent {
		why = append(why, fmt.Sprintf("within_task_power_cv_above_%gpct", l.WarnCVPercent))
	}
	if 100*n.DropRatio >= l.WarnDropPercent && n.DropRatio > 0 {
		why = append(why, fmt.Sprintf("drop_ratio_above_%gpct", l.WarnDropPercent))
	}
	return why
}

func (l NoiseLimits) noise(n nemb.Noise) *Noise {
	out := &Noise{
		SamplesCaptured: n.Captured, SamplesExpected: n.Expected, SamplesExpectedMethod: "configured",
		DropRatio: n.Drop,
		PowerOf:   "machine", PowerWindows: n.Windows, SampleIntervalMs: n.Interval.Seconds() * 1e3,
	}
	if n.Observed {
		out.SamplesExpectedMethod = "observed_median"
	}
	if n.Known {
		cv, window := n.CV(), n.Window.Seconds()*1e3
		out.PowerMeanW, out.PowerStdW, out.PowerCVPercent, out.PowerWindowMs = &n.Mean, &n.Std, &cv, &window
	}
	out.Quality = l.quality(out.PowerCVPercent)
	return out
}

// noise judges each task and the whole. Limits that are not set are the
// default.
func (r *Run) noise(series nemb.Series, interval time.Duration, limits *NoiseLimits) {
	if len(series.Samples) == 0 {
		return
	}
	l := DefaultNoise
	if limits != nil {
		l = *limits
	}
	t := &r.Totals
	t.NoiseLimits = &l
	t.Noise = l.noise(series.Noise(series.Samples[0].Time, series.Samples[len(series.Samples)-1].Time, interval))
	var loud []string
	for i := range r.Tasks {
		task := &r.Tasks[i]
		task.Noise = l.noise(series.Noise(checkpoint.Instant(task.StartedAtMonoNs),
			checkpoint.Instant(task.EndedAtMonoNs), interval))
	}
	t.WorstWithinTaskCVPct, t.NoiseWarnings = r.loudest(l)
	for _, w := range t.NoiseWarnings {
		var what []string
		if w.CVPercent != nil && *w.CVPercent >= l.WarnCVPercent {
			what = append(what, fmt.Sprintf("the machine's power varied by %s %%", figures.Digits(*w.CVPercent)))
		}
		if 100*w.DropRatio >= l.WarnDropPercent {
			what = append(what, fmt.Sprintf("%s %% of the samples are missing", figures.Digits(100*w.DropRatio)))
		}
		if loud = append(loud, w.Task+": "+strings.Join(what, ", ")); len(loud) == 3 && len(t.NoiseWarnings) > 4 {
			loud = append(loud, fmt.Sprintf("and %d more", len(t.NoiseWarnings)-3))
			break
		}
	}
	if len(loud) > 0 {
		r.Warn("noise", strings.Join(loud,
			"; ")+fmt.Sprintf(" (limits %g %% and %g %%): a run is one of many, repeat it before you compare (cg "+
			"run)", l.WarnCVPercent, l.WarnDropPercent))
	}
}

// loudest is the largest coefficient of variation of a task, and the tasks that
// are above a limit.
func (r *Run) loudest(l NoiseLimits) (worst *float64, warnings []NoiseWarning) {
	warnings = []NoiseWarning{}
	for _, task := range r.Tasks {
		n := task.Noise
		if n == nil {
			continue
		}
		if n.PowerCVPercent != nil && (worst == nil || *n.PowerCVPercent > *worst) {
			worst = n.PowerCVPercent
		}
		if why := l.reasons(n); len(why) > 0 {
			warnings = append(warnings, NoiseWarning{task.Name, task.Depth, n.PowerCVPercent, n.DropRatio, n.Quality,
				why})
		}
	}
	return worst, warnings
}

// noise holds the noise of a run against what it is computed from.
func (c *check) noise(r *Run) {
	l := r.Totals.NoiseLimits
	if l == nil {
		return // saved by a cg that did not tell
	}
	if err := l.Valid(); err != nil {
		c.fault("totals.noise_limits.quality_cv_percent", "%v", err)
		return
	}
	one := func(field string, n *Noise) {
		if n == nil {
			return
		}
		if n.SamplesCaptured > n.SamplesExpected {
			c.fault(field+"samples_captured", "%d, of %d expected", n.SamplesCaptured, n.SamplesExpected)
		} else if n.SamplesExpected > 0 &&
			math.Abs(n.DropRatio-(1-float64(n.SamplesCaptured)/float64(n.SamplesExpected))) > 1e-9 {
			c.fault(field+"drop_ratio", "%g, but %d of %d samples came", n.DropRatio, n.SamplesCaptured,
				n.SamplesExpected)
		}
		if (n.PowerMeanW == nil) != (n.PowerStdW == nil) || (n.PowerMeanW == nil) != (n.PowerCVPercent == nil) {
			c.fault(field+"power_cv_percent", "it is known together with power_mean_w and power_std_w or not at all")
			return
		}
		if n.PowerMeanW != nil &&
			math.Abs(*n.PowerCVPercent**n.PowerMeanW-100**n.PowerStdW) > 1e-6*(1+100**n.PowerStdW) {
			c.fault(field+"power_cv_percent", "%g, but power_std_w by power_mean_w is %g", *n.PowerCVPercent,
				100**n.PowerStdW / *n.PowerMeanW)
		}
		if want := l.quality(n.PowerCVPercent); word(n.Quality) != word(want) {
			c.fault(field+"quality", "%s, but by power_cv_percent it is %s", word(n.Quality), word(want))
		}
	}
	one("totals.noise.", r.Totals.Noise)
	for i, t := range r.Tasks {
		one(fmt.Sprintf("tasks[%d] (%s).noise.", i, t.Name), t.Noise)
	}
	if slices.ContainsFunc(r.Tasks, func(t Task) bool { return t.Noise == nil }) {
		return // the file is of a format that does not tell of each task
	}
	worst, warnings := r.loudest(*l)
	if got := r.Totals.WorstWithinTaskCVPct; (got == nil) != (worst == nil) || got != nil && *got != *worst {
		c.fault("totals.worst_within_task_power_cv_percent", "%s, but the largest of a task is %s", number(got),
			number(worst))
	}
	same := func(a, b NoiseWarning) bool {
		return a.Task == b.Task && a.Depth == b.Depth && slices.Equal(a.Reasons, b.Reasons) &&
			number(a.CVPercent) == number(b.CVPercent) && a.DropRatio == b.DropRatio &&
			word(a.Quality) == word(b.Quality)
	}
	if !slices.EqualFunc(r.Totals.NoiseWarnings, warnings, same) {
		c.fault("totals.noise_warnings", "%d, but by its limits %d tasks are noisy", len(r.Totals.NoiseWarnings),
			len(warnings))
	}
}

func word(s *string) string {
	if s == nil {
		return "not known"
	}
	return *s
}

func number(f *float64) string {
	if f == nil {
		return "not known"
	}
	return fmt.Sprintf("%g", *f)
}

// Line is the noise in a few words; mark stands before what is not measured.
func (n *Noise) Line(mark string) string {
	samples := fmt.Sprintf("%d of %d samples", n.SamplesCaptured, n.SamplesExpected)
	if n.PowerCVPercent == nil {
		return "?: too little to tell, " + samples
	}
	cv := "0"
	if *n.PowerCVPercent > 0 {
		cv = figures.Digits(*n.PowerCVPercent)
	}
	return fmt.Sprintf("%s: the machine's power %s%s ± %s %%, %s", *n.Quality, mark, figures.Watts(n.PowerMeanW), cv,
		samples)
}
