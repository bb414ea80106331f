package node

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/processor"
	"cg/nemb/sampler"
	"cg/ranks"
)

// Config is what a measurer needs.
type Config struct {
	Dir      string // of the board
	Run      *ranks.Folder
	Node     string
	Version  string
	Sensors  []nemb.Sensor
	Interval time.Duration
	CPUModel string
	// Idle has the idle power of domains that was measured before, nil for none.
	Idle func([]nemb.Domain)
}

// divideEvery is how long a window is at most that is divided among the ranks: their processor
// times are as old as their intervals.
func divideEvery(interval time.Duration) time.Duration { return max(20*time.Millisecond, 5*interval) }

// A measurer looks for ranks that were killed, and writes the node's record, this often.
const (
	lookEvery  = 200 * time.Millisecond
	writeEvery = 10 * time.Second
)

// linger is how long a measurer waits for the node's ranks that have not come yet,
// when all others have ended.
const linger = time.Second

// source is what samples the counters: a sampler.Sampler.
type source interface {
	Domains() []nemb.Domain
	Faults() []sampler.Faults
	Poll() []nemb.Sample
	Stop() []nemb.Sample
}

// measurer samples the counters of a node and divides them.
type measurer struct {
	Config
	board   *board
	account *account.Account
	sampler source
	now     func() checkpoint.Instant
	clocks  ranks.Clocks
	pause   func(time.Duration)
	domains []nemb.Domain
	divider *divider
	record  ranks.Node
	clock   *ranks.Exchange
	cpus    int // that the ranks of the node may use
	stride  int // every which window is a sample of the record
	windows int
	latest  nemb.Sample
	begun   bool               // a program has started
	closed  checkpoint.Instant // the end of the last window
	quiet   checkpoint.Instant // since when no rank runs, 0 while one does
	held    []nemb.Sample      // since then: a part of the run if a rank comes
	began   checkpoint.Instant // the first sample of the run that this measurer took
	asked   checkpoint.Instant // when drivers of GPUs were
	parent  func(pid int) (int, bool)
	started func(pid int) uint64 // ticks since boot, 0 for not known
	looked  checkpoint.Instant
	written checkpoint.Instant

	othersUnknown bool // nothing tells what other processes use
}

// Measure samples the counters of a node until all of its ranks have ended, divides them
// among the ranks and writes the node's record. The process holds the lock of the
// board's measurer.
func Measure(c Config) error {
	m := &measurer{Config: c, stride: 1, cpus: spread(), now: checkpoint.Monotime, clocks: clocks, pause: time.Sleep,
		parent: account.Parent, started: account.Started}
	var err error
	// Not through the door: the rank that started this process has made the board, and nobody removes it while this
	// process has the measurer's lock.
	if m.board, err = openBoard(c.Dir); err != nil {
		return err
	}
	defer m.board.close()
	m.board.store(wordPID, uint64(os.Getpid()))
	m.account = account.New()
	defer m.account.Close()
	m.othersUnknown = !m.account.KnowsHost()
	samples, err := sampler.Start(c.Sensors,
		sampler.Config{Interval: c.Interval, Clock: checkpoint.SystemClock(), Program: m.account})
	if err != nil {
		return err
	}
	defer samples.Close()
	m.sampler = samples
	ring, err := samples.Share()
	if err == nil {
		err = m.begin(ring)
	}
	if err != nil {
		samples.Stop()
		return err
	}
	return m.measure()
}

