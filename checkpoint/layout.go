package checkpoint

import "unsafe"

// The layout of the channel in shared memory, as FORMAT.md specifies it.
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
	value uint64 // a fileValue
}

// A fileValue tells the numbers of a file's sites, base+1 to base+count, and
// where its names stand: offset / 8 << 42 | base << 21 | count.
type fileValue uint64

func newFileValue(offset uint64, base, count int) fileValue {
	return fileValue(offset/8<<42 | uint64(base)<<21 | uint64(count))
}

func (v fileValue) offset() uint64 { return uint64(v >> 42 * 8) }
func (v fileValue) base() int      { return int(v >> 21 & fileValue(siteMask)) }
func (v fileValue) count() int     { return int(v & fileValue(siteMask)) }

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

// The layout of trees that FORMAT.md specifies.
const (
	treeMagic   = 0x52544743 // "CGTR"
	treeVersion = 1
	trees       = 512
	treeNodes   = 16384
	windows     = 8

	flagUnknown  = 256 // what was open before the tree is not in it
	flagBothWays = 512 // for tests: its events are written, too
)

type treeWindow struct {
	epoch, begin, last uint64
	top, _             uint32
}

type treeNode struct {
	event, parent uint32
	_, _          uint32
	calls, born   uint64
}

type treeSpan struct{ outs, outTicks, backs, backTicks uint64 }

type tree struct {
	head     chunk
	baseTree uint64
	baseNode uint32
	_        uint32
	_        [6]uint64
	place    uint64 // 128
	events   uint64
	unwound  uint64
	closed   uint64
	spans    uint64
	window   uint64 // 168
	count    uint32
	_        [3]uint32
	taken    uint64 // 192
	_        [7]uint64
	windows  [windows]treeWindow // 256
	_        [page - 512]byte
	nodes    [treeNodes]treeNode // 4096
	ticks    [windows][treeNodes]uint64
	span     [treeNodes]treeSpan
}

// A treePlace is where a thread is in its tree: the low 40 bits of the tick of
// its latest event, and the node that it is in since.
type treePlace uint64

func (p treePlace) low() Tick    { return Tick(p >> tickShift) }
func (p treePlace) node() uint32 { return uint32(p & (1<<tickShift - 1)) }

const treeBytes = int(unsafe.Sizeof(tree{}))

func (c *Channel) offset(i int) int {
	return page + (len(c.state)*4+page-1)&^(page-1) + i*chunkBytes
}

func (c *Channel) chunk(i int) *chunk {
	return (*chunk)(unsafe.Add(c.chunks, i*chunkBytes))
}

func (c *Channel) words(i int) []Word {
	return unsafe.Slice((*Word)(unsafe.Add(c.chunks, i*chunkBytes+chunkHead)), chunkWords)
}

func (f *forest) at(i int) *tree {
	return (*tree)(unsafe.Pointer(&f.mem[page+i*treeBytes]))
}
