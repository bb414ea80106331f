package monitor

import (
	"math"
	"slices"
	"strings"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute/paths"
	"cg/nemb/attribute/windows"
	"cg/nemb/population"
)

// Ended processes and groups are kept this long, and so many at most, so that whoever reads
// snapshots from time to time sees their last energy.
const (
	linger    = 5 * time.Minute
	mostEnded = 4096
)

// Book divides what a machine uses. It is used from one goroutine. Its memory grows with
// the processes and groups that are there, and not with time.
type Book struct {
	domains   []nemb.Domain
	own       int                // the number of cg's process
	windows   []*windows.Windows // of each domain: a counter's window may be longer than others'
	began     checkpoint.Instant
	beganUnix int64
	at        checkpoint.Instant
	atUnix    int64
	window    time.Duration
	readings  int
	hasGroups bool
	knowsBusy bool

	first    []float64     // per domain: the first energy that was read, NaN before
	totals   []nemb.Energy // per domain: since then
	readable []bool        // per domain: the last reading succeeded
	failed   []int
	waiting  []waiting // per domain: who used the processors since its counter moved
	watts    []float64 // per domain: in its last window that is closed
	lasted   []float64 // per domain: the seconds of that window
	closings []int     // per domain: of its windows
	cpus     int
	busy0    time.Duration
	program  time.Duration // of all groups, without cg
	ownTime  time.Duration
	other    time.Duration

	processes map[population.ID]*process
	byPID     map[int]*process
	groups    map[string]*group
	serial    int        // of the last group that was made
	ended     []*process // the oldest first
	gone      []*group   // the oldest first
	removed   []nemb.Energy
	targets   []*target
	debts     []debt
	active    []*group
	requests  requests
	spans     spans
	gpus      []*gpu // of each domain, nil where no driver is asked
}

// process is what the book has of a process.
type process struct {
	population.Process
	tally
	reading   int // at which it was there last
	inherited bool
	left      bool          // it is over
	targets   []*target     // those of its tree
	used      time.Duration // in the open window
	waited    time.Duration // by its children that nobody saw
	endedAt   checkpoint.Instant
	worker    *worker // nil without requests
}

// group is what the book has of a control group.
type group struct {
	path   string
	serial int
	tally
	reading int
	total   time.Duration // what its cpu.stat shows
	below   time.Duration // of that, in the groups below it
	left    time.Duration // of below, in groups that are gone
	counted time.Duration // of the rest, what is in windows
	known   bool          // it has a cpu.stat
	targets []*target
	endedAt checkpoint.Instant
	// Of the open window.
	used    time.Duration
	members []*process
}

// tally is an energy that grows.
type tally struct {
	energy []nemb.Energy // per domain
	// Per domain: watts in the window that closed last, where its number is closing. Both are
	// nil for one that never had any.
	power   []float64
	closing []int
	cpu     time.Duration
	gpus    []gpuBounds // per domain; nil for one that used no GPU
}

// debt is the time of a process that is gone, which the one that waits for it counts as
// its children's.
type debt struct {
	parent  int
	left    time.Duration
	reading int
}

// New begins a book. own is the process of cg, whose energy has a line of its own; cpus the
// logical processors of the host, 0 where that is not known.
func New(domains []nemb.Domain, cpus, own int) *Book {
	n := len(domains)
	b := &Book{
		domains: domains, own: own, waiting: make([]waiting, n),
		cpus: cpus, first: make([]float64, n), totals: make([]nemb.Energy, n), readable: make([]bool, n),
		failed: make([]int, n), watts: make([]float64, n), lasted: make([]float64, n), closings: make([]int, n),
		removed: make([]nemb.Energy, n), gpus: make([]*gpu, n),
		processes: map[population.ID]*process{}, byPID: map[int]*process{}, groups: map[string]*group{},
	}
	for d := range b.first {
		b.first[d] = math.NaN()
		b.windows = append(b.windows, windows.New(domains[d:d+1], cpus, paths.NewTree()))
	}
	b.group("/")
	return b
}