// begin takes the first sample, and over what an earlier measurer left.
func (m *measurer) begin(ring string) error {
	m.domains = m.sampler.Domains()
	if m.Idle != nil {
		m.Idle(m.domains)
	}
	if len(m.domains) > maxDomains {
		return fmt.Errorf("%d domains: the ranks of a node share %d at most: choose sensors with -s", len(m.domains),
			maxDomains)
	}
	before, err := m.board.readAbout()
	if err != nil {
		return err
	}
	left := &state{}
	if before != nil {
		same := func(a, b nemb.Domain) bool { return a.ID == b.ID }
		if !slices.EqualFunc(before.Domains, m.domains, same) {
			return fmt.Errorf("node %s has other counters than before its measurer was killed", m.Node)
		}
		left = m.board.committed(len(m.domains))
	}
	var samples []nemb.Sample
	for len(samples) == 0 {
		samples = m.sampler.Poll()
	}
	first := samples[0]
	m.divider = newDivider(m.domains, processor.Online(), left, m.readings())
	m.divider.othersUnknown = m.othersUnknown
	m.divider.begin(first)
	m.latest, m.closed, m.began = first, first.Time, first.Time
	m.findGPUs()
	m.ask()
	m.count(first)
	m.begun = slices.ContainsFunc(left.ledgers, func(l ledger) bool { return l.total > 0 })
	m.open(before, first.Time)
	if !m.begun { // the measurer before has waited, too
		m.first(first)
	}
	if before == nil {
		about := about{Record: m.record.Record, Domains: m.domains, Ring: ring, CPUModel: m.CPUModel}
		if err := m.board.writeAbout(about); err != nil {
			return err
		}
	}
	m.clock, err = ranks.NewExchange(m.Run.Clocks(), m.Node, m.record.Record)
	if err != nil {
		return err
	}
	m.take(samples[1:])
	m.commit()
	m.put()
	m.board.store(wordReady, 1)
	return nil
}

// open begins the record, or goes on with that of an earlier measurer.
func (m *measurer) open(before *about, first checkpoint.Instant) {
	began := m.unix(first)
	mine := ranks.Measurer{PID: os.Getpid(), StartedUnixNs: began}
	if before != nil {
		m.goOn(before.Record, mine)
		return
	}
	token := make([]byte, 4)
	rand.Read(token)
	m.fresh(m.Node+"-"+hex.EncodeToString(token), mine)
	m.record.StartedMonoNs = int64(first)
}

// goOn goes on with the record of an earlier measurer. The board has its sums. A record that
// cannot be read is written anew under its name, so nothing is counted twice.
func (m *measurer) goOn(record string, mine ranks.Measurer) {
	ended := m.divider.state.unix
	hole := ranks.Hole{Kind: ranks.HoleMeasurer, Node: m.Node, Rank: -1, FromUnixNs: ended,
		ToUnixNs: mine.StartedUnixNs}
	span := float64(mine.StartedUnixNs-ended) / 1e9
	n, err := m.Run.Node(record)
	if err == nil && len(n.Measurers) == 0 {
		err = fmt.Errorf("%s names no measurer", ranks.NodeFile(record))
	}
	if err != nil {
		m.fresh(record, mine)
		m.record.StartedUnixNs = ended
		m.record.StartedMonoNs = m.divider.state.mono
		hole.Text = fmt.Sprintf("node %s: its measurer was killed, and nobody sampled its counters for %.3f s. What "+
			"it had written cannot be read (%v): the sums are whole, and samples and holes before are missing", m.Node,
			span, err)
		m.record.Holes = append(m.record.Holes, hole)
		return
	}
	last := &n.Measurers[len(n.Measurers)-1]
	last.EndedUnixNs = ended
	hole.Text = fmt.Sprintf("node %s: its measurer (process %d) was killed, and nobody sampled its counters for %.3f s",
		m.Node, last.PID, span)
	n.Holes = append(n.Holes, hole)
	n.Measurers = append(n.Measurers, mine)
	m.record = n
}

// fresh begins a record.
func (m *measurer) fresh(record string, mine ranks.Measurer) {
	host, _ := os.Hostname()
	m.record = ranks.Node{
		Format: ranks.Version, CgVersion: m.Version, Node: m.Node, Record: record,
		Hostname: host, BootID: ranks.BootID(), CPUModel: m.CPUModel, CPUs: processor.Online(),
		IntervalNs: int64(m.Interval), Measurers: []ranks.Measurer{mine}, StartedUnixNs: mine.StartedUnixNs,
		Domains: []ranks.Domain{}, Ranks: []ranks.Share{}, Samples: []ranks.Sample{}, Offsets: []ranks.Offset{},
		Holes: []ranks.Hole{}, Warnings: []ranks.Warning{},
	}
}

// readings are the processor times that the ranks have written.
func (m *measurer) readings() []reading {
	all := make([]reading, m.board.slots())
	for s := range all {
		r := &all[s]
		r.at = checkpoint.Instant(m.board.slot(s, slotAt)) // written after the times
		r.program, r.own = int64(m.board.slot(s, slotCPU)), int64(m.board.slot(s, slotOwn))
		r.grain = int64(m.board.slot(s, slotGrain))
	}
	return all
}

