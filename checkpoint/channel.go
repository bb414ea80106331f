package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The layout that FORMAT.md specifies.
const (
	magic      = 0x48434743 // "CGCH"
	version    = 3
	page       = 4096
	chunkBytes = 64 << 10
	chunkHead  = 64
	chunkWords = (chunkBytes - chunkHead) / 8

	stateFree  = 0
	stateOwned = 1
	stateFull  = 2

	flagFirst  = 1
	flagResync = 2
	flagForked = 4
	flagTaken  = 8  // by Take: its writer does not count full chunks
	flagSums   = 16 // its words are sums
	flagFollow = 32 // strand words tell whose its words are
	flagImage  = 64 // first chunk of a program

	tableBytes = int(SiteLimit) * 8 // a slot for each site
	files      = 1 << 16
	fileBytes  = files * 16
	nameBytes  = 32 << 20
	probes     = 128             // slots in which a file may be found
	demoted    = uint64(1) << 63 // in a slot: count the site's calls, do not time them
	countMask  = uint64(1)<<62 - 1

	// DefaultChunks is how many threads can write at a time. Their 128 MiB are
	// address space; writers use the lowest chunks, and memory is what they use.
	DefaultChunks = 2048
	// backlog is how many full chunks may wait for the reader, 16 MiB: room
	// for 26 ms of the fastest single writer.
	backlog = 256
)

// Bits of a word: tick[39:0] | kind[2:0] | site[20:0].
const (
	tickShift = 24
	kindShift = 21
	siteMask  = uint64(SiteLimit) - 1
	kindMask  = 7
	// Fork is the kind of the control word (site 0) that a thread writes
	// immediately before fork(2).
	Fork Kind = 7
	// Strand is the kind of the control word that tells whose stack the
	// thread's next words belong to. Its site is the strand's number, or with
	// Wide its low 20 bits: then the next word holds the others above the kind.
	Strand Kind = 6
	// Wide is the bit of a strand word's site that says that another follows.
	Wide SiteID = 1 << 20
)

// Word packs an event. Only the low 40 bits of the tick are kept.
func Word(at Tick, kind Kind, site SiteID) uint64 {
	return uint64(at)<<tickShift | uint64(kind&kindMask)<<kindShift | uint64(site)&siteMask
}

// Unpack splits a word; low holds the low 40 bits of the tick.
func Unpack(w uint64) (low uint64, kind Kind, site SiteID) {
	return w >> tickShift, Kind(w >> kindShift & kindMask), SiteID(w & siteMask)
}

type header struct {
	magic, version, chunks, chunkBytes uint32
	clock, reader                      uint32
	closed                             uint64
	stamp                              uint64 // seqlock over the next three
	tick, nanos                        uint64
	rate                               uint64 // ticks per nanosecond, 32.32 fixed point
	head                               uint64
	_                                  [7]uint64
	lost, waits                        uint64
	full, limit                        uint64
	_                                  [4]uint64
	given, named                       uint64
	_                                  [6]uint64
	epoch                              uint64
	_                                  [7]uint64
	trees, addUp                       uint32
}

// file is a slot of the table of files.
type file struct {
	key   uint64
	value uint64 // offset / 8 << 42 | base << 21 | count
}

type chunk struct {
	seq                  uint64
	tick                 uint64
	pid, tid             uint32
	flags, cost          uint32
	parentPID, parentTID uint32
	forkTick             uint64
	lost                 uint64
	pidSpace             uint64
}

