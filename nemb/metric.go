package nemb

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cg/checkpoint"
	"cg/nemb/counter"
	"cg/nemb/patience"
)

// Column is one number of a Gauge.
type Column struct {
	Scope string // what it is of: gpu-0, coretemp-0
	Name  string // quantity and unit: power_w, temperature_c, gpu_percent
	Unit  string // of the value: W, C, %, KiB, KiB/s, bytes
}

// Gauge reads numbers that are no energies. It may be read from one goroutine
// at a time.
type Gauge interface {
	// Columns lists what Read fills in, in that order. It does not change.
	Columns() []Column
	// Read stores a value for each column, NaN where it could not be read. The
	// error tells why, one joined error for each such column.
	Read(dst []float64) error
	Close() error
}

// Metric is a Gauge to be opened. Errors are those of Source.Open, which may
// come beside a Gauge of what could be opened.
type Metric struct {
	Name string
	Open func(Root) (Gauge, error)
}

var metrics []Metric

// RegisterMetric adds a metric. It is called from init functions.
func RegisterMetric(m Metric) {
	if slices.ContainsFunc(metrics, func(o Metric) bool { return o.Name == m.Name }) {
		panic("nemb: metric " + m.Name + " registered twice")
	}
	metrics = append(metrics, m)
}

// Metrics lists the registered metrics by name.
func Metrics() []Metric {
	all := slices.Clone(metrics)
	slices.SortFunc(all, func(a, b Metric) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// ErrUnknownMetric is the error of OpenMetric for a name that is no metric.
var ErrUnknownMetric = errors.New("metrics: no metric")

// OpenMetric opens the metric with that name. Neither opening nor reading nor
// closing it takes for ever: what hangs is an error (*Hung).
func OpenMetric(root Root, name string) (Gauge, error) {
	for _, m := range metrics {
		if m.Name == name {
			return openGaugePatient(m, root)
		}
	}
	return nil, fmt.Errorf("%w %q", ErrUnknownMetric, name)
}

// OpenSource opens the sensors of one source; errors are those of Source.Open.
// A source that is not registered has none.
func OpenSource(root Root, name string) ([]Sensor, error) {
	for _, s := range sources {
		if s.Name == name {
			return openPatient(s, root, 2*patience.Limit)
		}
	}
	return nil, fmt.Errorf("%w %q", ErrUnknownSource, name)
}

// patientGauge is a gauge whose calls are given up when they hang.
type patientGauge struct {
	Gauge
	name string
	desk patience.Desk
}

func openGaugePatient(m Metric, root Root) (Gauge, error) {
	type opened struct {
		gauge Gauge
		err   error
	}
	open := func() opened {
		gauge, err := m.Open(root)
		return opened{gauge, err}
	}
	answer, ok := patience.Within(2*patience.Limit, open, func(o opened) {
		if o.gauge != nil {
			o.gauge.Close()
		}
	})
	switch {
	case !ok:
		return nil, &patience.Hung{What: m.Name + ": looking for its sensors", After: 2 * patience.Limit}
	case answer.gauge == nil:
		return nil, answer.err
	}
	return &patientGauge{Gauge: answer.gauge, name: m.Name}, answer.err
}

func (g *patientGauge) Read(dst []float64) error {
	own := make([]float64, len(dst))
	err := g.desk.Ask(g.name, func() error { return g.Gauge.Read(own) })
	if patience.Hangs(err) {
		fill(dst, math.NaN())
		return err
	}
	copy(dst, own)
	return err
}

func (g *patientGauge) Close() error { return g.desk.End(g.name, g.Gauge.Close) }

// Energies reads the counters of sensors one after the other.
type Energies struct {
	sensors []Sensor
	domains []Domain
	raw     []Energy // of each domain: the last reading that succeeded
	rawAt   []checkpoint.Instant
	total   []float64            // of each domain, in microjoules
	known   []bool               // raw was read
	movedAt []checkpoint.Instant // of each domain: when it was seen to move last, or was read first
}

// NewEnergies takes over sensors; Close closes them.
func NewEnergies(sensors []Sensor) *Energies {
	e := &Energies{sensors: sensors}
	for _, s := range sensors {
		e.domains = append(e.domains, s.Domains()...)
	}
	n := len(e.domains)
	e.raw, e.rawAt, e.total, e.known = make([]Energy, n), make([]checkpoint.Instant, n), make([]float64, n), make([]bool, n)
	e.movedAt = make([]checkpoint.Instant, n)
	return e
}

// Domains lists what Read fills in, in that order.
func (e *Energies) Domains() []Domain { return e.domains }

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
		raw := make([]Energy, n)
		err := s.Read(raw)
		now := checkpoint.Monotime()
		for i := at; i < at+n; i++ {
			d, cur := e.domains[i], raw[i-at]
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
					dst[i] = math.NaN()
					errs = append(errs, fmt.Errorf("%s: the counter was reset", d.Source))
				}
				if v != counter.Stale {
					e.movedAt[i] = now
				} else if idle := time.Duration(now - e.movedAt[i]); idle > stuck && d.Period < stuck/20 && d.Kind != "nested" && d.Kind != "independent" {
					dst[i] = math.NaN()
					errs = append(errs, fmt.Errorf("%s: the counter is stuck: it has not moved for more than %v", d.Source, stuck))
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

// Close closes the sensors.
func (e *Energies) Close() error {
	var errs []error
	for _, s := range e.sensors {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