// clocks are the machine's.
var clocks = ranks.Clocks{Wall: func() int64 { return time.Now().UnixNano() },
	Steady: func() int64 { return int64(checkpoint.Monotime()) }}

// unix is what the wall clock showed at a moment.
func (m *measurer) unix(at checkpoint.Instant) int64 { return m.clocks.Wall() - int64(m.now()-at) }

// measure samples until no rank is left.
func (m *measurer) measure() error {
	for !m.over() {
		m.pause(min(max(m.Interval, 5*time.Millisecond), 20*time.Millisecond))
		m.take(m.sampler.Poll())
		m.clock.Step(m.clocks)
		m.ask()
		m.judge()
	}
	return m.end()
}

// take divides the windows that are over. What comes while no rank runs is held back: the run
// ended with the last rank, unless another one comes.
func (m *measurer) take(samples []nemb.Sample) {
	if m.quiet != 0 {
		m.held = append(m.held, samples...)
		return
	}
	m.divide(m.await(samples), m.readings)
}

// await leaves out what comes before the first program has started: until then cg prepares it. The
// last sample before that is the first one of the run.
func (m *measurer) await(samples []nemb.Sample) []nemb.Sample {
	if m.begun {
		return samples
	}
	var start checkpoint.Instant
	for s := range m.board.slots() {
		if at := checkpoint.Instant(m.board.slot(s, slotBegun)); at != 0 && (start == 0 || at < start) {
			start = at
		}
	}
	for i, s := range samples {
		if start != 0 && s.Time > start {
			m.begun = true
			for k, r := range m.readings()[:len(m.divider.counted)] { // what cg used before is in no figure
				m.divider.counted[k].own = r.own
			}
			m.put() // for a measurer that takes over, so that it knows the beginning
			return samples[i:]
		}
		if !s.Failed {
			m.first(s)
			m.count(s)
		}
	}
	return nil
}

// first makes a sample the first one of the run.
func (m *measurer) first(s nemb.Sample) {
	m.divider.begin(s)
	m.latest, m.closed, m.began = s, s.Time, s.Time
	state, n := m.divider.state, &m.record
	state.mono, state.unix = int64(s.Time), m.unix(s.Time)
	n.StartedUnixNs, n.StartedMonoNs, n.Measurers[len(n.Measurers)-1].StartedUnixNs = state.unix, state.mono, state.unix
}

func (m *measurer) divide(samples []nemb.Sample, used func() []reading) {
	for _, s := range samples {
		if s.Failed {
			continue // its window is joined with the next
		}
		m.latest = s
		if time.Duration(s.Time-m.closed) >= divideEvery(m.Interval) {
			m.close(used())
		}
	}
}

// close divides the window up to the latest sample, given what the ranks have used.
func (m *measurer) close(used []reading) {
	if m.latest.Time <= m.closed {
		return
	}
	m.divider.close(m.latest, used)
	m.closed = m.latest.Time
	m.count(m.latest)
	state := m.divider.state
	state.mono, state.unix = int64(m.closed), m.unix(m.closed)
	m.commit()
	if m.windows%m.stride == 0 {
		m.sample()
	}
	m.windows++
}

// commit shows the state on the board.
func (m *measurer) commit() { m.board.commit(m.divider.state) }

// judge settles the shares of ranks that have ended, and finds those that were killed.
func (m *measurer) judge() {
	m.divider.admit(m.board.slots())
	m.running()
	results := m.divider.state.results
	news := false
	var final []int
	for s := range results {
		if results[s].state == stateRunning && m.board.slot(s, slotState) == stateFinal {
			final = append(final, s)
		}
	}
	ready := slices.DeleteFunc(slices.Clone(final), func(s int) bool {
		return checkpoint.Instant(m.board.slot(s, slotFinal)) > m.latest.Time
	})
	if len(ready) > 0 {
		m.close(m.readings())
		for _, s := range ready {
			results[s].state, news = stateSettled, true
		}
	}
	now := m.now()
	if time.Duration(now-m.looked) >= lookEvery {
		m.looked = now
		for s := range results {
			if results[s].state == stateRunning && !slices.Contains(final, s) && m.killed(s) {
				m.lose(s)
				news = true
			}
		}
	}
	if news || time.Duration(now-m.written) >= writeEvery {
		m.put()
		m.written = now
	}
	if news {
		m.commit()
	}
}

