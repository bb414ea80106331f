// Package track records sensors to files, with or without a program running.
//
// It takes trackers: an interval and the metrics to read at it. It writes files with one
// row for each reading, stamped with both clocks. A reading that failed is an empty cell,
// never a number. The package starts no program but the workload of its own benchmark.
package track

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"cg/near"
	"cg/nemb"
	"cg/nemb/sampler"
)

// Tracker is what is read at one interval.
type Tracker struct {
	Every   time.Duration // nemb.MinInterval .. nemb.MaxInterval
	Metrics []string      // of Names, in the order of the columns
}

// Default is what is tracked unless something else is asked for.
var Default = Tracker{Every: 100 * time.Millisecond, Metrics: []string{"rapl", "nvml-energy", "nvml-power"}}

// Names lists the metrics.
func Names() []string {
	var names []string
	for _, s := range nemb.Sources() {
		if s.Metric != "" {
			names = append(names, s.Metric)
		}
	}
	for _, m := range nemb.Metrics() {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Parse reads "0.1,rapl,nvml-power": an interval, in seconds or with a unit,
// and metrics.
func Parse(spec string) (Tracker, error) {
	parts := strings.Split(spec, ",")
	t := Tracker{}
	at := strings.TrimSpace(parts[0])
	every, err := time.ParseDuration(at)
	if err != nil {
		seconds, err := strconv.ParseFloat(at, 64)
		if err != nil || math.IsNaN(seconds) || math.Abs(seconds) > 1e9 {
			return t, fmt.Errorf("%q: %q is no interval: begin with seconds, such as 0.1, or 100ms", spec, at)
		}
		every = time.Duration(math.Round(seconds * 1e9))
	}
	if every < sampler.MinInterval || every > sampler.MaxInterval {
		return t, fmt.Errorf("%q: an interval of %v cannot be kept: use %v to %v", spec, every, sampler.MinInterval,
			sampler.MaxInterval)
	}
	t.Every = every
	for _, name := range parts[1:] {
		name = strings.TrimSpace(name)
		if begin := min(len(name), len(PMPrefix)); strings.EqualFold(name[:begin], PMPrefix) {
			name = PMPrefix + name[begin:]
		} else {
			name = strings.ToLower(name)
		}
		if name == PMPrefix {
			return t, fmt.Errorf("%q: %s needs the name of a counter, such as pm:sm__cycles_active.avg (cg gpu "+
				"metrics)", spec, PMPrefix)
		}
		if strings.HasPrefix(name, PMPrefix) && every < pmShortest {
			return t, fmt.Errorf("%q: an interval of %v is too short for counters of GPUs: use %v or more, or cg gpu "+
				"sample, which has each sample", spec, every, pmShortest)
		}
		if !strings.HasPrefix(name, PMPrefix) && !slices.Contains(Names(), name) {
			return t, fmt.Errorf("%q: no metric %q; %s", spec, name,
				near.Or(name, Names(), "known are "+strings.Join(Names(), ", ")))
		}
		if !slices.Contains(t.Metrics, name) {
			t.Metrics = append(t.Metrics, name)
		}
	}
	if len(t.Metrics) == 0 {
		return t, fmt.Errorf("%q: no metric behind the interval; known are %s", spec, strings.Join(Names(), ", "))
	}
	return t, nil
}

// column is one number of a row.
type column struct {
	name   string // package-0_j, gpu0_power_w
	unit   string // J, W, C
	energy bool   // cumulative: a column of mean power goes with it
	method nemb.Method
	source string
	id     string // of the domain, or scope of the gauge
	parent string // of the domain
	metric string
}

// reader reads the columns of one metric. Energies are in microjoules, all
// else in the column's unit.
type reader struct {
	columns []column
	read    func([]float64) error
	close   func() error
}

// open opens a metric. Readers may come beside an error that tells what could
// not be opened.
func open(root nemb.Root, name string) ([]reader, error) {
	var readers []reader
	var errs []error
	for _, source := range nemb.ByRank(nemb.Sources()) {
		if source.Metric != name {
			continue
		}
		sensors, err := nemb.OpenSource(root, source.Name)
		errs = append(errs, err)
		if len(sensors) > 0 {
			readers = append(readers, energyReader(name, sensors))
			break
		}
	}
	if slices.ContainsFunc(nemb.Metrics(), func(m nemb.Metric) bool { return m.Name == name }) {
		gauge, err := nemb.OpenMetric(root, name)
		errs = append(errs, err)
		if gauge != nil {
			readers = append(readers, gaugeReader(name, gauge))
		}
	}
	if len(readers) > 0 { // what the machine does not have beside them is no error
		errs = slices.DeleteFunc(errs, isAbsent)
	}
	return readers, errors.Join(errs...)
}

func energyReader(metric string, sensors []nemb.Sensor) reader {
	e := sampler.NewEnergies(sensors)
	r := reader{read: e.Read, close: e.Close}
	for _, d := range e.Domains() {
		name := d.ID
		if d.Method != nemb.Measured { // what is no counter says so on every line
			name += "_" + string(d.Method)
		}
		r.columns = append(r.columns, column{name: name + "_j", unit: "J", energy: true, method: d.Method,
			source: d.Source, id: d.ID, parent: d.Parent, metric: metric})
	}
	return r
}

func gaugeReader(metric string, g nemb.Gauge) reader {
	r := reader{read: g.Read, close: g.Close}
	for _, c := range g.Columns() {
		r.columns = append(r.columns, column{name: c.Scope + "_" + c.Name, unit: c.Unit, method: nemb.Measured,
			source: metric, id: c.Scope, metric: metric})
	}
	return r
}

// power is the name of the column of mean power that goes with an energy.
func (c column) power() string { return strings.TrimSuffix(c.name, "_j") + "_w" }

// row is one reading.
type row struct {
	unix, mono int64 // ns, halfway through the reading
	reading    time.Duration
	values     []float64 // NaN where it failed
}

// watts is the mean power between two rows, NaN where it is not known.
func watts(from, to row, i int) float64 {
	if from.values == nil || to.mono <= from.mono {
		return math.NaN()
	}
	return (to.values[i] - from.values[i]) * 1e3 / float64(to.mono-from.mono) // uJ/ns = 1e3 W
}
