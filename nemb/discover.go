package nemb

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"cg/near"
	"cg/nemb/patience"
	"cg/nemb/processor"
)

// State is what became of a source.
type State string

const (
	Present State = "present"   // it is read
	Spare   State = "spare"     // it could be read; another source knows its domains better
	Absent  State = "absent"    // the machine has no such sensors
	NoEntry State = "denied"    // it may not be read
	Failed  State = "failed"    // it does not answer in time
	Broken  State = "broken"    // it does not answer as documented
	Unasked State = "not_asked" // opened only when named
)

// Seen tells what became of a source.
type Seen struct {
	Source  Source
	State   State
	Domains []string // that are read
	Errors  []error  // of the parts that are not
	Notes   []Note
}

// Found is what Discover saw.
type Found struct {
	Sensors []Sensor // opened; Close closes them
	Absent  []string // names of sources that this machine does not have
	Denied  []error  // sensors that may not be read, each with the fix
	Hung    []error  // sensors that do not answer in time
	Broken  []error  // sensors that are there and do not answer as documented
	Notes   []Note
	Seen    []Seen // every source, in the order of their ranks

	opened []Sensor // all, with those that only compare
	checks []*comparison
}

// Domains lists the domains of all sensors.
func (f *Found) Domains() []Domain {
	var all []Domain
	for _, s := range f.Sensors {
		all = append(all, s.Domains()...)
	}
	return all
}

// Close closes the sensors.
func (f *Found) Close() error {
	var errs []error
	for _, s := range f.opened {
		if err := s.Close(); !errors.As(err, new(*patience.Hung)) { // which the run has reported
			errs = append(errs, err)
		}
	}
	f.Sensors, f.opened, f.checks = nil, nil, nil
	return errors.Join(errs...)
}

// Discover opens sensors. With want empty or "auto" these are the ones that
// measure the machine's energy best, each under its Condition; otherwise all of the
// named sources. With "auto" and names it is both. No domain is counted twice: of two
// sources that know it, the preferred one does, and Doubts tells whether they
// disagreed. Found lists absent and denied sensors and those that hang; they
// are no error. A broken sensor is: Found then tells what was seen and holds no open sensor.
func Discover(root Root, want []string) (Found, error) {
	f, err := Inspect(root, want)
	if err == nil && len(f.Broken) > 0 {
		err = errors.Join(append(slices.Clone(f.Broken), f.Close())...)
	}
	return f, err
}

// Inspect is Discover, with broken sensors listed and the others open.
func Inspect(root Root, want []string) (Found, error) {
	var f Found
	auto := len(want) == 0 || slices.Contains(want, "auto")
	named := func(s Source) bool { return slices.Contains(want, s.Name) }
	all := Sources()
	if err := standsAlone(all, want); err != nil {
		return f, err
	}
	chosen, err := pick(all, want)
	if err != nil {
		return f, err
	}
	if !auto {
		all = chosen
	}
	left := 2 * patience.Limit // that sources which hang may take, together
	for _, s := range ByRank(all) {
		seen := Seen{Source: s}
		switch {
		case !named(s) && auto && s.Opened == IfNamed:
			seen.State = Unasked
			f.Seen = append(f.Seen, seen)
			continue
		case !named(s) && auto && s.Opened == IfUnmeasured && f.MeasuresProcessors():
			seen.State = Spare
			f.Seen = append(f.Seen, seen)
			continue
		}
		begun := time.Now()
		sensors, err := openPatient(s, root, max(time.Second, left))
		if seen.Errors = parts(err); slices.ContainsFunc(seen.Errors, patience.Hangs) {
			left -= time.Since(begun)
		}
		before := f.Domains()
		for _, sensor := range sensors {
			if n, ok := sensor.(Noting); ok {
				seen.Notes = append(seen.Notes, n.Notes()...)
			}
			f.opened = append(f.opened, sensor)
			f.take(sensor, before, named(s) || s.Distinct, s.UserNamed)
			for _, d := range sensor.Domains() {
				if f.reads(sensor) {
					seen.Domains = append(seen.Domains, d.ID)
				}
			}
		}
		f.Notes = append(f.Notes, seen.Notes...)
		seen.State = f.state(sensors, seen)
		f.Seen = append(f.Seen, seen)
	}
	f.markTotals(root.CPU())
	for _, s := range f.Seen {
		if s.State == Absent {
			f.Absent = append(f.Absent, s.Source.Name)
		}
		for _, err := range s.Errors {
			switch {
			case patience.Hangs(err):
				if !f.Covered(err) {
					f.Hung = append(f.Hung, err)
				}
			case errors.Is(err, fs.ErrNotExist):
			case errors.Is(err, fs.ErrPermission):
				if !f.Covered(err) {
					f.Denied = append(f.Denied, err)
				}
			default:
				f.Broken = append(f.Broken, err)
			}
		}
	}
	for _, c := range f.checks {
		c.begin()
	}
	return f, nil
}

