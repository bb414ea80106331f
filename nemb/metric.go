package nemb

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"cg/nemb/patience"
)

// Column is one number of a Gauge.
type Column struct {
	Scope string // what it is of: gpu0, coretemp-0
	Name  string // quantity and unit: power_w, temperature_c, gpu_percent
	Unit  string // of the value: W, C, %, MHz, KiB, KiB/s, bytes
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
// come together with a Gauge of what could be opened.
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
		for i := range dst {
			dst[i] = math.NaN()
		}
		return err
	}
	copy(dst, own)
	return err
}

func (g *patientGauge) Close() error { return g.desk.End(g.name, g.Gauge.Close) }
