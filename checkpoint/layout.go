package checkpoint

import "unsafe"

// Version is that of FORMAT.md. A writer and a reader of different versions refuse each other.
const Version = 4

// The layout of the channel in shared memory, as FORMAT.md specifies it.
const (
	magic      = 0x48434743 // "CGCH"
	version    = Version
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
	slotMask   = uint64(1)<<62 - 1  // the bits of a slot that count
	files      = 1 << 16
	fileBytes  = files * 16
	nameBytes  = 32 << 20
	probes     = 128 // slots in which a file may be found

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
	trees, words                       uint32
	long                               uint64
	budget, _                          uint32
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
	treeMagic    = 0x52544743 // "CGTR"
	treeVersion  = 4
	windows      = 8
	blockNodes   = 16 // that one byte of touched stands for
	longRecords  = 64
	wholeCall    = 64 // what a call adds to a bin that stands for itself
	alwaysBusy   = 1 << 16
	forestStates = 64 // where they begin

	// In memory: addresses, of which pages are used.
	trees         = 4096
	treeNodes     = 1 << 20
	treeFunctions = 1 << 14
	// In a file, all of which is reserved: 75 MB.
	fileTrees     = 64
	fileNodes     = 4096
	fileFunctions = 256
	treesName     = 1

	placeNode SiteID = 1 << 31 // in the site of a node

	flagPaths = 128  // a tree of paths alone
	flagWarms = 256  // of a program that is compiled as it runs
	flagAdded = 512  // a chunk whose events are in a tree, too
	flagOther = 1024 // a tree whose nodes have others
)

type forestHead struct {
	magic, version, trees, nodes, windows, functions uint32
	each                                             uint64
}

// forestLayout is where the first tree begins, and how many bytes each has.
func forestLayout(trees, nodes, functions int) (first, each int64) {
	return int64(wholePages(forestStates + 4*trees)), int64(timesAt(nodes) + wholePages(functions*treeTimesBytes))
}

func wholePages(n int) int { return (n + page - 1) &^ (page - 1) }

// timesAt is where the times of functions begin in a tree of so many nodes.
func timesAt(nodes int) int {
	return wholePages(page+windows*nodes/blockNodes) + wholePages(nodes*treeNodeBytes)
}

type treeWindow struct {
	epoch, begin, last uint64
	top, counting      uint32
}

type treeNode struct {
	site, parent uint32
	_            uint64
	calls, born  uint64
	away         int64
	awayTicks    uint64
	longest      uint64
	_            uint32
	others       int32
	ticks        [windows]uint64
	counted      [windows]uint32
	drawn        [2]uint64
	drawnTicks   [2]uint64
}

// treeTimes is how long calls of a function took.
type treeTimes struct {
	site, _               uint32
	exact, drawn, squares uint64
	least, most           uint64
	_                     [2]uint64
	bins                  [TimeBins]uint64
}

type treeLong struct {
	enter, exit uint64
	node, _     uint32
	_           uint64
}

// threadName is how many bytes a thread's name has at most.
const threadName = 60

// treeHead is the first page of a tree.
type treeHead struct {
	head    chunk
	paths   uint32
	counted uint32 // cost of an event that is not timed
	lasting uint32 // ticks from which on an interval that is drawn is a long one
	_       uint32
	used    uint64 // 80: ns of processor time from the fork of the process to the first event
	_       [10]uint32
	place   uint64 // 128
	events  uint64
	unwound uint64
	closed  uint64
	aways   uint64
	window  uint64 // 168
	count   uint32
	timed   uint32 // functions that have times
	longs   uint64
	taken   uint64 // 192
	busy, _ uint32
	_       [6]uint64
	windows [windows]treeWindow // 256
	joined  uint64
	_       [7]uint64
	long    [longRecords]treeLong // 576
	// Ticks between events that are timed, with some between that are not.
	stretches [windows]uint64 // 2624
	named     uint32          // bytes of name
	name      [threadName]byte
	_         [page - 2752]byte
}

const (
	treeNodeBytes  = int(unsafe.Sizeof(treeNode{}))
	treeTimesBytes = int(unsafe.Sizeof(treeTimes{}))
)

// The sizes that FORMAT.md gives.
var (
	_ [0]struct{} = [unsafe.Sizeof(treeHead{}) - page]struct{}{}
	_ [0]struct{} = [treeNodeBytes - 192]struct{}{}
	_ [0]struct{} = [treeTimesBytes - 1472]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(treeTimes{}.squares) - 24]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(treeTimes{}.bins) - 64]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(treeHead{}.used) - 80]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(treeHead{}.timed) - 180]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(treeHead{}.long) - 576]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(treeHead{}.taken) - 192]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(treeHead{}.busy) - 200]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(treeHead{}.stretches) - 2624]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(treeHead{}.named) - 2688]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(treeNode{}.drawn) - 160]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(header{}.budget) - 336]struct{}{}
)

// A treePlace is where a thread is in its tree: the low 40 bits of the tick of
// its latest event, and the node that it is in since.
type treePlace uint64

func (p treePlace) low() Tick    { return Tick(p >> tickShift) }
func (p treePlace) node() uint32 { return uint32(p & (1<<tickShift - 1)) }

func (c *Channel) offset(i int) int {
	return page + (len(c.state)*4+page-1)&^(page-1) + i*chunkBytes
}

func (c *Channel) chunk(i int) *chunk {
	return (*chunk)(unsafe.Add(c.chunks, i*chunkBytes))
}

func (c *Channel) words(i int) []Word {
	return unsafe.Slice((*Word)(unsafe.Add(c.chunks, i*chunkBytes+chunkHead)), chunkWords)
}
