package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"cg/nemb"
)

// The board, in words of 64 bits:
//
//	header   words: see below
//	slots    maxSlots x slotWords, each written by one rank
//	state 0  written by the measurer while state 1 counts, and
//	state 1  the other way round: the count of commits tells which
//
// A state has, after its moment and the processor times of cg and of others, a ledger for
// each domain and a result for each slot. The measurer writes a whole state and then
// counts a commit, so a measurer that is killed leaves the last whole one.
const (
	magic      = 0x3130_4452_414f_4247 // "GBOARD01"
	maxSlots   = 1024
	maxDomains = 64

	headerWords = 64
	slotWords   = 16
	ledgerWords = 8
	resultWords = 2 + 3*maxDomains
	stateWords  = 8 + maxDomains*ledgerWords + maxSlots*resultWords
	boardWords  = headerWords + maxSlots*slotWords + 2*stateWords
)

// Words of the header.
const (
	wordMagic = iota
	wordSlots // slots that were ever taken; shut: no more are
	wordReady // 1: the domains are known
	wordCommits
	wordEnded // 1: the measurer ended, since all ranks had
	wordPID   // of the measurer
)

// Words of a slot.
const (
	slotRank  = iota // the rank + 1
	slotPID          // of its cg
	slotState        // see below
	slotCPU          // processor time of its program, ns
	slotOwn          // that of its cg
	slotFinal        // CLOCK_MONOTONIC when slotCPU became final
	slotPeers        // how many ranks its launcher starts on this node, 0 for not known
	slotAt           // CLOCK_MONOTONIC when slotCPU was read
	slotGrain        // by how much slotCPU may be behind what was used then, ns
	slotBegun        // CLOCK_MONOTONIC just before its program started, 0 until then
	slotStart        // when its cg started, in ticks since boot, 0 for not known
)

// States of a slot, and of its result.
const (
	stateFree    = iota
	stateRunning // it has a share that grows
	stateFinal   // the program has ended
	stateSettled // of a result: the share is final
	stateLost    // of a result: the rank was killed
)

// board is the shared memory of a node.
type board struct {
	dir    string
	memory []byte
}

