package checkpoint

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Channel is the reading side: cg creates it, hands its Path to the program,
// and drains it until the program has ended. Methods are for one goroutine,
// except Path and Take.
type Channel struct {
	fd       int
	path     string
	mem      []byte
	head     *header
	state    []uint32
	chunks   unsafe.Pointer
	table    []uint64 // by site
	files    []file
	names    []byte
	reported []bool // per file: Files has given it
	next     []int  // per chunk: words already taken
	gone     []bool // per chunk: its writer has ended without releasing it
	current  map[source]uint64
	damage
	live []liveChunk
	conversion
	lastSearch Instant // for threads that have ended
	toldBusy   Instant
	space      uint64 // our pid namespace
	forest     *forest
}

// fileChunks is the size of a channel in a file.
const fileChunks = 256

// proc is where the descriptors of a process are found; for tests.
var proc = "/proc"

// New creates a channel of n chunks (DefaultChunks if n is 0) in anonymous
// shared memory (memfd_create(2)).
func New(clock Clock, n int) (*Channel, error) { return NewIn(clock, n, "") }

// NewIn is New, and where /proc does not show that memory to the program the
// channel is a file in dir: a smaller one with all of its room reserved, since
// a disk that is full later would kill the program.
func NewIn(clock Clock, n int, dir string) (*Channel, error) {
	if n == 0 {
		n = DefaultChunks
	}
	fd, err := unix.MemfdCreate("cg-channel", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: memfd_create: %w", err)
	}
	path := proc + "/" + strconv.Itoa(os.Getpid()) + "/fd/" + strconv.Itoa(fd)
	reserve := unix.Ftruncate
	if dir != "" && unix.Access(path, unix.F_OK) != nil {
		unix.Close(fd)
		path, n = filepath.Join(dir, "channel"), min(n, fileChunks)
		if fd, err = unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600); err != nil {
			return nil, fmt.Errorf("checkpoint: %s: %w", path, err)
		}
		reserve = func(fd int, size int64) error { return unix.Fallocate(fd, 0, 0, size) }
	}
	states := (n*4 + page - 1) &^ (page - 1)
	table := page + states + n*chunkBytes
	slots := table + tableBytes
	size := slots + fileBytes + nameBytes
	if err := reserve(fd, int64(size)); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("checkpoint: channel of %d bytes: %w", size, err)
	}
	// Nobody can cut the memory below the reader; a file has no seals.
	_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	sealed := err == nil
	mem, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("checkpoint: channel of %d bytes: mmap: %w", size, err)
	}
	c := &Channel{
		fd:         fd,
		path:       path,
		mem:        mem,
		head:       (*header)(unsafe.Pointer(&mem[0])),
		state:      unsafe.Slice((*uint32)(unsafe.Pointer(&mem[page])), n),
		chunks:     unsafe.Pointer(&mem[page+states]),
		table:      unsafe.Slice((*uint64)(unsafe.Pointer(&mem[table])), SiteLimit),
		files:      unsafe.Slice((*file)(unsafe.Pointer(&mem[slots])), files),
		names:      mem[slots+fileBytes:],
		reported:   make([]bool, files),
		next:       make([]int, n),
		gone:       make([]bool, n),
		current:    map[source]uint64{},
		conversion: conversion{clock: clock, forkTicks: map[uint64]Tick{}},
	}
	c.sealed, c.bad = sealed, make([]bool, n)
	h := c.head
	h.version, h.chunks, h.chunkBytes = version, uint32(n), chunkBytes
	h.clock, h.reader = uint32(clock), uint32(os.Getpid())
	h.limit = uint64(max(1, min(backlog, n/2)))
	h.named = 8
	var st unix.Stat_t
	if unix.Stat("/proc/self/ns/pid", &st) == nil {
		c.space = st.Ino
	}
	c.began = c.moment()
	c.latest = c.began
	c.Stamp()
	h.long = ^uint64(0)
	if path == filepath.Join(dir, "channel") {
		if c.forest = newForestIn(dir, treesName, fileTrees, fileNodes, fileFunctions); c.forest != nil {
			h.trees = treesName
		}
	} else if c.forest = newForest(trees, treeNodes, treeFunctions); c.forest != nil {
		h.trees = uint32(c.forest.fd)
	}
	atomic.StoreUint32(&h.magic, magic)
	return c, nil
}

