// Package meter reads meters of any make that the user names (--meter, nemb.Meter): through a command that prints
// readings, a file that another program rewrites, or an MQTT topic that a plug publishes.
//
// A meter shows a power, which is integrated, or an energy that only grows. Its bounds are the error that the user has
// given, and no reading is made up: one that fails, that is no number, or that is stale is a gap, and the reason is
// told after the run (Doubts).
package meter

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/patience"
	"cg/nemb/sensor"
)

// Name is that of the source, and of the flag that names meters.
const Name = "meter"

func init() {
	nemb.Register(nemb.Source{Name: Name, Open: openMeters, Rank: 5, Distinct: true, UserNamed: true,
		Metric: Name})
}

// firstWithin is how long the first reading of a meter that tells by itself is waited for; discovery gives a source
// 10 s.
const firstWithin = 3 * time.Second

func openMeters(root nemb.Root) (sensors []nemb.Sensor, err error) {
	if len(root.Meters) == 0 {
		return nil, fmt.Errorf("meter: no meter is named (--meter): %w", fs.ErrNotExist)
	}
	type opened struct {
		sensor nemb.Sensor
		err    error
	}
	all := make([]opened, len(root.Meters))
	var wait sync.WaitGroup
	for i, m := range root.Meters {
		wait.Go(func() { all[i].sensor, all[i].err = open(root, m) })
	}
	wait.Wait()
	var errs []error
	for i, o := range all {
		if o.err != nil {
			errs = append(errs, fmt.Errorf("meter: %s: %s: %w", root.Meters[i].Covers, name(root.Meters[i]), o.err))
			continue
		}
		sensors = append(sensors, o.sensor)
	}
	return sensors, errors.Join(errs...)
}

// open opens a meter and reads it once.
func open(root nemb.Root, m nemb.Meter) (nemb.Sensor, error) {
	f, err := newFigure(m)
	if err != nil {
		return nil, err
	}
	watched := &watch{domain: domain(root, m), named: name(m), now: checkpoint.Monotime}
	switch m.Way {
	case "exec":
		watched.display = newOnce(f)
	case "file":
		watched.display = newRewritten(f)
	case "lines":
		watched.display = newLines(f)
	default:
		t, err := newTopic(f)
		if err != nil {
			return nil, sensor.Fixable(err)
		}
		watched.display = t
	}
	if l, is := watched.display.(interface{ wait(time.Duration) }); is {
		l.wait(min(firstWithin, fresh(m.Period)))
	}
	_, err = watched.read()
	switch {
	case patience.Hangs(err) && fresh(m.Period) > firstWithin:
		// It tells seldom: the energy is not known up to its first reading.
	case patience.Hangs(err):
		watched.close()
		return nil, sensor.Fixable(errSilent)
	case err != nil:
		watched.close()
		return nil, sensor.Fixable(err)
	}
	if m.Energy {
		return newCounting(watched, m), nil
	}
	return newPowered(watched, m), nil
}

// domain is what a meter covers.
func domain(root nemb.Root, m nemb.Meter) nemb.Domain {
	d := nemb.Domain{ID: m.Covers, Kind: "independent", Source: name(m) + ", in " + m.Unit, Period: m.Period,
		Lo: 1 - m.ErrorPart, Hi: 1 + m.ErrorPart, Method: nemb.Derived}
	switch {
	case m.Covers == "wall":
		d.Kind, d.Whole, d.Most = "psys", true, mostWatts
		d.IdleShare, d.IdleShareMost = root.CPU().IdleShare()
	case packageName().MatchString(m.Covers):
		d.Kind = "cpu_package"
		if m.Covers == "package" {
			d.ID = "package-0"
		}
		d.IdleShare, d.IdleShareMost = root.CPU().IdleShare()
	case memoryName().MatchString(m.Covers):
		d.Kind = "dram"
	case gpuName().MatchString(m.Covers):
		d.Kind = nemb.KindGPU
	default:
		d.Most = mostWatts
	}
	return d
}

// watch reads a meter, and remembers what went wrong.
type watch struct {
	display
	domain nemb.Domain
	named  string

	now func() checkpoint.Instant

	mu     sync.Mutex
	asked  bool
	at     checkpoint.Instant // of the last reading
	last   reading
	err    error
	failed int
	why    error // of the last reading that failed
	good   int
	// of the readings since the run began: how many, their sum, and the last one before it, which holds on
	counted int
	sum     float64
	shown   float64
	steps   steps
}

