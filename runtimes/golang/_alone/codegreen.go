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
	open     map[uintptr][]uint32 // by goroutine
	dropped  uint64
	finished bool
	counters counters
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
	r.names, r.calls, r.open = map[uint32]string{}, map[uint32]uint32{}, map[uintptr][]uint32{}
	r.exits = map[uint32]func(){}
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
// and returns first.
func CodegreenSites(first uint32, names string) uint32 {
	all.mu.Lock()
	defer all.mu.Unlock()
	for i, name := range strings.Split(names, "\n") {
		all.names[first+1+uint32(i)] = name
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
		all.calls[site]++
		all.open[thread] = append(all.open[thread], site)
		all.note(enter, site, thread)
	}
	all.mu.Unlock()
	return exit
}

// leave records that a call of a site ends.
func leave(site uint32) {
	thread := codegreenG()
	all.mu.Lock()
	if !all.finished {
		if stack := all.open[thread]; len(stack) > 1 {
			all.open[thread] = stack[:len(stack)-1]
		} else {
			delete(all.open, thread) // the next goroutine may have its place
		}
		all.note(exit, site, thread)
	}
	all.mu.Unlock()
}

func (r *record) note(kind string, site uint32, thread uintptr) {
	if len(r.events) >= limit {
		r.dropped++
		return
	}
	e := event{at: r.origin + int64(time.Since(r.begun)), kind: kind, site: site, call: r.calls[site], thread: thread}
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
	for thread, stack := range all.open {
		for i := len(stack) - 1; i >= 0; i-- {
			all.note(exit, stack[i], thread)
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