// Run is what one thread wrote into one chunk and nobody has taken yet.
type Run struct {
	Thread Thread
	// First is set on the first words of a thread: whatever an earlier thread
	// of the same ids left open is over.
	First bool
	// Lost counts the events that this thread could not write before these
	// words; its stack is unknown then and starts empty.
	Lost uint64
	// Forked is set with First in a process made by fork(2): the thread goes
	// on with the stack that Parent had at its Fork word of tick ForkTick.
	Forked   bool
	Parent   Thread
	ForkTick Tick
	// Start is the full tick at which the chunk was taken. It precedes every
	// word of the chunk.
	Start Tick
	// Words are raw words in the order of writing; none is 0.
	Words []uint64
	// Cost is the time in ticks that each of them took its thread, half of it
	// before the word's tick and half after; 0 where the writer does not tell.
	Cost float64
	// Strands is set where strand words tell whose stack the words belong to.
	// Image is set with First when the program has just begun: the strands of
	// an earlier program of this process are gone.
	Strands, Image bool
	// Last is set when the thread has ended and wrote nothing after Words.
	Last bool
	// Tally is set, and Words is empty, where the thread adds up itself.
	Tally *Tally
}

// Channel is the reading side: cg creates it, hands its Path to the program,
// and drains it until the program has ended. Methods are for one goroutine,
// except Path and Take.
type Channel struct {
	fd      int
	path    string
	mem     []byte
	head    *header
	state   []uint32
	chunks  unsafe.Pointer
	table   []uint64 // by site
	files   []file
	names   []byte
	told    []bool // per file: Files has told it
	next    []int  // per chunk: words already taken
	gone    []bool // per chunk: its writer has ended without releasing it
	current map[Thread]uint64
	damage
	live   []liveChunk
	looked Instant
	clock  Clock
	space  uint64 // our pid namespace
	forest *forest

	// Of chunks of sums: both clocks at a first and at the last moment, the
	// words of a run taken apart, and the ticks of the latest fork words by
	// their nanoseconds.
	began, latest moment
	apart         []uint64
	forkTicks     map[uint64]Tick
	forkOrder     []uint64
}

// moment is one moment on both clocks.
type moment struct {
	tick  Tick
	nanos Instant
}

