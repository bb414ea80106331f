package nemb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// Source opens sensors of one kind.
type Source struct {
	Name string
	// Open returns the sensors found below a root. It may return sensors and
	// an error: the parts that could not be opened, joined with errors.Join.
	// An error that is fs.ErrNotExist says that the machine has no such
	// sensors, one that is fs.ErrPermission that they may not be read and what
	// mends it; any other that they are broken.
	Open func(Root) ([]Sensor, error)
}

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

// Found is what Discover saw.
type Found struct {
	Sensors []Sensor // opened; the caller closes them
	Absent  []string // names of sources that this machine does not have
	Denied  []error  // sensors that may not be read, each with the fix
	Broken  []error  // sensors that are there and do not answer as documented
}

// Close closes the sensors.
func (f *Found) Close() error {
	var errs []error
	for _, s := range f.Sensors {
		errs = append(errs, s.Close())
	}
	f.Sensors = nil
	return errors.Join(errs...)
}

// Discover opens sensors. With want empty or "auto" these are all measured
// ones, and the Model only if none measures the processors; otherwise those of
// the named sources. Absent and denied sensors are told in Found and are no error. A
// broken sensor is: Found then tells what was seen and holds no open sensor.
func Discover(root Root, want []string) (Found, error) {
	var f Found
	auto := len(want) == 0 || slices.Equal(want, []string{"auto"})
	if len(slices.Compact(slices.Sorted(slices.Values(want)))) > 1 && (slices.Contains(want, "auto") || slices.Contains(want, Model)) {
		return f, fmt.Errorf("%w %q beside others: auto and %s stand alone, since the estimate stands in for what is not measured", ErrUnknownSource, strings.Join(want, ","), Model)
	}
	all := Sources()
	if !auto {
		var chosen []Source
		for _, name := range want {
			i := slices.IndexFunc(all, func(s Source) bool { return s.Name == name })
			if i < 0 {
				var known []string
				for _, s := range all {
					known = append(known, s.Name)
				}
				return f, fmt.Errorf("%w %q; known are auto, %s", ErrUnknownSource, name, strings.Join(known, ", "))
			}
			if !slices.ContainsFunc(chosen, func(s Source) bool { return s.Name == name }) {
				chosen = append(chosen, all[i])
			}
		}
		all = chosen
	}
	for _, s := range all {
		if auto && s.Name == Model && processorsMeasured(f.Sensors) {
			continue
		}
		sensors, err := s.Open(root)
		f.Sensors = append(f.Sensors, sensors...)
		absent := false
		for _, err := range parts(err) {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				absent = true
			case errors.Is(err, fs.ErrPermission):
				f.Denied = append(f.Denied, err)
			default:
				f.Broken = append(f.Broken, err)
			}
		}
		if absent && len(sensors) == 0 {
			f.Absent = append(f.Absent, s.Name)
		}
	}
	if len(f.Broken) > 0 {
		return f, errors.Join(append(slices.Clone(f.Broken), f.Close())...)
	}
	return f, nil
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
