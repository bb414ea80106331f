package sampler

import (
	"errors"
	"fmt"
	"math"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/counter"
)

// Energies reads the counters of sensors one after the other.
type Energies struct {
	sensors []nemb.Sensor
	domains []nemb.Domain
	raw     []nemb.Energy // of each domain: the last reading that succeeded
	rawAt   []checkpoint.Instant
	total   []float64            // of each domain, in microjoules
	known   []bool               // raw was read
	lost    []bool               // what was used up to raw is not in total
	movedAt []checkpoint.Instant // of each domain: when it was seen to move last, or was read first
}

// NewEnergies takes over sensors; Close closes them.
func NewEnergies(sensors []nemb.Sensor) *Energies {
	e := &Energies{sensors: sensors}
	for _, s := range sensors {
		e.domains = append(e.domains, s.Domains()...)
	}
	n := len(e.domains)
	e.raw, e.total, e.known = make([]nemb.Energy, n), make([]float64, n), make([]bool, n)
	e.lost = make([]bool, n)
	e.rawAt, e.movedAt = make([]checkpoint.Instant, n), make([]checkpoint.Instant, n)
	return e
}

// Domains lists what Read fills in, in that order.
func (e *Energies) Domains() []nemb.Domain { return e.domains }

// Lost tells of each domain whether its counter was found reset by the last Read: what was
// used since the one before that read it is in no total. It is the memory of Read.
func (e *Energies) Lost() []bool { return e.lost }

// Read stores cumulative microjoules: what each counter read first, and what it
// counted since, whether it started over or not. A domain that cannot be read,
// or whose counter was reset, is NaN once and goes on from the next reading. One
// whose counter is stuck is NaN until it moves: parts of a processor may be off,
// and what they are parts of is not.
func (e *Energies) Read(dst []float64) error {
	var errs []error
	at := 0
	for _, s := range e.sensors {
		n := len(s.Domains())
		raw := make([]nemb.Energy, n)
		err := s.Read(raw)
		now := checkpoint.Monotime()
		for i := at; i < at+n; i++ {
			d, cur := e.domains[i], raw[i-at]
			e.lost[i] = false
			switch {
			case err != nil:
				dst[i] = math.NaN()
				continue
			case !e.known[i]:
				e.total[i], e.known[i], e.movedAt[i] = float64(cur), true, now
				dst[i] = e.total[i]
			default:
				// A counter may show two updates at once.
				delta, v := counter.Unwrap(e.raw[i], cur, d.Wrap, time.Duration(now-e.rawAt[i])+2*d.Period)
				e.total[i] += float64(delta)
				if dst[i] = e.total[i]; !v.Known() {
					dst[i], e.lost[i] = math.NaN(), true
					errs = append(errs, fmt.Errorf("%s: the counter was reset", d.Source))
				}
				if v != counter.Stale {
					e.movedAt[i] = now
				} else if always(d) && time.Duration(now-e.movedAt[i]) > stuck {
					dst[i] = math.NaN()
					errs = append(errs, fmt.Errorf("%s: the counter is stuck: it has not moved for more than %v",
						d.Source, stuck))
				}
			}
			e.raw[i], e.rawAt[i] = cur, now
		}
		if err != nil {
			errs = append(errs, err)
		}
		at += n
	}
	return errors.Join(errs...)
}

// always tells whether a domain is on as long as the machine is, and its counter moves
// often: parts of a processor may be off.
func always(d nemb.Domain) bool {
	return d.Period < stuck/20 && d.Kind != "nested" && d.Kind != "independent"
}

// Close closes the sensors.
func (e *Energies) Close() error {
	var errs []error
	for _, s := range e.sensors {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