type liveChunk struct {
	seq   uint64
	index int
	state uint32
	tree  bool // it is a tree
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
		fd:      fd,
		path:    path,
		mem:     mem,
		head:    (*header)(unsafe.Pointer(&mem[0])),
		state:   unsafe.Slice((*uint32)(unsafe.Pointer(&mem[page])), n),
		chunks:  unsafe.Pointer(&mem[page+states]),
		table:   unsafe.Slice((*uint64)(unsafe.Pointer(&mem[table])), SiteLimit),
		files:   unsafe.Slice((*file)(unsafe.Pointer(&mem[slots])), files),
		names:   mem[slots+fileBytes:],
		told:    make([]bool, files),
		next:    make([]int, n),
		gone:    make([]bool, n),
		current: map[Thread]uint64{},
		clock:   clock,

		forkTicks: map[uint64]Tick{},
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
	if c.forest = plant(); c.forest != nil && path != proc+"/"+strconv.Itoa(os.Getpid())+"/fd/"+strconv.Itoa(fd) {
		c.forest.close()
		c.forest = nil
	}
	if c.forest != nil {
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

// Demote asks the writers to count the calls of a site from now on instead of
// timing them. Words of calls that run now may still come.
func (c *Channel) Demote(site SiteID) { c.touch(func() { atomic.OrUint64(&c.table[site], demoted) }) }

// Counted is how many calls of a site were counted since it was demoted.
func (c *Channel) Counted(site SiteID) (n uint64) {
	c.touch(func() { n = atomic.LoadUint64(&c.table[site]) & countMask })
	return n
}

// Waits is how often a writer found no free chunk and waited.
func (c *Channel) Waits() (n uint64) {
	c.touch(func() { n = atomic.LoadUint64(&c.head.waits) })
	return n
}

// ErrFull says that no chunk is free.
var ErrFull = errors.New("checkpoint: the channel is full")

// Request asks for a chunk on behalf of a writer; the fields are as in Run.
type Request struct {
	Thread   Thread
	First    bool
	Parent   Thread // of a thread that fork(2) made, else zero
	ForkTick Tick
	Lost     uint64 // since the thread's last chunk
	New      uint64 // of these, since its last request
	Sums     bool   // words are sums, and ForkTick is in nanoseconds
}

// Take reserves a chunk on behalf of a writer that has no atomic operations
// and returns the offset of its header in the file. The writer stores state 2
// when it has done with it.
func (c *Channel) Take(r Request) (offset int, err error) {
	offsets, err := c.TakeSome(r, 1)
	if err != nil {
		return 0, err
	}
	return offsets[0], nil
}

// TakeSome is Take for a writer that will fill several chunks, one behind the
// other, in the order of the offsets: at most n, and only one while other
// threads may need what is left.
func (c *Channel) TakeSome(r Request, n int) (offsets []int, err error) {
	err = ErrFull
	c.touch(func() { offsets, err = c.takeSome(r, n) })
	return offsets, err
}

func (c *Channel) takeSome(r Request, n int) (offsets []int, err error) {
	c.AddLost(r.New)
	// A thread asks again when a signal handler kept it from hearing the
	// answer: the chunks it does not know of would hold up its later ones.
	type held struct {
		seq    uint64
		offset int
	}
	var unheard []held
	free := 0
	for i := range c.state {
		switch atomic.LoadUint32(&c.state[i]) {
		case stateFree:
			free++
		case stateOwned:
			h, words := c.chunk(i), c.words(i)
			if r.Sums && !r.First && h.flags&flagSums != 0 && h.pid == r.Thread.PID && h.tid == r.Thread.TID && words[0] == 0 && words[1] == 0 {
				unheard = append(unheard, held{h.seq, c.offset(i)})
			}
		}
	}
	if len(unheard) > 0 {
		slices.SortFunc(unheard, func(a, b held) int { return cmp.Compare(a.seq, b.seq) })
		for _, u := range unheard {
			offsets = append(offsets, u.offset)
		}
		return offsets, nil
	}
	if free < len(c.state)*3/4 {
		n = 1
	}
	for i := range c.state {
		if len(offsets) == n {
			break
		}
		if !atomic.CompareAndSwapUint32(&c.state[i], stateFree, stateOwned) {
			continue
		}
		h := c.chunk(i)
		h.tick, h.pid, h.tid = uint64(c.clock.Now()), r.Thread.PID, r.Thread.TID
		h.pidSpace = c.space
		h.flags = flagTaken
		if r.Sums {
			h.flags |= flagSums
		}
		if len(offsets) == 0 {
			if r.First {
				h.flags |= flagFirst
			}
			if r.First && r.Parent != (Thread{}) {
				h.flags |= flagForked
				h.parentPID, h.parentTID, h.forkTick = r.Parent.PID, r.Parent.TID, uint64(r.ForkTick)
			}
			if r.Lost > 0 {
				h.flags |= flagResync
				h.lost = r.Lost
			}
		}
		atomic.StoreUint64(&h.seq, atomic.AddUint64(&c.head.head, 1))
		offsets = append(offsets, c.offset(i))
	}
	if len(offsets) == 0 {
		return nil, ErrFull
	}
	return offsets, nil
}

// AddLost adds to the number of events that writers could not write.
func (c *Channel) AddLost(n uint64) { c.touch(func() { atomic.AddUint64(&c.head.lost, n) }) }

func (c *Channel) offset(i int) int {
	return page + (len(c.state)*4+page-1)&^(page-1) + i*chunkBytes
}

func (c *Channel) chunk(i int) *chunk {
	return (*chunk)(unsafe.Add(c.chunks, i*chunkBytes))
}

func (c *Channel) words(i int) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Add(c.chunks, i*chunkBytes+chunkHead)), chunkWords)
}

// Drain hands every unread run to fold, each thread's runs in the order of
// writing, and frees the chunks that are done with. fold returns how many
// words it took; the rest is offered again by the next Drain, and so is
// everything the thread wrote later. Drain returns the number of words taken.
func (c *Channel) Drain(fold func(Run) int) (total int) {
	c.touch(func() { total = c.drain(fold) })
	return total
}

