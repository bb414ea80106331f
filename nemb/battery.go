package nemb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

func init() { Register(Source{Name: "battery", Open: openBattery}) }

// batteryEvery is how often the power is read: embedded controllers bring it
// up to date about once a second.
const batteryEvery = time.Second

// openBattery opens the batteries of a machine that runs on them
// (Documentation/ABI/testing/sysfs-class-power): power_now in microwatts, else
// current_now times voltage_now in microamperes and microvolts. What they give
// is what the whole machine draws, screen and disks included. On mains they
// tell nothing of it, so they are absent then, and unplugging or plugging in
// during a run is a failed reading.
func openBattery(root Root) ([]Sensor, error) {
	dir := root.Sys("class/power_supply")
	entries, _ := os.ReadDir(dir)
	s := newPowerSensor("battery", batteryEvery)
	resting := 0
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		if readLine(filepath.Join(at, "type")) != "Battery" || readLine(filepath.Join(at, "scope")) == "Device" {
			continue // mains, or the battery of a mouse
		}
		if readLine(filepath.Join(at, "status")) != "Discharging" {
			resting++
			continue
		}
		b, err := newBattery(at)
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("battery: %w", err)
		}
		s.add(Domain{ID: "battery", Kind: "psys", Source: "battery: " + at}, b)
	}
	switch {
	case len(s.domains) > 0:
		return []Sensor{s}, nil
	case resting > 0:
		return nil, fmt.Errorf("battery: %s: the machine runs on mains, and its battery tells nothing then: %w", dir, fs.ErrNotExist)
	}
	return nil, fmt.Errorf("battery: %s: %w", dir, fs.ErrNotExist)
}

// battery is one that discharges.
type battery struct {
	dir              string
	power            *gauge // nil where it tells current and voltage
	current, voltage *gauge
}

func newBattery(dir string) (*battery, error) {
	b := &battery{dir: dir}
	open := func(name string) (*gauge, error) { return openSigned(filepath.Join(dir, name)) }
	var err error
	if b.power, err = open("power_now"); err == nil {
		return b, nil
	} else if b.power = nil; !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if b.current, err = open("current_now"); err != nil {
		return nil, err
	}
	if b.voltage, err = open("voltage_now"); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *battery) watts() (float64, error) {
	if status := readLine(filepath.Join(b.dir, "status")); status != "Discharging" {
		return 0, fmt.Errorf("%s: the battery is %q: it tells what the machine draws only while it is discharging", b.dir, status)
	}
	if b.power != nil {
		v, err := b.power.number()
		return abs(v) * 1e-6, err
	}
	i, err := b.current.number()
	if err != nil {
		return 0, err
	}
	u, err := b.voltage.number()
	return abs(i) * abs(u) * 1e-12, err
}

// abs: some drivers tell a discharge as negative.
func abs(v int64) float64 {
	if v < 0 {
		v = -v
	}
	return float64(v)
}

func (b *battery) close() {
	for _, g := range []*gauge{b.power, b.current, b.voltage} {
		if g != nil {
			g.close()
		}
	}
}
