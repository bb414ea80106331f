package laboratory

import (
	"math"
	"runtime"
	"sort"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"cg/nemb/simulate"
)

// Machine is the one whose counters are simulated.
type Machine struct {
	Sockets int           // packages, 0 is 1: worker n draws its power from package n modulo that
	Period  time.Duration // between updates of a counter, 0 is 983 us; 2 % early or late
	Filter  time.Duration // the time constant of a low-pass before the counter, 0 for none
	Idle    float64       // W, of all packages together, all the time
	// Clocks is for how long the processors keep one of two frequencies, on average, 0 for one alone: at the lower one
	// all that runs draws half.
	Clocks time.Duration
	// Siblings says that the neighbour runs on the same core as the program: while it runs, both draw sharedCore of
	// what they draw alone.
	Siblings bool
	// Little says that worker 1, 3 and so on run on small cores, and draw littleCore of what they say.
	Little bool
	// Neighbour is all that runs beside the program. Whatever else really runs is not seen, and draws nothing.
	Neighbour Neighbour
}

const (
	defaultPeriod = 983 * time.Microsecond
	// ownWatts is what cg draws on a processor: the mean of Watts.
	ownWatts = 16
	// looks in a period of the counters: an update shows late by that part of it at most.
	looks = 4
	// What of its power a program draws at the lower frequency, on a core that it shares, and on a small core.
	lowClock, sharedCore, littleCore = 0.5, 0.65, 0.4
	// kept is for how long the board knows its past: longer than any reading of a counter takes.
	kept = 1 << 14
)

// board adds up what the machine used. It looks at the page a few times in each period of the counters, and makes them
// show the energy at their last update. A look that comes late, because the machine is busy, smooths the power of the
// time between, and loses no energy.
type board struct {
	page    *page
	machine Machine
	epoch   time.Time

	neighbour bursts
	slow      bursts // at the lower frequency
	every     time.Duration
	stop      chan struct{}
	ended     chan struct{}
	shows     []func(now time.Duration) // what changes with each look

	mu       sync.Mutex
	at       []time.Duration
	joules   [][]float64 // of each package, at each of these
	filtered []float64   // as the filter lets it through
	scratch  []float64
	cg       func() time.Duration // its processor time, nil before it runs
	own      float64              // that, in seconds
	used     float64              // the program's processor time by now, in seconds
	others   float64              // joules, the neighbour's
}

// period is that of the counters.
func (m Machine) period() time.Duration {
	if m.Period > 0 {
		return m.Period
	}
	return defaultPeriod
}

func newBoard(p *page, m Machine, seed uint64) *board {
	m.Sockets = max(1, m.Sockets)
	b := &board{
		page: p, machine: m, epoch: time.Now(), every: min(m.period()/looks, 10*time.Millisecond),
		stop:  make(chan struct{}),
		ended: make(chan struct{}), filtered: make([]float64, m.Sockets), scratch: make([]float64, p.workers),
		neighbour: m.Neighbour.bursts(seed),
		slow:      Neighbour{Watts: 1, Busy: m.Clocks, Quiet: m.Clocks}.bursts(seed + 1000),
	}
	p.weigh(m.Clocks > 0 || m.Siblings || m.Little)
	b.at, b.joules = []time.Duration{0}, [][]float64{make([]float64, m.Sockets)}
	return b
}

// start begins to look. The returned function ends that.
func (b *board) start(shows ...func(now time.Duration)) (stop func()) {
	b.shows = shows
	go b.watch()
	return sync.OnceFunc(func() {
		close(b.stop)
		<-b.ended
	})
}

// watch looks at the page until it is closed, as a real-time thread where that is permitted: the counters of a
// machine are not late when the machine is busy.
func (b *board) watch() {
	defer close(b.ended)
	runtime.LockOSThread() // the thread ends with the goroutine
	_ = setPolicy(0, true)
	for {
		select {
		case <-b.stop:
			return
		default:
		}
		ts := unix.NsecToTimespec(b.every.Nanoseconds())
		_ = unix.Nanosleep(&ts, nil)
		b.mu.Lock()
		b.look()
		now := b.at[len(b.at)-1]
		b.mu.Unlock()
		for _, show := range b.shows {
			show(now)
		}
	}
}