// killed reports whether the rank of a slot is gone without a word: the lock that it held
// is free.
func (m *measurer) killed(s int) bool {
	lock, err := held(m.board.lockOf(s), unix.LOCK_EX|unix.LOCK_NB)
	if err != nil {
		return false
	}
	lock.Close()
	return m.board.slot(s, slotState) == stateRunning
}

// lose ends the share of a rank that was killed.
func (m *measurer) lose(s int) {
	m.divider.state.results[s].state = stateLost
	rank := int(m.board.slot(s, slotRank)) - 1
	m.record.Holes = append(m.record.Holes, ranks.Hole{Kind: ranks.HoleRank, Node: m.Node, Rank: rank,
		FromUnixNs: m.divider.state.unix,
		Text:       fmt.Sprintf("rank %d on %s was killed: its share ends there, and it has no report", rank, m.Node)})
}

// running reports whether a rank of the node runs. If it came while none did, what was held back
// is a part of the run, in which the ranks used nothing.
func (m *measurer) running() bool {
	is := slices.ContainsFunc(m.divider.state.results, func(r result) bool { return r.state == stateRunning })
	if is && m.quiet != 0 {
		held, used := m.held, slices.Clone(m.divider.counted)
		m.quiet, m.held = 0, nil
		m.divide(m.await(held), func() []reading { return used })
	}
	return is
}

// over reports whether all ranks of the node have ended. Those that its launcher has not
// started yet are waited for, not for long.
func (m *measurer) over() bool {
	if m.running() {
		return false
	}
	if m.quiet == 0 {
		m.quiet = m.now()
		m.close(m.readings())
	}
	slots, peers := len(m.divider.state.results), 0
	for s := range slots {
		peers = max(peers, int(m.board.slot(s, slotPeers)))
	}
	return slots > 0 && slots >= peers || time.Duration(m.now()-m.quiet) > linger
}

// endPatience is for how long a measurer waits for a door at its end: its last rank waits for it (Patience).
const endPatience = 2 * time.Second

// end writes the whole record and removes the board, unless a rank has come meanwhile. A rank that is stopped while it
// joins holds the door. It finds the board shut when it goes on, removes it, and makes a new one.
func (m *measurer) end() error {
	pause := func(d time.Duration) {
		m.pause(d)
		m.take(m.sampler.Poll())
	}
	m.clock.Finish(m.clocks, func() { pause(2 * time.Millisecond) })
	door, err := enter(m.Dir, endPatience, pause)
	stopped := errors.Is(err, errStopped)
	if err != nil && !stopped {
		return err
	}
	defer door.Close()
	m.divider.admit(m.board.slots())
	if !m.over() || !m.board.shut(len(m.divider.state.results)) {
		door.Close()
		return m.measure()
	}
	m.clock.Close()
	m.held = append(m.held, m.sampler.Stop()...)
	if s, is := m.slowest(); is {
		m.latest = s
		m.close(m.readings())
	}
	m.finishGPUs()
	m.sample()
	n := &m.record
	n.EndedUnixNs = m.divider.state.unix
	n.Measurers[len(n.Measurers)-1].EndedUnixNs = n.EndedUnixNs
	err = m.put()
	m.commit()
	if !stopped {
		err = errors.Join(err, removeBoard(m.Dir))
	}
	m.board.store(wordEnded, 1)
	return err
}

// slowest is the first sample after the last rank's end, where a sensor's readings take so long
// that samples do not wait for them; false where none does. What such a sensor showed
// then lies on the line from its reading before to the one at the end of all.
func (m *measurer) slowest() (s nemb.Sample, is bool) {
	held := slices.DeleteFunc(slices.Clone(m.held), func(s nemb.Sample) bool {
		return s.Failed || s.Time <= m.latest.Time
	})
	if len(held) == 0 {
		return s, false
	}
	s, last := held[0], held[len(held)-1]
	s.Energy = slices.Clone(s.Energy)
	for d, f := range m.sampler.Faults() {
		if f.Slowest == 0 || m.latest.Late == nil {
			continue
		}
		is = true
		from := m.latest.Time - checkpoint.Instant(m.latest.Late[d])
		part := float64(s.Time-from) / float64(last.Time-from)
		s.Energy[d] = m.latest.Energy[d] + nemb.Energy(math.Round(part*float64(last.Energy[d]-m.latest.Energy[d])))
	}
	return s, is
}
