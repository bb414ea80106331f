package sampler

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/nemb"
	"cg/runtimes/sdk/spec"
)

const gaugesName = "cg-gauges"

// Limits of the period of Gauges.
const (
	MinGaugePeriod = spec.GaugeLeastNs
	MaxGaugePeriod = spec.GaugeMostNs
)

// NamedGauge is a gauge with the name of its metric.
type NamedGauge struct {
	Metric string
	nemb.Gauge
}

// Gauges shows what gauges read to other processes (nemb/RING.md). One goroutine calls Read.
type Gauges struct {
	of     []NamedGauge
	fd     int
	memory []byte
	at     int // offset of slot 0
	stride int
	next   uint64
	values []float64
}

// gaugeColumn is a number of a row, as readers see it.
type gaugeColumn struct {
	Name   string `json:"name"` // gpu0_temperature_c
	Unit   string `json:"unit"`
	Metric string `json:"metric"`
}

// ShareGauges makes the memory in which rows are shown; the gauges stay the caller's to close.
func ShareGauges(of []NamedGauge, period time.Duration) (*Gauges, error) {
	columns := []gaugeColumn{}
	for _, g := range of {
		for _, c := range g.Columns() {
			columns = append(columns, gaugeColumn{c.Scope + "_" + c.Name, c.Unit, g.Metric})
		}
	}
	text, err := json.Marshal(map[string]any{"columns": columns})
	if err != nil {
		return nil, fmt.Errorf("gauges: %w", err)
	}
	g := &Gauges{of: of, stride: 8 * (spec.GaugeFixedWords + len(columns)), values: make([]float64, len(columns))}
	g.at = spec.GaugeHeaderBytes + (len(text)+8)/8*8 // a zero byte at least
	size := g.at + spec.GaugeSlots*g.stride
	if g.fd, g.memory, err = shared(gaugesName, size); err != nil {
		return nil, fmt.Errorf("gauges: %w", err)
	}
	for i, v := range []uint32{spec.GaugeVersion, uint32(g.at), uint32(len(columns)), spec.GaugeSlots} {
		*(*uint32)(unsafe.Pointer(&g.memory[8+4*i])) = v
	}
	*word(g.memory, 24), *word(g.memory, 32) = uint64(period), uint64(os.Getpid())
	copy(g.memory[spec.GaugeHeaderBytes:], text)
	copy(g.memory, spec.GaugeMagic)
	return g, nil
}

// Path is where other processes find the rows until Close.
func (g *Gauges) Path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), g.fd) }

// Read reads all gauges and shows the row, stamped halfway through the reading. What cannot be read is NaN.
func (g *Gauges) Read() {
	from, at := checkpoint.Monotime(), 0
	for _, of := range g.of {
		n := len(of.Columns())
		of.Read(g.values[at : at+n]) // NaN says that it failed
		at += n
	}
	mono := from + (checkpoint.Monotime()-from)/2
	slot := g.memory[g.at+int(g.next%spec.GaugeSlots)*g.stride:][:g.stride]
	atomic.StoreUint64(word(slot, 0), 2*g.next+1)
	atomic.StoreUint64(word(slot, 8), uint64(mono))
	for i, v := range g.values {
		atomic.StoreUint64(word(slot, 8*(spec.GaugeFixedWords+i)), math.Float64bits(v))
	}
	atomic.StoreUint64(word(slot, 0), 2*g.next+2)
	g.next++
	atomic.StoreUint64(word(g.memory, spec.GaugeHeadOffset), g.next)
}

// Close tells readers that there will be no more, and takes the memory back. Who has mapped it keeps it.
func (g *Gauges) Close() {
	atomic.StoreUint64(word(g.memory, spec.GaugeEndedOffset), 1)
	unix.Munmap(g.memory)
	unix.Close(g.fd)
}

// shared is memory that other processes can only read.
func shared(name string, size int) (fd int, memory []byte, err error) {
	if fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING); err != nil {
		return -1, nil, err
	}
	if err = unix.Ftruncate(fd, int64(size)); err == nil {
		memory, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err == nil {
		// Since Linux 5.1: nobody maps it for writing after us.
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS,
			unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_FUTURE_WRITE|unix.F_SEAL_SEAL)
	}
	if err != nil {
		if memory != nil {
			unix.Munmap(memory)
		}
		unix.Close(fd)
		return -1, nil, err
	}
	return fd, memory, nil
}
