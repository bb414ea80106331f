package checkpoint

import (
	"fmt"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// damage is what was seen in a channel that no writer of cg's writes: the
// program can write where it likes in the memory that it shares.
type damage struct {
	sealed  bool        // nobody can cut the memory
	cut     atomic.Bool // it was cut, and zero pages are in its place
	bad     []bool      // per chunk: its header says what cannot be
	unread  int         // words that lie in such chunks, or behind chunks that are not there
	unnamed int         // entries of the table of files without names
	header  bool        // the header is another
}

// clockSkew is how much later than the reader's clock a chunk can have been taken,
// in ticks: more than the cycle counters of two processors differ by.
const clockSkew Tick = 1 << 30

// implausible reports whether the header of a chunk says what no writer says. Such a
// chunk is left alone: its words are of nobody knows whom, or when.
func (c *Channel) implausible(i int, latest Tick) bool {
	if c.bad[i] {
		return true
	}
	h := c.chunk(i)
	t := Tick(atomic.LoadUint64(&h.tick))
	c.bad[i] = t > latest || t+clockSkew < c.began.tick || h.pid == 0 || h.tid == 0
	return c.bad[i]
}

// inspect looks at what the reader left when everything should have been read.
func (c *Channel) inspect() {
	h := c.head
	c.header = h.magic != magic || h.version != version || int(h.chunks) != len(c.state) ||
		h.chunkBytes != chunkBytes || h.clock != uint32(c.clock)
	c.unread = 0
	numbered := atomic.LoadUint64(&h.head)
	for i := range c.state {
		if atomic.LoadUint32(&c.state[i]) == stateFree {
			continue // its memory may never have been touched, and is not now
		}
		if seq := atomic.LoadUint64(&c.chunk(i).seq); !c.bad[i] && (seq == 0 || seq <= numbered) {
			continue
		}
		for _, w := range c.words(i)[c.next[i]:] {
			if w != 0 {
				c.unread++
			}
		}
	}
}

// Damage says what was found in the channel that no writer writes, and "" where
// there was nothing. What is not part of it was read. Ask after Finish.
func (c *Channel) Damage() string {
	var what []string
	if c.cut.Load() {
		what = append(what, "its file was cut while it was in use")
	}
	if c.header {
		what = append(what, "its header was overwritten")
	}
	if n := marked(c.bad); n > 0 || c.unread > 0 {
		what = append(what,
			fmt.Sprintf("%d of its chunks cannot be of this run, and %d words were not read", n, c.unread))
	}
	if c.unnamed > 0 {
		what = append(what, fmt.Sprintf("the names of %d files cannot be read", c.unnamed))
	}
	return strings.Join(what, "; ")
}

func marked(marks []bool) (n int) {
	for _, m := range marks {
		if m {
			n++
		}
	}
	return n
}

// touch runs f, which reads and writes the shared memory. Where that is a file,
// and somebody has cut it, f ends at the first page that is gone (SIGBUS,
// mmap(2)), and from then on there are pages of zeros: what was read before
// stands.
func (c *Channel) touch(f func()) {
	if c.sealed {
		f()
		return
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		fault := recover()
		if fault == nil {
			return
		}
		at, ok := fault.(interface{ Addr() uintptr })
		if !ok {
			panic(fault)
		}
		begin, size := c.mapping(at.Addr())
		if size == 0 {
			panic(fault)
		}
		const flags = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_FIXED | unix.MAP_NORESERVE
		_, _, errno := unix.Syscall6(unix.SYS_MMAP, begin, size, unix.PROT_READ|unix.PROT_WRITE, flags, ^uintptr(0), 0)
		if errno != 0 {
			panic(fault)
		}
		c.cut.Store(true)
		clear(c.next)
		clear(c.gone)
	}()
	f()
}

// mapping is where the memory begins in which an address lies, and its size: the
// channel's, or that of the trees. The size is 0 for other addresses.
func (c *Channel) mapping(at uintptr) (begin, size uintptr) {
	all := [][]byte{c.mem}
	if c.forest != nil {
		all = append(all, c.forest.mem)
		for i := range c.forest.trees {
			all = append(all, c.forest.trees[i].mem)
		}
	}
	for _, mem := range all {
		if len(mem) == 0 {
			continue
		}
		if begin = uintptr(unsafe.Pointer(&mem[0])); at >= begin && at-begin < uintptr(len(mem)) {
			return begin, uintptr(len(mem))
		}
	}
	return 0, 0
}
