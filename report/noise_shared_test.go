package report

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
)

// sharedNoise is a case of ../runtimes/sdk/spec/cases/noise.json: samples (time in
// ns, flags, uJ of the machine), the environment of a session, and what all have
// to say of it.
type sharedNoise struct {
	Name       string            `json:"name"`
	IntervalNs int64             `json:"interval_ns"`
	PeriodNs   int64             `json:"period_ns"` // of the counter
	LastedNs   int64             `json:"lasted_ns"` // from the first sample
	Env        map[string]string `json:"env"`
	Samples    [][3]int64        `json:"samples"`
	// FastPeriodNs is the period of the counters that are not slow, whose energies at the samples are FastUj; 0 where none is slow.
	FastPeriodNs int64           `json:"fast_period_ns"`
	FastUj       []int64         `json:"fast_uj"`
	Want         sharedNoiseWant `json:"want"`

	limits *NoiseLimits // what the environment means, nil for the default
}

type sharedNoiseWant struct {
	Captured int      `json:"samples_captured"`
	Expected int      `json:"samples_expected"`
	Method   string   `json:"samples_expected_method"`
	Drop     float64  `json:"drop_ratio"`
	Mean     *float64 `json:"power_mean_w"`
	Std      *float64 `json:"power_std_w"`
	CV       *float64 `json:"power_cv_percent"`
	Window   *float64 `json:"power_window_ms"`
	Quality  *string  `json:"quality"`
	Reasons  []string `json:"reasons"`
}

// of computes what cg says of the case.
func (c *sharedNoise) of() sharedNoiseWant {
	s := nemb.Series{Domains: []nemb.Domain{{ID: "d", InTotal: true, Period: time.Duration(c.PeriodNs)}}}
	if c.FastPeriodNs > 0 {
		s.Domains = append(s.Domains, nemb.Domain{ID: "fast", InTotal: true, Period: time.Duration(c.FastPeriodNs)})
	}
	for i, v := range c.Samples {
		e := []nemb.Energy{nemb.Energy(v[2])}
		if c.FastPeriodNs > 0 {
			e = []nemb.Energy{nemb.Energy(v[2] - c.FastUj[i]), nemb.Energy(c.FastUj[i])}
		}
		s.Samples = append(s.Samples, nemb.Sample{Time: checkpoint.Instant(v[0]), Failed: v[1]&2 != 0, Energy: e})
	}
	l := DefaultNoise
	if c.limits != nil {
		l = *c.limits
	}
	begin := s.Samples[0].Time
	n := l.noise(s.Noise(begin, begin+checkpoint.Instant(c.LastedNs), time.Duration(c.IntervalNs)))
	w := sharedNoiseWant{
		Captured: n.SamplesCaptured, Expected: n.SamplesExpected, Method: n.SamplesExpectedMethod, Drop: n.DropRatio,
		Mean: n.PowerMeanW, Std: n.PowerStdW, CV: n.PowerCVPercent, Window: n.PowerWindowMs, Quality: n.Quality,
		Reasons: l.reasons(n),
	}
	if w.Reasons == nil {
		w.Reasons = []string{}
	}
	return w
}

// counterOf makes samples of a counter that is updated each period: n of them, one
// each step, of a power in W that holds for each 50 periods.
func counterOf(n int, step, period time.Duration, watts func(block int) float64) (all [][3]int64) {
	joules := func(at time.Duration) float64 {
		sum := 0.0
		for from := time.Duration(0); from < at; from += 50 * period {
			sum += watts(int(from/(50*period))) * (min(at, from+50*period) - from).Seconds()
		}
		return sum
	}
	for i := range n {
		at := time.Duration(i) * step
		all = append(all, [3]int64{int64(5*time.Second + at), 0, int64(math.Round(joules(at.Truncate(period)) * 1e6))})
	}
	return all
}

