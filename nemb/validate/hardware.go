package validate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cg/checkpoint"
	"cg/load"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/doctor"
	"cg/nemb/processor"
	"cg/nemb/sampler"
)

// HardwareFormat names the format of Hardware.
const HardwareFormat = "cg-hardware-1"

// Hardware is what the sensors of a machine show: how often each counter moves, by how much at least, how steady the
// power is, and whether sources that measure the same agree. It is made to be sent to others. It has no names of
// machines, users, files or processes but those below, no serial numbers and no addresses.
type Hardware struct {
	Format   string            `json:"format"`
	Version  string            `json:"cg_version"`
	Machine  doctor.Machine    `json:"machine"`
	Clock    doctor.ClockState `json:"clock"`
	Interval float64           `json:"sample_interval_ms"`
	Phases   []Phase           `json:"phases"` // rest, then load
	Sources  []HardwareSource  `json:"sources"`
	Domains  []HardwareDomain  `json:"domains"`
	Pairs    []Pair            `json:"pairs"`
}

// Phase is a stretch of time: the machine as it is, or with all its processors busy.
type Phase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	Busy    float64 `json:"busy_percent"` // of the processors' time, by whatever
	Stolen  float64 `json:"stolen_percent"`
	from    checkpoint.Instant
	to      checkpoint.Instant
}

// HardwareSource is a source and what became of it, and how its counters were read.
type HardwareSource struct {
	Name      string     `json:"name"`
	State     nemb.State `json:"state"`
	Mechanism string     `json:"mechanism,omitempty"`
	Samples   int        `json:"samples"`
	Gaps      int        `json:"gaps"`
	ReadUs    float64    `json:"read_us"` // median time that a reading of all its counters took
	Problem   string     `json:"problem,omitempty"`
}

// HardwareDomain is a domain as a source tells it, and what its counter did. What is not known is null.
type HardwareDomain struct {
	Source   string      `json:"source"` // its name
	ID       string      `json:"id"`
	Kind     string      `json:"kind"`
	Parent   string      `json:"parent"`
	Method   nemb.Method `json:"method"`
	Where    string      `json:"where,omitempty"` // the file or the register, without the folder of --sysroot
	PeriodMs float64     `json:"claimed_period_ms"`
	StepUJ   uint64      `json:"claimed_step_uj"`
	WrapJ    float64     `json:"wraps_at_j"`
	Failed   int         `json:"failed_readings"`
	Resets   int         `json:"resets"`
	Moves    *Moves      `json:"moves"`
	// Power is that of each phase, in their order.
	Power []*Steadiness `json:"power"`
	whole bool
	still bool // its counter was read, for longer than twice its period, and stood
}

// Moves are the times between two samples in which a counter had moved, and the least by which it did.
type Moves struct {
	N        int     `json:"n"`
	MedianMs float64 `json:"median_ms"`
	P05Ms    float64 `json:"p05_ms"`
	P95Ms    float64 `json:"p95_ms"`
	LeastUJ  uint64  `json:"least_uj"`
}

// Steadiness is the mean power in a phase, and how it varies over spans of SpanMs.
type Steadiness struct {
	Watts   float64 `json:"mean_w"`
	SlackW  float64 `json:"slack_w"` // the mean is this much more or less, by when the counter moves
	SpanMs  float64 `json:"span_ms"`
	Spans   int     `json:"spans"`
	Percent float64 `json:"cv_percent"`
}

// Relation is what is expected of the powers of a pair.
type Relation string

// The relations. Those that are Beside may have any powers.
const (
	Same     Relation = "same"     // the powers are equal
	Includes Relation = "includes" // that of the first is the larger one
	Beside   Relation = "beside"
)

// Pair is two domains, or one and the sum of some, side by side.
type Pair struct {
	First    string   `json:"first"` // SOURCE/ID
	Second   []string `json:"second"`
	Relation Relation `json:"relation"`
	// FirstW and SecondW are the powers in each phase, null where they are not known. RatioPercent is the first in
	// percent of the second, and SlackPercent what it may be off by, by when the counters move.
	FirstW       []*float64 `json:"first_w"`
	SecondW      []*float64 `json:"second_w"`
	RatioPercent []*float64 `json:"ratio_percent"`
	SlackPercent []*float64 `json:"slack_percent"`
	Agree        *bool      `json:"agree"` // null where nothing is expected, or known
}

