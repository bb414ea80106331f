package sampler

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/runtimes/sdk/spec"
)

// Layout of the ring (nemb/RING.md).
const (
	ringMagic   = spec.RingMagic
	ringVersion = spec.RingVersion
	ringSlots   = spec.RingSlots // unless Config.Slots says otherwise
	ringHeader  = spec.RingHeaderBytes
	ringDomain  = spec.RingDomainBytes
	ringFixed   = spec.RingFixedWords

	ringEnded = spec.RingEndedOffset
	ringHead  = spec.RingHeadOffset

	ringGap, ringFailed = spec.FlagGap, spec.FlagFailed
)

const ringName = "cg-samples"

// A ring shows samples to other processes. One goroutine writes.
type ring struct {
	fd     int
	memory []byte
	stride int
	slots  uint64
	about  int    // offset of what is known of the domains
	at     int    // offset of slot 0
	next   uint64 // number of the next sample
	uses   uses
}

// What Divide adds to the JSON has at most so many bytes, and so many for each domain.
const (
	divisionRoom = 80
	domainRoom   = 240
)

// divide writes what the ring is about anew: nobody reads it yet.
func (r *ring) divide(domains []nemb.Domain, division Division) error {
	text, err := aboutRing(domains, &division, r.uses.about)
	if err != nil {
		return fmt.Errorf("sample ring: %w", err)
	}
	if len(text) >= r.at-r.about {
		return fmt.Errorf("sample ring: %d bytes about the domains, and room for %d", len(text), r.at-r.about)
	}
	clear(r.memory[r.about:r.at])
	copy(r.memory[r.about:], text)
	return nil
}

// about is what the ring says of itself behind its domains, as JSON.
type about struct {
	Writer   string                `json:"writer"` // path of the program that measures
	Domains  []aboutDomain         `json:"domains"`
	Topology map[string]nemb.Place `json:"domain_topology"`
	Support  string                `json:"domain_support"`
	Division *aboutDivision        `json:"division,omitempty"` // nil where no program's time is in the samples
	GPUs     *aboutUses            `json:"gpus,omitempty"`     // nil without GPUs
}

type aboutDivision struct {
	Processors int   `json:"processors"`
	GrainNs    int64 `json:"grain_ns"`
}

type aboutDomain struct {
	ID       string      `json:"id"`
	Kind     string      `json:"kind"`
	Parent   string      `json:"parent"`
	InTotal  bool        `json:"in_total"`
	Method   nemb.Method `json:"method"`
	Source   string      `json:"source"`
	PeriodNs int64       `json:"period_ns"`
	StepUj   nemb.Energy `json:"step_uj"`
	Lo       float64     `json:"lo"`
	Hi       float64     `json:"hi"`

	Habits *aboutHabits `json:"habits,omitempty"` // nil where its counter follows its power at once

	// What Divide tells.
	Program       bool    `json:"program,omitempty"`
	BaseW         float64 `json:"base_w,omitempty"`
	BaseLoW       float64 `json:"base_lo_w,omitempty"`
	BaseHiW       float64 `json:"base_hi_w,omitempty"`
	IdleShare     float64 `json:"idle_share,omitempty"`
	IdleShareMost float64 `json:"idle_share_most,omitempty"`
}

// aboutHabits are nemb.Habits, as far as readers need them: what the counter hides by sampling a part of the time alone
// is told with what the program used.
type aboutHabits struct {
	PeriodNs int64 `json:"period_ns"`
	WindowNs int64 `json:"window_ns"`
	DelayNs  int64 `json:"delay_ns"`
}

// Division is what a reader needs, besides the samples, to tell which part of the energy is
// the program's, as the report of the run does (nemb/attribute/windows).
type Division struct {
	// Domains are those of the sampler, with what is known of their idle power.
	Domains    []nemb.Domain
	Processors int // logical ones of the host, 0 where not known
	// Grain is by how much the processor times of two samples may be behind each other.
	Grain time.Duration
	// OthersUnknown is set where the samples do not have what other processes use: the program's part may be theirs,
	// and readers are told an idle power by which its lower bound is 0.
	OthersUnknown bool
}

// anyWatts is more than any machine draws.
const anyWatts = 1e9

