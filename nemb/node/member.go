package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/ranks"
)

// Joining is what a rank needs to join its node.
type Joining struct {
	Run *ranks.Folder
	ranks.Identity
	Interval time.Duration // from one look at the board to the next
	// Measurer makes the command that runs Measure for the board in dir, with the lock as
	// descriptor 3. Join sets its files.
	Measurer func(dir string) *exec.Cmd
}

// Member is a rank that has joined the board of its node.
type Member struct {
	joining Joining
	board   *board
	slot    int
	alive   *os.File // locked while the rank lives
	about   *about
	account atomic.Pointer[account.Account]
	looks   atomic.Uint64 // at the board
	stop    chan struct{}
	ended   sync.WaitGroup
	starts  int // of measurers
	claims  map[string]*os.File
}

// Join joins the board of a node, and starts a measurer if there is none. It returns when
// the measurer has its first sample.
func Join(ctx context.Context, j Joining) (*Member, error) {
	var errs []error
	for _, place := range Places() {
		m, err := joinBoard(ctx, j, place)
		if errors.Is(err, errStopped) || ctx.Err() != nil { // a board elsewhere would count the node twice
			return nil, err
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if err := m.ready(ctx); err != nil {
			m.leave()
			m.discard()
			return nil, err
		}
		m.ended.Go(m.watch)
		return m, nil
	}
	return nil, fmt.Errorf("no place for what the ranks of a node share: %w (name one with %s)", errors.Join(errs...),
		FolderVariable)
}

// joinBoard takes a slot. A folder that its last measurer is removing is made anew.
func joinBoard(ctx context.Context, j Joining, place string) (*Member, error) {
	for try := 0; ; try++ {
		m, err := takeSlot(ctx, j, place)
		switch {
		case err == nil:
			return m, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, errShut) && try < 1000:
			time.Sleep(doorPatience / 1000)
			continue
		case errors.Is(err, fs.ErrNotExist) && try < 1000:
			if _, gone := os.Stat(place); gone == nil {
				continue
			}
		}
		return nil, err
	}
}

func takeSlot(ctx context.Context, j Joining, place string) (*Member, error) {
	dir, err := boardFolder(place, j.Run, j.Node)
	if err != nil {
		return nil, err
	}
	door, err := enter(dir, doorPatience, func(d time.Duration) {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	})
	if err != nil {
		return nil, err
	}
	defer door.Close()
	m := &Member{joining: j, stop: make(chan struct{})}
	if _, err := os.Stat(filepath.Join(dir, "board")); err != nil { // the first of its node
		removeStale(dir)
	}
	if m.board, err = openBoard(dir); err != nil {
		return nil, err
	}
	if err = m.board.admits(); err == nil {
		// Locked before it is taken: a slot whose lock is free is that of a dead rank.
		m.alive, err = held(m.board.lockOf(m.board.slots()), unix.LOCK_EX)
	}
	if err == nil {
		if m.slot, err = m.board.take(j.Rank, os.Getpid(), j.LocalSize); err == nil {
			m.board.store(slotWord(m.slot, slotStart), account.Started(os.Getpid()))
			return m, nil
		}
		m.alive.Close()
	}
	m.board.close()
	return nil, err
}

// admits says that a rank may take a slot. A board whose measurer has ended, and could not remove it while this
// process had its door, is removed now; one whose measurer was killed while it ended is another measurer's. The caller
// holds the door.
func (b *board) admits() error {
	if b.load(wordSlots)&shut == 0 {
		return nil
	}
	if b.load(wordEnded) != 0 {
		return errors.Join(errShut, removeBoard(b.dir))
	}
	lock, err := held(filepath.Join(b.dir, "measurer"), unix.LOCK_EX|unix.LOCK_NB)
	if err != nil {
		return errShut
	}
	defer lock.Close()
	if b.load(wordEnded) != 0 {
		return errShut
	}
	b.reopen()
	return nil
}

// ready waits for the measurer, and starts one whenever there is none.
func (m *Member) ready(ctx context.Context) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		about, err := m.board.readAbout()
		if err != nil || about != nil {
			m.about = about
			return err
		}
		if err := m.elect(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// mostStarts is how many measurers a rank starts before it gives up.
const mostStarts = 3

// elect starts a measurer if there is none. It is an error if those that this rank
// started ended at once.
func (m *Member) elect() error {
	lock, err := held(filepath.Join(m.board.dir, "measurer"), unix.LOCK_EX|unix.LOCK_NB)
	if taken(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Close() // the measurer has the lock then
	if m.board.load(wordEnded) != 0 {
		return nil
	}
	log := filepath.Join(m.board.dir, "log")
	if m.starts++; m.starts > mostStarts {
		text, _ := os.ReadFile(log)
		return fmt.Errorf("node %s: its measurer does not stay: %s", m.joining.Node, strings.TrimSpace(string(text)))
	}
	messages, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer messages.Close()
	cmd := m.joining.Measurer(m.board.dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = nil, nil, messages, []*os.File{lock}
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() // it may outlive this process, and then has another parent
	return nil
}

// watchEvery is how often a rank looks whether there is a measurer.
const watchEvery = 200 * time.Millisecond

// watch starts a measurer when the one that was there is gone.
func (m *Member) watch() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-m.stop:
			return
		case <-tick.C:
			if m.elect() != nil {
				return // the shares stay unsettled, and that is said
			}
		}
	}
}

