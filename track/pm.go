package track

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/pmsampling"
	"cg/pmsampling/beside"
	"cg/pmsampling/cupti"
)

// PMPrefix begins the names of performance counters of NVIDIA GPUs: pm:sm__cycles_active.avg.
const PMPrefix = "pm:"

// pmMetric is the metric of their columns.
const pmMetric = "pm"

// pmShortest is the shortest interval of a tracker that has some: a row is the mean of several samples, which are
// decoded for each.
const pmShortest = 10 * time.Millisecond

// pmInterval is the sampling interval of counters: at least ten samples are in a row.
const pmInterval = pmShortest / 10

// pmNames are the performance counters among metrics, without the prefix.
func pmNames(metrics []string) (names []string) {
	for _, m := range metrics {
		if name, is := strings.CutPrefix(m, PMPrefix); is {
			names = append(names, name)
		}
	}
	return names
}

// counters are those of all trackers: a GPU has one session, and the hardware counts all of them in one pass.
type counters struct{ recorder *beside.Recorder }

// end ends sampling.
func (c *counters) end() {
	if c != nil {
		c.recorder.End()
	}
}

// openCounters begins to sample those of the trackers; nil where none has any.
func openCounters(root nemb.Root, trackers []Tracker) (*counters, error) {
	config := pmsampling.Config{Trigger: pmsampling.GPUTimeInterval}
	for _, t := range trackers {
		for _, name := range pmNames(t.Metrics) {
			if !slices.Contains(config.Metrics, name) {
				config.Metrics = append(config.Metrics, name)
			}
		}
	}
	if len(config.Metrics) == 0 {
		return nil, nil
	}
	config.Interval = uint64(pmInterval)
	l, err := cupti.Open(root.Dir)
	if err != nil {
		return nil, err
	}
	r, err := beside.Begin(l, config, nil)
	if err != nil {
		return nil, err
	}
	return &counters{r}, nil
}

// reader reads the counters that a tracker names: the mean of each since the row before.
func (c *counters) reader(names []string) reader {
	var columns []column
	var which []int // of the session's metrics
	for _, name := range names {
		which = append(which, slices.Index(c.recorder.Metrics(), name))
	}
	all := c.recorder.GPUs()
	for _, g := range all {
		for _, name := range names {
			unit := ""
			if strings.Contains(name, ".pct") {
				unit = "%"
			}
			id := fmt.Sprintf("gpu%d", g.Index)
			columns = append(columns, column{name: id + "_" + name, unit: unit, method: nemb.Measured,
				source: "CUPTI PM sampling", id: id, metric: pmMetric})
		}
	}
	since := make([]checkpoint.Instant, len(all))
	return reader{columns: columns, read: func(values []float64) error {
		c.recorder.Drain()
		var errs []error
		for i := range all {
			sums, until, err := c.recorder.Since(i, since[i])
			since[i] = until
			errs = append(errs, err)
			for k, metric := range which {
				v := math.NaN()
				if metric < len(sums) && sums[metric].Over > 0 {
					v = sums[metric].Mean
				}
				values[i*len(which)+k] = v
			}
		}
		return errors.Join(errs...)
	}, close: func() error { return nil }}
}

// openTracker opens the metrics of a tracker. Readers may come beside errors that tell what could not be opened.
func openTracker(root nemb.Root, t Tracker, pm *counters, refused error) (readers []reader, reasons []error) {
	tell := func(err error) {
		if err != nil &&
			!slices.ContainsFunc(reasons, func(other error) bool { return other.Error() == err.Error() }) {
			reasons = append(reasons, err)
		}
	}
	for _, name := range t.Metrics {
		if strings.HasPrefix(name, PMPrefix) {
			continue
		}
		opened, err := open(root, name)
		readers = append(readers, opened...)
		tell(err)
	}
	names := pmNames(t.Metrics)
	switch {
	case len(names) == 0:
	case pm != nil:
		readers = append(readers, pm.reader(names))
		for _, err := range pm.recorder.Refused {
			tell(err)
		}
	default:
		tell(fmt.Errorf("%s%s: %w", PMPrefix, names[0], refused))
	}
	return readers, reasons
}

// isAbsent tells whether an error says that the machine does not have something.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission)
}
