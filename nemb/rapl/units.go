package rapl

import (
	"math"
	"time"

	"cg/nemb"
	"cg/nemb/processor"
	"cg/runtimes/sdk/spec"
)

// Period: RAPL counters are updated about every millisecond (Intel SDM
// vol. 3B, 16.10.3: "approximately 1 millisecond").
const Period time.Duration = spec.RaplPeriodNs

// Step is a unit in joules as a Domain has it.
func Step(unit float64) nemb.Energy { return nemb.Energy(math.Ceil(unit * 1e6)) }

// units of Intel's counters of memory in joules. What the registers count is
// not always the unit that MSR_RAPL_POWER_UNIT tells: the memory of servers
// from Haswell to Ice Lake counts 15.3 uJ, from Sapphire Rapids on it counts
// the package's 61 uJ (intel_rapl_common.c, arch/x86/events/rapl.c,
// RRZE-HPC/likwid#642).
const (
	Unit61 = 1.0 / (1 << 14)
	unit15 = 1.0 / (1 << 16)
)

// MemoryUnit is the unit of a server's memory counter, 0 where none is fixed.
func MemoryUnit(cpu processor.CPU) float64 {
	if cpu.Vendor != processor.Intel || cpu.Family != 6 {
		return 0
	}
	switch cpu.Model {
	case 0x3f, 0x4f, 0x56, 0x55, 0x57, 0x85, 0x6a, 0x6c: // HSX, BDX, BDX-DE, SKX to CPX, KNL, KNM, ICX, ICX-D
		return unit15
	case 0x8f, 0xcf, 0xad, 0xae: // SPR, EMR, GNR, GNR-D
		return Unit61
	}
	return 0
}

// CountsJoules tells whether psys counts whole joules: Sapphire and Emerald Rapids
// (arch/x86/events/rapl.c).
func CountsJoules(c processor.CPU) bool {
	return c.Vendor == processor.Intel && c.Family == 6 && (c.Model == 0x8f || c.Model == 0xcf)
}
