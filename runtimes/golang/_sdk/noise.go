package codegreen

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Noise says how evenly a task drew power, and whether its samples are whole.
type Noise struct {
	SamplesCaptured       int      `json:"samples_captured"`
	SamplesExpected       int      `json:"samples_expected"`
	SamplesExpectedMethod string   `json:"samples_expected_method"` // observed_median or configured
	DropRatio             float64  `json:"drop_ratio"`
	PowerMeanW            *float64 `json:"power_mean_w"`
	PowerStdW             *float64 `json:"power_std_w"`
	PowerCvPercent        *float64 `json:"power_cv_percent"`
	PowerWindowMs         *float64 `json:"power_window_ms"` // mean length of the windows that the powers are taken over
	SampleIntervalMs      float64  `json:"sample_interval_ms"`
	Quality               *string  `json:"quality"` // excellent, good, moderate, high-noise
}

// stretch is what is known of a task: times of its samples in ns, their flags, the
// machine's energy at each in uJ; how long the task took, the interval that was asked
// for, and the period of the slowest counter in ns, 0 where it is not known. Where some
// counters are slow, fast is the energy of the others, and usual their longest period.
type stretch struct {
	times                           []int64
	flags, micro, fast              []uint64
	lasted, interval, period, usual int64
}

// slow is the mean power of the counters that are slow, in W.
func (s stretch) slow() float64 {
	first, last := -1, -1
	for i, flag := range s.flags {
		if flag&flagFailed == 0 {
			if last = i; first < 0 {
				first = i
			}
		}
	}
	if first == last {
		return 0
	}
	rest := float64(s.micro[last]-s.fast[last]) - float64(s.micro[first]-s.fast[first])
	return rest * 1e3 / float64(s.times[last]-s.times[first])
}

// noise is that of the stretch, by the rule of runtimes/sdk/spec/cases/noise.json of cg.
func (s stretch) noise(l limits) *Noise {
	n := len(s.times)
	out := &Noise{SamplesCaptured: n, SamplesExpectedMethod: "configured", SampleIntervalMs: float64(s.interval) / 1e6}
	apart := float64(s.interval)
	if n >= 3 {
		steps := make([]int64, n-1)
		for i := range steps {
			steps[i] = s.times[i+1] - s.times[i]
		}
		slices.Sort(steps)
		apart = float64(steps[(n-2)/2]+steps[(n-1)/2]) / 2
		out.SamplesExpectedMethod = "observed_median"
	}
	out.SamplesExpected = n
	if apart > 0 { // whole intervals
		out.SamplesExpected = max(n, int(float64(s.lasted)/apart+1e-6))
	}
	if out.SamplesExpected > 0 {
		out.DropRatio = 1 - float64(n)/float64(out.SamplesExpected)
	}
	powers, joules, seconds := s.powers()
	beside := 0.0
	if len(powers) < noiseLeastPowers && s.fast != nil {
		others := s
		others.micro, others.period = s.fast, s.usual
		powers, joules, seconds = others.powers()
		beside = s.slow()
	}
	if len(powers) < noiseLeastPowers || joules == 0 {
		return out
	}
	mean, squares := joules/seconds, 0.0
	for _, p := range powers {
		squares += (p.watts - mean) * (p.watts - mean) * p.seconds
	}
	mean += beside
	count := float64(len(powers))
	std := math.Sqrt(squares / seconds * count / (count - 1))
	if std < noiseZeroPart*mean {
		std = 0
	}
	cv := 100 * std / mean
	out.PowerMeanW, out.PowerStdW, out.PowerCvPercent = number(mean), number(std), number(cv)
	out.PowerWindowMs = number(seconds * 1e3 / count)
	i := 0
	for i < len(l.ends) && cv >= l.ends[i] {
		i++
	}
	out.Quality = &noiseQualities[i]
	return out
}

// power is the mean over a window.
type power struct{ watts, seconds float64 }

// powers are those of neighbouring windows, with the sums of their energies and
// times. A sample whose reading failed ends none.
func (s stretch) powers() (all []power, joules, seconds float64) {
	period := s.period
	if period <= 0 {
		period = s.interval
	}
	first := -1
	for i, t := range s.times {
		switch {
		case s.flags[i]&flagFailed != 0:
		case first < 0:
			first = i
		case t > s.times[first] && t-s.times[first] >= noiseWindowPeriods*period:
			j, long := float64(s.micro[i]-s.micro[first])*1e-6, float64(t-s.times[first])*1e-9
			all, joules, seconds, first = append(all, power{j / long, long}), joules+j, seconds+long, i
		}
	}
	return all, joules, seconds
}

// limits are the variation in percent and the part of samples missing from which
// a task is warned of, and the upper ends of all qualities but the last.
type limits struct {
	cv, drop float64
	ends     []float64
}

// limitsOf are those that the environment sets.
func limitsOf(getenv func(name string) string) limits {
	of := func(name string, otherwise float64) float64 {
		if v, err := strconv.ParseFloat(strings.TrimSpace(getenv(name)), 64); err == nil {
			return v
		}
		return otherwise
	}
	l := limits{
		cv:   of("CODEGREEN_NOISE_CV_PERCENT", noiseCvPercent),
		drop: of("CODEGREEN_NOISE_DROP_RATIO", noiseDropPart),
	}
	numbers := true
	for _, text := range strings.Split(getenv("CODEGREEN_NOISE_QUALITY"), ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		l.ends, numbers = append(l.ends, v), numbers && err == nil
	}
	if !numbers || len(l.ends) != len(noiseQualities)-1 || !slices.IsSorted(l.ends) {
		l.ends = noiseQualityEndsPercent
	}
	return l
}

// noiseWarning is a record of totals.noise_warnings.
type noiseWarning struct {
	Task           string   `json:"task"`
	Depth          int      `json:"depth"`
	PowerCvPercent *float64 `json:"within_task_power_cv_percent"`
	DropRatio      float64  `json:"drop_ratio"`
	Quality        *string  `json:"quality"`
	Reasons        []string `json:"reasons"`
}

// reasons say why a task is warned of; none for one that is quiet and whole.
func (n *Noise) reasons(l limits) (reasons []string) {
	g := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	if n.PowerCvPercent != nil && *n.PowerCvPercent >= l.cv {
		reasons = append(reasons, "within_task_power_cv_above_"+g(l.cv)+"pct")
	}
	if n.DropRatio > 0 && n.DropRatio >= l.drop {
		reasons = append(reasons, "drop_ratio_above_"+g(100*l.drop)+"pct")
	}
	return reasons
}

// warningOf is nil for a task that is quiet and whole.
func warningOf(t *Task, n *Noise, l limits) *noiseWarning {
	reasons := n.reasons(l)
	if reasons == nil {
		return nil
	}
	return &noiseWarning{t.name, t.depth, n.PowerCvPercent, n.DropRatio, n.Quality, reasons}
}

// number is nil for what is no number.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// rounded is a power with six decimals; halves go to the even one.
func rounded(v float64) float64 { return math.RoundToEven(v*1e6) / 1e6 }
