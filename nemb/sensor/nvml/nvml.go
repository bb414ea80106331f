// Package nvml reads NVIDIA's GPUs through the library of their driver: energies, and as
// metrics powers, temperatures, utilisation and throughput.
package nvml

// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "link.h"
import "C"

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/patience"
	"cg/nemb/sensor"
	"cg/nemb/sysfs"
)

// name is that of the source.
const name = "nvml"

func init() {
	nemb.Register(nemb.Source{Name: name, Open: openGPUs, Rank: -20, Distinct: true, Occupied: true,
		Driver: "sudo apt-get install nvidia-driver (in a container: docker run --gpus all ...)",
		Metric: "nvml-energy", Missing: cardsWithoutNVML})
	for _, m := range []struct {
		name     string
		readings []gpuReading
	}{
		{"nvml-power", []gpuReading{{"power_w", "W", instantPower}, {"average_power_w", "W", averagePower}}},
		{"nvml-temp", []gpuReading{{"temperature_c", "C", gpuTemperature}}},
		{"nvml-util", []gpuReading{{"gpu_percent", "%", gpuBusy}, {"memory_percent", "%", memoryBusy}}},
		{"nvml-clock", []gpuReading{{"clock_mhz", "MHz", gpuClock(nvml.CLOCK_GRAPHICS)},
			{"memory_clock_mhz", "MHz", gpuClock(nvml.CLOCK_MEM)}}},
		{"nvml-memory", []gpuReading{{"memory_used_bytes", "bytes", memoryUsed}}},
		{"nvml-nvlink", []gpuReading{
			{"nvlink_tx_kib", "KiB", nvlink(nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX)},
			{"nvlink_rx_kib", "KiB", nvlink(nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_RX)},
		}},
		{"nvml-pcie", []gpuReading{
			{"pcie_tx_kib_s", "KiB/s", pcie(nvml.PCIE_UTIL_TX_BYTES)},
			{"pcie_rx_kib_s", "KiB/s", pcie(nvml.PCIE_UTIL_RX_BYTES)},
		}},
	} {
		nemb.RegisterMetric(nemb.Metric{Name: m.name, Open: func(root nemb.Root) (nemb.Gauge, error) {
			lib, err := openNVML(root)
			if err != nil {
				return nil, err
			}
			g, err := newGPUGauge(lib, m.readings)
			switch {
			case g == nil:
				return nil, err
			case m.name == "nvml-pcie":
				return newSlowGauge(g, pciePeriod), err
			}
			return g, err
		}})
	}
}

func openGPUs(root nemb.Root) ([]nemb.Sensor, error) {
	lib, err := openNVML(root)
	if err != nil {
		return nil, err
	}
	return nvmlSensors(lib)
}

// cardsWithoutNVML tells of an NVIDIA GPU (PCI vendor 10de, class 03: Documentation/ABI/
// testing/sysfs-bus-pci) that no library tells the energy of.
func cardsWithoutNVML(root nemb.Root, container bool) (text, fix string) {
	devices, _ := filepath.Glob(root.Sys("bus/pci/devices/*"))
	for _, dir := range devices {
		if sysfs.Line(filepath.Join(dir, "vendor")) != "0x10de" ||
			!strings.HasPrefix(sysfs.Line(filepath.Join(dir, "class")), "0x03") {
			continue
		}
		fix = "sudo apt-get install nvidia-driver (or your distribution's package)"
		if container {
			fix = "docker run --gpus all ..."
		}
		return fmt.Sprintf("there is an NVIDIA GPU (%s), and its driver's library (libnvidia-ml.so.1) is not: its "+
			"energy is not measured", filepath.Base(dir)), fix
	}
	return "", ""
}

// NVML is the NVIDIA Management Library of the driver
// (docs.nvidia.com/deploy/nvml-api). Its readings are refreshed every 20 to
// 100 ms; the throughput of PCIe takes 20 ms to read.
const (
	nvmlPeriod = 100 * time.Millisecond
	nvmlStep   = nemb.Energy(1000) // it counts millijoules
	pciePeriod = 500 * time.Millisecond
)