// Path is the file that the program opens. It lasts as long as the channel
// and this process.
func (c *Channel) Path() string { return c.path }

// Clock is the clock that stamps the words.
func (c *Channel) Clock() Clock { return c.clock }

// Stamp writes the relation between ticks and CLOCK_MONOTONIC into the header,
// for writers that cannot read the cycle counter. The rate is taken over the
// time since the last Stamp once that is long enough to be exact to 20 ppm.
func (c *Channel) Stamp() { c.touch(c.stamp) }

func (c *Channel) stamp() {
	at := c.moment()
	tick, now := uint64(at.tick), uint64(at.nanos)
	h := c.head
	rate := h.rate
	if c.clock == Monotonic {
		rate = 1 << 32
	} else if since := now - h.nanos; h.nanos != 0 && since >= uint64(5*time.Millisecond) && since < uint64(time.Hour) {
		rate = uint64(float64(tick-h.tick) / float64(since) * (1 << 32))
	} else if h.nanos != 0 {
		return
	}
	atomic.AddUint64(&h.stamp, 1)
	atomic.StoreUint64(&h.tick, tick)
	atomic.StoreUint64(&h.nanos, now)
	atomic.StoreUint64(&h.rate, rate)
	atomic.AddUint64(&h.stamp, 1)
}

// Lost is the number of events that writers could not write.
func (c *Channel) Lost() (n uint64) {
	c.touch(func() { n = atomic.LoadUint64(&c.head.lost) })
	return n
}

// Slot is what the program has left in the table of sites for a number, 0 if nothing:
// of a span, how often it did its work, and for its next numbers its nanoseconds and when
// it paused and went on.
func (c *Channel) Slot(site SiteID) (n uint64) {
	c.touch(func() { n = atomic.LoadUint64(&c.table[site]) & slotMask })
	return n
}

// Waits is how often a writer found no free chunk and waited.
func (c *Channel) Waits() (n uint64) {
	c.touch(func() { n = atomic.LoadUint64(&c.head.waits) })
	return n
}

// WriteWords asks writers that add up to write each event as a word, too. Call it
// before the program starts.
func (c *Channel) WriteWords() { c.head.words = 1 }

// SetLong asks for records of the calls that take so many ticks or more.
func (c *Channel) SetLong(ticks uint64) { c.touch(func() { atomic.StoreUint64(&c.head.long, ticks) }) }

// SetBudget says which part of the program's time checkpoints may take: writers time as
// many events as that allows, and count the others. 0: they time each. Call it before the
// program starts.
func (c *Channel) SetBudget(part float64) {
	c.head.budget = 0
	if part > 0 {
		c.head.budget = uint32(min(max(1, math.Round(1000*part)), 1000))
	}
}

// Epoch is where the sampler writes the tick of its newest sample.
func (c *Channel) Epoch() *uint64 { return &c.head.epoch }

// SummingThreads is how many threads have begun to add up themselves, and how many
// trees are in use now.
func (c *Channel) SummingThreads() (all, now int) {
	if c.forest == nil {
		return 0, 0
	}
	return c.forest.used, c.forest.live
}

// RefusedTrees is how many trees hold what no writer writes; what they tell from
// there on is not read.
func (c *Channel) RefusedTrees() int {
	if c.forest == nil {
		return 0
	}
	return c.forest.refused
}

// StopReading tells writers that nobody reads any more.
func (c *Channel) StopReading() { c.touch(func() { atomic.StoreUint64(&c.head.closed, 1) }) }

// Close tells writers that nobody reads any more and unmaps the channel.
func (c *Channel) Close() error {
	c.StopReading()
	c.forest.close()
	err := unix.Munmap(c.mem)
	if e := unix.Close(c.fd); err == nil {
		err = e
	}
	c.head, c.state, c.table, c.files, c.names, c.mem = nil, nil, nil, nil, nil, nil
	return err
}
