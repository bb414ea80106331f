package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"cg/measure"
	"cg/pmsampling"
	"cg/pmsampling/beside"
)

// GPUMetrics are performance counters of GPUs that were sampled while the program ran.
type GPUMetrics struct {
	// SamplingInterval is in nanoseconds, or in cycles of the GPU's system clock where that is TriggerMode.
	SamplingInterval uint64            `json:"sampling_interval"`
	TriggerMode      string            `json:"trigger_mode"`
	Devices          []GPUMetricsOfGPU `json:"devices"`
}

// GPUMetricsOfGPU are those of one GPU, whoever used it.
type GPUMetricsOfGPU struct {
	Domain  string      `json:"domain"` // "" where nothing tells its energy
	Index   int         `json:"index"`  // CUDA's number
	Name    string      `json:"name"`
	Chip    string      `json:"chip"`
	Metrics []GPUMetric `json:"metrics"`
	// Samples are means over time: each sample where the run is short, else of neighbouring ones together.
	Samples []GPUMetricSample `json:"samples"`
	Counts  pmsampling.Counts `json:"counts"`
	// The drift of the GPU's clock against CLOCK_MONOTONIC; nil where no time passed.
	DriftPPM       *float64 `json:"drift_ppm"`
	DriftWithinPPM *float64 `json:"drift_within_ppm"`
	UncertaintyNs  int64    `json:"uncertainty_ns"` // of times
	Whole          bool     `json:"whole"`          // sampling did not fail before the program's end
}

// GPUMetric is a metric over a time; nil where the GPU does not tell it.
type GPUMetric struct {
	Name  string   `json:"name"`
	Mean  *float64 `json:"mean"`
	Min   *float64 `json:"min"`
	Max   *float64 `json:"max"`
	OverS float64  `json:"over_s"` // the time of the samples that it is of
}

// GPUMetricSample is the mean of each metric, in their order, between two moments of CLOCK_MONOTONIC.
type GPUMetricSample struct {
	FromNs int64      `json:"from_ns"`
	ToNs   int64      `json:"to_ns"`
	Values []*float64 `json:"values"`
}

// finite is a value, nil for none.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// metricsOf name sums.
func metricsOf(names []string, sums []beside.Sum) []GPUMetric {
	all := make([]GPUMetric, len(names))
	for i, name := range names {
		all[i].Name = name
		if i < len(sums) && sums[i].Over > 0 {
			s := sums[i]
			all[i].Mean, all[i].Min, all[i].Max = finite(s.Mean), finite(s.Min), finite(s.Max)
			all[i].OverS = s.Over.Seconds()
		}
	}
	return all
}

// gpuMetrics tells what was sampled on GPUs.
func (r *Run) gpuMetrics(c *measure.Counters) {
	if c == nil {
		return
	}
	config := c.Recorder.Config
	m := &GPUMetrics{SamplingInterval: config.Interval, TriggerMode: config.Trigger.String(),
		Devices: []GPUMetricsOfGPU{}}
	var text []string
	for _, refused := range c.Recorder.Refused {
		text = append(text, "a GPU was not sampled: "+refused.Error())
	}
	for _, g := range c.GPUs {
		of := GPUMetricsOfGPU{Domain: g.Domain, Index: g.Index, Name: g.Name, Chip: g.Chip, Counts: g.Counts,
			Metrics: metricsOf(config.Metrics, g.Series.Sums()), Samples: []GPUMetricSample{}, Whole: g.Fault == nil,
			UncertaintyNs: max(g.Clock.Before.Uncertainty, g.Clock.After.Uncertainty)}
		if ppm, within := g.Clock.Drift(); !math.IsNaN(ppm) {
			of.DriftPPM, of.DriftWithinPPM = &ppm, &within
		}
		for _, p := range g.Series.Whole() {
			s := GPUMetricSample{FromNs: int64(p.From), ToNs: int64(p.To)}
			for _, v := range p.Values {
				s.Values = append(s.Values, finite(v))
			}
			of.Samples = append(of.Samples, s)
		}
		m.Devices = append(m.Devices, of)
		if g.Fault != nil {
			text = append(text, fmt.Sprintf("GPU %d: sampling ended before the program did: %v", g.Index, g.Fault))
		}
		for _, flaw := range g.Counts.Flaws() {
			text = append(text, fmt.Sprintf("GPU %d: %s", g.Index, flaw))
		}
	}
	r.GPUMetrics = m
	if len(text) > 0 {
		r.Warn("gpu-metrics-incomplete", "--gpu-metrics: "+strings.Join(text, ". "))
	}
}

// Interval is the sampling interval with its unit.
func (m *GPUMetrics) Interval() string {
	if m.TriggerMode == pmsampling.GPUTimeInterval.String() {
		return time.Duration(m.SamplingInterval).String()
	}
	return fmt.Sprintf("%d cycles", m.SamplingInterval)
}

// Title names a GPU among several.
func (g *GPUMetricsOfGPU) Title() string {
	if g.Domain != "" {
		return g.Domain
	}
	return fmt.Sprintf("GPU %d", g.Index)
}

// gpuMetrics holds samples against the metrics that they are of.
func (c *check) gpuMetrics(m *GPUMetrics) {
	if m == nil {
		return
	}
	for i, g := range m.Devices {
		for k, s := range g.Samples {
			field := fmt.Sprintf("gpu_metrics.devices[%d].samples[%d]", i, k)
			if len(s.Values) != len(g.Metrics) {
				c.fault(field+".values", "%d, but there are %d metrics", len(s.Values), len(g.Metrics))
			}
			if s.ToNs < s.FromNs {
				c.fault(field+".to_ns", "%d is before its start, %d", s.ToNs, s.FromNs)
			}
		}
	}
}