// nvmlLibrary is NVML, initialized once and shut down with its last user.
type nvmlLibrary struct {
	nvml.Interface
	beside string // where DCGM's library is, "" for the linker's
	mu     sync.Mutex
	users  int
}

func (l *nvmlLibrary) use() *nvmlLibrary {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users++
	return l
}

func (l *nvmlLibrary) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users--; l.users == 0 {
		if code := l.Shutdown(); code != nvml.SUCCESS {
			return &nvmlError{"shut down", code}
		}
	}
	return nil
}

// openNVML loads the driver's library: the one that the dynamic linker finds,
// or lib/libnvidia-ml.so.1 below a root that is not the live machine.
func openNVML(root nemb.Root) (*nvmlLibrary, error) {
	path := "libnvidia-ml.so.1"
	if root.Dir != "" {
		path = filepath.Join(root.Dir, "lib", path)
		// The linker waits for a file system with a lock held that every new thread
		// takes: it is not asked for what is not there.
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, sensor.Absent(fmt.Errorf("nvml: %s: cannot open shared object file: No such file or directory",
				path))
		}
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	runtime.LockOSThread() // whose dlerror it is
	defer runtime.UnlockOSThread()
	if reason := C.cg_nvml_load(name); reason != nil {
		text := C.GoString(reason)
		if strings.Contains(text, "No such file") {
			return nil, sensor.Absent(fmt.Errorf("nvml: %s", text))
		}
		return nil, sensor.Fixable(fmt.Errorf("nvml: %s: install the driver's libraries anew, or leave nvml out with "+
			"-s", text))
	}
	started, err := startNVML(nvml.New(nvml.WithLibraryPath(path)))
	if started != nil {
		started.beside = dcgmFolder(root)
	}
	return started, err
}

func startNVML(lib nvml.Interface) (*nvmlLibrary, error) {
	switch code := lib.Init(); code {
	case nvml.SUCCESS:
		return &nvmlLibrary{Interface: lib}, nil
	case nvml.ERROR_DRIVER_NOT_LOADED, nvml.ERROR_LIBRARY_NOT_FOUND, nvml.ERROR_GPU_NOT_FOUND:
		return nil, sensor.Absent(&nvmlError{"initialize", code})
	default:
		return nil, sensor.Fixable(&nvmlError{"initialize", code})
	}
}

// nvmlError is what NVML answered to one call for one device.
type nvmlError struct {
	what string // gpu1: total energy
	code nvml.Return
}

// The words are ours: nvmlErrorString is one more function that may be missing.
var nvmlWords = map[nvml.Return]string{
	nvml.ERROR_UNINITIALIZED:      "not initialized",
	nvml.ERROR_NOT_SUPPORTED:      "the GPU does not tell it",
	nvml.ERROR_NO_PERMISSION:      "denied: the user needs access to /dev/nvidia*",
	nvml.ERROR_NOT_FOUND:          "not found",
	nvml.ERROR_DRIVER_NOT_LOADED:  "the driver is not loaded",
	nvml.ERROR_TIMEOUT:            "timed out",
	nvml.ERROR_LIBRARY_NOT_FOUND:  "no library",
	nvml.ERROR_FUNCTION_NOT_FOUND: "this driver has no such function",
	nvml.ERROR_GPU_IS_LOST:        "the GPU is lost: reset it (nvidia-smi --gpu-reset) or reboot",
	nvml.ERROR_RESET_REQUIRED:     "the GPU needs a reset (nvidia-smi --gpu-reset)",
	nvml.ERROR_OPERATING_SYSTEM:   "blocked by the operating system or its cgroup",
	nvml.ERROR_LIB_RM_VERSION_MISMATCH: "the driver and its library are of different versions: " +
		"load the new driver, or reboot",
	nvml.ERROR_NO_DATA:       "no data",
	nvml.ERROR_GPU_NOT_FOUND: "no GPU",
	nvml.ERROR_UNKNOWN:       "unknown error of the driver",
}

func (e *nvmlError) Error() string {
	words := nvmlWords[e.code]
	if words == "" {
		words = "error"
	}
	return fmt.Sprintf("nvml: %s: %s (NVML %d)", e.what, words, e.code)
}