// standsAlone refuses names of sources beside one that cannot be named with others.
func standsAlone(all []Source, want []string) error {
	if len(slices.Compact(slices.Sorted(slices.Values(want)))) < 2 {
		return nil
	}
	for _, s := range all {
		if s.Alone && slices.Contains(want, s.Name) {
			return fmt.Errorf("%w %q beside others: %s stands alone, since it stands in for what is not measured",
				ErrUnknownSource, strings.Join(want, ","), s.Name)
		}
	}
	return nil
}

// pick picks sources by name, each once; "auto" names none.
func pick(all []Source, want []string) (chosen []Source, err error) {
	for _, name := range want {
		if name == "auto" {
			continue
		}
		i := slices.IndexFunc(all, func(s Source) bool { return s.Name == name })
		if i < 0 {
			var known []string
			for _, s := range all {
				known = append(known, s.Name)
			}
			return nil, fmt.Errorf("%w %q; %s", ErrUnknownSource, name,
				near.Or(name, known, "known are auto, "+strings.Join(known, ", ")))
		}
		if !slices.ContainsFunc(chosen, func(s Source) bool { return s.Name == name }) {
			chosen = append(chosen, all[i])
		}
	}
	return chosen, nil
}

// state tells what became of a source, given what it opened and what it said.
func (f *Found) state(sensors []Sensor, s Seen) State {
	if len(s.Domains) > 0 {
		return Present
	}
	state := Absent
	for _, err := range s.Errors {
		switch {
		case patience.Hangs(err):
			return Failed
		case errors.Is(err, fs.ErrNotExist):
		case errors.Is(err, fs.ErrPermission):
			if state == Absent {
				state = NoEntry
			}
		default:
			state = Broken
		}
	}
	if state == Absent && len(sensors) > 0 {
		return Spare
	}
	return state
}

// MeasuresProcessors tells whether the processors are measured, by whatever.
func (f *Found) MeasuresProcessors() bool { return processorsMeasured(f.Sensors) }

func (f *Found) reads(s Sensor) bool { return slices.Contains(f.Sensors, s) }

// Covered tells whether everything that is not read for err is read by
// another source.
func (f *Found) Covered(err error) bool {
	var d *Denied
	var h *patience.Hung
	var missing []string
	if errors.As(err, &d) {
		missing = d.Domains
	} else if errors.As(err, &h) {
		missing = h.Domains
	}
	if len(missing) == 0 {
		return false
	}
	domains := f.Domains()
	return !slices.ContainsFunc(missing, func(id string) bool {
		return !slices.ContainsFunc(domains, func(o Domain) bool { return Covers(o.ID, id) })
	})
}

