package node

import (
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute/paths"
	"cg/nemb/attribute/windows"
)

// reading is the processor time that a rank has written, ns.
type reading struct {
	program, own int64
	at           checkpoint.Instant // when it was read
	grain        int64              // by how much program may be behind then, ns
}

// divider divides what a node's counters show: among its ranks, their cg, everybody else
// and idle power by package windows, and the part of all ranks among them by processor
// time. It goes on where an earlier measurer's last commit ends.
type divider struct {
	windows *windows.Windows
	base    []ledger // of earlier measurers
	before  struct{ own, other int64 }
	state   *state
	counted []reading // that is in the state, or in a hole
	program int64     // of all ranks since this measurer's first sample
	own     int64
	other   time.Duration
	cpus    int
	behind  []float64     // by slot: time that it may lack at the end of the last window, ns
	powers  [][]slope     // by slot and domain, of the last window
	skipped account.Usage // up to the first sample
	gpus    map[int]*gpu  // by domain: those whose drivers are asked
	// othersUnknown is set where nothing tells what other processes use: what is the ranks' may be theirs.
	othersUnknown bool
}

// newDivider begins with what earlier measurers left and what the ranks have written so
// far: what they used before that is in no share.
func newDivider(domains []nemb.Domain, cpus int, before *state, slots []reading) *divider {
	x := &divider{windows: windows.New(domains, cpus, paths.NewTree()), state: before, counted: slots,
		base: append([]ledger{}, before.ledgers...), cpus: cpus, gpus: map[int]*gpu{}}
	x.before.own, x.before.other = before.own, before.other
	for len(x.base) < len(domains) {
		x.base = append(x.base, ledger{})
	}
	x.state.ledgers = append([]ledger{}, x.base...)
	for i := range x.state.results { // a rank that came after the last commit of the measurer before
		if x.state.results[i].state == stateFree {
			x.state.results[i].state = stateRunning
		}
	}
	x.admit(len(slots))
	return x
}

// admit makes room for slots that are new. What a rank used since it came counts.
func (x *divider) admit(slots int) {
	for len(x.counted) < slots {
		x.counted = append(x.counted, reading{})
	}
	for len(x.state.results) < slots {
		x.state.results = append(x.state.results, newResult(len(x.base)))
	}
	for len(x.behind) < slots {
		x.behind = append(x.behind, 0)
		x.powers = append(x.powers, make([]slope, len(x.base)))
	}
}

// begin takes the first sample. It may be called again before the first window is closed.
func (x *divider) begin(s nemb.Sample) {
	x.skipped, s.Usage = s.Usage, account.Usage{}
	x.windows.Begin(s)
}

// close divides the window that ends with a sample, whose usage is that of the measurer
// and the host, given what the ranks have written.
func (x *divider) close(s nemb.Sample, slots []reading) {
	x.admit(len(slots))
	s.Usage = s.Usage.Since(x.skipped)
	used := make([]float64, len(slots))
	for i, now := range slots {
		before := x.counted[i]
		cpu := max(0, now.program-before.program)
		used[i] = float64(cpu)
		x.program += cpu
		x.own += max(0, now.own-before.own)
		x.counted[i] = reading{program: max(before.program, now.program), own: max(before.own, now.own)}
		x.state.results[i].cpu += cpu
	}
	x.other = max(x.other, s.Usage.Other-time.Duration(x.program+x.own))
	s.Usage = account.Usage{Program: time.Duration(x.program), Own: s.Usage.Own + time.Duration(x.own), Other: x.other}
	busy := -float64(x.state.own+x.state.other) + float64(x.before.own+x.before.other)
	x.state.own, x.state.other = x.before.own+int64(s.Usage.Own), x.before.other+int64(x.other)
	busy += float64(int64(s.Usage.Own) + int64(x.other))
	for _, u := range used {
		busy += u
	}
	before := make([]nemb.Energy, len(x.base))
	active := make([]nemb.Energy, len(x.base))
	for d := range x.windows.Domains {
		w := &x.windows.Domains[d]
		before[d], active[d] = w.Program, w.Program+w.Own+w.Other
	}
	x.windows.Close(x.windows.Steady(s), false, nil)
	for d := range x.windows.Domains {
		w, base, l := &x.windows.Domains[d], x.base[d], &x.state.ledgers[d]
		l.total = base.total + uint64(w.Total)
		l.other, l.idle = base.other+uint64(w.Other), base.idle+uint64(w.Idle)
		l.own = base.own + uint64(w.Own)
		if g := x.gpus[d]; g != nil {
			l.other, l.idle = l.other+g.other, l.idle+g.idle
		}
		for i, part := range nemb.Split(w.Program-before[d], used) {
			x.state.results[i].shares[d] += uint64(part)
			l.ranks += uint64(part)
		}
		l.unattributed = l.total - l.ranks - l.other - l.idle - l.own
		x.doubt(d, float64(w.Program+w.Own+w.Other-active[d]), busy, used)
	}
	x.late(s.Time, slots)
}
