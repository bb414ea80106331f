package nemb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Root is where sensors and the machine's identity are found. With Dir "" it
// is the live machine: /sys and /proc. Otherwise it is a captured or simulated
// machine: Dir/sys, and Dir/proc for cpuinfo and meminfo when that folder
// exists. Processor time is always that of the live machine.
type Root struct{ Dir string }

// Sys returns the path of a file below sysfs.
func (r Root) Sys(elem ...string) string {
	dir := r.Dir
	if dir == "" {
		dir = "/"
	}
	return filepath.Join(append([]string{dir, "sys"}, elem...)...)
}

// Proc returns the path of a file below procfs that tells what the machine is.
func (r Root) Proc(elem ...string) string {
	dir := filepath.Join(r.Dir, "proc")
	if info, err := os.Stat(dir); r.Dir == "" || err != nil || !info.IsDir() {
		dir = "/proc"
	}
	return filepath.Join(append([]string{dir}, elem...)...)
}

// Dev returns the path of a device file.
func (r Root) Dev(elem ...string) string {
	dir := r.Dir
	if dir == "" {
		dir = "/"
	}
	return filepath.Join(append([]string{dir, "dev"}, elem...)...)
}

// Source opens sensors of one kind.
type Source struct {
	Name string
	// Open returns the sensors found below a root. It may return sensors and
	// an error: the parts that could not be opened, joined with errors.Join.
	// An error that is fs.ErrNotExist says that the machine has no such
	// sensors, one that is fs.ErrPermission (best a *Denied) that they may not
	// be read and what mends it; any other that they are broken.
	Open func(Root) ([]Sensor, error)
}

// Denied is the error of sensors that are there and may not be read.
type Denied struct {
	What    string   // the sensor and where it is
	Err     error    // what the system said
	Why     string   // what it takes
	Fix     string   // a command that mends it
	Domains []string // that are not read for it, where that is known
}

func (d *Denied) Error() string {
	return fmt.Sprintf("%s: %v: %s; run cg as root, or: %s", d.What, d.Err, d.Why, d.Fix)
}

// Hangs tells whether an error is that of a sensor that does not answer.
func Hangs(err error) bool {
	var h *Hung
	return errors.As(err, &h)
}

// Is makes every Denied an fs.ErrPermission.
func (d *Denied) Is(target error) bool { return target == fs.ErrPermission }

// Note is something that was seen of a sensor.
type Note struct {
	Doubt bool // it casts doubt on the figures
	Text  string
}

// preference orders the sources. Where two know the same domain, the first
// that can be read counts it and the other is there to compare. Sources that
// are not listed come before the battery.
var preference = []string{"perf", "powercap", "nvml", "hwmon", "", "battery", "msr", Model}

func preferred(name string) int {
	if i := slices.Index(preference, name); i >= 0 {
		return i
	}
	return slices.Index(preference, "")
}

// onlyAsked are the sources that are opened when they are named and not else:
// registers of the processor are read past the kernel.
var onlyAsked = []string{"msr"}

// ErrUnknownSource is the error of Discover for a name that is no source.
var ErrUnknownSource = errors.New("sensors: no source")

// Model is the name of the Source that estimates where nothing is measured.
const Model = "estimate"

var sources []Source

// Register adds a source. It is called from init functions.
func Register(s Source) {
	if slices.ContainsFunc(sources, func(o Source) bool { return o.Name == s.Name }) {
		panic("nemb: source " + s.Name + " registered twice")
	}
	sources = append(sources, s)
}