// doubtOthers makes the program's part of a domain one that may be nothing.
func doubtOthers(d nemb.Domain) nemb.Domain {
	switch {
	case !d.ReadsMachine():
	case d.Base > 0:
		d.BaseHi = anyWatts
	default:
		d.IdleShare, d.IdleShareMost = max(d.IdleShare, 1e-9), 1
	}
	return d
}

func aboutRing(domains []nemb.Domain, division *Division, uses *aboutUses) ([]byte, error) {
	a := about{GPUs: uses, Domains: []aboutDomain{}, Topology: nemb.Topology(domains), Support: nemb.Support(domains)}
	a.Writer, _ = os.Executable()
	for i, d := range domains {
		lo, hi := d.Lo, d.Hi
		if hi == 0 { // a counter
			lo, hi = 1, 1
		}
		of := aboutDomain{ID: d.ID, Kind: d.Kind, Parent: d.Parent, InTotal: d.InTotal, Method: d.Method,
			Source: d.Source, PeriodNs: int64(d.Period), StepUj: d.Step, Lo: lo, Hi: hi}
		if h := d.Habits; h.Origin != nemb.HabitsUnknown && h.Period > 0 && (h.Delay > 0 || h.Window > h.Period) {
			of.Habits = &aboutHabits{int64(h.Period), int64(h.Window), int64(h.Delay)}
		}
		if division != nil {
			with := division.Domains[i]
			with.UseRemembered()
			if division.OthersUnknown {
				with = doubtOthers(with)
			}
			of.Program, of.BaseW, of.BaseLoW, of.BaseHiW = with.Program, with.Base, with.BaseLo, with.BaseHi
			of.IdleShare, of.IdleShareMost = with.IdleShare, with.IdleShareMost
		}
		a.Domains = append(a.Domains, of)
	}
	if division != nil {
		a.Division = &aboutDivision{division.Processors, int64(division.Grain)}
	}
	return json.Marshal(a)
}

// newRing makes a ring in memory that other processes can only read.
func newRing(domains []nemb.Domain, clock checkpoint.Clock, interval time.Duration, slots int,
	reasons []GPUReason) (*ring, error) {
	n := len(domains)
	r := &ring{stride: 8 * (ringFixed + n), slots: uint64(slots), about: ringHeader + ringDomain*n,
		uses: usesOf(domains, reasons)}
	text, err := aboutRing(domains, nil, r.uses.about)
	if err != nil {
		return nil, fmt.Errorf("sample ring: %w", err)
	}
	room := len(text) + divisionRoom + domainRoom*n + usesRoom
	r.at = r.about + (room+8)/8*8 // a zero byte at least
	size := r.uses.place(r.at + slots*r.stride)
	if text, err = aboutRing(domains, nil, r.uses.about); err != nil {
		return nil, fmt.Errorf("sample ring: %w", err)
	}
	if r.fd, r.memory, err = shared(ringName, size); err != nil {
		return nil, fmt.Errorf("sample ring: %w", err)
	}
	m := r.memory
	for i, v := range []uint32{ringVersion, uint32(r.at), uint32(clock), uint32(len(domains)), uint32(slots),
		uint32(r.stride)} {
		*(*uint32)(unsafe.Pointer(&m[8+4*i])) = v
	}
	*word(m, 32), *word(m, 40) = uint64(interval), uint64(os.Getpid())
	for i, d := range domains {
		record := m[ringHeader+ringDomain*i:]
		copy(record[:63], d.ID)
		copy(record[64:95], d.Kind)
		copy(record[96:111], d.Method)
		if d.InTotal {
			*word(record, 112) = 1
		}
	}
	copy(m[r.about:], text)
	copy(m, ringMagic)
	return r, nil
}

// word is the word at an offset, a multiple of 8 in memory that is aligned.
func word(memory []byte, at int) *uint64 { return (*uint64)(unsafe.Pointer(&memory[at])) }

// path is where other processes find the ring as long as it is open here.
func (r *ring) path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), r.fd) }

func (r *ring) slot(k uint64) []byte {
	at := r.at + int(k%r.slots)*r.stride
	return r.memory[at : at+r.stride]
}

