package codegreen

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"
)

// gauges are what cg reads besides energies, such as temperatures: by a cg sampler of their own.
// nemb/RING.md of cg is the specification of the memory.
type gauges struct {
	columns []gaugeColumn
	period  time.Duration
	times   []int64
	values  [][]float64 // of each column; NaN is not known
	lost    int

	memory []byte // nil where nothing is read
	words  []uint64
	at     int // word of slot 0
	slots  uint64
	next   uint64
	stop   func()
}

// gaugeColumn is one gauge.
type gaugeColumn struct {
	Name   string `json:"name"` // gpu0_temperature_c
	Unit   string `json:"unit"`
	Metric string `json:"metric"`
}

// Gauge is what a gauge showed during a task.
type Gauge struct {
	Mean     float64 `json:"mean"`
	Min      float64 `json:"min"`
	Max      float64 `json:"max"`
	Readings int     `json:"readings"`
}

// gaugesMeta describes them in the file.
type gaugesMeta struct {
	IntervalMs float64       `json:"interval_ms"`
	Columns    []gaugeColumn `json:"columns"`
	Readings   int           `json:"readings"`
	Lost       int           `json:"lost"`
}

// gaugeReading is a row of the file.
type gaugeReading struct {
	At     int64               `json:"t_ns"`
	Values map[string]*float64 `json:"values"`
}

// openGauges starts what reads gauges. without says why some, or all, are not read.
func openGauges(cg string, names []string, period time.Duration) (g *gauges, without string) {
	g = &gauges{period: period, columns: []gaugeColumn{}}
	if cg == "" {
		return g, "no gauges are recorded: cg is not in PATH, and CODEGREEN_CG does not name it"
	}
	line, stop, err := startHelper(cg, "--gauges", strings.Join(names, ","), "-p",
		fmt.Sprintf("%dus", period.Microseconds()))
	if err == nil {
		if err = g.open(line.Ring); err != nil {
			stop()
		}
	}
	if err != nil {
		return g, "no gauges are recorded: " + err.Error()
	}
	g.stop = stop
	if len(line.Without) > 0 {
		return g, "these gauges are not recorded: " + strings.Join(line.Without, "; ")
	}
	return g, ""
}

func (g *gauges) open(path string) error {
	memory, err := mapFile(path)
	if err != nil {
		return err
	}
	fail := func(why string) error {
		unmap(memory)
		return fmt.Errorf("%s: %s", path, why)
	}
	half := unsafe.Slice((*uint32)(unsafe.Pointer(&memory[0])), len(memory)/4)
	at, columns, slots := uint64(half[3]), uint64(half[4]), uint64(half[5])
	size, end := 8*(gaugeFixedWords+columns), uint64(len(memory))
	if string(memory[:8]) != gaugeMagic || half[2] != gaugeVersion || slots == 0 || at%8 != 0 ||
		at < gaugeHeaderBytes || at > end || slots > (end-at)/size {
		return fail("no gauges of version 1")
	}
	var about struct {
		Columns []gaugeColumn `json:"columns"`
	}
	if err := json.Unmarshal(bytes.TrimRight(memory[gaugeHeaderBytes:at], "\x00"), &about); err != nil {
		return fail(err.Error())
	}
	if uint64(len(about.Columns)) != columns {
		return fail("damaged gauges")
	}
	g.memory, g.words = memory, unsafe.Slice((*uint64)(unsafe.Pointer(&memory[0])), len(memory)/8)
	g.columns, g.at, g.slots = about.Columns, int(at/8), slots
	g.values = make([][]float64, columns)
	return nil
}

// read brings what is new.
func (g *gauges) read() {
	if g == nil || g.memory == nil {
		return
	}
	head := atomic.LoadUint64(&g.words[gaugeHeadOffset/8])
	if head > g.next+g.slots {
		g.lost += int(head - g.slots - g.next)
		g.next = head - g.slots
	}
	stride := gaugeFixedWords + len(g.columns)
	row := make([]float64, len(g.columns))
	for ; g.next < head; g.next++ {
		slot := g.words[g.at+int(g.next%g.slots)*stride:][:stride]
		whole := 2*g.next + 2
		first := atomic.LoadUint64(&slot[0])
		moment := atomic.LoadUint64(&slot[1])
		for i := range row {
			row[i] = math.Float64frombits(atomic.LoadUint64(&slot[gaugeFixedWords+i]))
		}
		if first != whole || atomic.LoadUint64(&slot[0]) != whole { // it was written over meanwhile
			g.lost++
			continue
		}
		g.times = append(g.times, int64(moment))
		for i, v := range row {
			g.values[i] = append(g.values[i], v)
		}
	}
}

// close ends what reads them.
func (g *gauges) close() {
	if g == nil || g.memory == nil {
		return
	}
	g.stop()
	g.read()
	unmap(g.memory)
	g.memory, g.words = nil, nil
}

// within is what gauges showed from one moment to another; one that was not read then is absent.
func (g *gauges) within(start, end int64) map[string]Gauge {
	if g == nil {
		return nil
	}
	i := sort.Search(len(g.times), func(n int) bool { return g.times[n] >= start })
	j := sort.Search(len(g.times), func(n int) bool { return g.times[n] > end })
	all := map[string]Gauge{}
	for c, column := range g.columns {
		sum, of := 0.0, Gauge{Min: math.Inf(1), Max: math.Inf(-1)}
		for n := i; n < j; n++ {
			if v := g.values[c][n]; !math.IsNaN(v) {
				sum += v
				of.Readings, of.Min, of.Max = of.Readings+1, min(of.Min, v), max(of.Max, v)
			}
		}
		if of.Readings > 0 {
			of.Mean = sum / float64(of.Readings)
			all[column.Name] = of
		}
	}
	return all
}

func (g *gauges) meta() *gaugesMeta {
	if g == nil {
		return nil
	}
	return &gaugesMeta{float64(g.period.Microseconds()) / 1e3, g.columns, len(g.times), g.lost}
}

// reading is a row as the file has it.
func (g *gauges) reading(n int) gaugeReading {
	r := gaugeReading{g.times[n], map[string]*float64{}}
	for c, column := range g.columns {
		r.Values[column.Name] = number(g.values[c][n])
	}
	return r
}

// checkGauges refuses what are no names, and periods that cannot be kept.
func checkGauges(names []string, period time.Duration) error {
	for _, name := range names {
		if name == "" || strings.Contains(name, ",") {
			return fmt.Errorf("codegreen: gauges %q: use names of metrics of cg track, or all", name)
		}
	}
	if period < gaugeLeastNs || period > gaugeMostNs {
		return errors.New("codegreen: gauge interval " + period.String() + ": use 100ms to 1m")
	}
	return nil
}
