package pmsampling

import (
	"fmt"
	"math"

	"cg/checkpoint"
	"cg/pmsampling/cupti"
)

// Clock brings the GPU's time to CLOCK_MONOTONIC by pairs of readings, in their order. Between two pairs it is linear,
// and outside it goes on as beside. It has two pairs at least once it converts.
type Clock struct {
	Before, After cupti.Pair
}

// At is a moment of the GPU on CLOCK_MONOTONIC.
func (c Clock) At(gpu int64) checkpoint.Instant {
	span := c.After.GPU - c.Before.GPU
	if span <= 0 {
		return c.Before.Mono + checkpoint.Instant(gpu-c.Before.GPU)
	}
	since := float64(gpu-c.Before.GPU) * float64(c.After.Mono-c.Before.Mono) / float64(span)
	return c.Before.Mono + checkpoint.Instant(math.Round(since))
}

// Drift is how much faster the GPU's clock ran than CLOCK_MONOTONIC, in parts per million, and how far that may be
// wrong. It is NaN where no time passed.
func (c Clock) Drift() (ppm, within float64) {
	mono := float64(c.After.Mono - c.Before.Mono)
	if mono <= 0 {
		return math.NaN(), math.NaN()
	}
	ppm = (float64(c.After.GPU-c.Before.GPU)/mono - 1) * 1e6
	return ppm, float64(c.Before.Uncertainty+c.After.Uncertainty) / mono * 1e6
}

// String states the drift, and how far a time between the two pairs may be wrong.
func (c Clock) String() string {
	ppm, within := c.Drift()
	if math.IsNaN(ppm) {
		return "the GPU's clock was read once: its drift is not known"
	}
	return fmt.Sprintf("the GPU's clock ran %+.1f ppm (+-%.1f) against CLOCK_MONOTONIC; times are right to %d ns", ppm,
		within, max(c.Before.Uncertainty, c.After.Uncertainty))
}
