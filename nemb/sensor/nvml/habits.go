package nvml

import (
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"cg/nemb"
)

// nvmlScale is by how much a GPU's readings are off whatever it does, either way: their scale differs by up to 5 % from
// one GPU to the next (nvml.h, nvmlDeviceGetPowerUsage; Yang, Adamek and Armour, SC24, arXiv 2312.02741). Only a meter
// outside of the GPU shows it. What depends on the load is in nemb.Habits.
const nvmlScale = 0.05

// Names of a GPU's readings.
const (
	energyReading  = "energy"
	powerReading   = "power"
	averageReading = "average_power"
)

// quarter is what is published of the A100 and the H100: the power of each 100 ms is that of 25 ms of it (arXiv
// 2312.02741).
var quarter = nemb.Habits{Period: nvmlPeriod, Window: 25 * time.Millisecond}

// published are the habits of a GPU's counter as far as they are known by its architecture: of the A100 and the H100
// they are published. Other GPUs since Ampere are taken to do the same, and older ones to sample the whole time.
func (g *gpu) published() nemb.Habits {
	architecture, code := g.device.GetArchitecture()
	if code != nvml.SUCCESS || architecture < nvml.DEVICE_ARCH_AMPERE || architecture == nvml.DEVICE_ARCH_UNKNOWN {
		return nemb.Habits{}
	}
	h := quarter
	h.Origin = nemb.HabitsAssumed
	major, minor, code := g.device.GetCudaComputeCapability()
	if code == nvml.SUCCESS && minor == 0 && (major == 8 || major == 9) { // GA100, GH100
		h.Origin = nemb.HabitsPublished
	}
	return h
}

// publishedPower are those of a power that is integrated in place of a counter. On Ampere (but GA100) and later
// nvmlDeviceGetPowerUsage tells the mean of a second (nvml.h).
func (g *gpu) publishedPower(reading string) nemb.Habits {
	h := g.published()
	if reading == averageReading && h.Origin != nemb.HabitsUnknown {
		if major, minor, code := g.device.GetCudaComputeCapability(); code != nvml.SUCCESS || major != 8 || minor != 0 {
			h.Window, h.Origin = time.Second, nemb.HabitsPublished
		}
	}
	return h
}

// Device is which GPU it is.
func (s *gpuEnergy) Device() nemb.Device {
	d := nemb.Device{UUID: s.UUID()}
	s.gpu.ask("name", func(device nvml.Device) (code nvml.Return) {
		d.Name, code = device.GetName()
		return code
	})
	d.Driver, _ = s.lib.SystemGetDriverVersion()
	return d
}

// Counted is the reading that its energy comes from.
func (s *gpuEnergy) Counted() string {
	if s.domain.Method == nemb.Measured {
		return energyReading
	}
	return s.power.name
}

// Readings are those that the GPU has.
func (s *gpuEnergy) Readings() []nemb.Reading {
	var all []nemb.Reading
	for _, r := range []nemb.Reading{
		{Name: energyReading, Counts: true, Read: func() (float64, error) {
			var e nemb.Energy
			err := s.count(&e)
			return e.Joules(), err
		}},
		{Name: powerReading, Read: func() (float64, error) { return instantPower(s.gpu) }},
		{Name: averageReading, Read: func() (float64, error) { return averagePower(s.gpu) }},
	} {
		if _, err := r.Read(); err == nil {
			all = append(all, r)
		}
	}
	return all
}
