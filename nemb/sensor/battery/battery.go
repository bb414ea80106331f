// Package battery reads what a machine that runs on batteries draws from them, below
// /sys/class/power_supply.
package battery

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"cg/nemb"
	"cg/nemb/patience"
	"cg/nemb/sensor"
	"cg/nemb/sysfs"
)

// name is that of the source.
const name = "battery"

func init() {
	nemb.Register(nemb.Source{Name: name, Open: openBattery, Rank: 10, Opened: nemb.IfUnmeasured})
}

// every is how often the power is read: embedded controllers bring it
// up to date about once a second.
const every = time.Second

// openBattery opens the batteries of a machine that runs on them
// (Documentation/ABI/testing/sysfs-class-power): power_now in microwatts, else
// current_now times voltage_now in microamperes and microvolts, else what
// energy_now has lost, in microwatt-hours. What they give is what the whole
// machine draws, screen and disks included. On mains they tell nothing of it, so
// they are absent then, and unplugging or plugging in during a run is a failed
// reading. So is a power of 0 W: a machine that runs draws more.
func openBattery(root nemb.Root) ([]nemb.Sensor, error) {
	dir := root.Sys("class/power_supply")
	entries, _ := os.ReadDir(dir)
	s := sensor.NewPower(name, every)
	var charges []*sensor.Number
	resting, batteries, charged := 0, 0, 0
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		if sysfs.Line(filepath.Join(at, "type")) != "Battery" || sysfs.Line(filepath.Join(at, "scope")) == "Device" {
			continue // mains, or the battery of a mouse
		}
		if sysfs.Line(filepath.Join(at, "status")) != "Discharging" {
			resting++
			continue
		}
		b, err := newBattery(at)
		if errors.Is(err, fs.ErrNotExist) {
			if g, err := sensor.OpenNumber(filepath.Join(at, "energy_now")); err == nil {
				charges = append(charges, g)
				continue
			}
		}
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("battery: %w", err)
		}
		if _, err := os.Stat(filepath.Join(at, "energy_now")); err == nil {
			charged++
		}
		batteries++
		s.Add(nemb.Domain{ID: "battery", Kind: "psys", Source: "battery: " + at}, b)
	}
	if len(charges) == 0 && len(s.Domains()) > 0 && s.Silent(0) {
		s.Close()
		if charged == batteries {
			return openCharges(dir)
		}
		return nil, fmt.Errorf("battery: %s: %v: %w", dir, sensor.ErrNoPower, fs.ErrNotExist)
	}
	// One that tells no power leaves the charge alone to tell, for all.
	if len(charges) > 0 {
		s.Close()
		for _, g := range charges {
			g.Close()
		}
		return openCharges(dir)
	}
	switch {
	case len(s.Domains()) > 0:
		return []nemb.Sensor{s}, nil
	case resting > 0:
		return nil, fmt.Errorf("battery: %s: the machine runs on mains, and its battery tells nothing then: %w", dir,
			fs.ErrNotExist)
	}
	return nil, fmt.Errorf("battery: %s: %w", dir, fs.ErrNotExist)
}

// charges tells what batteries have lost since they were opened: a counter of
// coarse steps (10 mWh are 36 J).
type charges struct {
	domain nemb.Domain
	dirs   []string
	gauges []*sensor.Number
	first  []int64 // microwatt-hours, where the count started
	starts int     // of the count: it starts over after each time that tells nothing
	broken bool    // the last reading failed
	desk   patience.Desk
}

// chargePeriod is how often charges are brought up to date, at most.
const chargePeriod = 30 * time.Second

// chargeStep is 10 mWh, in which the firmware of most batteries counts.
const chargeStep = nemb.Energy(36e6)

func openCharges(dir string) ([]nemb.Sensor, error) {
	c := &charges{domain: nemb.Domain{
		ID: "battery", Kind: "psys", Source: "battery: " + dir + ": energy_now",
		Method: nemb.Measured, Period: chargePeriod, Step: chargeStep,
		InTotal: true, Lo: 1, Hi: 1,
	}}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		if sysfs.Line(filepath.Join(at, "type")) != "Battery" ||
			sysfs.Line(filepath.Join(at, "status")) != "Discharging" ||
			sysfs.Line(filepath.Join(at, "scope")) == "Device" {
			continue
		}
		var g *sensor.Number
		if g, err = sensor.OpenNumber(filepath.Join(at, "energy_now")); err != nil {
			break
		}
		c.dirs, c.gauges = append(c.dirs, at), append(c.gauges, g)
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("battery: %w", sensor.Broken(err))
	}
	return []nemb.Sensor{c}, nil
}

