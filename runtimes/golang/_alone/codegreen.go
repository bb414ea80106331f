// Package codegreen has the checkpoints of a program that runs without cg.
//
// A tree that "cg analyze --save-instrumented" has written calls it. When the
// program ends it prints one block on standard output:
//
//	--- CODEGREEN_RESULT_START ---
//	{"measurements": [{"checkpoint_id": ..., "timestamp": ..., "joules": ..., "watts": ...}]}
//	--- CODEGREEN_RESULT_END ---
//
// timestamp is CLOCK_MONOTONIC in nanoseconds; joules is the energy that the
// processor packages used since the start of the program, watts their power
// between the last two readings, both null where /sys/class/powercap cannot be
// read (kernel documentation: power/powercap/powercap.rst). cg recognises the
// block in a program's output and takes it into its report.
//
// The package needs nothing but the standard library. Where a program is made of
// several modules, each has a copy, and all of them record with the first.
package codegreen

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf16"
	"unsafe"
)

const (
	limit = 1_000_000 // checkpoints that are kept; later ones are counted as dropped
	enter = "enter"
	exit  = "exit"

	// reporter is the process that prints: one block for the program. Processes that it
	// starts inherit the name, and keep quiet.
	reporter = "CODEGREEN_REPORTER"
	// shared is where the first copy of this package has its record, in this process.
	shared = "CODEGREEN_RECORD"
)

type event struct {
	at            int64 // ns
	kind          string
	site, call    uint32
	thread        uintptr
	joules, watts float64
	measured      bool
}

type record struct {
	mu       sync.Mutex
	out      *os.File
	begun    time.Time
	origin   int64 // CLOCK_MONOTONIC at begun, ns
	names    map[uint32]string
	calls    map[uint32]uint32
	exits    map[uint32]func() // what a site's calls end by
	events   []event
	open     map[uintptr]*goroutine
	places   []*place // in the order of their sites
	byPlace  map[uint32]*place
	dropped  uint64
	finished bool
	counters counters
}

// goroutine is the calls that are open on a goroutine.
type goroutine struct {
	calls []call
	since int64 // the innermost call is in its place, ns
}

type call struct {
	site  uint32
	place *place // nil for none
}

// place is a place in the code of functions, such as a line.
type place struct {
	told  string // what the block says of it, but for its sums
	count uint64 // how often a call came there
	time  int64  // ns
}

// spend gives the place of the innermost call its time until a moment.
func (g *goroutine) spend(at int64) {
	if n := len(g.calls); n > 0 && g.calls[n-1].place != nil {
		g.calls[n-1].place.time += at - g.since
	}
	g.since = at
}

var all = find()

// find returns the record of this process, of another copy if there is one.
//
//go:nocheckptr
func find() *record {
	pid := strconv.Itoa(os.Getpid())
	if at, is := strings.CutPrefix(os.Getenv(shared), pid+":"); is {
		if p, err := strconv.ParseUint(at, 16, 64); err == nil {
			address := uintptr(p)
			return *(**record)(unsafe.Pointer(&address))
		}
	}
	r := &own
	r.out, r.begun, r.origin = os.Stdout, time.Now(), monotonic()
	r.names, r.calls, r.open = map[uint32]string{}, map[uint32]uint32{}, map[uintptr]*goroutine{}
	r.exits, r.byPlace = map[uint32]func(){}, map[uint32]*place{}
	if os.Getenv(reporter) == "" {
		syscall.Setenv(reporter, pid)
	}
	r.finished = os.Getenv(reporter) != pid
	if !r.finished {
		r.counters.find("/sys/class/powercap", r.origin)
	}
	syscall.Setenv(shared, pid+":"+strconv.FormatUint(uint64(uintptr(unsafe.Pointer(r))), 16))
	return r
}

var own record // a variable, which stays where it is

// CodegreenSites takes the names of sites first+1, first+2 and so on, a line each,
// and returns first. A place has what the block says of it behind a tab.
func CodegreenSites(first uint32, names string) uint32 {
	all.mu.Lock()
	defer all.mu.Unlock()
	for i, name := range strings.Split(names, "\n") {
		site := first + 1 + uint32(i)
		function, told, is := strings.Cut(name, "\t")
		all.names[site] = function
		if is {
			p := &place{told: `"function": ` + quote(function) + ", " + told}
			all.places, all.byPlace[site] = append(all.places, p), p
		}
	}
	return first
}

