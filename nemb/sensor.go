package nemb

import (
	"time"

	"cg/nemb/counter"
)

// Sensor is one source of energy readings. Sensors are opened by a Source.
type Sensor interface {
	// Domains lists what Read fills in, in that order. It does not change.
	Domains() []Domain
	// Read stores the raw counter of each domain, in microjoules, into dst,
	// which has the length of Domains. A Read that fails stores nothing that
	// may be used; the caller records a gap. It is called from one goroutine
	// at a time, and not always the same.
	Read(dst []Energy) error
	// Close releases file descriptors. Read fails afterwards.
	Close() error
}

// Counting is a sensor whose domains are counters behind file descriptors, which
// the sampler's thread reads by itself.
type Counting interface {
	Sensor
	// Counters has one for each domain, in the order of Domains.
	Counters() []counter.Counter
	// Aside gives the counters that share a descriptor with counter i as a sensor of
	// their own, the same each time, and the index of the first: the thread does not
	// wait for counters that do not answer in time.
	Aside(i int) (aside Sensor, first int)
	// SetAside lists the first counter of each sensor that Aside has given: what
	// hangs in one run hangs in the next.
	SetAside() []int
}

// Paced is a sensor that is read at a period of its own: one whose reading
// takes long, or must come more often than samples are taken. Without it a
// sensor is read at the longest of its domains' periods, and at least ten
// times a second.
type Paced interface {
	Sensor
	Every() time.Duration
}

// Bounded is a sensor whose bounds are known when it has been read: Bounds are the factors Lo and
// Hi of its domains, in their order, so far. They take the place of those of Domains.
type Bounded interface {
	Sensor
	Bounds() [][2]float64
}

// Begun is a Bounded sensor whose bounds depend on what it has read: Begin says that those of a new run are asked for.
type Begun interface {
	Bounded
	Begin()
}

// Stepped is a sensor whose steps are known when it has been read: Steps are those of its domains, in their order, so
// far. They take the place of those of Domains.
type Stepped interface {
	Sensor
	Steps() []Energy
}

// Modelled is a sensor of one domain whose energy is computed and not read: it
// follows from the time and from how busy the processors were.
type Modelled interface {
	Sensor
	// Model is what the domain drew in elapsed while the processors were busy for
	// busy, together.
	Model(elapsed, busy time.Duration) Energy
}

// Splitting is a sensor of which a part can be read without the others, so that a
// source adds the domains that the sources before it do not know.
type Splitting interface {
	Sensor
	// Split keeps the domains for which keep is true and gives the others as a
	// sensor of their own, nil if there are none. The other sensor borrows the files
	// of this one and is closed before it.
	Split(keep func(Domain) bool) (rest Sensor)
}

// Noting is a sensor that saw something when it was opened which users should know:
// parts that it leaves out, or a reason to doubt its figures.
type Noting interface {
	Sensor
	Notes() []Note
}

// Doubting is a sensor that knows, once it has been read, what casts doubt on its figures.
type Doubting interface {
	Sensor
	Doubts() []Note
}

// Adjusting is a sensor whose domains can be changed before they are read: which of
// them are in the total, and what each can draw, is known only once all sources
// are open.
type Adjusting interface {
	Sensor
	// Adjust calls change for each domain, in the order of Domains.
	Adjust(change func(*Domain))
}

// Habitual is the sensor of a device whose counter has habits that can be measured.
type Habitual interface {
	Adjusting
	Device() Device
	// Readings are what the device tells of its energy and its power, one more often than the other perhaps.
	Readings() []Reading
	// Counted is the Name of the reading that the sensor's domain comes from.
	Counted() string
}

// Device is which one a sensor is of. What it does not tell is "".
type Device struct{ UUID, Name, Driver string }

// Reading is a number that a device tells.
type Reading struct {
	Name   string // energy, power, average_power
	Counts bool   // joules that add up, else watts
	Read   func() (float64, error)
}