// Watch says whose processor time the rank's is.
func (m *Member) Watch(a *account.Account) { m.account.Store(a) }

// publish writes the rank's processor time on the board.
func (m *Member) publish() {
	a := m.account.Load()
	if a == nil {
		return
	}
	at := checkpoint.Monotime()
	program, own := a.Used()
	if begun := slotWord(m.slot, slotBegun); m.board.load(begun) == 0 {
		m.board.store(begun, uint64(at))
	}
	m.board.store(slotWord(m.slot, slotGrain), uint64(a.Grain()))
	m.board.store(slotWord(m.slot, slotOwn), uint64(own))
	m.board.store(slotWord(m.slot, slotCPU), uint64(program))
	m.board.store(slotWord(m.slot, slotAt), uint64(at))
}

// Rank is this rank's number.
func (m *Member) Rank() int { return m.joining.Rank }

// Record is the name of the node's record in the run's folder.
func (m *Member) Record() string { return m.about.Record }

// CPUModel is that of the node.
func (m *Member) CPUModel() string { return m.about.CPUModel }

// Shares are the rank's energies so far by domain, in microjoules, with its processor
// time. Those of GPUs come later than the rank's end, and are in the node's record alone.
func (m *Member) Shares() (uj map[string]uint64, cpu time.Duration, settled bool) {
	r, ok := m.board.result(m.slot, len(m.about.Domains))
	uj = map[string]uint64{}
	if !ok {
		return uj, 0, false
	}
	for d, domain := range m.about.Domains {
		if domain.FollowsProcessors() {
			uj[domain.ID] = r.shares[d]
		}
	}
	return uj, time.Duration(r.cpu), r.state == stateSettled
}

// Patience bounds how long Settle waits for the measurer.
const Patience = 5 * time.Second

// Settle is called when the rank's program has ended. It waits until the measurer has
// divided the last window, and the sensor has shown it.
func (m *Member) Settle() {
	m.publish()
	m.board.store(slotWord(m.slot, slotFinal), uint64(checkpoint.Monotime()))
	m.board.store(slotWord(m.slot, slotState), stateFinal)
	settled := func() bool {
		r, ok := m.board.result(m.slot, len(m.about.Domains))
		return ok && r.state == stateSettled
	}
	if !within(Patience, settled) {
		return
	}
	// The look that is under way may have begun before.
	looked := m.looks.Load()
	within(time.Second, func() bool { return m.looks.Load() >= looked+2 })
}

// within waits for a condition, at most for so long.
func within(limit time.Duration, is func() bool) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if is() {
			return true
		}
	}
	return is()
}

// Leave ends the membership. The last rank of a node waits for the measurer, which writes
// the node's record.
func (m *Member) Leave() {
	close(m.stop)
	m.ended.Wait()
	m.leave()
}

func (m *Member) leave() {
	if m.board.slot(m.slot, slotState) == stateRunning { // it never settled
		m.board.store(slotWord(m.slot, slotFinal), uint64(checkpoint.Monotime()))
		m.board.store(slotWord(m.slot, slotState), stateFinal)
	}
	if m.about != nil && m.last() {
		within(Patience, func() bool { return m.board.load(wordEnded) != 0 || !m.last() })
	}
	m.alive.Close()
	m.releaseClaims()
	m.board.close()
}

func (m *Member) releaseClaims() {
	for what := range m.claims {
		m.Release(what)
	}
}

// Claim takes what one rank of the node can have at a time, such as a GPU's counters, until it is released, or the rank
// leaves or ends. It says which rank has it: this one, or the one that was first. It is an error where another rank
// does not get on with its own claim.
func (m *Member) Claim(what string) (rank int, err error) {
	door, err := enter(m.board.dir, doorPatience, time.Sleep) // until whoever has it has written its number
	if err != nil {
		return 0, err
	}
	defer door.Close()
	path := filepath.Join(m.board.dir, "claim-"+what)
	f, err := held(path, unix.LOCK_EX|unix.LOCK_NB)
	if taken(err) {
		text, err := os.ReadFile(path)
		if err != nil {
			return 0, err
		}
		if rank, err = strconv.Atoi(string(text)); err != nil {
			return 0, fmt.Errorf("%s: another rank has it, and did not say which: %w", path, err)
		}
		return rank, nil
	}
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(path, []byte(strconv.Itoa(m.joining.Rank)), 0o600); err != nil {
		f.Close()
		return 0, err
	}
	if m.claims == nil {
		m.claims = map[string]*os.File{}
	}
	m.claims[what] = f
	return m.joining.Rank, nil
}

