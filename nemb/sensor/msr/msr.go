// Package msr reads the energy counters of the processor's registers, through
// /dev/cpu/N/msr.
package msr

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"golang.org/x/sys/unix"

	"cg/nemb"
	"cg/nemb/counter"
	"cg/nemb/processor"
	"cg/nemb/rapl"
	"cg/nemb/sensor"
)

// name is that of the source.
const name = "msr"

func init() {
	nemb.Register(nemb.Source{Name: name, Open: openMSR, Rank: 20, Opened: nemb.IfNamed, RAPL: true})
}

// Registers of RAPL. Intel: SDM vol. 4, and vol. 3B 16.10; AMD: Processor
// Programming Reference, MSRC001_0299 to 029B (arch/x86/include/asm/
// msr-index.h has all of them). An energy register counts in its lower 32
// bits.
const (
	msrIntelUnit = 0x606      // MSR_RAPL_POWER_UNIT: bits 12:8, 1/2^n J
	msrAMDUnit   = 0xc0010299 // MSR_AMD_RAPL_POWER_UNIT: the same bits
)

// msrDomain is an energy register.
type msrDomain struct {
	register uint64
	name     string
	kind     string
}

var msrIntel = []msrDomain{
	{0x611, "package", "cpu_package"}, // MSR_PKG_ENERGY_STATUS
	{0x639, "core", "nested"},         // MSR_PP0_ENERGY_STATUS
	{0x641, "uncore", "nested"},       // MSR_PP1_ENERGY_STATUS
	{0x619, "dram", "dram"},           // MSR_DRAM_ENERGY_STATUS
	{0x64d, "psys", "psys"},           // MSR_PLATFORM_ENERGY_STATUS
}

var msrAMD = []msrDomain{{0xc001029b, "package", "cpu_package"}} // MSR_AMD_PKG_ENERGY_STATUS

// openMSR opens the energy registers through /dev/cpu/N/msr (msr(4)), past the
// kernel's own drivers: only where it is asked for, since nothing there says
// which registers a processor has. A register that cannot be read (EIO), or
// that shows 0, is not there.
func openMSR(root nemb.Root) ([]nemb.Sensor, error) {
	cpu := root.CPU()
	var registers []msrDomain
	unitRegister := int64(msrIntelUnit)
	switch {
	case cpu.Vendor == processor.Intel && cpu.Family == 6:
		registers = msrIntel
	case cpu.AMD() && cpu.Family >= 0x17:
		registers, unitRegister = msrAMD, msrAMDUnit
	default:
		return nil, fmt.Errorf("msr: no energy registers are known of %s: %w", cpu, fs.ErrNotExist)
	}
	s := sensor.NewFile(name)
	for _, at := range rapl.Packages(root) {
		path := root.Dev("cpu", strconv.Itoa(at.CPU), "msr")
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENXIO):
			s.Close()
			return nil, fmt.Errorf("msr: %s: %w (sudo modprobe msr)", path, fs.ErrNotExist)
		case errors.Is(err, fs.ErrPermission):
			s.Close()
			return nil, &nemb.Denied{
				What: "msr: " + path, Err: err, Why: "it takes root and CAP_SYS_RAWIO, and a kernel that is not " +
					"locked down",
				Fix: "sudo cg ... (or measure with perf or powercap, which take less)",
			}
		case err != nil:
			s.Close()
			return nil, fmt.Errorf("msr: %s: %w", path, err)
		}
		s.Keep(fd)
		bits, err := rapl.ReadRegister(fd, unitRegister)
		if err != nil {
			s.Close()
			if errors.Is(err, unix.EIO) {
				err = fmt.Errorf("%w (register %#x)", fs.ErrNotExist, unitRegister)
			}
			return nil, fmt.Errorf("msr: %s: %w", path, err)
		}
		unit := 1.0 / float64(uint64(1)<<(bits>>8&0x1f))
		for _, r := range registers {
			if raw, err := rapl.ReadRegister(fd, int64(r.register)); err != nil || raw&(1<<32-1) == 0 {
				continue
			}
			d := nemb.Domain{
				ID: at.Domain(r.name), Kind: r.kind, Method: nemb.Measured, Period: rapl.Period, Lo: 1, Hi: 1,
				Source: fmt.Sprintf("msr: register %#x of processor %d", r.register, at.CPU),
			}
			d.ShareIdle(cpu)
			u := unit
			switch r.kind {
			case "nested":
				d.Parent = at.Domain("package")
			case "dram":
				if fixed := rapl.MemoryUnit(cpu); fixed > 0 {
					u = fixed
				}
			case "psys":
				if rapl.CountsJoules(cpu) {
					u = 1
				}
			}
			d.Wrap, d.Step = nemb.Energy(u*(1<<32)*1e6), rapl.Step(u)
			s.Add(d, counter.Counter{FD: int32(fd), Form: counter.Word, At: r.register, Mask: 1<<32 - 1,
				Scale: u * 1e6})
		}
	}
	if len(s.Domains()) == 0 {
		s.Close()
		return nil, fmt.Errorf("msr: none of the energy registers of %s counts: %w", cpu, fs.ErrNotExist)
	}
	return []nemb.Sensor{s}, nil
}