// Sources lists the registered sources by name, the Model last.
func Sources() []Source {
	all := slices.Clone(sources)
	slices.SortFunc(all, func(a, b Source) int {
		if (a.Name == Model) != (b.Name == Model) {
			if a.Name == Model {
				return 1
			}
			return -1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all
}

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
	Source  string
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
	Seen    []Seen // every source, in the order of preference

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
		if err := s.Close(); !errors.As(err, new(*Hung)) { // of which the run has told
			errs = append(errs, err)
		}
	}
	f.Sensors, f.opened, f.checks = nil, nil, nil
	return errors.Join(errs...)
}

// Discover opens sensors. With want empty or "auto" these are the ones that
// measure the machine's energy best, and the Model only if nothing measures the processors;
// otherwise all of the named sources. No domain is counted twice: of two
// sources that know it, the preferred one does, and Doubts tells whether they
// disagreed. Absent and denied sensors and those that hang are told in Found and
// are no error. A broken sensor is: Found then tells what was seen and holds no open sensor.
func Discover(root Root, want []string) (Found, error) {
	f, err := Inspect(root, want)
	if err == nil && len(f.Broken) > 0 {
		err = errors.Join(append(slices.Clone(f.Broken), f.Close())...)
	}
	return f, err
}

// Inspect is Discover, with broken sensors told and the others open.
func Inspect(root Root, want []string) (Found, error) {
	var f Found
	auto := len(want) == 0 || slices.Equal(want, []string{"auto"})
	if len(slices.Compact(slices.Sorted(slices.Values(want)))) > 1 && (slices.Contains(want, "auto") || slices.Contains(want, Model)) {
		return f, fmt.Errorf("%w %q beside others: auto and %s stand alone, since the estimate stands in for what is not measured", ErrUnknownSource, strings.Join(want, ","), Model)
	}
	all := Sources()
	if !auto {
		var err error
		if all, err = pick(all, want); err != nil {
			return f, err
		}
	}
	slices.SortStableFunc(all, func(a, b Source) int { return preferred(a.Name) - preferred(b.Name) })
	left := 2 * patience // that sources which hang may take, together
	for _, s := range all {
		seen := Seen{Source: s.Name}
		switch {
		case auto && slices.Contains(onlyAsked, s.Name):
			seen.State = Unasked
			f.Seen = append(f.Seen, seen)
			continue
		case auto && (s.Name == Model || s.Name == "battery") && f.MeasuresProcessors():
			seen.State = Spare
			f.Seen = append(f.Seen, seen)
			continue
		}
		begun := time.Now()
		sensors, err := openPatient(s, root, max(time.Second, left))
		if seen.Errors = parts(err); slices.ContainsFunc(seen.Errors, Hangs) {
			left -= time.Since(begun)
		}
		for _, sensor := range sensors {
			if n, ok := sensor.(interface{ seen() []Note }); ok {
				seen.Notes = append(seen.Notes, n.seen()...)
			}
			f.opened = append(f.opened, sensor)
			f.take(sensor, auto, s.Name)
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
	f.settle(Identify(root))
	for _, s := range f.Seen {
		if s.State == Absent {
			f.Absent = append(f.Absent, s.Source)
		}
		for _, err := range s.Errors {
			switch {
			case Hangs(err):
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

// pick picks sources by name, each once.
func pick(all []Source, want []string) (chosen []Source, err error) {
	for _, name := range want {
		i := slices.IndexFunc(all, func(s Source) bool { return s.Name == name })
		if i < 0 {
			var known []string
			for _, s := range all {
				known = append(known, s.Name)
			}
			return nil, fmt.Errorf("%w %q; known are auto, %s", ErrUnknownSource, name, strings.Join(known, ", "))
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
		case Hangs(err):
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
	var h *Hung
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
		return !slices.ContainsFunc(domains, func(o Domain) bool { return covers(o.ID, id) })
	})
}

// take adds the domains of a sensor that add to what is read already.
func (f *Found) take(s Sensor, auto bool, source string) {
	before := f.Domains()
	has := func(kind string) bool {
		return slices.ContainsFunc(before, func(d Domain) bool { return d.Kind == kind && d.Parent == "" })
	}
	own := s.Domains()
	known := func(d Domain) bool {
		return slices.ContainsFunc(before, func(o Domain) bool { return covers(o.ID, d.ID) })
	}
	var adds func(d Domain) bool
	adds = func(d Domain) bool {
		if known(d) {
			return false
		}
		if !auto || preferred(source) < preferred("hwmon") {
			return true
		}
		// What other drivers tell counts where nothing better does.
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
	if split, ok := s.(interface {
		split(keep func(Domain) bool) Sensor
	}); ok {
		rest := split.split(adds)
		if rest != nil {
			f.opened = append([]Sensor{rest}, f.opened...) // closed before the files that it borrows
			f.compare(rest)
		}
	} else if slices.ContainsFunc(own, known) {
		return // it cannot be taken apart
	}
	if len(s.Domains()) > 0 {
		f.Sensors = append(f.Sensors, s)
	}
}

// settle fixes what follows from all domains together: which make up the
// total, and how much each can draw.
func (f *Found) settle(cpu CPU) {
	in := total(f.Domains())
	i := 0
	for _, s := range f.Sensors {
		a, ok := s.(interface{ arrange(func(*Domain)) })
		if !ok {
			i += len(s.Domains())
			continue
		}
		a.arrange(func(d *Domain) {
			d.InTotal = in[i]
			if d.Most == 0 {
				d.Most = implausiblyMuch(d.Kind, cpu)
			}
			i++
		})
	}
}

// parts takes apart what errors.Join joined.
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
