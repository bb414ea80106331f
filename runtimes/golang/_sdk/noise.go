package codegreen

import (
	"math"
	"os"
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
	PowerWindowMs         float64  `json:"power_window_ms"`
	SampleIntervalMs      float64  `json:"sample_interval_ms"`
	Quality               *string  `json:"quality"` // excellent, good, moderate, high-noise
}

// noiseOf: times of a task's samples in ns, the machine's energy at each in uJ,
// how long the task took, and the periods of samples and counters.
func noiseOf(times []int64, micro []uint64, lasted, interval, period int64) *Noise {
	n := len(times)
	out := &Noise{SamplesCaptured: n, SamplesExpectedMethod: "configured", SampleIntervalMs: float64(interval) / 1e6}
	apart := float64(interval)
	if n >= 3 {
		steps := make([]int64, n-1)
		for i := range steps {
			steps[i] = times[i+1] - times[i]
		}
		slices.Sort(steps)
		apart = float64(steps[(n-2)/2]+steps[(n-1)/2]) / 2
		out.SamplesExpectedMethod = "observed_median"
	}
	out.SamplesExpected = n
	if apart > 0 {
		out.SamplesExpected = int(float64(lasted)/apart + 1e-6) // whole intervals
	}
	if out.SamplesExpected > 0 {
		out.DropRatio = rounded(max(0, 1-float64(n)/float64(out.SamplesExpected)), 1e4)
	}
	window := noiseWindowPeriods * max(period, interval)
	out.PowerWindowMs = float64(window) / 1e6
	var powers []float64
	first := 0
	for i := range times {
		if over := times[i] - times[first]; float64(over) >= float64(window)*0.99 && over > 0 {
			powers = append(powers, (float64(micro[i])-float64(micro[first]))*1e3/float64(over))
			first = i
		}
	}
	if len(powers) < noiseLeastPowers {
		return out
	}
	mean, squares := 0.0, 0.0
	for _, p := range powers {
		mean += p / float64(len(powers))
	}
	for _, p := range powers {
		squares += (p - mean) * (p - mean)
	}
	std := math.Sqrt(squares / float64(len(powers)-1))
	out.PowerMeanW, out.PowerStdW = number(rounded(mean, 1e6)), number(rounded(std, 1e6))
	if mean > 0 {
		cv := 100 * std / mean
		out.PowerCvPercent = number(rounded(cv, 1e4))
		_, _, ends := thresholds()
		i := 0
		for i < len(ends) && cv >= ends[i] {
			i++
		}
		out.Quality = &noiseQualities[i]
	}
	return out
}

// thresholds are the variation in percent and the part of samples missing from
// which a task is warned of, and the upper ends of excellent, good and moderate.
func thresholds() (cv, drop float64, ends []float64) {
	of := func(name string, otherwise float64) float64 {
		if v, err := strconv.ParseFloat(os.Getenv(name), 64); err == nil {
			return v
		}
		return otherwise
	}
	for _, text := range strings.Split(os.Getenv("CODEGREEN_NOISE_QUALITY"), ",") {
		if v, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
			ends = append(ends, v)
		}
	}
	if len(ends) != 3 || !slices.IsSorted(ends) {
		ends = noiseQualityEndsPercent
	}
	return of("CODEGREEN_NOISE_CV_PERCENT", noiseCvPercent), of("CODEGREEN_NOISE_DROP_RATIO", noiseDropPart), ends
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

// warningOf is nil for a task that is quiet and whole.
func warningOf(t *Task, n *Noise) *noiseWarning {
	cv, drop, _ := thresholds()
	g := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	var reasons []string
	if n.PowerCvPercent != nil && *n.PowerCvPercent >= cv {
		reasons = append(reasons, "within_task_power_cv_above_"+g(cv)+"pct")
	}
	if n.DropRatio >= drop {
		reasons = append(reasons, "drop_ratio_above_"+g(100*drop)+"pct")
	}
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

func rounded(v, unit float64) float64 { return math.Round(v*unit) / unit }