// openBoard maps the board of a folder, and makes it if there is none. The caller holds
// the door.
func openBoard(dir string) (*board, error) {
	f, err := os.OpenFile(filepath.Join(dir, "board"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const size = 8 * boardWords
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if info.Size() != size {
		// A page that cannot be had later would be a SIGBUS.
		if err := unix.Fallocate(int(f.Fd()), 0, 0, size); errors.Is(err, unix.EOPNOTSUPP) {
			err = f.Truncate(size)
			if err != nil {
				return nil, err
			}
		} else if err != nil {
			return nil, fmt.Errorf("%s: %d bytes: %w", f.Name(), size, err)
		}
	}
	memory, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	b := &board{dir: dir, memory: memory}
	switch v := b.load(wordMagic); v {
	case 0:
		b.store(wordMagic, magic)
	case magic:
	default:
		b.close()
		return nil, fmt.Errorf("%s: not a board of this version of cg", f.Name())
	}
	return b, nil
}

func (b *board) close() {
	if b.memory != nil {
		unix.Munmap(b.memory)
		b.memory = nil
	}
}

func (b *board) word(at int) *uint64     { return (*uint64)(unsafe.Pointer(&b.memory[8*at])) }
func (b *board) load(at int) uint64      { return atomic.LoadUint64(b.word(at)) }
func (b *board) store(at int, v uint64)  { atomic.StoreUint64(b.word(at), v) }
func slotWord(slot, word int) int        { return headerWords + slot*slotWords + word }
func (b *board) slot(s, word int) uint64 { return b.load(slotWord(s, word)) }
func (b *board) slots() int              { return int(min(b.load(wordSlots)&^shut, maxSlots)) }
func stateAt(which uint64) int           { return headerWords + maxSlots*slotWords + int(which&1)*stateWords }
func ledgerAt(which uint64, d int) int   { return stateAt(which) + 8 + d*ledgerWords }
func resultAt(which uint64, slot int) int {
	return stateAt(which) + 8 + maxDomains*ledgerWords + slot*resultWords
}

// shut is a bit of wordSlots: the measurer of the board ends, and no rank can come any more.
const shut = 1 << 63

// errShut is why no slot was taken.
var errShut = errors.New("the measurer of the board ends")

// shut lets no further rank come; false if more have come than so many. Whoever has the door may be about to take a
// slot.
func (b *board) shut(slots int) bool {
	return atomic.CompareAndSwapUint64(b.word(wordSlots), uint64(slots), uint64(slots)|shut)
}

// reopen is for a board whose measurer was killed when it had shut it. The caller holds the door and the measurer's
// lock.
func (b *board) reopen() { b.store(wordSlots, b.load(wordSlots)&^shut) }

// take takes the next slot. The caller holds the door.
func (b *board) take(rank, pid, peers int) (int, error) {
	s := b.slots()
	if s >= maxSlots {
		return 0, fmt.Errorf("%d ranks on one node: cg divides the energy of a node among %d at most", s+1, maxSlots)
	}
	b.store(slotWord(s, slotRank), uint64(rank)+1)
	b.store(slotWord(s, slotPID), uint64(pid))
	b.store(slotWord(s, slotPeers), uint64(peers))
	b.store(slotWord(s, slotState), stateRunning)
	if !atomic.CompareAndSwapUint64(b.word(wordSlots), uint64(s), uint64(s)+1) {
		return 0, errShut
	}
	return s, nil
}

// lockOf is the file that a rank holds as long as it lives.
func (b *board) lockOf(slot int) string { return filepath.Join(b.dir, fmt.Sprintf("rank-%d", slot)) }

// ledger is the division of a domain's energy, in microjoules.
type ledger struct{ total, ranks, other, idle, own, unattributed uint64 }

// result is what came of a slot.
type result struct {
	state  uint64
	cpu    int64 // processor time that is in the shares, ns
	shares []uint64
	// less and more are by how much each share may be less and more, because processor
	// times are older than the windows that they divide.
	less, more []uint64
}

// newResult is that of a rank that came.
func newResult(domains int) result {
	return result{state: stateRunning, shares: make([]uint64, domains), less: make([]uint64, domains),
		more: make([]uint64, domains)}
}

// state is what the measurer knows, as a whole.
type state struct {
	mono, unix int64 // of the last sample that is in it
	own, other int64 // processor time of cg, and of all that is no rank, ns
	ledgers    []ledger
	results    []result
}

// commit shows a state.
func (b *board) commit(s *state) {
	next := b.load(wordCommits) + 1
	at := stateAt(next)
	b.store(at, uint64(s.mono))
	b.store(at+1, uint64(s.unix))
	b.store(at+2, uint64(s.own))
	b.store(at+3, uint64(s.other))
	for d, l := range s.ledgers {
		for i, v := range []uint64{l.total, l.ranks, l.other, l.idle, l.own, l.unattributed} {
			b.store(ledgerAt(next, d)+i, v)
		}
	}
	for i, r := range s.results {
		at := resultAt(next, i)
		b.store(at, r.state)
		b.store(at+1, uint64(r.cpu))
		for d, v := range r.shares {
			b.store(at+2+d, v)
			b.store(at+2+maxDomains+d, r.less[d])
			b.store(at+2+2*maxDomains+d, r.more[d])
		}
	}
	b.store(wordCommits, next)
}

// committed is the last state that was shown, of so many domains.
func (b *board) committed(domains int) *state {
	which := b.load(wordCommits)
	at := stateAt(which)
	s := &state{mono: int64(b.load(at)), unix: int64(b.load(at + 1)), own: int64(b.load(at + 2)),
		other: int64(b.load(at + 3))}
	for d := range domains {
		var v [6]uint64
		for i := range v {
			v[i] = b.load(ledgerAt(which, d) + i)
		}
		s.ledgers = append(s.ledgers, ledger{v[0], v[1], v[2], v[3], v[4], v[5]})
	}
	for slot := range b.slots() {
		s.results = append(s.results, b.resultIn(which, slot, domains))
	}
	return s
}

func (b *board) resultIn(which uint64, slot, domains int) result {
	at := resultAt(which, slot)
	r := newResult(domains)
	r.state, r.cpu = b.load(at), int64(b.load(at+1))
	for d := range r.shares {
		r.shares[d] = b.load(at + 2 + d)
		r.less[d], r.more[d] = b.load(at+2+maxDomains+d), b.load(at+2+2*maxDomains+d)
	}
	return r
}

// result is what came of a slot up to the last commit; false if the measurer wrote faster than it was
// read.
func (b *board) result(slot, domains int) (result, bool) {
	for range 1000 {
		which := b.load(wordCommits)
		r := b.resultIn(which, slot, domains)
		if b.load(wordCommits) == which {
			return r, true
		}
	}
	return result{}, false
}

// about is what the ranks of a node know of its measurer: the file about.json of the board.
type about struct {
	Record   string        `json:"record"` // of the run's folder
	Domains  []nemb.Domain `json:"domains"`
	Ring     string        `json:"ring"` // its samples (nemb/RING.md)
	CPUModel string        `json:"cpu_model"`
}

func (b *board) aboutFile() string { return filepath.Join(b.dir, "about.json") }

// readAbout reads it; nil where no measurer was ready yet.
func (b *board) readAbout() (*about, error) {
	if b.load(wordReady) == 0 {
		return nil, nil
	}
	text, err := os.ReadFile(b.aboutFile())
	if err != nil {
		return nil, err
	}
	a := &about{}
	if err := json.Unmarshal(text, a); err != nil {
		return nil, fmt.Errorf("%s: %w", b.aboutFile(), err)
	}
	if len(a.Domains) > maxDomains {
		return nil, fmt.Errorf("%s: %d domains", b.aboutFile(), len(a.Domains))
	}
	return a, nil
}

// writeAbout replaces it as a whole.
func (b *board) writeAbout(a about) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if err := os.WriteFile(b.aboutFile()+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(b.aboutFile()+".new", b.aboutFile())
}
