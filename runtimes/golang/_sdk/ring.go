package codegreen

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"
)

// ring is cg's samples, mapped for reading. nemb/RING.md of cg is the specification.
type ring struct {
	memory  []byte
	words   []uint64
	at      int // word of slot 0
	stride  int // words of a slot
	slots   uint64
	next    uint64 // number of the sample that is read next
	lost    int
	fill    float64 // part of the ring that the last read found new
	version int

	intervalNs int64
	pid        int
	division   *division // nil where no program is measured
	about
	nextUse uint64 // number of the piece of a GPU that is read next
}

// about is what the writer says of itself and of its domains.
type about struct {
	Writer   string          `json:"writer"`
	Support  string          `json:"domain_support"`
	Topology json.RawMessage `json:"domain_topology"`
	Domains  []domain        `json:"domains"`
	Divides  json.RawMessage `json:"division"`
	GPUs     *aboutGPUs      `json:"gpus"` // nil without GPUs, and of an older cg
}

// openRing maps the ring at a path.
func openRing(path string) (*ring, error) {
	memory, err := mapFile(path)
	if err != nil {
		return nil, err
	}
	r := &ring{memory: memory}
	if err := r.parse(); err != nil {
		unmap(memory)
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

func (r *ring) parse() error {
	if len(r.memory) < ringHeaderBytes || string(r.memory[:8]) != ringMagic {
		return errors.New("not a sample ring")
	}
	r.words = unsafe.Slice((*uint64)(unsafe.Pointer(&r.memory[0])), len(r.memory)/8)
	half := unsafe.Slice((*uint32)(unsafe.Pointer(&r.memory[0])), len(r.memory)/4)
	version, at, domains, slots, size := half[2], uint64(half[3]), uint64(half[5]), uint64(half[6]), uint64(half[7])
	if version != ringVersion {
		return fmt.Errorf("version %d of the sample ring is not known", version)
	}
	end := uint64(len(r.memory))
	if slots == 0 || size != 8*(ringFixedWords+domains) || at%8 != 0 ||
		ringHeaderBytes+ringDomainBytes*domains > at || at > end || slots > (end-at)/size {
		return errors.New("a damaged sample ring")
	}
	r.version, r.at, r.stride, r.slots = int(version), int(at/8), int(size/8), slots
	r.intervalNs, r.pid = int64(r.words[4]), int(r.words[5])
	if text := bytes.TrimRight(r.memory[ringHeaderBytes+ringDomainBytes*domains:at], "\x00"); len(text) > 0 {
		if err := json.Unmarshal(text, &r.about); err != nil {
			return err
		}
	}
	if r.Domains == nil {
		for i := range int(domains) {
			r.Domains = append(r.Domains, r.record(i))
		}
	}
	if len(r.Domains) != int(domains) || !r.gpusFit() {
		return errors.New("a damaged sample ring")
	}
	var err error
	if r.division, err = newDivision(r.Domains, r.Divides); err != nil {
		return fmt.Errorf("a damaged sample ring: %w", err)
	}
	// The last milliseconds tell the power before the first task.
	r.next = r.head() - min(r.head(), r.slots, uint64(ringKeptBeforeNs/max(1, r.intervalNs))+ringKeptBeforeSlots)
	return nil
}

// record is what a ring without JSON says of a domain.
func (r *ring) record(i int) domain {
	b := r.memory[ringHeaderBytes+ringDomainBytes*i:]
	text := func(from, n int) string {
		t, _, _ := bytes.Cut(b[from:from+n], []byte{0})
		return string(t)
	}
	return domain{ID: text(0, 64), Kind: text(64, 32), Method: text(96, 16), InTotal: b[112]&1 == 1, Lo: 1, Hi: 1}
}

func (r *ring) head() uint64 { return atomic.LoadUint64(&r.words[ringHeadOffset/8]) }

// read brings what is new to s.
func (r *ring) read(s *samples) {
	head := r.head()
	if head > r.next+r.slots {
		r.lost += int(head - r.slots - r.next)
		r.next = head - r.slots
	}
	r.fill = float64(head-r.next) / float64(r.slots)
	energies := make([]uint64, len(r.Domains))
	for ; r.next < head; r.next++ {
		slot := r.words[r.at+int(r.next%r.slots)*r.stride:][:r.stride]
		whole := 2*r.next + 2
		if atomic.LoadUint64(&slot[0]) != whole {
			r.lost++
			continue
		}
		t, flags := atomic.LoadUint64(&slot[2]), atomic.LoadUint64(&slot[3])
		var used [3]uint64
		for i := range used {
			used[i] = atomic.LoadUint64(&slot[4+i])
		}
		for d := range energies {
			energies[d] = atomic.LoadUint64(&slot[ringFixedWords+d])
		}
		if atomic.LoadUint64(&slot[0]) != whole { // it was written over meanwhile
			r.lost++
			continue
		}
		s.add(int64(t), flags, energies)
		if s.division != nil {
			s.division.add(int64(t), flags, used, energies)
		}
	}
	r.readGPUs(s)
}

// ended tells that no more samples will come: the writer said so, or is gone.
func (r *ring) ended() bool {
	return atomic.LoadUint64(&r.words[ringEndedOffset/8]) != 0 || !alive(r.pid)
}

func (r *ring) close() {
	r.words = nil
	unmap(r.memory)
}
