package amdsmi

// #include "library.h"
import "C"

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"time"
	"unsafe"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/patience"
	"cg/pattern"
)

// list is how a version of the library writes amdsmi_proc_info_t: the length of a name, and whether the compute units
// follow the names; the zero list is not known.
//
//	name[], u32 pid, u64 mem, u64 gfx, enc, u32[12], u64 gtt, cpu, vram, u32[10], container[], u32 cu_occupancy, ...
//
// Before 24 (ROCm 6.0) the function gives numbers alone. Names have 32 bytes in 24, and 256 from 25 on (ROCm 6.4);
// units are told from 26 on (ROCm 7).
type list struct {
	name  int
	units bool
}

func listOf(version uint32) list {
	switch {
	case version < 24:
		return list{}
	case version == 24:
		return list{name: 32}
	}
	return list{name: 256, units: version > 25}
}

// Places in the structure behind the first name. Those behind the second are further by its length.
const (
	placeOfPID  = 0
	placeOfGfx  = 16
	placeOfVRAM = 96
	placeOfName = 144
)

// size is that of the structure.
func (l list) size() int {
	if l.name == 32 {
		return 2*l.name + placeOfName + 16
	}
	return 2*l.name + placeOfName + 48
}

// process is what the library tells of a process that uses a GPU.
type process struct {
	pid    uint32
	memory uint64        // of the GPU's own, bytes
	busy   time.Duration // for which the graphics engine has worked for it
	units  uint32        // compute units that its waves are on now
}

// mostProcesses is for how many there is room. More are not asked for.
const mostProcesses = 1024

// unwritten fills memory of which the library has to write all that it says it wrote.
const unwritten = 0xA5

// processes lists who uses the GPU.
func (g *gpu) processes() ([]process, error) {
	what, l := g.id+": processes", g.lib.processes
	if l.name == 0 {
		return nil, &answer{what, notSupported}
	}
	var n C.uint32_t
	if err := answered(what, C.cg_amdsmi_processes(g.handle, &n, nil)); err != nil || n == 0 {
		return nil, err
	}
	n = min(n+8, mostProcesses) // some may have come since
	room, size := int(n), l.size()
	text := make([]byte, (2*room+1)*size) // a version that is not known yet may write more
	for i := range text {
		text[i] = unwritten
	}
	if err := answered(what, C.cg_amdsmi_processes(g.handle, &n, unsafe.Pointer(&text[0]))); err != nil {
		return nil, err
	}
	there := min(int(n), room)
	if end := there * size; there > 0 && (text[end-1] == unwritten || text[end] != unwritten) {
		return nil, fmt.Errorf("amdsmi: %s: the library writes them in another form than its version does", what)
	}
	all := make([]process, there)
	for i := range all {
		p := text[i*size+l.name:]
		all[i] = process{pid: binary.NativeEndian.Uint32(p[placeOfPID:]),
			memory: binary.NativeEndian.Uint64(p[placeOfVRAM:]),
			busy:   time.Duration(binary.NativeEndian.Uint64(p[placeOfGfx:]))}
		if units := binary.NativeEndian.Uint32(p[placeOfName+l.name:]); l.units && units != math.MaxUint32 {
			all[i].units = units
		}
	}
	return all, nil
}

// occupants asks who uses a GPU. Its calls run on a desk of their own, beside Read.
type occupants struct {
	of     *gpu
	asking patience.Desk
	at     checkpoint.Instant // of the answer before, 0 for none
	before map[uint32]process // then
	busy   float64            // the part of the time in which the GPU was, then; NaN where it did not tell
	// local tells whether a number of a process is one of this PID namespace.
	local func(pid int) bool
	// seesAll is set where cg may see what other users draw (/proc/PID/fdinfo).
	seesAll bool
}

// deviceFile is a file that a process with a context of AMD's driver has open.
var deviceFile = pattern.Later(`/(kfd|dri/(card|renderD)[0-9]+)$`)

func newOccupants(g *gpu) occupants {
	local := func(int) bool { return true }
	if account.Nested() {
		local = func(pid int) bool { return account.Holds("/proc", pid, deviceFile()) }
	}
	return occupants{of: g, local: local, seesAll: os.Geteuid() == 0}
}