// Add takes the next reading. One that is not later than the one before is left out.
func (b *Book) Add(r *Reading) {
	if b.readings > 0 && r.At <= b.at {
		return
	}
	b.readings++
	first := b.readings == 1
	b.window = time.Duration(r.At - b.at)
	before := b.at
	b.at, b.atUnix = r.At, r.Unix
	b.hasGroups = len(r.Host.Groups) > 0
	if first {
		b.began, b.beganUnix, b.busy0, b.window = r.At, r.Unix, r.Host.Busy, 0
	}
	b.knowsBusy = r.Host.KnowsBusy
	b.meet(&r.Host, first)
	b.spend(first)
	if first {
		before = r.At
	}
	b.annotate(r, before)
	b.other = max(b.other, r.Host.Busy-b.busy0-b.program-b.ownTime)
	b.energies(r)
	for d := range b.domains {
		if g := b.occupied(d, r); g != nil {
			b.occupy(g, d, r)
			continue
		}
		b.close(d, d < len(r.Lost) && r.Lost[d])
	}
	b.divideSpans(r)
	for _, g := range b.groups {
		clear(g.members)
		g.members = g.members[:0]
	}
	b.forget()
}

// energies takes what each counter has counted since it was read first.
func (b *Book) energies(r *Reading) {
	for d := range b.domains {
		v := math.NaN()
		if d < len(r.Energy) {
			v = r.Energy[d]
		}
		if b.readable[d] = !math.IsNaN(v); !b.readable[d] {
			b.failed[d]++
			continue
		}
		if math.IsNaN(b.first[d]) {
			b.first[d] = v
		}
		b.totals[d] = max(b.totals[d], nemb.Energy(max(0, math.Round(v-b.first[d]))))
	}
}

// group is a group of the book, made with those above it if it is new.
func (b *Book) group(path string) *group {
	if g := b.groups[path]; g != nil {
		return g
	}
	b.serial++
	g := &group{path: path, serial: b.serial, reading: b.readings}
	g.energy = make([]nemb.Energy, len(b.domains))
	if path != "/" {
		b.group(parentOf(path))
	}
	b.groups[path] = g
	for _, t := range b.targets {
		if t.holds(path) {
			g.targets = append(g.targets, t)
		}
	}
	return g
}

// spend finds what each group used in the window, and adds up the whole.
func (b *Book) spend(first bool) {
	for _, g := range b.groups {
		sum := time.Duration(0)
		for _, p := range g.members {
			sum += p.used + p.waited
		}
		g.used = sum
		if g.known {
			exclusive := max(g.counted, g.total-g.below)
			g.used = exclusive - g.counted
			g.counted = exclusive
		}
	}
	b.active = b.active[:0]
	for _, g := range b.groups {
		for _, p := range g.members {
			if p.PID == b.own && !first {
				b.ownTime += p.used + p.waited
				g.used = max(0, g.used-p.used-p.waited)
				p.used, p.waited = 0, 0
			}
		}
		if g.used > 0 && !first {
			b.program += g.used
			g.cpu += g.used
			for _, t := range g.targets {
				t.cpu += g.used
			}
			b.active = append(b.active, g)
			slices.SortFunc(g.members, func(a, b *process) int { return a.PID - b.PID })
		}
	}
	slices.SortFunc(b.active, func(a, b *group) int { return strings.Compare(a.path, b.path) })
}

// pay gives somebody energy of a domain's window that closes.
func (b *Book) pay(t *tally, d int, e nemb.Energy) {
	t.energy[d] += e
	if e == 0 || !b.domains[d].InTotal {
		return
	}
	if t.power == nil {
		t.power, t.closing = make([]float64, len(b.domains)), make([]int, len(b.domains))
	}
	if t.closing[d] != b.closings[d] {
		t.closing[d], t.power[d] = b.closings[d], 0
	}
	t.power[d] += e.Joules() / b.lasted[d]
}

// wattsOf is somebody's power, of each domain in the window that closed last, and what of it is a GPU's.
func (b *Book) wattsOf(t *tally) (sum, gpu float64) {
	for d, power := range t.power {
		if t.closing[d] != b.closings[d] {
			continue
		}
		if sum += power; b.gpus[d] != nil {
			gpu += power
		}
	}
	return sum, gpu
}