func (c *Channel) drain(fold func(Run) int) int {
	total := 0
	c.live = c.live[:0]
	// Chunks taken while the list is made wait for the next Drain: of two
	// such chunks of a thread, the list could miss the earlier one.
	numbered := atomic.LoadUint64(&c.head.head)
	latest := c.clock.Now() + ahead
	for i := range c.state {
		// The state is read before the words: a full chunk gets no more.
		if s := atomic.LoadUint32(&c.state[i]); s != stateFree {
			if seq := atomic.LoadUint64(&c.chunk(i).seq); seq != 0 && seq <= numbered && !c.spoilt(i, latest) {
				c.live = append(c.live, liveChunk{seq, i, s, false})
			}
		}
	}
	c.live = c.forest.list(c.live, numbered)
	slices.SortFunc(c.live, func(a, b liveChunk) int { return cmp.Compare(a.seq, b.seq) })
	c.findGone()
	for _, l := range c.live {
		h := c.headOf(l)
		thread := Thread{h.pid, h.tid}
		if l.tree && h.flags&flagBeside != 0 {
			total += c.drainTree(l, fold)
			continue
		}
		if cur := c.current[thread]; cur != 0 && cur != l.seq {
			if h.flags&flagFirst != 0 { // exec, or the ids were given out again
				c.abandon(cur)
			}
			continue
		}
		c.current[thread] = l.seq
		if l.tree {
			total += c.drainTree(l, fold)
			continue
		}
		from := c.next[l.index]
		words := c.words(l.index)[from:]
		n := slices.Index(words, 0)
		if n < 0 {
			n = len(words)
		}
		words = words[:n:n]
		if n > 0 && h.flags&flagSums != 0 {
			words = c.takeApart(words)
		}
		done := l.state == stateFull || c.gone[l.index]
		run := Run{
			Thread: thread,
			Start:  Tick(h.tick),
			Words:  words,
			Last:   done && from+n < chunkWords,
		}
		run.Cost = c.cost(h)
		run.Strands = h.flags&flagFollow != 0
		if from == 0 {
			run.Image = h.flags&flagImage != 0
			run.First = h.flags&flagFirst != 0
			run.Forked = h.flags&flagForked != 0
			run.Parent = Thread{h.parentPID, h.parentTID}
			run.ForkTick = Tick(h.forkTick)
			if run.Forked && h.flags&flagSums != 0 {
				run.ForkTick = c.forkTick(h.forkTick)
			}
			if h.flags&flagResync != 0 {
				run.Lost = h.lost
			}
		}
		taken := 0
		if n > 0 || done {
			taken = fold(run)
		}
		total += taken
		c.next[l.index] += taken
		if done && taken == n {
			c.free(l.index, thread)
		}
	}
	return total
}

// takeApart turns sums into words. A sum is kind and site, 40 bits up, plus
// the nanoseconds of CLOCK_MONOTONIC, which are the latest that are not in the
// future. They become ticks by where both clocks are now and their rate since
// the channel began.
func (c *Channel) takeApart(sums []uint64) []uint64 {
	c.latest = c.moment()
	c.apart = c.apart[:0]
	const low40 = 1<<40 - 1
	// A writer that was interrupted in an event writes its word again, behind the
	// moment above: so a second of what is to come is told, too.
	from := uint64(c.latest.nanos) + uint64(time.Second) - low40
	for _, s := range sums {
		bits, nanos := (s-from)>>40, (s-from)&low40+from
		var at Tick
		if Kind(bits>>kindShift&kindMask) == Fork {
			at = c.forkTick(nanos)
		} else {
			at = c.tickAt(nanos)
		}
		c.apart = append(c.apart, uint64(at)<<tickShift|bits)
	}
	return c.apart
}

func (c *Channel) tickAt(nanos uint64) Tick {
	if c.clock == Monotonic {
		return Tick(nanos)
	}
	rate := float64(c.latest.tick-c.began.tick) / float64(max(1, c.latest.nanos-c.began.nanos))
	return Tick(int64(c.latest.tick) - int64(float64(int64(uint64(c.latest.nanos)-nanos))*rate))
}