// add writes a sample over the oldest. Go's atomic stores are in order.
func (r *ring) add(s nemb.Sample) {
	slot := r.slot(r.next)
	atomic.StoreUint64(word(slot, 0), 2*r.next+1)
	var flags uint64
	if s.Gap {
		flags |= ringGap
	}
	if s.Failed {
		flags |= ringFailed
	}
	for i, v := range []uint64{uint64(s.At), uint64(s.Time), flags, uint64(s.Usage.Program), uint64(s.Usage.Own),
		uint64(s.Usage.Other)} {
		atomic.StoreUint64(word(slot, 8+8*i), v)
	}
	for i, e := range s.Energy {
		atomic.StoreUint64(word(slot, 8*(ringFixed+i)), uint64(e))
	}
	atomic.StoreUint64(word(slot, 0), 2*r.next+2)
	r.next++
	atomic.StoreUint64(word(r.memory, ringHead), r.next)
}

// end tells readers that there will be no more.
func (r *ring) end() { atomic.StoreUint64(word(r.memory, ringEnded), 1) }

func (r *ring) close() {
	if r.memory != nil {
		unix.Munmap(r.memory)
	}
	unix.Close(r.fd)
}

// Share shows the samples that Poll and Stop return to other processes, as
// nemb/RING.md says, and returns the path at which these find them until Close. It
// is called before the first Poll.
func (s *Sampler) Share() (path string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ring == nil {
		if s.ring, err = newRing(s.domains, s.config.Clock, s.config.Interval,
			cmp.Or(s.config.Slots, ringSlots), s.config.GPUReasons); err != nil {
			return "", err
		}
	}
	return s.ring.path(), nil
}

// Divide tells readers of the ring how to divide its energies: before the program is
// started. Without it they know of no program. Where nothing is shared it does nothing.
func (s *Sampler) Divide(division Division) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ring == nil {
		return nil
	}
	return s.ring.divide(s.domains, division)
}

// Close takes back what Share gave. Who has mapped it keeps it.
func (s *Sampler) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ring != nil {
		s.ring.close()
		s.ring = nil
	}
}

// Ring reads the samples that another process shares. It is for one goroutine.
type Ring struct {
	Domains  []nemb.Domain // ID, Kind, Method and InTotal
	Clock    checkpoint.Clock
	Interval time.Duration
	PID      int    // who measures
	Lost     uint64 // samples that were written over before Next came to them

	memory []byte
	at     int
	stride int
	slots  uint64
	next   uint64
}

// FindRing returns the path of the ring that a process shares, or else the
// nearest of those that started it: a program that cg measures finds that of
// its run from its own pid, with nothing in its environment. An error that is
// fs.ErrNotExist says that there is none.
func FindRing(pid int) (string, error) {
	for from := pid; pid > 0; {
		dir := "/proc/" + strconv.Itoa(pid)
		files, err := os.ReadDir(dir + "/fd")
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			return "", fmt.Errorf("sample ring: of process %d: %w", from, err)
		}
		for _, f := range files {
			if to, _ := os.Readlink(dir + "/fd/" + f.Name()); to == "/memfd:"+ringName+" (deleted)" {
				return dir + "/fd/" + f.Name(), nil
			}
		}
		parent, ok := account.Parent(pid)
		if !ok {
			break
		}
		pid = parent
	}
	return "", fmt.Errorf("sample ring: no process above shares one: %w", fs.ErrNotExist)
}

// OpenRing opens what Share or FindRing tells. Next begins with the oldest sample that
// is still there.
func OpenRing(path string) (*Ring, error) {
	refuse := func(format string, args ...any) (*Ring, error) {
		return nil, fmt.Errorf("sample ring: %s: "+format, append([]any{path}, args...)...)
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return refuse("%w", err)
	}
	defer unix.Close(fd)
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return refuse("%w", err)
	}
	if info.Size < ringHeader || info.Size > 1<<30 {
		return refuse("%d bytes: not a sample ring", info.Size)
	}
	memory, err := unix.Mmap(fd, 0, int(info.Size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return refuse("%w", err)
	}
	r, err := parseRing(memory)
	if err != nil {
		unix.Munmap(memory)
		return refuse("%w", err)
	}
	return r, nil
}

var errNoRing = errors.New("not a sample ring")