// unsupported tells whether a device will never answer.
func unsupported(code nvml.Return) bool {
	return code == nvml.ERROR_NOT_SUPPORTED || code == nvml.ERROR_FUNCTION_NOT_FOUND ||
		code == nvml.ERROR_INVALID_ARGUMENT
}

// gpu is one device. A device that is lost is not asked again: some drivers
// hang then.
type gpu struct {
	id     string // gpu0
	device nvml.Device
	note   string // what is odd about it

	mu   sync.Mutex
	lost bool
}

// ask makes one call unless the device is lost.
func (g *gpu) ask(what string, call func(nvml.Device) nvml.Return) error {
	g.mu.Lock()
	lost := g.lost
	g.mu.Unlock()
	code := nvml.ERROR_GPU_IS_LOST
	if !lost {
		code = call(g.device)
	}
	if code == nvml.SUCCESS {
		return nil
	}
	if code == nvml.ERROR_GPU_IS_LOST && !lost {
		g.mu.Lock()
		g.lost = true
		g.mu.Unlock()
	}
	return &nvmlError{g.id + ": " + what, code}
}

// gpus lists the devices that can be opened, and why the others cannot.
func (l *nvmlLibrary) gpus() ([]*gpu, []error) {
	n, code := l.DeviceGetCount()
	switch {
	case code != nvml.SUCCESS:
		return nil, []error{sensor.Fixable(&nvmlError{"count the GPUs", code})}
	case n == 0:
		return nil, []error{fmt.Errorf("nvml: the driver knows no GPU: %w", fs.ErrNotExist)}
	}
	var found []*gpu
	var errs []error
	for i := range n {
		g := &gpu{id: fmt.Sprintf("gpu%d", i)}
		g.device, code = l.DeviceGetHandleByIndex(i)
		if code != nvml.SUCCESS {
			errs = append(errs, sensor.Fixable(&nvmlError{g.id, code}))
			continue
		}
		// An instance of a GPU that is shared (MIG) has no energy or power of
		// its own; that of the GPU stands for all of its instances.
		if is, code := g.device.IsMigDeviceHandle(); code == nvml.SUCCESS && is {
			if whole, code := g.device.GetDeviceHandleFromMigDeviceHandle(); code == nvml.SUCCESS {
				g.device = whole
			}
			g.note = ", of the whole GPU: a MIG instance has none of its own"
		} else if current, _, code := g.device.GetMigMode(); code == nvml.SUCCESS && current == nvml.DEVICE_MIG_ENABLE {
			g.note = ", of the whole GPU: its MIG instances have none of their own"
		}
		found = append(found, g)
	}
	return found, errs
}

// gpuEnergy is the energy of one GPU: each is a sensor of its own, so that one
// that fails stops alone.
type gpuEnergy struct {
	lib    *nvmlLibrary
	gpu    *gpu
	domain nemb.Domain
	desk   patience.Desk
	asking patience.Desk // of Occupants
	who    occupants
	// The integral of power, where there is no counter.
	power  gpuReading
	starts int     // of the integral
	sum    float64 // uJ, see sensor.IntegralStart
	watts  float64
	last   checkpoint.Instant // of watts; 0 where a reading failed since
	energy func(dst *nemb.Energy) error
}

// nvmlSensors opens a sensor for each GPU that tells energy or power. It takes
// over lib.
func nvmlSensors(lib *nvmlLibrary) ([]nemb.Sensor, error) {
	lib.use()
	defer lib.Close()
	gpus, errs := lib.gpus()
	var sensors []nemb.Sensor
	for _, g := range gpus {
		s, err := newGPUEnergy(lib, g)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		sensors = append(sensors, s)
	}
	return sensors, errors.Join(errs...)
}

