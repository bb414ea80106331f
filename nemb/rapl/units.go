package rapl

import (
	"math"
	"slices"
	"time"

	"cg/nemb"
	"cg/nemb/processor"
	"cg/runtimes/sdk/spec"
)

// Period: RAPL counters are updated about every millisecond (Intel SDM
// vol. 3B, 16.10.3: "approximately 1 millisecond").
const Period time.Duration = spec.RaplPeriodNs

// UnitOf is the unit in joules of a counter of 32 bits that goes round at wrap.
func UnitOf(wrap nemb.Energy) float64 { return wrap.Joules() / (1 << spec.CounterBits) }

// Step is a unit in joules as a Domain has it.
func Step(unit float64) nemb.Energy { return nemb.Energy(math.Ceil(unit * 1e6)) }

// units of Intel's counters of memory in joules. What the registers count is
// not always the unit of MSR_RAPL_POWER_UNIT: the memory of servers from Haswell
// to Ice Lake counts 15.3 uJ, from Sapphire Rapids on it counts the package's
// 61 uJ (intel_rapl_common.c, arch/x86/events/rapl.c, RRZE-HPC/likwid#642).
const (
	Unit61 = 1.0 / (1 << spec.Unit61Power)
	unit15 = 1.0 / (1 << spec.Unit15Power)
)

// MemoryUnit is the unit of a server's memory counter, 0 where none is fixed.
func MemoryUnit(cpu processor.CPU) float64 {
	if cpu.Vendor != processor.Intel || cpu.Family != 6 {
		return 0
	}
	switch {
	case slices.Contains(spec.Unit15Models, cpu.Model):
		return unit15
	case slices.Contains(spec.Unit61Models, cpu.Model):
		return Unit61
	}
	return 0
}

// CountsJoules tells whether psys counts whole joules: Sapphire and Emerald Rapids
// (arch/x86/events/rapl.c).
func CountsJoules(c processor.CPU) bool {
	return c.Vendor == processor.Intel && c.Family == 6 && (c.Model == 0x8f || c.Model == 0xcf)
}
