// Package amdsmi reads AMD's GPUs through AMD SMI, the library of ROCm: energies, and as metrics
// powers, temperatures and utilisation.
//
// It takes libamd_smi.so of a machine and gives a sensor for each GPU, named as hwmon names the
// same cards (gpu-amd-0), so that a card is counted once. It refuses nothing: what a GPU or a
// version of the library does not tell is absent.
package amdsmi

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"time"

	"cg/nemb"
	"cg/nemb/patience"
	"cg/nemb/sensor"
)

// name is that of the source.
const name = "amdsmi"

// The firmware brings its energy counter and powers up to date each millisecond to 50 ms; the
// driver keeps what it read for up to 100 ms (gpu_metrics, Documentation/gpu/amdgpu/thermal.rst).
const (
	period = 100 * time.Millisecond
	step   = nemb.Energy(16) // its unit is 2^-16 J
	// band: AMD publishes no error of its meters. That of NVIDIA's is taken.
	band = 0.05
)

// reading is one number of a GPU.
type reading struct {
	name, unit string
	read       func(*gpu) (float64, error)
}

func init() {
	nemb.Register(nemb.Source{Name: name, Open: openGPUs, Rank: -15, Distinct: true, Occupied: true,
		Driver: "sudo apt-get install amd-smi-lib (of ROCm)", Metric: "amdsmi-energy"})
	for _, m := range []struct {
		name     string
		readings []reading
	}{
		{"amdsmi-power", []reading{{"power_w", "W", (*gpu).watts}}},
		{"amdsmi-temp", []reading{{"temperature_c", "C", (*gpu).temperature}}},
		{"amdsmi-util", []reading{
			{"gpu_percent", "%", func(g *gpu) (float64, error) { return g.activity(0) }},
			{"memory_percent", "%", func(g *gpu) (float64, error) { return g.activity(1) }},
		}},
		{"amdsmi-clock", []reading{
			{"clock_mhz", "MHz", func(g *gpu) (float64, error) { return g.clock(clockOfGraphics) }},
			{"memory_clock_mhz", "MHz", func(g *gpu) (float64, error) { return g.clock(clockOfMemory) }},
		}},
		{"amdsmi-memory", []reading{{"memory_used_bytes", "bytes", (*gpu).memory}}},
	} {
		nemb.RegisterMetric(nemb.Metric{Name: m.name, Open: func(root nemb.Root) (nemb.Gauge, error) {
			return openGauge(root, m.readings)
		}})
	}
}

// energy is the counter of one GPU: each is a sensor of its own, so that one that fails stops
// alone.
type energy struct {
	gpu    *gpu
	domain nemb.Domain
	desk   patience.Desk
	occupants
}

// openGPUs opens a sensor for each GPU: its counter, or its power integrated where it has none.
func openGPUs(root nemb.Root) ([]nemb.Sensor, error) {
	lib, err := open(root)
	if err != nil {
		return nil, err
	}
	defer lib.Close()
	gpus, err := lib.gpus()
	if err != nil {
		return nil, err
	}
	var sensors []nemb.Sensor
	var errs []error
	for _, g := range gpus {
		s, err := g.sensor()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		sensors = append(sensors, s)
	}
	return sensors, errors.Join(errs...)
}

func (g *gpu) sensor() (nemb.Sensor, error) {
	d := nemb.Domain{ID: g.id, Kind: nemb.KindGPU, InTotal: true, Lo: 1 - band, Hi: 1 + band, Period: period}
	var refused *answer
	count, err := g.energy()
	switch {
	case err == nil && count > 0:
		d.Method, d.Step, d.Source = nemb.Measured, step, "AMD SMI energy counter"
		g.lib.use()
		return &energy{gpu: g, domain: d, occupants: newOccupants(g)}, nil
	case err != nil && !(errors.As(err, &refused) && refused.never()):
		return nil, sensor.Fixable(err)
	}
	if _, err := g.watts(); errors.As(err, &refused) && refused.never() {
		return nil, fmt.Errorf("amdsmi: %s tells neither energy nor power: %w", g.id, fs.ErrNotExist)
	} else if err != nil {
		return nil, sensor.Fixable(err)
	}
	d.Source = "AMD SMI power"
	g.lib.use()
	s := &power{Power: sensor.NewPower(name, period), occupants: newOccupants(g)}
	s.Add(d, meter{g})
	return s, nil
}

// power is the power of a GPU without a counter, integrated.
type power struct {
	*sensor.Power
	occupants
}

func (s *power) Close() error { return errors.Join(s.Power.Close(), s.occupants.end()) }

// meter is the power of a GPU without a counter.
type meter struct{ gpu *gpu }

func (m meter) Watts() (float64, error) { return m.gpu.watts() }

// Close gives the library back.
func (m meter) Close() { m.gpu.lib.Close() }

func (s *energy) Domains() []nemb.Domain { return []nemb.Domain{s.domain} }

// Adjust sets what Discover finds out about the domain.
func (s *energy) Adjust(change func(*nemb.Domain)) { change(&s.domain) }

// Read reads the counter, in microjoules since the driver was loaded.
func (s *energy) Read(dst []nemb.Energy) error {
	return patience.Read(&s.desk, "amdsmi: "+s.gpu.id, dst, func(dst []nemb.Energy) error {
		v, err := s.gpu.energy()
		if err == nil {
			dst[0] = nemb.Energy(v)
		}
		return err
	})
}

func (s *energy) Close() error {
	return errors.Join(s.occupants.end(), s.desk.End("amdsmi: "+s.gpu.id, s.gpu.lib.Close))
}

// gauge reads the same numbers of every GPU that has them.
type gauge struct {
	lib     *library
	columns []nemb.Column
	reads   []func() (float64, error)
	closed  bool
}

func openGauge(root nemb.Root, readings []reading) (nemb.Gauge, error) {
	lib, err := open(root)
	if err != nil {
		return nil, err
	}
	defer lib.Close()
	gpus, err := lib.gpus()
	if err != nil {
		return nil, err
	}
	g := &gauge{lib: lib}
	var errs []error
	for _, r := range readings { // in the order quantity, GPU: that of other tools
		for _, gpu := range gpus {
			_, err := r.read(gpu)
			var refused *answer
			switch {
			case errors.As(err, &refused) && refused.never():
				errs = append(errs, sensor.Absent(err))
			case err != nil:
				errs = append(errs, sensor.Fixable(err))
			default:
				g.columns = append(g.columns, nemb.Column{Scope: gpu.id, Name: r.name, Unit: r.unit})
				g.reads = append(g.reads, func() (float64, error) { return r.read(gpu) })
			}
		}
	}
	if len(g.columns) == 0 {
		return nil, errors.Join(errs...)
	}
	lib.use()
	return g, errors.Join(errs...)
}

func (g *gauge) Columns() []nemb.Column { return g.columns }

func (g *gauge) Read(dst []float64) error {
	if g.closed {
		return fmt.Errorf("amdsmi: %w", fs.ErrClosed)
	}
	var errs []error
	for i, read := range g.reads {
		var err error
		if dst[i], err = read(); err != nil {
			dst[i] = math.NaN()
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (g *gauge) Close() error {
	if g.closed {
		return nil
	}
	g.closed = true
	return g.lib.Close()
}