func sharedNoiseCases() []*sharedNoise {
	const ms = time.Millisecond
	level := func(int) float64 { return 20 }
	two := func(a, b float64) func(int) float64 {
		return func(block int) float64 { return []float64{a, b}[block%2] }
	}
	without := func(samples [][3]int64, lost func(i int) bool) (left [][3]int64) {
		for i, s := range samples {
			if !lost(i) {
				left = append(left, s)
			}
		}
		return left
	}
	failing := counterOf(301, ms, ms, level)
	for i := range failing {
		if i%5 == 2 || i > 100 && i < 120 {
			failing[i] = [3]int64{failing[i][0], 2, failing[i-1][2]}
		}
	}
	// beside puts a counter of watts that is updated each 100 ms beside samples.
	beside := func(name string, watts int64, samples [][3]int64) *sharedNoise {
		c := &sharedNoise{Name: name, PeriodNs: int64(100 * ms), FastPeriodNs: int64(ms)}
		for _, s := range samples {
			c.FastUj = append(c.FastUj, s[2])
			s[2] += (s[0] - samples[0][0]) / int64(100*ms) * watts * 100_000
			c.Samples = append(c.Samples, s)
		}
		return c
	}
	cases := []*sharedNoise{
		beside("1.5 s beside a counter that is slow", 300, counterOf(1501, ms, ms, two(94, 106))),
		beside("windows enough of a counter that is slow", 300, counterOf(2000, 10*ms, ms, two(94, 106))),
		beside("too short for any", 300, counterOf(100, ms, ms, level)),
		{Name: "a steady power", PeriodNs: int64(ms), Samples: counterOf(301, ms, ms, level)},
		{Name: "a steady power and a counter that is read out of step", PeriodNs: int64(ms),
			Samples: counterOf(400, 983*time.Microsecond, ms, level)},
		{Name: "two powers in turn", PeriodNs: int64(ms), Samples: counterOf(401, ms, ms, two(10, 30))},
		{Name: "a good power", PeriodNs: int64(ms), Samples: counterOf(401, ms, ms, two(97, 103))},
		{Name: "a moderate power", PeriodNs: int64(ms), Samples: counterOf(401, ms, ms, two(94, 106))},
		{Name: "samples that are further apart than updates", PeriodNs: int64(ms), IntervalNs: int64(7 * ms),
			Samples: counterOf(60, 7*ms, ms, two(10, 30))},
		{Name: "a counter that is updated each 4 ms", PeriodNs: int64(4 * ms), IntervalNs: int64(4 * ms),
			Samples: counterOf(200, 4*ms, 4*ms, two(10, 11))},
		{Name: "two windows tell no variation", PeriodNs: int64(ms), Samples: counterOf(149, ms, ms, two(10, 30))},
		{Name: "no energy", PeriodNs: int64(ms), Samples: counterOf(301, ms, ms, func(int) float64 { return 0 })},
		{Name: "a quarter of the samples is missing", PeriodNs: int64(ms),
			Samples: without(counterOf(401, ms, ms, level), func(i int) bool { return i%4 == 1 })},
		{Name: "readings that failed end no window", PeriodNs: int64(ms), Samples: failing},
		{Name: "two samples", PeriodNs: int64(ms),
			Samples: without(counterOf(11, ms, ms, level), func(i int) bool { return i%10 != 0 })},
		{Name: "a part of an interval is no sample", PeriodNs: int64(ms), LastedNs: 2900000,
			Samples: counterOf(3, ms, ms, level)},
		{Name: "an even number of distances", PeriodNs: int64(ms),
			Samples: without(counterOf(6, ms, ms, level), func(i int) bool { return i == 1 || i == 4 })},
		{Name: "other limits", PeriodNs: int64(ms), Samples: counterOf(401, ms, ms, two(94, 106)),
			Env:    map[string]string{"CODEGREEN_NOISE_CV_PERCENT": "5.25", "CODEGREEN_NOISE_QUALITY": "7, 8,9"},
			limits: &NoiseLimits{Quality: []float64{7, 8, 9}, WarnCVPercent: 5.25, WarnDropPercent: 20}},
		{Name: "limits that are none", PeriodNs: int64(ms), Samples: counterOf(401, ms, ms, two(94, 106)),
			Env: map[string]string{"CODEGREEN_NOISE_CV_PERCENT": "much", "CODEGREEN_NOISE_QUALITY": "9,8,7",
				"CODEGREEN_NOISE_DROP_RATIO": ""}},
		{Name: "a limit that is no number", PeriodNs: int64(ms), Samples: counterOf(401, ms, ms, two(94, 106)),
			Env: map[string]string{"CODEGREEN_NOISE_QUALITY": "7,x,8,9"}},
		{Name: "a limit of missing samples", PeriodNs: int64(ms),
			Samples: without(counterOf(401, ms, ms, level), func(i int) bool { return i%10 == 1 }),
			Env:     map[string]string{"CODEGREEN_NOISE_DROP_RATIO": "0.07"},
			limits:  &NoiseLimits{Quality: []float64{2, 5, 10}, WarnCVPercent: 10, WarnDropPercent: 7}},
		{Name: "nothing is missing and the limit is 0", PeriodNs: int64(ms), Samples: counterOf(301, ms, ms, level),
			Env:    map[string]string{"CODEGREEN_NOISE_DROP_RATIO": "0"},
			limits: &NoiseLimits{Quality: []float64{2, 5, 10}, WarnCVPercent: 10, WarnDropPercent: 0}},
	}
	for _, c := range cases {
		if c.IntervalNs == 0 {
			c.IntervalNs = int64(ms)
		}
		if c.LastedNs == 0 {
			c.LastedNs = c.Samples[len(c.Samples)-1][0] - c.Samples[0][0]
		}
		if c.FastUj == nil {
			c.FastUj = []int64{}
		}
		if c.Env == nil {
			c.Env = map[string]string{}
		}
		c.Want = c.of()
	}
	return cases
}

// TestNoiseIsShared holds the table by which the packages for sessions are held to
// cg's own noise.
func TestNoiseIsShared(t *testing.T) {
	const file = "../runtimes/sdk/spec/cases/noise.json"
	var b bytes.Buffer
	for i, c := range sharedNoiseCases() {
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString([]string{"[", ",\n"}[min(i, 1)])
		b.Write(text)
	}
	b.WriteString("]\n")
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	saved, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(saved, b.Bytes()) {
		t.Errorf("%s is not what cg says now (%v): go test ./report -run NoiseIsShared -update", file, err)
	}
	for name, want := range map[string]string{
		"a steady power": "excellent", "a steady power and a counter that is read out of step": "excellent",
		"two powers in turn": "high-noise",
		"a good power":       "good", "a moderate power": "moderate",
		"samples that are further apart than updates": "high-noise",
		"two windows tell no variation":               "not known", "no energy": "not known", "other limits": "excellent",
		"limits that are none": "moderate", "a limit that is no number": "moderate",
	} {
		found := false
		for _, c := range sharedNoiseCases() {
			if found = found || c.Name == name; c.Name == name && word(c.Want.Quality) != want {
				t.Errorf("%s: %s, want %s", name, word(c.Want.Quality), want)
			}
		}
		if !found {
			t.Errorf("no case %q", name)
		}
	}
}