func (w *occupants) end() error { return w.asking.End("amdsmi: "+w.of.id, func() error { return nil }) }

// Occupants asks for the processes, and for how busy the GPU is.
func (w *occupants) Occupants() nemb.Occupancy {
	o := nemb.Occupancy{At: checkpoint.Monotime(), Method: nemb.AMDSMIProcesses}
	var all []process
	busy := math.NaN()
	err := w.asking.Ask("amdsmi: "+w.of.id, func() error {
		found, err := w.of.processes()
		if err != nil {
			return err
		}
		percent, err := w.of.activity(0)
		if err == nil {
			busy = min(1, percent/100)
		}
		all = found
		return nil
	})
	if err != nil {
		o.Refused, o.Err = refusal(err), err
		return o
	}
	now := map[uint32]process{}
	active := (w.busy + busy) / 2
	o.KnowsContexts, o.Quiet = true, active == 0
	for _, p := range all {
		now[p.pid] = p
		o.Contexts = append(o.Contexts, nemb.Context{PID: w.number(p.pid), Memory: p.memory})
	}
	o.From, o.To = w.at, o.At
	if w.at == 0 {
		o.From = o.At
	}
	w.uses(&o, now, active)
	w.at, w.before, w.busy = o.At, now, busy
	return o
}

// refusal says why processes are not told.
func refusal(err error) nemb.Refusal {
	var a *answer
	switch {
	case errors.As(err, &a) && a.code == noPermission:
		return nemb.RefusedDenied
	case errors.As(err, &a) && a.never():
		return nemb.RefusedUnsupported
	}
	return nemb.RefusedFailed
}

// number is the number of a process as nemb.Context has it.
func (w *occupants) number(pid uint32) int {
	if !w.local(int(pid)) {
		return 0
	}
	return int(pid)
}

// uses divides the time since the answer before. What the graphics engine did is told by process. Of what ROCm's queues
// ran the GPU tells only how busy it is, and on how many compute units each process was when it was asked: for the time
// between, the mean of both answers is taken, and a process's share lies between the two that it had. One process alone
// had all of it, unless another user's may be there that cg does not see.
func (w *occupants) uses(o *nemb.Occupancy, now map[uint32]process, active float64) {
	o.KnowsUses = true
	span := o.To - o.From
	if span <= 0 {
		return
	}
	pids := slices.Sorted(maps.Keys(now))
	for pid := range w.before {
		if _, still := now[pid]; !still {
			pids = append(pids, pid) // it is over
		}
	}
	uses := make([]nemb.Use, len(pids))
	drawn, units := 0.0, [2]float64{}
	for i, pid := range pids {
		drew := min(1, max(0, float64(now[pid].busy-w.before[pid].busy)/float64(span)))
		uses[i] = nemb.Use{PID: w.number(pid), Part: drew, Lo: drew, Hi: drew}
		drawn += drew
		units[0] += float64(w.before[pid].units)
		units[1] += float64(now[pid].units)
	}
	if math.IsNaN(active) { // the GPU does not tell
		active = drawn
		if units[0]+units[1] > 0 {
			active = 1
		}
	}
	switch rest := max(0, active-drawn); {
	case rest == 0:
	case len(pids) == 1:
		uses[0].Part, uses[0].Hi = active, active
		if w.seesAll {
			uses[0].Lo = active
		}
	case units[0]+units[1] > 0:
		for i, pid := range pids {
			lo, hi := sharesOf(float64(w.before[pid].units), float64(now[pid].units), units)
			uses[i].Part += rest * (lo + hi) / 2
			uses[i].Lo += rest * lo
			uses[i].Hi += rest * hi
		}
	default: // it is not told for which of them
		o.KnowsUses, o.Refused = false, nemb.RefusedUnsupported
		return
	}
	o.Uses = slices.DeleteFunc(uses, func(u nemb.Use) bool { return u.Hi <= 0 })
}

// sharesOf are the shares of units that a process had in two answers, the smaller first. An answer in which nobody had
// any is as the other.
func sharesOf(before, now float64, all [2]float64) (lo, hi float64) {
	switch {
	case all[0] == 0:
		return now / all[1], now / all[1]
	case all[1] == 0:
		return before / all[0], before / all[0]
	}
	a, b := before/all[0], now/all[1]
	return min(a, b), max(a, b)
}