// forkTick is the tick of a fork word: always the same, since the child names
// the word by it.
func (c *Channel) forkTick(nanos uint64) Tick {
	t, ok := c.forkTicks[nanos]
	if !ok {
		t = c.tickAt(nanos)
		c.forkTicks[nanos] = t
		c.forkOrder = append(c.forkOrder, nanos)
		if len(c.forkOrder) > 4096 {
			delete(c.forkTicks, c.forkOrder[0])
			c.forkOrder = c.forkOrder[1:]
		}
	}
	return t
}

// moment reads both clocks, again if something came between.
func (c *Channel) moment() moment {
	var best moment
	least := Instant(1 << 62)
	for range 8 {
		a := Monotime()
		t := c.clock.Now()
		b := Monotime()
		if b-a < least {
			least, best = b-a, moment{t, a + (b-a)/2}
		}
		if least < 200 {
			break
		}
	}
	return best
}

// free gives a chunk back to the writers.
func (c *Channel) free(i int, thread Thread) {
	delete(c.current, thread)
	released := atomic.LoadUint32(&c.state[i]) == stateFull && c.chunk(i).flags&flagTaken == 0
	clear(unsafe.Slice((*uint64)(unsafe.Pointer(c.chunk(i))), chunkHead/8+c.next[i]))
	c.next[i], c.gone[i] = 0, false
	if released {
		atomic.AddUint64(&c.head.full, ^uint64(0))
	}
	atomic.StoreUint32(&c.state[i], stateFree)
}

func (c *Channel) abandon(seq uint64) {
	for _, l := range c.live {
		if l.seq == seq {
			*c.isGone(l) = true
		}
	}
}

// headOf is the header of a chunk, or of a tree, which begins like one.
func (c *Channel) headOf(l liveChunk) *chunk {
	if l.tree {
		return &c.forest.at(l.index).head
	}
	return c.chunk(l.index)
}

// isGone is the mark of a chunk or tree whose writer has ended without
// releasing it.
func (c *Channel) isGone(l liveChunk) *bool {
	if l.tree {
		return &c.forest.gone[l.index]
	}
	return &c.gone[l.index]
}

// findGone marks, ten times a second, the chunks whose writers were killed or
// ended without telling. Writers in another pid namespace have other numbers
// there than in our /proc: nothing can be said of them until the program ends.
func (c *Channel) findGone() {
	now := Monotime()
	if now-c.looked < Instant(100*time.Millisecond) {
		return
	}
	c.looked = now
	for _, l := range c.live {
		if l.state != stateOwned || *c.isGone(l) {
			continue
		}
		h := c.headOf(l)
		if h.pidSpace == 0 || h.pidSpace != c.space {
			continue
		}
		path := fmt.Sprintf("/proc/%d/task/%d", h.pid, h.tid)
		if err := unix.Access(path, unix.F_OK); err == unix.ENOENT {
			*c.isGone(l) = true
		}
	}
}

// Finish drains what the ended program left, whether released or not: call it
// once every writer is known to have ended.
func (c *Channel) Finish(fold func(Run) int) int {
	total := 0
	for i := range c.gone {
		c.gone[i] = true
	}
	c.forest.end()
	for {
		n := c.Drain(fold)
		total += n
		if n == 0 {
			c.touch(c.inspect)
			return total
		}
	}
}

// Leave tells writers that nobody reads any more.
func (c *Channel) Leave() { c.touch(func() { atomic.StoreUint64(&c.head.closed, 1) }) }

// Close tells writers that nobody reads any more and unmaps the channel.
func (c *Channel) Close() error {
	c.Leave()
	c.forest.close()
	err := unix.Munmap(c.mem)
	if e := unix.Close(c.fd); err == nil {
		err = e
	}
	c.head, c.state, c.table, c.files, c.names, c.mem = nil, nil, nil, nil, nil, nil
	return err
}

// Extend completes the low 40 bits of a tick to the latest full tick that is
// not after now. It is exact while words are read within 2^40 ticks (7 minutes
// at 2.5 GHz) of being written.
func Extend(low uint64, now Tick) Tick {
	t := uint64(now)&^(1<<40-1) | low
	if t > uint64(now) {
		t -= 1 << 40
	}
	return Tick(t)
}