// parseRing reads the header and checks that all that it tells lies inside.
func parseRing(memory []byte) (*Ring, error) {
	if len(memory) < ringHeader || string(memory[:8]) != ringMagic {
		return nil, errNoRing
	}
	var head [6]uint32
	for i := range head {
		head[i] = *(*uint32)(unsafe.Pointer(&memory[8+4*i]))
	}
	if head[0] != ringVersion {
		return nil, fmt.Errorf("version %d of the sample ring: this is version %d", head[0], ringVersion)
	}
	at, domains, slots, stride := uint64(head[1]), uint64(head[3]), uint64(head[4]), uint64(head[5])
	size := uint64(len(memory))
	if at%8 != 0 || at < ringHeader+ringDomain*domains || slots == 0 || stride != 8*(ringFixed+domains) || at > size ||
		slots > (size-at)/stride {
		return nil, errNoRing
	}
	r := &Ring{
		Clock: checkpoint.Clock(head[2]), Interval: time.Duration(*word(memory, 32)), PID: int(*word(memory, 40)),
		memory: memory, at: int(at), stride: int(stride), slots: slots,
	}
	text := func(b []byte) string { s, _, _ := strings.Cut(string(b), "\x00"); return s }
	for i := range int(domains) {
		record := memory[ringHeader+ringDomain*i:]
		r.Domains = append(r.Domains, nemb.Domain{
			ID: text(record[:64]), Kind: text(record[64:96]), Method: nemb.Method(text(record[96:112])),
			InTotal: *word(record, 112)&1 != 0,
		})
	}
	if n := atomic.LoadUint64(word(memory, ringHead)); n > slots {
		r.next = n - slots
	}
	return r, nil
}

// Next returns the samples since the last Next, oldest first. Those that were
// written over meanwhile are counted in Lost, and the next one is a gap.
func (r *Ring) Next() []nemb.Sample {
	var all []nemb.Sample
	missing := false
	for {
		head := atomic.LoadUint64(word(r.memory, ringHead))
		if head > r.slots && r.next < head-r.slots {
			r.Lost += head - r.slots - r.next
			r.next, missing = head-r.slots, true
		}
		if r.next >= head {
			return all
		}
		s, ok := r.sample(r.next)
		r.next++
		if !ok {
			r.Lost++
			missing = true
			continue
		}
		s.Gap = s.Gap || missing
		missing = false
		all = append(all, s)
	}
}

// Latest returns the newest sample, and leaves Next where it is; false before
// the first.
func (r *Ring) Latest() (nemb.Sample, bool) {
	for range 1000 { // each time, the writer went round while it was copied
		head := atomic.LoadUint64(word(r.memory, ringHead))
		if head == 0 {
			return nemb.Sample{}, false
		}
		if s, ok := r.sample(head - 1); ok {
			return s, true
		}
	}
	return nemb.Sample{}, false
}

// sample copies sample k; false when it was written over.
func (r *Ring) sample(k uint64) (nemb.Sample, bool) {
	at := r.at + int(k%r.slots)*r.stride
	slot := r.memory[at : at+r.stride]
	load := func(i int) uint64 { return atomic.LoadUint64(word(slot, 8*i)) }
	if load(0) != 2*k+2 {
		return nemb.Sample{}, false
	}
	s := nemb.Sample{At: checkpoint.Tick(load(1)), Time: checkpoint.Instant(load(2)),
		Energy: make([]nemb.Energy, len(r.Domains))}
	flags := load(3)
	s.Gap, s.Failed = flags&ringGap != 0, flags&ringFailed != 0
	s.Usage = account.Usage{Program: time.Duration(load(4)), Own: time.Duration(load(5)), Other: time.Duration(load(6))}
	for i := range s.Energy {
		s.Energy[i] = nemb.Energy(load(ringFixed + i))
	}
	return s, load(0) == 2*k+2
}

// Ended tells whether there will be no more samples: the writer said so, or is
// gone.
func (r *Ring) Ended() bool {
	return atomic.LoadUint64(word(r.memory, ringEnded)) != 0 || account.Gone(r.PID)
}

// Close ends the reading.
func (r *Ring) Close() error {
	if r.memory == nil {
		return fmt.Errorf("sample ring: %w", fs.ErrClosed)
	}
	err := unix.Munmap(r.memory)
	r.memory = nil
	return err
}