// agreement is by how much powers that are the same may differ, in percent, beside the slack of their counters.
const agreement = 1.0

// settling is left out of a phase at both ends.
const settling = 100 * time.Millisecond

// LookAtHardware watches all sensors of a machine, first for a while as the machine is, and then for as long with all
// its processors busy. Sources that are asked over a network, and those that a user has named, are left out. The error
// is ctx's, or that of the load.
func LookAtHardware(ctx context.Context, root nemb.Root, phase, interval time.Duration) (*Hardware, error) {
	root = nemb.Root{Dir: root.Dir}
	survey, err := doctor.Look(root, nil)
	if err != nil {
		return nil, err
	}
	h := &Hardware{Format: HardwareFormat, Machine: survey.Machine, Clock: survey.Clock, Interval: ms(interval),
		Sources: []HardwareSource{}, Domains: []HardwareDomain{}, Pairs: []Pair{}}
	all := h.open(root, interval)
	defer func() {
		for _, w := range all {
			w.found.Close()
		}
	}()
	for _, name := range []string{"rest", "load"} {
		p, err := pass(ctx, name, phase, all)
		if err != nil {
			for _, w := range all {
				w.s.Stop()
			}
			return nil, err
		}
		h.Phases = append(h.Phases, p)
	}
	for _, w := range all {
		w.take(w.s.Stop())
		h.tell(w, root.Dir)
	}
	h.pair()
	return h, nil
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

// open opens each source by itself, so that none gives way to another, and begins to sample it.
func (h *Hardware) open(root nemb.Root, interval time.Duration) (all []*watched) {
	for _, source := range nemb.ByRank(nemb.Sources()) {
		if source.Alone || source.UserNamed {
			continue
		}
		found, err := nemb.Inspect(root, []string{source.Name})
		if err != nil || len(found.Seen) == 0 {
			continue
		}
		told := HardwareSource{Name: source.Name, State: found.Seen[0].State}
		if len(found.Sensors) == 0 {
			found.Close()
			h.Sources = append(h.Sources, told)
			continue
		}
		s, err := sampler.Start(found.Sensors, sampler.Config{Interval: interval, Clock: checkpoint.SystemClock()})
		if err != nil {
			found.Close()
			told.Problem = "the first reading failed"
			h.Sources = append(h.Sources, told)
			continue
		}
		all = append(all, &watched{found: found, s: s, index: len(h.Sources)})
		h.Sources = append(h.Sources, told)
	}
	return all
}

// pass waits for a phase to be over, and takes the samples meanwhile.
func pass(ctx context.Context, name string, length time.Duration, all []*watched) (p Phase, err error) {
	before := account.ReadHost()
	p = Phase{Name: name, Seconds: length.Seconds(), from: checkpoint.Monotime()}
	worked := make(chan error, 1)
	if name == "load" {
		go func() {
			_, err := load.Run(load.Config{Kind: "cpu_stress", Threads: processor.Online(), Intensity: 100,
				Duration: length})
			worked <- err
		}()
	} else {
		worked <- nil
	}
	end := time.After(length)
	ticks := time.NewTicker(settling)
	defer ticks.Stop()
	for over := false; !over; {
		select {
		case <-ctx.Done():
			return p, ctx.Err()
		case <-end:
			over = true
		case <-ticks.C:
		}
		for _, w := range all {
			w.take(w.s.Poll())
		}
	}
	p.to = checkpoint.Monotime()
	busy, steal := before.Until(account.ReadHost(), processor.Online())
	p.Busy, p.Stolen = 100*busy, 100*steal
	return p, <-worked
}

// tell tells of a source's domains.
func (h *Hardware) tell(w *watched, dir string) {
	stats, faults := w.s.Stats(), w.s.Faults()
	series := nemb.Series{Domains: w.s.Domains(), Samples: w.kept.Samples()}
	told := &h.Sources[w.index]
	told.Mechanism, told.Samples, told.Gaps = stats.Mechanism(), w.samples, stats.Gaps
	told.ReadUs = quantile(w.widths.kept, 0.5)
	for i, d := range series.Domains {
		g := HardwareDomain{Source: told.Name, ID: d.ID, Kind: d.Kind, Parent: d.Parent, Method: d.Method,
			Where: where(d.Source, dir), PeriodMs: ms(d.Period), StepUJ: uint64(d.Step), WrapJ: d.Wrap.Joules(),
			Failed: faults[i].Failed, Resets: faults[i].Resets, Moves: w.movesOf(i), whole: d.Whole,
			still: stood(series, i)}
		for _, p := range h.Phases {
			g.Power = append(g.Power, steadiness(series, i, p.from+checkpoint.Instant(settling),
				p.to-checkpoint.Instant(settling)))
		}
		h.Domains = append(h.Domains, g)
	}
}

// where is a file or a register in the description of a domain's source, "" for what may name a device or an address.
func where(source, dir string) string {
	if dir != "" {
		source = strings.ReplaceAll(source, strings.TrimSuffix(dir, "/"), "")
	}
	if at := strings.Index(source, "/sys/"); at >= 0 {
		return source[at:]
	}
	for _, known := range []string{"perf: ", "msr: ", "ipmi: "} {
		if strings.HasPrefix(source, known) {
			return source
		}
	}
	return ""
}

// stood tells whether domain d's counter did not move at all, in a time in which it claims to.
func stood(s nemb.Series, d int) bool {
	first, last := -1, -1
	for i := range s.Samples {
		if s.Samples[i].Failed {
			continue
		}
		if last = i; first < 0 {
			first = i
		}
	}
	return last > first && s.Samples[last].Energy[d] == s.Samples[first].Energy[d] &&
		time.Duration(s.Samples[last].Time-s.Samples[first].Time) > 2*s.Domains[d].Period
}

// powerIn is the power of a phase: none where the counter stood, and nil where it is not known.
func (d *HardwareDomain) powerIn(phase int) *Steadiness {
	if p := d.Power[phase]; p != nil || !d.still {
		return p
	}
	return &Steadiness{}
}

// The spans over which power is looked at: long enough for so many moves of a counter.
const (
	leastSpan   = 100 * time.Millisecond
	movesOfSpan = 10
)

// steadiness is the power of domain d between two instants, nil where the series does not tell it.
func steadiness(s nemb.Series, d int, from, to checkpoint.Instant) *Steadiness {
	whole, ok := s.Between(d, from, to)
	seconds := time.Duration(to - from).Seconds()
	if !ok || seconds <= 0 {
		return nil
	}
	span := max(leastSpan, movesOfSpan*s.Domains[d].Period)
	p := &Steadiness{Watts: whole.Joules / seconds, SlackW: whole.Slack / seconds, SpanMs: ms(span)}
	var sum, squares float64
	energy := s.Interpolator(d)
	for at := from; at+checkpoint.Instant(span) <= to; at += checkpoint.Instant(span) {
		part, ok := energy(at, at+checkpoint.Instant(span))
		if !ok {
			continue
		}
		watts := part.Joules / span.Seconds()
		sum, squares = sum+watts, squares+watts*watts
		p.Spans++
	}
	if n := float64(p.Spans); n > 1 && sum > 0 {
		mean := sum / n
		p.Percent = 100 * math.Sqrt(max(0, (squares-n*mean*mean)/(n-1))) / mean
	}
	return p
}

// quantile is a value below which a part of all lies, 0 for none.
func quantile(all []float64, part float64) float64 {
	if len(all) == 0 {
		return 0
	}
	all = slices.Sorted(slices.Values(all))
	return all[min(len(all)-1, int(part*float64(len(all))))]
}

// pair puts domains beside each other: those of one name of two sources, the machine and what is in it, and memory and
// its package.
func (h *Hardware) pair() {
	name := func(d HardwareDomain) string { return d.Source + "/" + d.ID }
	packages := map[string][]HardwareDomain{} // and memory that is beside them, by source
	for i, a := range h.Domains {
		switch a.Kind {
		case "cpu_package":
			packages[a.Source] = append(packages[a.Source], a)
		case "dram":
			packages[a.Source] = append(packages[a.Source], a)
		}
		for _, b := range h.Domains[i+1:] {
			if a.Source != b.Source && a.ID == b.ID && a.Kind == b.Kind && a.Kind != nemb.KindGPU {
				h.Pairs = append(h.Pairs, paired(Same, a, []HardwareDomain{b}, name))
			}
		}
	}
	for _, a := range h.Domains {
		inside := packages[h.measurer(packages)]
		switch {
		case len(inside) == 0:
		case a.whole || a.Kind == "psys":
			h.Pairs = append(h.Pairs, paired(Includes, a, inside, name))
		case a.Kind == "dram":
			var those []HardwareDomain
			for _, b := range packages[a.Source] {
				if b.Kind == "cpu_package" {
					those = append(those, b)
				}
			}
			if len(those) > 0 {
				h.Pairs = append(h.Pairs, paired(Beside, a, those, name))
			}
		}
	}
	slices.SortStableFunc(h.Pairs, func(a, b Pair) int { return cmp.Compare(order(a.Relation), order(b.Relation)) })
}

func order(r Relation) int { return slices.Index([]Relation{Same, Includes, Beside}, r) }

// measurer is the first source that tells packages.
func (h *Hardware) measurer(packages map[string][]HardwareDomain) string {
	for _, s := range h.Sources {
		if slices.ContainsFunc(packages[s.Name], func(d HardwareDomain) bool { return d.Kind == "cpu_package" }) {
			return s.Name
		}
	}
	return ""
}

// paired compares the powers of a domain with those of others together.
func paired(r Relation, a HardwareDomain, those []HardwareDomain, name func(HardwareDomain) string) Pair {
	p := Pair{First: name(a), Relation: r}
	for _, b := range those {
		p.Second = append(p.Second, name(b))
	}
	agree, known := true, false
	for phase := range a.Power {
		of, sum, slack := a.powerIn(phase), 0.0, 0.0
		ok := of != nil
		for _, b := range those {
			power := b.powerIn(phase)
			if power == nil {
				ok = false
				continue
			}
			sum, slack = sum+power.Watts, slack+power.SlackW
		}
		var first, second, ratio, off *float64
		if ok {
			first, second = &of.Watts, &sum
		}
		switch {
		case !ok || sum == 0 && of.Watts == 0:
		case sum == 0 || of.Watts == 0: // one stands, and the other does not
			if sum+of.Watts > slack+of.SlackW {
				known, agree = true, false
			}
		default:
			known = true
			percent := 100 * of.Watts / sum
			doubt := percent * (of.SlackW/of.Watts + slack/sum)
			ratio, off = &percent, &doubt
			switch r {
			case Same:
				agree = agree && math.Abs(percent-100) <= agreement+doubt
			case Includes:
				agree = agree && percent >= 100-agreement-doubt
			}
		}
		p.FirstW, p.SecondW = append(p.FirstW, first), append(p.SecondW, second)
		p.RatioPercent, p.SlackPercent = append(p.RatioPercent, ratio), append(p.SlackPercent, off)
	}
	if r != Beside && known {
		p.Agree = &agree
	}
	return p
}

// ErrNothingMeasured is that no source of a machine could be read.
var ErrNothingMeasured = errors.New("nothing here measures energy")

// ErrNothingMoved is that the counters of a machine can be read, and stand.
var ErrNothingMoved = errors.New("no counter moved, at rest or busy: nothing here measures energy (a virtual " +
	"machine's counters may be shown and stand still)")

// Fault says what a person should know before the figures are believed; nil for nothing.
func (h *Hardware) Fault() error {
	if len(h.Domains) == 0 {
		return ErrNothingMeasured
	}
	if !slices.ContainsFunc(h.Domains, func(d HardwareDomain) bool { return !d.still }) {
		return ErrNothingMoved
	}
	var faults []error
	for _, p := range h.Pairs {
		if p.Agree != nil && !*p.Agree {
			faults = append(faults, fmt.Errorf("%s and %s do not agree", p.First, strings.Join(p.Second, " + ")))
		}
	}
	return errors.Join(faults...)
}