func newGPUEnergy(lib *nvmlLibrary, g *gpu) (*gpuEnergy, error) {
	s := &gpuEnergy{lib: lib, gpu: g, who: newOccupants(), domain: nemb.Domain{
		ID: g.id, Kind: "gpu", Method: nemb.Measured, Period: nvmlPeriod, Step: nvmlStep,
		InTotal: true, Lo: 1 - nvmlScale, Hi: 1 + nvmlScale, Habits: g.published(),
		Source: "NVML total energy" + g.note,
	}}
	s.energy = s.count
	var first nemb.Energy
	err := s.energy(&first)
	var refused *nvmlError
	if errors.As(err, &refused) && unsupported(refused.code) {
		s.energy = s.integrate
		for _, s.power = range []gpuReading{{powerReading, "W", instantPower}, {averageReading, "W", averagePower}} {
			if _, err = s.power.read(g); err == nil {
				break
			}
		}
		s.domain.Method, s.domain.Step = nemb.Derived, 0
		s.domain.Habits = g.publishedPower(s.power.name)
		s.domain.Source = "NVML power, integrated" + g.note
		if errors.As(err, &refused) && unsupported(refused.code) {
			return nil, fmt.Errorf("nvml: %s tells neither energy nor power: %w", g.id, fs.ErrNotExist)
		}
	}
	if err != nil {
		return nil, sensor.Fixable(err)
	}
	lib.use()
	return s, nil
}

// UUID is that of the GPU, "" where the driver does not tell it.
func (s *gpuEnergy) UUID() string {
	var uuid string
	err := s.gpu.ask("UUID", func(d nvml.Device) (code nvml.Return) {
		uuid, code = d.GetUUID()
		return code
	})
	if err != nil {
		return ""
	}
	return uuid
}

func (s *gpuEnergy) Domains() []nemb.Domain { return []nemb.Domain{s.domain} }

// Adjust sets what Discover finds out about the domain.
func (s *gpuEnergy) Adjust(change func(*nemb.Domain)) { change(&s.domain) }

// Read reads the counter, in millijoules since the driver was loaded, or adds
// the power since the last Read to its integral. After a reading that failed
// the integral starts over at 0: what was drawn in between is not known.
func (s *gpuEnergy) Read(dst []nemb.Energy) error {
	return patience.Read(&s.desk, "nvml: "+s.gpu.id, dst, func(dst []nemb.Energy) error { return s.energy(&dst[0]) })
}

func (s *gpuEnergy) count(dst *nemb.Energy) error {
	var mJ uint64
	err := s.gpu.ask("total energy", func(d nvml.Device) (code nvml.Return) {
		mJ, code = d.GetTotalEnergyConsumption()
		return code
	})
	if err == nil {
		*dst = nemb.Energy(mJ * 1000)
	}
	return err
}

func (s *gpuEnergy) integrate(dst *nemb.Energy) error {
	watts, err := s.power.read(s.gpu)
	now := checkpoint.Monotime()
	if err != nil {
		s.last = 0
		return err
	}
	switch {
	case s.last != 0:
		s.sum += (s.watts + watts) / 2 * float64(now-s.last) * 1e-3 // W * ns = 1e-3 uJ
	default:
		s.starts++
		s.sum = sensor.IntegralStart(s.starts)
	}
	s.watts, s.last = watts, now
	*dst = nemb.Energy(s.sum)
	return nil
}

func (s *gpuEnergy) Close() error {
	s.asking.End("nvml: "+s.gpu.id, func() error {
		if told := s.who.mig.activity; told != nil {
			told.close()
		}
		return nil
	})
	return s.desk.End("nvml: "+s.gpu.id, s.lib.Close)
}

// gpuReading is one number of a GPU.
type gpuReading struct {
	name, unit string
	read       func(*gpu) (float64, error)
}

// field reads a field value, which carries an answer of its own.
func (g *gpu) field(what string, id, scope uint32) (float64, error) {
	values := []nvml.FieldValue{{FieldId: id, ScopeId: scope}}
	err := g.ask(what, func(d nvml.Device) nvml.Return {
		if code := d.GetFieldValues(values); code != nvml.SUCCESS {
			return code
		}
		return nvml.Return(values[0].NvmlReturn)
	})
	if err != nil {
		return math.NaN(), err
	}
	raw := binary.NativeEndian.Uint64(values[0].Value[:])
	switch nvml.ValueType(values[0].ValueType) {
	case nvml.VALUE_TYPE_DOUBLE:
		return math.Float64frombits(raw), nil
	case nvml.VALUE_TYPE_UNSIGNED_INT:
		return float64(uint32(raw)), nil
	case nvml.VALUE_TYPE_SIGNED_INT:
		return float64(int32(raw)), nil
	case nvml.VALUE_TYPE_SIGNED_LONG_LONG:
		return float64(int64(raw)), nil
	}
	return float64(raw), nil
}

