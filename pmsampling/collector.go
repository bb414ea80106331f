// Package pmsampling samples the performance counters of an NVIDIA GPU (PM sampling): metrics such as the part of the
// time that its processors were busy, every few microseconds, whatever runs on it.
//
// A Collector is the state machine of one GPU, with the names, the values and the rules of NVIDIA's Python module
// cupti.pm_sampling. Decoding gives CounterData: when each sample began and ended, and an image of counters
// whose values are computed when they are asked for, here or on another machine with the libraries (Evaluator). A
// Session drives a collector on time, pairs the GPU's clock with CLOCK_MONOTONIC, and counts what is missing.
//
// The package calls CUPTI through package cupti, whose errors it passes on. It prints nothing and writes no files;
// package pmsampling/cgpm is the file format.
package pmsampling

import (
	"errors"
	"fmt"
	"math"

	"cg/pmsampling/cupti"
)

// TriggerMode says what makes the GPU take a sample.
type TriggerMode int32

// CUpti_PmSampling_TriggerMode.
const (
	GPUSysclkInterval TriggerMode = 0 // a number of cycles of the system clock, which changes its speed
	GPUTimeInterval   TriggerMode = 1 // nanoseconds; not on Turing and GA100
)

func (m TriggerMode) String() string {
	return name([]string{"GPU_SYSCLK_INTERVAL", "GPU_TIME_INTERVAL"}, int(m))
}

// DecodeStopReason says why a decoding ended.
type DecodeStopReason int32

// CUpti_PmSampling_DecodeStopReason.
const (
	StopOther           DecodeStopReason = 0
	StopCounterDataFull DecodeStopReason = 1 // the image has no room: what did not fit is lost
	StopEndOfRecords    DecodeStopReason = 2
)

func (r DecodeStopReason) String() string {
	return name([]string{"OTHER", "COUNTER_DATA_FULL", "END_OF_RECORDS"}, int(r))
}

// AppendMode says what the GPU does when its buffer is full.
type AppendMode int32

// CUpti_PmSampling_HardwareBuffer_AppendMode.
const (
	KeepOldest AppendMode = 0 // stops: the buffer overflows
	KeepLatest AppendMode = 1 // overwrites the oldest records; since CUDA 12.8, not on Turing
)

func (m AppendMode) String() string { return name([]string{"KEEP_OLDEST", "KEEP_LATEST"}, int(m)) }

func name(names []string, i int) string {
	if i < 0 || i >= len(names) {
		return fmt.Sprint(i)
	}
	return names[i]
}

// Values that a configuration has by default, NVIDIA's.
const (
	DefaultBuffer     = 512 << 20 // bytes
	DefaultInterval   = 10000     // ns or cycles
	DefaultMaxSamples = 10000
)

// MostSamples is how many samples one image may be made for: CUPTI takes a number of 32 bits and some 16 KiB for each.
const MostSamples = 1 << 20

// Config is what a collector samples. The zero values of Buffer and Interval are the defaults.
type Config struct {
	Metrics  []string    `json:"metrics"`
	Buffer   uint64      `json:"hardware_buffer_size"` // bytes
	Interval uint64      `json:"sampling_interval"`    // nanoseconds, or cycles
	Trigger  TriggerMode `json:"trigger_mode"`
	Append   AppendMode  `json:"hw_buffer_append_mode"`
	Set      string      `json:"single_pass_metric_set_name"` // "" for none
}

// ErrState is the kind of error of a call that comes at the wrong time: before Enable, twice, and so on.
var ErrState = errors.New("wrong order")

// ErrValue is the kind of error of a value that no collector takes.
var ErrValue = errors.New("wrong value")

// wrong is an error of a kind.
type wrong struct {
	kind error
	text string
}

func (w *wrong) Error() string { return w.text }
func (w *wrong) Unwrap() error { return w.kind }

func state(format string, args ...any) error { return &wrong{ErrState, fmt.Sprintf(format, args...)} }
func value(format string, args ...any) error { return &wrong{ErrValue, fmt.Sprintf(format, args...)} }

// Collector samples one GPU. It is for one goroutine at a time. Disable it at the end.
type Collector struct {
	l      *cupti.Library
	Device int

	chip    string
	sampler *cupti.Sampler // nil before Enable
	free    []byte         // counters that are free, nil where that is not known
	config  *Config        // nil before Configure
	counted *cupti.Config
	running bool
	host    *Evaluator
}

// New makes a collector of GPU device, which Enable checks.
func New(l *cupti.Library, device int) *Collector { return &Collector{l: l, Device: device} }

// Chip is the name of the GPU's chip, once it is enabled.
func (c *Collector) Chip() string { return c.chip }

// Enable prepares the process and begins PM sampling of the GPU.
func (c *Collector) Enable() error {
	if c.sampler != nil {
		return state("PM sampling is already enabled on GPU %d", c.Device)
	}
	if err := c.l.Initialize(c.Device); err != nil {
		return err
	}
	devices, err := c.l.Devices()
	if err != nil {
		return err
	}
	if d := devices[c.Device]; !d.Samples() {
		return fmt.Errorf("GPU %d (%s) has compute capability %d.%d: PM sampling begins with 7.5 (Turing): %w",
			c.Device, d.Name, d.Major, d.Minor, cupti.ErrUnsupported)
	}
	if c.chip, err = c.l.Chip(c.Device); err != nil {
		return err
	}
	// Which counters are free cannot be told while another session runs; then Enable says what is wrong.
	if c.free, err = c.l.Availability(c.Device); errors.Is(err, cupti.ErrDenied) {
		return err
	}
	c.sampler, err = c.l.Enable(c.Device)
	return err
}