func (c *charges) Domains() []nemb.Domain { return []nemb.Domain{c.domain} }

// Adjust sets what Discover finds out about the domain.
func (c *charges) Adjust(change func(*nemb.Domain)) { change(&c.domain) }

// Every is how often the charge is read.
func (c *charges) Every() time.Duration { return every }

func (c *charges) Read(dst []nemb.Energy) error { return patience.Read(&c.desk, name, dst, c.count) }

func (c *charges) count(dst []nemb.Energy) error {
	now, err := c.read()
	if err != nil {
		c.broken = true
		return fmt.Errorf("battery: %w", err)
	}
	if c.broken || c.starts == 0 {
		// What was drawn since the last good reading is not known: a battery
		// that was held at its charge by the mains has lost nothing.
		c.first, c.broken = now, false
		c.starts++
	}
	var lost int64
	for i, v := range now {
		lost += c.first[i] - v
	}
	if lost < 0 {
		c.broken = true
		return fmt.Errorf("battery: %s: there is more in it than at the start", c.domain.Source)
	}
	dst[0] = nemb.Energy(sensor.IntegralStart(c.starts)) + nemb.Energy(lost)*3600
	return nil
}

// read gives what is in each battery, in microwatt-hours.
func (c *charges) read() ([]int64, error) {
	now := make([]int64, len(c.gauges))
	for i, g := range c.gauges {
		if err := discharging(c.dirs[i]); err != nil {
			return nil, err
		}
		var err error
		if now[i], err = g.Read(); err != nil {
			return nil, err
		}
	}
	return now, nil
}

func (c *charges) Close() error {
	return c.desk.End(name, func() error {
		for _, g := range c.gauges {
			g.Close()
		}
		c.gauges = nil
		return nil
	})
}

// discharging is an error where a battery is anything else.
func discharging(dir string) error {
	if status := sysfs.Line(filepath.Join(dir, "status")); status != "Discharging" {
		return fmt.Errorf("%s: the battery is %q: it tells what the machine draws only while it is discharging", dir,
			status)
	}
	return nil
}

// battery is one that discharges and tells its power.
type battery struct {
	dir              string
	power            *sensor.Number // nil where it tells current and voltage
	current, voltage *sensor.Number
}

func newBattery(dir string) (*battery, error) {
	b := &battery{dir: dir}
	open := func(name string) (*sensor.Number, error) { return sensor.OpenNumber(filepath.Join(dir, name)) }
	var err error
	if b.power, err = open("power_now"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if b.power != nil {
		if v, err := b.power.Read(); err != nil || v != 0 {
			return b, err
		}
	}
	product := &battery{dir: dir}
	if product.current, err = open("current_now"); err == nil {
		product.voltage, err = open("voltage_now")
	}
	if b.power == nil && err == nil {
		return product, nil
	}
	// Of a driver that shows 0 for what it does not know, the product may tell.
	if err == nil {
		if w, err := product.Watts(); err == nil && w > 0 {
			b.Close()
			return product, nil
		}
	}
	product.Close()
	if b.power == nil {
		return nil, err
	}
	return b, nil
}

func (b *battery) Watts() (float64, error) {
	if err := discharging(b.dir); err != nil {
		return 0, err
	}
	if b.power != nil {
		v, err := b.power.Read()
		return abs(v) * 1e-6, err
	}
	i, err := b.current.Read()
	if err != nil {
		return 0, err
	}
	u, err := b.voltage.Read()
	return abs(i) * abs(u) * 1e-12, err
}

// abs: some drivers tell a discharge as negative.
func abs(v int64) float64 {
	if v < 0 {
		v = -v
	}
	return float64(v)
}

func (b *battery) Close() {
	for _, g := range []*sensor.Number{b.power, b.current, b.voltage} {
		if g != nil {
			g.Close()
		}
	}
}