// read reads the meter, and not more often than once in its period: in between it shows what it showed.
func (w *watch) read() (reading, error) {
	// The next reading of who keeps to the period may come a little early.
	now, every := w.now(), w.domain.Period
	if w.asked && time.Duration(now-w.at) <= every-every/10 {
		return w.last, w.err
	}
	w.asked, w.at = true, now
	w.last, w.err = w.ask()
	return w.last, w.err
}

func (w *watch) ask() (reading, error) {
	r, err := w.display.read()
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		w.good++
		w.counted, w.sum, w.shown = w.counted+1, w.sum+r.value, r.value
		w.steps.add(r)
	case !errors.Is(err, fs.ErrClosed):
		w.failed++
		w.why = err
	}
	return r, err
}

// doubts tells which readings failed.
func (w *watch) doubts() []nemb.Note {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == 0 {
		return nil
	}
	return []nemb.Note{{Doubt: true, Text: fmt.Sprintf("%s: %d of %d readings of the meter %s failed, the last: %v",
		w.domain.ID, w.failed, w.failed+w.good, w.named, w.why)}}
}

// powered is a meter that shows a power.
type powered struct {
	*sensor.Power
	watch  *watch
	amount float64 // watts by which a reading may be off, beside the part
}

func newPowered(w *watch, m nemb.Meter) *powered {
	s := sensor.NewPower(Name, m.Period)
	s.Add(w.domain, watts{w})
	return &powered{s, w, m.ErrorAmount}
}

// Begin says that bounds of a new run are asked for: an amount is a part of the run's mean power, and not of what
// was drawn before.
func (s *powered) Begin() {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	if s.watch.good > 0 {
		s.watch.counted, s.watch.sum = 1, s.watch.shown
	}
}

// Bounds are those of the meter's error: an amount weighs more the less is drawn.
func (s *powered) Bounds() [][2]float64 {
	if len(s.Domains()) == 0 { // another source knows it
		return nil
	}
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	lo, hi := s.watch.domain.Lo, s.watch.domain.Hi
	if s.amount > 0 && s.watch.sum > 0 {
		off := s.amount * float64(s.watch.counted) / s.watch.sum
		lo, hi = max(0, lo-off), hi+off
	}
	return [][2]float64{{lo, hi}}
}

// Doubts tells which readings failed.
func (s *powered) Doubts() []nemb.Note { return s.watch.doubts() }

// watts shows a power to sensor.Power.
type watts struct{ *watch }

func (w watts) Watts() (float64, error) {
	r, err := w.read()
	return r.value, err
}

func (w watts) Close() { w.close() }

// counting is a meter that shows an energy that only grows.
type counting struct {
	watch   *watch
	domains []nemb.Domain
	every   time.Duration
	unit    float64 // joules of one
	amount  float64 // joules by which a reading may be off, beside the part
	desk    patience.Desk
}

// newCounting makes the sensor of a meter.
func newCounting(w *watch, m nemb.Meter) *counting {
	w.domain.Method = nemb.Measured
	s := &counting{watch: w, domains: []nemb.Domain{w.domain}, every: m.Period, unit: m.Factor, amount: m.ErrorAmount}
	s.domains[0].Step = s.Steps()[0]
	return s
}

func (s *counting) Domains() []nemb.Domain { return slices.Clone(s.domains) }

// Steps is the step of what the meter has shown so far: the places of its text, and twice what it may be off.
func (s *counting) Steps() []nemb.Energy {
	if len(s.domains) == 0 { // another source knows it
		return nil
	}
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	step := s.watch.steps.finest
	if step == 0 { // it has shown nothing yet
		step = s.unit
	}
	return []nemb.Energy{nemb.Energy(1e6 * (step + 2*s.amount))}
}

func (s *counting) Every() time.Duration { return s.every }

// Adjust calls change for the domain.
func (s *counting) Adjust(change func(*nemb.Domain)) { change(&s.domains[0]) }

// Read stores what the meter has counted.
func (s *counting) Read(dst []nemb.Energy) error {
	return patience.Read(&s.desk, Name, dst, func(dst []nemb.Energy) error {
		r, err := s.watch.ask() // the first and the last of a run, too, however short it is
		if err != nil {
			return fmt.Errorf("%s: %s: %w", Name, s.domains[0].ID, err)
		}
		dst[0] = nemb.Energy(1e6 * r.value)
		return nil
	})
}

// Doubts tells which readings failed.
func (s *counting) Doubts() []nemb.Note { return s.watch.doubts() }

// Close ends what reads the meter.
func (s *counting) Close() error {
	return s.desk.End(Name, func() error { s.watch.close(); return nil })
}

// ParseAll reads meters, each a line.
func ParseAll(text string) (all []nemb.Meter, err error) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		m, err := Parse(line)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}