// follow makes cg, a process, draw power.
func (b *board) follow(pid int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cg = simulate.ProcessTime(pid)
}

// look notes what was used by now.
func (b *board) look() {
	now, n := time.Since(b.epoch), len(b.at)
	took := now - b.at[n-1]
	if took <= 0 {
		return
	}
	beside := b.neighbour.until(now) - b.neighbour.until(b.at[n-1])
	low := b.slow.until(now) - b.slow.until(b.at[n-1])
	b.page.count(func(worker int) float64 { return b.level(worker, took, beside, low) })
	b.used = b.page.sums(b.scratch)
	b.others += b.machine.Neighbour.Watts * b.level(0, took, 0, low) * b.shared(beside, beside) * beside.Seconds()
	if b.cg != nil {
		b.own = max(b.own, b.cg().Seconds())
	}
	others := b.others + ownWatts*b.own
	sockets := float64(b.machine.Sockets)
	joules := make([]float64, b.machine.Sockets)
	for s := range joules {
		joules[s] = (others + b.machine.Idle*now.Seconds()) / sockets
	}
	for w, e := range b.scratch {
		joules[w%b.machine.Sockets] += e
	}
	if b.machine.Filter > 0 {
		part := 1 - math.Exp(-float64(took)/float64(b.machine.Filter))
		for s := range joules {
			b.filtered[s] += part * (joules[s] - b.filtered[s])
			joules[s] = b.filtered[s]
		}
	}
	b.at, b.joules = append(b.at, now), append(b.joules, joules)
	if len(b.at) > 2*kept {
		b.at, b.joules = append([]time.Duration(nil), b.at[kept:]...), append([][]float64(nil), b.joules[kept:]...)
	}
}

// level is what of its power a worker drew in a time, in some of which the neighbour ran, and some at the lower
// frequency.
func (b *board) level(worker int, took, beside, low time.Duration) float64 {
	level := b.shared(took, beside) * (1 - (1-lowClock)*float64(low)/float64(took))
	if b.machine.Little && worker%2 == 1 {
		level *= littleCore
	}
	return level
}

// shared is the part of its power that is drawn on a core in a time, in some of which both run on it.
func (b *board) shared(took, both time.Duration) float64 {
	if !b.machine.Siblings || took <= 0 {
		return 1
	}
	return 1 - (1-sharedCore)*float64(both)/float64(took)
}

// socket is the power of one package.
type socket struct {
	board  *board
	number int
}

// Energy implements simulate.Power.
func (s socket) Energy(t time.Duration) float64 {
	b := s.board
	b.mu.Lock()
	defer b.mu.Unlock()
	if t > b.at[len(b.at)-1] {
		b.look()
	}
	i := sort.Search(len(b.at), func(i int) bool { return b.at[i] >= t })
	switch {
	case i == len(b.at):
		return b.joules[i-1][s.number]
	case i == 0:
		return b.joules[0][s.number]
	}
	from, to := b.joules[i-1][s.number], b.joules[i][s.number]
	return from + (to-from)*float64(t-b.at[i-1])/float64(b.at[i]-b.at[i-1])
}

// zones are the counters of the machine.
func (b *board) zones(seed uint64) (all []simulate.Zone) {
	period := b.machine.period()
	for s := range b.machine.Sockets {
		number := string(rune('0' + s))
		all = append(all, simulate.Zone{Dir: "intel-rapl:" + number, Name: "package-" + number,
			Counter: simulate.Counter{Power: socket{b, s}, Unit: simulate.UnitIntel, Period: period,
				Jitter: period / 50,
				Range:  262143328850, Start: 1e9 * uint64(s), Seed: seed*8 + uint64(s)}})
	}
	return all
}