// Configure chooses what is sampled. A collector that was configured before begins anew: CUPTI cannot change a live
// configuration.
func (c *Collector) Configure(set Config) error {
	if c.sampler == nil {
		return state("enable the collector before configure")
	}
	if c.running {
		return state("PM sampling is running: stop it before configure")
	}
	if err := set.complete(); err != nil {
		return err
	}
	host, err := c.l.Host(c.chip, set.Set, c.free)
	if err != nil {
		return err
	}
	defer host.Close()
	counted, err := host.Configure(set.Metrics)
	if err != nil {
		return err
	}
	if counted.Passes != 1 {
		counted.Free()
		return value("these metrics need %d passes, and PM sampling can do one: leave out some of them, or use "+
			"metrics of one set (cg gpu metrics --sets)", counted.Passes)
	}
	if c.config != nil {
		if err := c.anew(); err != nil {
			counted.Free()
			return err
		}
	}
	err = c.sampler.Configure(counted, cupti.Settings{Buffer: set.Buffer, Interval: set.Interval,
		Trigger: int32(set.Trigger), Append: int32(set.Append)})
	if err != nil {
		counted.Free()
		if errors.Is(err, cupti.ErrUnsupported) && set.Trigger == GPUTimeInterval {
			return fmt.Errorf("%w; Turing and GA100 (A100) have no samples by time: use cycles "+
				"(GPU_SYSCLK_INTERVAL; --interval 20000cycles)", err)
		}
		return err
	}
	c.config, c.counted = &set, counted
	return nil
}

// complete puts in defaults and refuses what CUPTI could only misunderstand.
func (set *Config) complete() error {
	if len(set.Metrics) == 0 {
		return value("name one metric at least")
	}
	seen := map[string]bool{}
	for _, m := range set.Metrics {
		if seen[m] {
			return value("metric %s is named twice", m)
		}
		if m == "" {
			return value("a metric has no name")
		}
		seen[m] = true
	}
	if set.Buffer == 0 {
		set.Buffer = DefaultBuffer
	}
	if set.Interval == 0 {
		set.Interval = DefaultInterval
	}
	if set.Buffer > math.MaxInt64 || set.Interval > math.MaxInt64 {
		return value("the hardware buffer and the interval are less than 2^63")
	}
	if set.Trigger != GPUSysclkInterval && set.Trigger != GPUTimeInterval {
		return value("there is no trigger mode %d: GPU_SYSCLK_INTERVAL is 0, GPU_TIME_INTERVAL is 1", set.Trigger)
	}
	if set.Append != KeepOldest && set.Append != KeepLatest {
		return value("there is no append mode %d: KEEP_OLDEST is 0, KEEP_LATEST is 1", set.Append)
	}
	return nil
}

// anew ends PM sampling and begins it again.
func (c *Collector) anew() error {
	err := c.end()
	if err == nil {
		c.sampler, err = c.l.Enable(c.Device)
	}
	return err
}

// end gives the GPU back.
func (c *Collector) end() error {
	if c.sampler == nil {
		return nil
	}
	err := c.sampler.Disable()
	if c.counted != nil {
		c.counted.Free()
	}
	c.sampler, c.counted, c.config, c.running = nil, nil, nil, false
	return err
}

// ready tells what is missing before a call.
func (c *Collector) ready(call string) error {
	switch {
	case c.sampler == nil:
		return state("enable the collector before %s", call)
	case c.config == nil:
		return state("configure the collector before %s", call)
	}
	return nil
}

// Start begins to take samples.
func (c *Collector) Start() error {
	if err := c.ready("start"); err != nil {
		return err
	}
	if c.running {
		return state("PM sampling has already started")
	}
	err := c.sampler.Start()
	c.running = err == nil
	return err
}

// Stop ends taking samples. Those that were taken can be decoded still.
func (c *Collector) Stop() error {
	if err := c.ready("stop"); err != nil {
		return err
	}
	if !c.running {
		return state("PM sampling has already stopped")
	}
	c.running = false
	return c.sampler.Stop()
}

// Decode takes records of the hardware buffer, maxSamples at most: what does not fit is lost.
func (c *Collector) Decode(maxSamples int) (*CounterData, error) {
	if err := c.ready("decode"); err != nil {
		return nil, err
	}
	if maxSamples < 1 || maxSamples > MostSamples {
		return nil, value("max_samples is %d: use 1 to %d", maxSamples, MostSamples)
	}
	image, err := c.sampler.Image(c.config.Metrics, maxSamples)
	if err != nil {
		return nil, err
	}
	d, err := c.sampler.Decode(image)
	if err != nil {
		return nil, err
	}
	if c.host == nil {
		c.host = NewEvaluator(c.l, c.chip)
	}
	return &CounterData{Image: image, Metrics: c.config.Metrics, Chip: c.chip, Total: d.Total, Populated: d.Populated,
		Completed: d.Completed, Starts: d.Starts, Ends: d.Ends, Reason: DecodeStopReason(d.Reason),
		Overflow: d.Overflow, evaluator: c.host}, nil
}

// Disable ends PM sampling. It may be called at any time, also twice.
func (c *Collector) Disable() error {
	err := c.end()
	if c.host != nil {
		err = errors.Join(err, c.host.Close())
		c.host = nil
	}
	return err
}
