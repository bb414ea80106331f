package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cg/nemb"
)

// GPUCounter is how the counter of a GPU follows its power (nemb.Habits), as the intervals of its energy have it.
type GPUCounter struct {
	// Origin is measured (by cg doctor --gpu on this GPU, with this driver), published (for GPUs of this
	// architecture) or assumed (those that are published of others).
	Origin      string  `json:"origin"`
	PeriodS     float64 `json:"update_period_s"`
	AveragingS  float64 `json:"averaging_s"`  // each update is the mean power over so long a time
	DelayS      float64 `json:"delay_s"`      // which ended so long before it
	SampledPart float64 `json:"sampled_part"` // of the time
	// MeasuredAt and Driver are of what was measured.
	MeasuredAt string `json:"measured_at,omitempty"` // RFC 3339
	Driver     string `json:"driver,omitempty"`
}

// counterHabits is how the counter of a domain follows its power, nil where nothing is known.
func counterHabits(h nemb.Habits) *GPUCounter {
	if h.Origin == nemb.HabitsUnknown {
		return nil
	}
	c := &GPUCounter{Origin: string(h.Origin), PeriodS: h.Period.Seconds(), AveragingS: h.Window.Seconds(),
		DelayS: h.Delay.Seconds(), SampledPart: h.Part()}
	if h.Origin == nemb.HabitsMeasured {
		c.MeasuredAt, c.Driver = h.Measured.At.UTC().Format(time.RFC3339), h.Measured.Driver
	}
	return c
}

// habitWords say how habits are known.
var habitWords = map[string]string{
	string(nemb.HabitsPublished): "published for this architecture",
	string(nemb.HabitsAssumed):   "assumed: published for other GPUs",
}

// CounterLine says how the counters of GPUs follow their power, for those of which that is known; "" for none.
func (g *GPUs) CounterLine() string {
	if g == nil {
		return ""
	}
	var parts []string
	said := map[string][]string{} // what is said of which GPUs
	for _, d := range g.Devices {
		c := d.Counter
		if c == nil {
			continue
		}
		how := habitWords[c.Origin]
		if c.Origin == string(nemb.HabitsMeasured) {
			day, _, _ := strings.Cut(c.MeasuredAt, "T")
			how = "measured " + day
		}
		text := fmt.Sprintf("moves each %.0f ms by the mean power of %.0f ms", 1e3*c.PeriodS, 1e3*c.AveragingS)
		if c.DelayS >= 5e-4 {
			text += fmt.Sprintf(", %.0f ms late", 1e3*c.DelayS)
		}
		text += " (" + how + ")"
		if !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
		said[text] = append(said[text], d.Domain)
	}
	for i, text := range parts {
		parts[i] = "the counter of " + strings.Join(said[text], ", ") + " " + text
	}
	return strings.Join(parts, "; ")
}