// Release gives up what this rank has claimed: others may have it.
func (m *Member) Release(what string) {
	if f := m.claims[what]; f != nil {
		f.Close()
		delete(m.claims, what)
	}
}

// discard removes a board that no rank uses and that has no measurer. Where another process of the run does not leave
// the door, the board stays for that process, or for the next run, to remove.
func (m *Member) discard() {
	door, err := enter(m.board.dir, doorPatience, time.Sleep)
	if err != nil {
		return
	}
	defer door.Close()
	lock, err := held(filepath.Join(m.board.dir, "measurer"), unix.LOCK_EX|unix.LOCK_NB)
	if err != nil {
		return
	}
	defer lock.Close()
	if b, err := openBoard(m.board.dir); err == nil {
		defer b.close()
		if m.board = b; m.last() {
			removeBoard(b.dir)
		}
	}
}

// removeBoard removes a board's folder. The caller holds the door: whoever waits for it comes to
// a folder that is gone, and makes a new one. The folder gets another name first, so that
// nobody makes a file in it meanwhile.
func removeBoard(dir string) error {
	aside := fmt.Sprintf("%s%s%d", dir, gone, os.Getpid())
	os.RemoveAll(aside) // of a process that was killed and had the same number
	if err := os.Rename(dir, aside); err != nil {
		return err
	}
	err := os.RemoveAll(aside)
	os.Remove(filepath.Dir(dir)) // if no other run has a board
	return err
}

// last reports whether no other rank of the node goes on.
func (m *Member) last() bool {
	for s := range m.board.slots() {
		if s != m.slot && m.board.slot(s, slotState) == stateRunning {
			return false
		}
	}
	return true
}

// Sensor gives the rank's shares of the node's domains as a sensor.
func (m *Member) Sensor() nemb.Sensor {
	s := &sensor{m: m}
	for d, domain := range m.about.Domains {
		if domain.FollowsProcessors() { // shares of GPUs come too late
			s.of = append(s.of, d)
		}
	}
	return s
}

type sensor struct {
	m  *Member
	of []int // of the node's domains
}

// steady is the least Period of a share: a rank that waits uses nothing, and that is no
// fault of a counter (nemb/sampler takes faster ones for stuck).
const steady = 100 * time.Millisecond

// Domains are those of the node, as shares: derived where the node's are measured, and
// all of the rank's program.
func (s *sensor) Domains() []nemb.Domain {
	var all []nemb.Domain
	for _, i := range s.of {
		d := s.m.about.Domains[i]
		share := nemb.Domain{
			ID: d.ID, Parent: d.Parent, Kind: d.Kind, Method: d.Method, InTotal: d.InTotal, Lo: d.Lo, Hi: d.Hi,
			Source: fmt.Sprintf("share of rank %d by processor time: %s", s.m.joining.Rank, d.Source),
			Period: max(steady, 2*divideEvery(s.m.joining.Interval)), Program: true,
		}
		if share.Method == nemb.Measured {
			share.Method = nemb.Derived
		}
		all = append(all, share)
	}
	return all
}

// Bounds are those of the shares so far, as factors: of the node's counters, and of the
// division (doubt.go).
func (s *sensor) Bounds() [][2]float64 {
	all := make([][2]float64, len(s.of))
	r, ok := s.m.board.result(s.m.slot, len(s.m.about.Domains))
	for i, d := range s.of {
		domain := s.m.about.Domains[d]
		all[i] = [2]float64{domain.Lo, domain.Hi}
		if ok && r.shares[d] > 0 {
			share := float64(r.shares[d])
			all[i][0] = domain.Lo * max(0, 1-float64(r.less[d])/share)
			all[i][1] = domain.Hi * (1 + float64(r.more[d])/share)
		}
	}
	return all
}

// Every is the rank's interval: as often its processor time is written.
func (s *sensor) Every() time.Duration { return s.m.joining.Interval }

// Read writes the rank's processor time and reads its shares.
func (s *sensor) Read(dst []nemb.Energy) error {
	s.m.publish()
	r, ok := s.m.board.result(s.m.slot, len(s.m.about.Domains))
	if !ok {
		return errors.New("the board of the node changes faster than it can be read")
	}
	for i, d := range s.of {
		dst[i] = nemb.Energy(r.shares[d])
	}
	s.m.looks.Add(1)
	return nil
}

// Close leaves the board as it is: Member.Leave ends the membership.
func (s *sensor) Close() error { return nil }