func instantPower(g *gpu) (float64, error) {
	mW, err := g.field("instant power", nvml.FI_DEV_POWER_INSTANT, 0)
	return mW * 1e-3, err
}

// averagePower is over one second on Ampere (but GA100) and later, and the
// instant power on older GPUs.
func averagePower(g *gpu) (float64, error) {
	if mW, err := g.field("average power", nvml.FI_DEV_POWER_AVERAGE, 0); err == nil {
		return mW * 1e-3, nil
	}
	return number(g, "power", func(d nvml.Device) (uint32, nvml.Return) { return d.GetPowerUsage() }, 1e-3)
}

func gpuTemperature(g *gpu) (float64, error) {
	return number(g, "temperature", func(d nvml.Device) (uint32, nvml.Return) {
		return d.GetTemperature(nvml.TEMPERATURE_GPU)
	}, 1)
}

// gpuClock reads a clock of a GPU.
func gpuClock(which nvml.ClockType) func(*gpu) (float64, error) {
	return func(g *gpu) (float64, error) {
		return number(g, "clock", func(d nvml.Device) (uint32, nvml.Return) { return d.GetClockInfo(which) }, 1)
	}
}

func gpuBusy(g *gpu) (float64, error) {
	return number(g, "utilisation", func(d nvml.Device) (uint32, nvml.Return) {
		u, code := d.GetUtilizationRates()
		return u.Gpu, code
	}, 1)
}

func memoryBusy(g *gpu) (float64, error) {
	return number(g, "utilisation of its memory", func(d nvml.Device) (uint32, nvml.Return) {
		u, code := d.GetUtilizationRates()
		return u.Memory, code
	}, 1)
}

func memoryUsed(g *gpu) (float64, error) {
	return number(g, "memory", func(d nvml.Device) (uint64, nvml.Return) {
		m, code := d.GetMemoryInfo()
		return m.Used, code
	}, 1)
}

// nvlink reads a counter of KiB over all links.
func nvlink(field uint32) func(*gpu) (float64, error) {
	return func(g *gpu) (float64, error) { return g.field("NVLink throughput", field, math.MaxUint32) }
}

func pcie(counter nvml.PcieUtilCounter) func(*gpu) (float64, error) {
	return func(g *gpu) (float64, error) {
		return number(g, "PCIe throughput", func(d nvml.Device) (uint32, nvml.Return) {
			return d.GetPcieThroughput(counter)
		}, 1)
	}
}

// number makes one call for a number, and scales it.
func number[T uint32 | uint64](
	g *gpu, what string, call func(nvml.Device) (T, nvml.Return), scale float64,
) (float64, error) {
	var v T
	err := g.ask(what, func(d nvml.Device) (code nvml.Return) {
		v, code = call(d)
		return code
	})
	if err != nil {
		return math.NaN(), err
	}
	return float64(v) * scale, nil
}

// gpuGauge reads the same numbers of every GPU that has them.
type gpuGauge struct {
	lib     *nvmlLibrary
	columns []nemb.Column
	reads   []func() (float64, error)
	closed  bool
}

func newGPUGauge(lib *nvmlLibrary, readings []gpuReading) (*gpuGauge, error) {
	lib.use()
	defer lib.Close()
	gpus, errs := lib.gpus()
	g := &gpuGauge{lib: lib}
	for _, r := range readings { // in the order quantity, GPU: that of other tools
		for _, gpu := range gpus {
			_, err := r.read(gpu)
			var refused *nvmlError
			switch {
			case errors.As(err, &refused) && unsupported(refused.code):
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

func (g *gpuGauge) Columns() []nemb.Column { return g.columns }

func (g *gpuGauge) Read(dst []float64) error {
	if g.closed {
		return fmt.Errorf("nvml: %w", fs.ErrClosed)
	}
	var errs []error
	for i, read := range g.reads {
		var err error
		if dst[i], err = read(); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (g *gpuGauge) Close() error {
	if g.closed {
		return nil
	}
	g.closed = true
	return g.lib.Close()
}
