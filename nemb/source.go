package nemb

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"cg/nemb/patience"
)

// Source opens sensors of one kind.
type Source struct {
	Name string
	// Open returns the sensors found below a root. It may return sensors and
	// an error: the parts that could not be opened, joined with errors.Join.
	// An error that is fs.ErrNotExist says that the machine has no such
	// sensors, one that is fs.ErrPermission (best a *Denied) that they may not
	// be read and what to do about it; any other that they are broken.
	Open func(Root) ([]Sensor, error)
	// Rank orders the sources, the lowest first. Where two know the same domain,
	// the first that can be read counts it and the other is there to compare. 0
	// lies behind the sources of counters and before those of the whole machine.
	Rank int
	// Opened says when Discover opens the source that was not named.
	Opened Condition
	// Distinct is set where every domain of the source adds to those of the sources
	// before it. What other sources tell may overlap with what is measured already:
	// without being named, they count only where no source before them has a domain
	// of the kind.
	Distinct bool
	// UserNamed is set where a user has named the domains: a GPU, or the memory as a whole, may be what a source
	// before it counts under another name, and then does not add to that.
	UserNamed bool
	// Alone is set where the source cannot be named beside others.
	Alone bool
	// Wall is set where the source measures the whole machine at its power supplies: it is
	// worth naming beside what measures the processors, since it tells what else there is.
	Wall bool
	// RAPL is set where the source reads RAPL counters, which Intel's processors may
	// filter (INTEL-SA-00389).
	RAPL bool
	// Occupied is set where the source's sensors are devices whose drivers tell which processes use them (Occupied).
	Occupied bool
	// Driver is what to type to install what an Occupied source reads its devices through.
	Driver string
	// Metric is the name under which the source's energies are recorded without a
	// program. Of the sources with the same name the first that can be read is
	// recorded. "" is never.
	Metric string
	// Missing tells of devices on a machine that the source would read if what it
	// reads them through were installed, and what to type for it; "" for none. It is
	// called where the source is absent. nil is for sources that need nothing
	// installed.
	Missing func(root Root, container bool) (text, fix string)
}

// Condition says when a source is opened that was not named.
type Condition int

const (
	Always       Condition = iota
	IfUnmeasured           // where no source before it measures the processors
	IfNamed                // never
)

// Denied is the error of sensors that are there and may not be read.
type Denied struct {
	What    string   // the sensor and where it is
	Err     error    // what the system said
	Why     string   // what it takes
	Fix     string   // the command that fixes it
	Domains []string // that are not read for it, where that is known
}

func (d *Denied) Error() string {
	return fmt.Sprintf("%s: %v: %s; run cg as root, or: %s", d.What, d.Err, d.Why, d.Fix)
}

// Is makes every Denied an fs.ErrPermission.
func (d *Denied) Is(target error) bool { return target == fs.ErrPermission }

// Note is something that was seen of a sensor.
type Note struct {
	Doubt bool // it casts doubt on the figures
	Text  string
}

// ErrUnknownSource is the error of Discover for a name that is no source.
var ErrUnknownSource = errors.New("sensors: no source")

var sources []Source

// Register adds a source. It is called from init functions.
func Register(s Source) {
	if slices.ContainsFunc(sources, func(o Source) bool { return o.Name == s.Name }) {
		panic("nemb: source " + s.Name + " registered twice")
	}
	sources = append(sources, s)
}

// Sources lists the registered sources by name, those that stand alone last.
func Sources() []Source {
	all := slices.Clone(sources)
	slices.SortFunc(all, func(a, b Source) int {
		if a.Alone != b.Alone {
			if a.Alone {
				return 1
			}
			return -1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all
}

// ByRank orders sources by their ranks, and leaves those of one rank as they are.
func ByRank(sources []Source) []Source {
	slices.SortStableFunc(sources, func(a, b Source) int { return a.Rank - b.Rank })
	return sources
}

// opened is what a Source's Open gave.
type opened struct {
	sensors []Sensor
	err     error
}

// openPatient opens a source and gives up one that hangs.
func openPatient(s Source, root Root, limit time.Duration) ([]Sensor, error) {
	open := func() opened {
		sensors, err := s.Open(root)
		return opened{sensors, err}
	}
	answer, ok := patience.Within(limit, open, func(o opened) {
		for _, s := range o.sensors {
			s.Close()
		}
	})
	if !ok {
		return nil, &patience.Hung{What: s.Name + ": looking for its sensors", After: limit}
	}
	return answer.sensors, answer.err
}
