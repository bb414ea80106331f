package nemb

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cg/checkpoint"
	"cg/nemb/counter"
)

// comparison compares two sources that know the same domains: what both counted
// between begin and doubts.
type comparison struct {
	used, other []reader // the same domains, package by package
	names       []string
	at          checkpoint.Instant
	took        time.Duration // to read both for the first time
	first       [2][]sum
}

// reader is one domain of a sensor.
type reader struct {
	sensor Sensor
	domain int
}

// sum is the energy of some domains; ok is false when one could not be read.
type sum struct {
	raw []Energy
	ok  bool
}

// compare remembers that rest knows domains that the sensors of f read, too.
// Powers are not compared: reading them takes long.
func (f *Found) compare(rest Sensor) {
	if _, ok := rest.(Counting); !ok {
		return
	}
	c := &comparison{}
	name := func(d Domain) string { id, _, _ := strings.Cut(d.ID, "-die-"); return id }
	for i, d := range rest.Domains() {
		if !slices.ContainsFunc(f.Domains(), func(o Domain) bool { return name(o) == name(d) }) {
			continue
		}
		c.other = append(c.other, reader{rest, i})
		if n := name(d); !slices.Contains(c.names, n) {
			c.names = append(c.names, n)
		}
	}
	for _, s := range f.Sensors {
		for i, d := range s.Domains() {
			if slices.Contains(c.names, name(d)) {
				c.used = append(c.used, reader{s, i})
			}
		}
	}
	if len(c.used) > 0 {
		f.checks = append(f.checks, c)
	}
}

func readAll(readers []reader) []sum {
	all := make([]sum, len(readers))
	for i, r := range readers {
		if i > 0 && r.sensor == readers[i-1].sensor {
			all[i] = all[i-1]
			continue
		}
		raw := make([]Energy, len(r.sensor.Domains()))
		all[i] = sum{raw, r.sensor.Read(raw) == nil}
	}
	return all
}

func (c *comparison) begin() {
	c.at = checkpoint.Monotime()
	c.first = [2][]sum{readAll(c.used), readAll(c.other)}
	c.took = time.Duration(checkpoint.Monotime() - c.at)
}

// tolerance is how far two sources may be from each other and still agree: their
// counters are the same and are read one after the other, with at most two
// updates in between, and what was used while they were read.
const tolerance = 0.05

// shortest is the time after which two counters can be compared.
const shortest = 100 * time.Millisecond

// doubts compares, domain by domain.
func (c *comparison) doubts() (notes []Note) {
	elapsed := time.Duration(checkpoint.Monotime() - c.at)
	if elapsed < shortest {
		return nil
	}
	now := [2][]sum{readAll(c.used), readAll(c.other)}
	apart := c.took + time.Duration(checkpoint.Monotime()-c.at) - elapsed // processors stand still
	for _, name := range c.names {
		var joules [2]float64
		var sources [2]string
		known := true
		for k, readers := range [2][]reader{c.used, c.other} {
			for i, r := range readers {
				d := r.sensor.Domains()[r.domain]
				if id, _, _ := strings.Cut(d.ID, "-die-"); id != name {
					continue
				}
				a, b := c.first[k][i], now[k][i]
				if known = known && a.ok && b.ok; !known {
					continue
				}
				delta, v := counter.Unwrap(a.raw[r.domain], b.raw[r.domain], d.Wrap, elapsed)
				known = known && v.Known()
				joules[k] += delta.Joules()
				sources[k] = d.Source
			}
		}
		most := max(joules[0], joules[1])
		slack := most/elapsed.Seconds()*(0.004+apart.Seconds()) + 200e-6
		if known && sources[0] != "" && math.Abs(joules[0]-joules[1]) > tolerance*most+slack {
			notes = append(notes, Note{Doubt: true, Text: fmt.Sprintf(
				"%s: two sources disagree: %.3g J by %s, %.3g J by %s",
				name, joules[0], sources[0], joules[1], sources[1])})
		}
	}
	return notes
}

// Doubts tells what casts doubt on the figures: what was seen of the sensors
// when they were opened and read, and where two sources of one counter have disagreed
// since then. It is called after a run, before Close.
func (f *Found) Doubts() []Note {
	var all []Note
	for _, n := range f.Notes {
		if n.Doubt {
			all = append(all, n)
		}
	}
	for _, s := range f.Sensors {
		if d, is := s.(Doubting); is {
			all = append(all, d.Doubts()...)
		}
	}
	for _, c := range f.checks {
		all = append(all, c.doubts()...)
	}
	return all
}

// Implausible tells which domains drew more than they can, given what each
// drew over a time.
func Implausible(domains []Domain, drew []Energy, over time.Duration) []Note {
	var notes []Note
	for i, d := range domains {
		if watts := drew[i].Joules() / over.Seconds(); d.Most > 0 && over > 0 && watts > d.Most {
			notes = append(notes, Note{Doubt: true, Text: fmt.Sprintf(
				"%s: %.0f W is more than the %.0f W that it could draw at most: %s counts in another unit than it says",
				d.ID, watts, d.Most, d.Source)})
		}
	}
	return notes
}