// take adds the domains of a sensor that add to what is read already: those that
// nobody knows where the sensor is distinct, and else those of kinds that nobody
// knows. earlier are the domains of the sources before it: two sources may number the GPUs of one maker
// in different ways, so the GPUs of a maker are those of one source. See Source for userNamed.
func (f *Found) take(s Sensor, earlier []Domain, distinct, userNamed bool) {
	before := f.Domains()
	has := func(kind string) bool {
		return slices.ContainsFunc(before, func(d Domain) bool { return d.Kind == kind && d.Parent == "" })
	}
	own := s.Domains()
	known := func(d Domain) bool {
		return slices.ContainsFunc(before, func(o Domain) bool { return Covers(o.ID, d.ID) }) ||
			slices.ContainsFunc(earlier, func(o Domain) bool { return sameMemory(o, d) })
	}
	var adds func(d Domain) bool
	adds = func(d Domain) bool {
		if userNamed && slices.ContainsFunc(earlier, d.maybe) {
			return false
		}
		if known(d) || d.Kind == KindGPU && slices.ContainsFunc(earlier, func(o Domain) bool {
			return o.Kind == KindGPU && makerOf(o) == makerOf(d)
		}) {
			return false
		}
		if distinct {
			return true
		}
		switch d.Kind {
		case "nested":
			i := slices.IndexFunc(own, func(o Domain) bool { return o.ID == d.Parent })
			return i >= 0 && adds(own[i])
		case "psys":
			return !has("cpu_package") && !has("psys") &&
				!slices.ContainsFunc(own, func(o Domain) bool { return o.Kind == "cpu_package" && adds(o) })
		case "cpu_package", "dram":
			return !has("cpu_package") && !has(d.Kind)
		case "independent":
			return false
		}
		return true
	}
	if split, ok := s.(Splitting); ok {
		if rest := split.Split(adds); rest != nil {
			f.opened = append([]Sensor{rest}, f.opened...) // closed before the files that it borrows
			f.compare(rest)
		}
	} else if slices.ContainsFunc(own, known) {
		return // it cannot be split
	}
	if len(s.Domains()) > 0 {
		f.Sensors = append(f.Sensors, s)
	}
}

// maybe tells whether a domain that a user has named may be one that is known under another name: a GPU may be any.
// For memory see sameMemory.
func (d Domain) maybe(known Domain) bool {
	return d.Kind == KindGPU && known.Kind == KindGPU || sameMemory(d, known)
}

// sameMemory tells whether two domains of memory may be the same one, because one of them has no number: the memory of
// a machine with one package is dram, and a sensor that numbers its meters calls it dram-0.
func sameMemory(a, b Domain) bool {
	return a.Kind == "dram" && b.Kind == "dram" && (a.ID == "dram" || b.ID == "dram")
}

// makerOf is the name of a domain without its number: gpu-amd.
func makerOf(d Domain) string { return strings.TrimRight(d.ID, "-0123456789") }

// markTotals sets what follows from all domains together: which make up the
// total, and how much each can draw.
func (f *Found) markTotals(cpu processor.CPU) {
	in := total(f.Domains())
	i := 0
	for _, s := range f.Sensors {
		a, ok := s.(Adjusting)
		if !ok {
			i += len(s.Domains())
			continue
		}
		a.Adjust(func(d *Domain) {
			d.InTotal = in[i]
			if d.Most == 0 {
				d.Most = implausiblyMuch(d.Kind, cpu)
			}
			i++
		})
	}
}

// parts lists the errors that errors.Join joined.
func parts(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, err := range joined.Unwrap() {
			all = append(all, parts(err)...)
		}
		return all
	}
	return []error{err}
}

// processorsMeasured tells whether sensors tell what the processors draw. GPUs,
// memory, and zones of which nobody knows what they count do not.
func processorsMeasured(sensors []Sensor) bool {
	return slices.ContainsFunc(sensors, func(s Sensor) bool {
		return slices.ContainsFunc(s.Domains(), Domain.HasProcessors)
	})
}

// HasProcessors tells whether the domain is, or includes, all of a processor.
func (d Domain) HasProcessors() bool { return d.Kind == "cpu_package" || d.Kind == "psys" }