// CodegreenEnter records that a call of a site begins. It returns what records that the
// call ends.
func CodegreenEnter(site uint32) (exit func()) {
	thread := codegreenG()
	all.mu.Lock()
	if exit = all.exits[site]; exit == nil {
		exit = func() { leave(site) }
		all.exits[site] = exit
	}
	if !all.finished {
		g, at := all.open[thread], all.now()
		if g == nil {
			g = &goroutine{}
			all.open[thread] = g
		}
		g.spend(at)
		all.calls[site]++
		g.calls = append(g.calls, call{site: site})
		all.note(at, enter, site, thread)
	}
	all.mu.Unlock()
	return exit
}

// leave records that a call of a site ends.
func leave(site uint32) {
	thread := codegreenG()
	all.mu.Lock()
	if !all.finished {
		at := all.now()
		if g := all.open[thread]; g != nil {
			g.spend(at)
			g.calls = g.calls[:len(g.calls)-1]
			if len(g.calls) == 0 {
				delete(all.open, thread) // the next goroutine may have its place
			}
		}
		all.note(at, exit, site, thread)
	}
	all.mu.Unlock()
}

// CodegreenPlace records that the innermost call goes to a place in its code. behind is how many numbers before the
// place's that of its function is.
func CodegreenPlace(site, behind uint32) {
	thread := codegreenG()
	all.mu.Lock()
	defer all.mu.Unlock()
	g, p := all.open[thread], all.byPlace[site]
	if all.finished || g == nil || p == nil || g.calls[len(g.calls)-1].site != site-behind {
		return
	}
	g.spend(all.now())
	g.calls[len(g.calls)-1].place = p
	p.count++
}

func (r *record) now() int64 { return r.origin + int64(time.Since(r.begun)) }

func (r *record) note(at int64, kind string, site uint32, thread uintptr) {
	if len(r.events) >= limit {
		r.dropped++
		return
	}
	e := event{at: at, kind: kind, site: site, call: r.calls[site], thread: thread}
	e.joules, e.watts, e.measured = r.counters.read(e.at)
	r.events = append(r.events, e)
}

// CodegreenFinish prints the block, once. What is recorded later is not kept.
func CodegreenFinish() {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.finished {
		return
	}
	for thread, g := range all.open {
		g.spend(all.now())
		for i := len(g.calls) - 1; i >= 0; i-- {
			all.note(all.now(), exit, g.calls[i].site, thread)
		}
	}
	all.finished = true
	if len(all.events) > 0 {
		all.out.WriteString(all.block())
	}
}

func (r *record) block() string {
	var b strings.Builder
	b.WriteString("--- CODEGREEN_RESULT_START ---\n{\"measurements\": [")
	for i, e := range r.events {
		if i > 0 {
			b.WriteString(", ")
		}
		joules, watts := "null", "null"
		if e.measured {
			joules = strconv.FormatFloat(e.joules, 'g', -1, 64)
			watts = strconv.FormatFloat(e.watts, 'g', -1, 64)
		}
		b.WriteString(`{"checkpoint_id": `)
		b.WriteString(quote(e.kind + ":" + r.names[e.site] + ":" + strconv.FormatUint(uint64(e.site), 10) +
			"#inv_" + strconv.FormatUint(uint64(e.call), 10) + "_t" + strconv.FormatUint(uint64(e.thread), 16)))
		b.WriteString(`, "timestamp": ` + strconv.FormatInt(e.at,
			10) + `, "joules": ` + joules + `, "watts": ` + watts + "}")
	}
	b.WriteString("]")
	if r.dropped > 0 {
		b.WriteString(`, "dropped": ` + strconv.FormatUint(r.dropped, 10))
	}
	for i, p := range r.places {
		b.WriteString([2]string{`, "places": [`, ", "}[min(i, 1)] + "{" + p.told + `, "count": ` +
			strconv.FormatUint(p.count, 10) + `, "time_ns": ` + strconv.FormatInt(p.time, 10) + "}")
	}
	if len(r.places) > 0 {
		b.WriteString("]")
	}
	b.WriteString("}\n--- CODEGREEN_RESULT_END ---\n")
	return b.String()
}

// quote writes a text as JSON has it, in ASCII.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, unit := range utf16.Encode([]rune(s)) {
		if unit >= ' ' && unit < 0x7f && unit != '"' && unit != '\\' {
			b.WriteByte(byte(unit))
			continue
		}
		hex := strconv.FormatUint(uint64(unit), 16)
		b.WriteString("\\u" + "0000"[len(hex):] + hex)
	}
	b.WriteByte('"')
	return b.String()
}

// CodegreenOSExit is os.Exit behind the block.
func CodegreenOSExit(status int) {
	CodegreenFinish()
	os.Exit(status)
}

// codegreenG returns the address of the goroutine's g.
func codegreenG() uintptr
