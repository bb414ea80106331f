package report

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"cg/nemb"
)

// MaxSamples bounds the samples of a saved run, however long it was.
const MaxSamples = 4000

// Sample is the machine at one moment. Energies and times count from the first
// sample, so leaving out samples loses detail and no energy. Powers are means
// since the sample before; a domain without one is absent, which is not 0 W.
type Sample struct {
	TNs         int64              `json:"t_ns"` // CLOCK_MONOTONIC
	EnergyJ     *Joules            `json:"energy_j"`
	PowerW      *float64           `json:"power_w"`
	DomainJ     map[string]Joules  `json:"domain_j"`
	DomainW     map[string]float64 `json:"domain_w"`
	ProgramCPUS float64            `json:"program_cpu_s"`
	OwnCPUS     float64            `json:"own_cpu_s"`
	OtherCPUS   float64            `json:"other_cpu_s"`
}

// Timeseries says whether tasks have their samples (Task.Timeseries), and what a sample is.
type Timeseries struct {
	Enabled             bool     `json:"enabled"`
	SchemaVersion       string   `json:"schema_version"`
	SampleKeys          []string `json:"sample_keys"`
	TNsClock            string   `json:"t_ns_clock"`
	InclusiveOfChildren bool     `json:"inclusive_of_children"`
}

// TaskSamples gives each task the samples that lie in it.
func (r *Run) TaskSamples() {
	if r.Meta.Timeseries == nil {
		return
	}
	r.Meta.Timeseries.Enabled = true
	for i := range r.Tasks {
		t := &r.Tasks[i]
		for _, s := range r.Samples {
			if s.TNs >= t.StartedAtMonoNs && s.TNs <= t.EndedAtMonoNs {
				t.Timeseries = append(t.Timeseries, s)
			}
		}
	}
}

// PowerName names the power of a domain, and says it if that was not measured.
func (r *Run) PowerName(domain string) string {
	if r.Mark() != "" {
		return "power " + domain + ", " + string(r.Totals.Kind)
	}
	return "power " + domain
}

// sampled keeps every n-th sample of a series, the first and the last. One
// whose reading failed tells a part of the domains only and is left out.
func (r *Run) sampled(series nemb.Series) {
	var whole []nemb.Sample
	for i, s := range series.Samples {
		if !s.Failed || i == 0 || i == len(series.Samples)-1 {
			whole = append(whole, s)
		}
	}
	r.Samples = []Sample{}
	if len(whole) == 0 {
		return
	}
	step := 1 + (len(whole)-2)/(MaxSamples-1)
	prev := whole[0]
	for i, s := range whole {
		if i%step != 0 && i != len(whole)-1 {
			continue
		}
		r.Samples = append(r.Samples, sampleOf(series.Domains, whole[0], prev, s))
		prev = s
	}
}

func sampleOf(domains []nemb.Domain, first, prev, s nemb.Sample) Sample {
	out := Sample{
		TNs: int64(s.Time), DomainJ: map[string]Joules{}, DomainW: map[string]float64{},
		ProgramCPUS: (s.Usage.Program - first.Usage.Program).Seconds(),
		OwnCPUS:     (s.Usage.Own - first.Usage.Own).Seconds(),
		OtherCPUS:   (s.Usage.Other - first.Usage.Other).Seconds(),
	}
	// Milliwatts are more than any counter tells.
	watts := func(e nemb.Energy) *float64 {
		span := float64(s.Time-prev.Time) * 1e-9
		if span <= 0 {
			return nil
		}
		w := math.Round(e.Joules()/span*1e3) / 1e3
		return &w
	}
	var sum, since nemb.Energy
	for d, domain := range domains {
		e := s.Energy[d] - first.Energy[d]
		out.DomainJ[domain.ID] = Joules(e)
		if w := watts(s.Energy[d] - prev.Energy[d]); w != nil {
			out.DomainW[domain.ID] = *w
		}
		if domain.InTotal {
			sum += e
			since += s.Energy[d] - prev.Energy[d]
		}
	}
	if len(domains) > 0 {
		out.EnergyJ, out.PowerW = joules(sum), watts(since)
	}
	return out
}

// samples holds the samples against each other and against the totals.
func (c *check) samples(r *Run) {
	if len(r.Samples) == 0 {
		return
	}
	first, last := r.Samples[0], r.Samples[len(r.Samples)-1]
	prev := first
	for i, s := range r.Samples {
		field := fmt.Sprintf("samples[%d].", i)
		if i > 0 && s.TNs < prev.TNs {
			c.fault(field+"t_ns", "%d, but the sample before has %d", s.TNs, prev.TNs)
		}
		span := float64(s.TNs-prev.TNs) * 1e-9
		mean := func(name string, got float64, e, before Joules) {
			if want := (e.Float() - before.Float()) / span; span > 0 && math.Abs(got-want) > 1e-3 {
				c.fault(field+name, "%g, but energy by time is %.3f", got, want)
			}
		}
		for _, id := range slices.Sorted(maps.Keys(s.DomainJ)) {
			if s.DomainJ[id] < prev.DomainJ[id] {
				c.fault(field+"domain_j."+id, "%s J, but the sample before has %s J", decimal(s.DomainJ[id]),
					decimal(prev.DomainJ[id]))
			}
			if w, ok := s.DomainW[id]; ok {
				mean("domain_w."+id, w, s.DomainJ[id], prev.DomainJ[id])
			}
		}
		if (s.EnergyJ == nil) != (r.Totals.EnergyJ == nil) {
			c.fault(field+"energy_j", "the energies of samples and of the run are known together or not at all")
		} else if s.EnergyJ != nil {
			c.sum(field+"energy_j", "the domains at the top level", *s.EnergyJ, r.top(s.DomainJ))
			if s.PowerW != nil && prev.EnergyJ != nil {
				mean("power_w", *s.PowerW, *s.EnergyJ, *prev.EnergyJ)
			}
		}
		prev = s
	}
	for _, id := range slices.Sorted(maps.Keys(r.Totals.Domains)) {
		c.sum("totals.domains."+id, "the samples", r.Totals.Domains[id], last.DomainJ[id])
	}
	if span := float64(last.TNs-first.TNs) * 1e-9; math.Abs(span-r.Totals.DurationS) > 1e-6 {
		c.fault("totals.duration_s", "%g, but the samples span %g", r.Totals.DurationS, span)
	}
}
