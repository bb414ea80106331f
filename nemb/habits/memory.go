package habits

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"cg/nemb"
	"cg/pattern"
)

// Store is a folder of files that are written as a whole, such as one of the user's cache.
type Store interface {
	Read(name string) ([]byte, error)
	Write(name string, content []byte) error
	Used(name string) // keeps a file for longer
}

// kept is the file of a GPU. Times are in ns.
type kept struct {
	GPU    string    `json:"gpu"` // its name
	Driver string    `json:"driver"`
	At     time.Time `json:"at"`
	// Readings by name (nemb.Reading).
	Readings map[string]keptReading `json:"readings"`
}

type keptReading struct {
	Period    time.Duration `json:"period_ns"`
	Window    time.Duration `json:"window_ns"`
	WindowOff time.Duration `json:"window_off_ns"`
	Delay     time.Duration `json:"delay_ns"`
	DelayOff  time.Duration `json:"delay_off_ns"`
}

func (r keptReading) check() error {
	for _, d := range []time.Duration{r.Window, r.WindowOff, r.Delay, r.DelayOff} {
		if d < 0 || d > 10*longestWindow {
			return fmt.Errorf("%v is none of a reading's times", d)
		}
	}
	if r.Period <= 0 || r.Period > longestWindow || r.Window == 0 {
		return errors.New("it has no period, or no window")
	}
	return nil
}

// isUUID tells whether a GPU's UUID can be the name of a file.
var isUUID = pattern.Later(`^GPU-[0-9a-f-]{8,64}$`)

func fileOf(uuid string) string { return uuid + ".json" }

// Keep writes down the habits of a GPU's readings, by name. A GPU that tells no UUID is not told from others: nothing
// is kept of it.
func Keep(store Store, device nemb.Device, now time.Time, readings map[string]Fitted) error {
	if !isUUID().MatchString(device.UUID) {
		return fmt.Errorf("%q is no UUID of a GPU: its habits are not kept", device.UUID)
	}
	k := kept{GPU: device.Name, Driver: device.Driver, At: now.UTC().Truncate(time.Second),
		Readings: map[string]keptReading{}}
	for name, f := range readings {
		k.Readings[name] = keptReading{f.Period, f.Window, f.WindowOff, f.Delay, f.DelayOff}
	}
	b, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return store.Write(fileOf(device.UUID), append(b, '\n'))
}

// Recall is what is kept of a GPU's reading; false where nothing is, or it was measured with another driver. A file
// that cannot be read is an error, and as if it were not there.
func Recall(store Store, device nemb.Device, reading string) (nemb.Habits, bool, error) {
	if !isUUID().MatchString(device.UUID) {
		return nemb.Habits{}, false, nil
	}
	b, err := store.Read(fileOf(device.UUID))
	if errors.Is(err, fs.ErrNotExist) {
		return nemb.Habits{}, false, nil
	}
	var k kept
	if err == nil {
		err = json.Unmarshal(b, &k)
	}
	r, found := k.Readings[reading]
	if err == nil && found {
		err = r.check()
	}
	if err != nil {
		return nemb.Habits{}, false, fmt.Errorf("habits: %s: %w", fileOf(device.UUID), err)
	}
	if !found || k.Driver != device.Driver || k.GPU != device.Name {
		return nemb.Habits{}, false, nil
	}
	store.Used(fileOf(device.UUID))
	return nemb.Habits{Period: r.Period, Window: r.Window, WindowOff: r.WindowOff, Delay: r.Delay, DelayOff: r.DelayOff,
		Origin: nemb.HabitsMeasured, Measured: nemb.HabitsRecord{GPU: k.GPU, Driver: k.Driver, At: k.At}}, true, nil
}

// Set tells the sensors of GPUs what is kept of them. The error is of what could not be read; those have what is
// published.
func Set(store Store, sensors []nemb.Sensor) error {
	var errs []error
	for _, s := range sensors {
		h, ok := s.(nemb.Habitual)
		if !ok {
			continue
		}
		known, found, err := Recall(store, h.Device(), h.Counted())
		errs = append(errs, err)
		if found {
			h.Adjust(func(d *nemb.Domain) { d.Habits, d.Period = known, known.Period })
		}
	}
	return errors.Join(errs...)
}
