package checkpoint

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// taken gives a channel with a chunk of one thread that holds n words.
func taken(t *testing.T, c *Channel, thread Thread, n int) int {
	t.Helper()
	at, err := c.TakeChunk(Request{Thread: thread, First: true})
	if err != nil {
		t.Fatal(err)
	}
	i := (at - c.offset(0)) / chunkBytes
	for k := range n {
		c.words(i)[k] = Pack(c.clock.Now(), Kind(k%2), 1)
	}
	return i
}

// A channel that its program has written over gives what can be read, and says
// what cannot.
func TestDamage(t *testing.T) {
	const (
		one  = "1 of its chunks cannot be of this run, and 10 words were not read"
		none = "0 of its chunks cannot be of this run, and 10 words were not read"
	)
	tests := []struct {
		name  string
		spoil func(c *Channel, chunk int)
		want  string
		words int
	}{
		{"whole", func(*Channel, int) {}, "", 14},
		{"header", func(c *Channel, _ int) { c.head.magic = 0 }, "its header was overwritten", 14},
		{"a chunk of the future", func(c *Channel, i int) { c.chunk(i).tick = ^uint64(0) }, one, 4},
		{"a chunk of long ago", func(c *Channel, i int) { c.chunk(i).tick = 1 }, one, 4},
		{"a chunk of nobody", func(c *Channel, i int) { c.chunk(i).pid = 0 }, one, 4},
		{"a number that was not given", func(c *Channel, i int) { c.chunk(i).seq = 1 << 40 }, none, 4},
		{"names", func(c *Channel, _ int) {
			c.files[7].key, c.files[7].value = 7, 1<<42|1<<21|1
			binary.NativeEndian.PutUint64(c.names[8:], ^uint64(0))
		}, "the names of 1 files cannot be read", 14},
		{"a place for names beyond them", func(c *Channel, _ int) {
			atomic.StoreUint64(&c.head.named, ^uint64(7))
		}, "", 14},
		{"numbers beyond them", func(c *Channel, _ int) { atomic.StoreUint64(&c.head.given, ^uint64(0)) }, "", 14},
	}
	for _, tt := range tests {
		c := channel(t, 4)
		chunk := taken(t, c, Thread{1, 1}, 10)
		taken(t, c, Thread{1, 2}, 4)
		tt.spoil(c, chunk)
		words := 0
		words += c.Finish(func(r Run) int { return len(r.Words) })
		c.Files(func(string, string, string, int, int) {})
		for range 2 {
			if base, err := c.Number("m", "p", "l", 3); err == nil && (base < 0 || base > int(OwnSite)) {
				t.Errorf("%s: base %d", tt.name, base)
			}
			c.ReserveNumbers(3)
		}
		if got := c.Damage(); got != tt.want || words != tt.words {
			t.Errorf("%s: %q and %d words, want %q and %d", tt.name, got, words, tt.want, tt.words)
		}
	}
}

// Shared memory cannot be cut; a file can, and then the reader keeps what it
// has.
func TestCut(t *testing.T) {
	c := channel(t, 4)
	if err := os.Truncate(c.Path(), 4096); err == nil {
		t.Error("the memory could be cut")
	}
	defer func(was string) { proc = was }(proc)
	proc = t.TempDir()
	file, err := NewIn(SystemClock(), 16, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	taken(t, file, Thread{1, 1}, 10)
	if n := file.Drain(func(r Run) int { return len(r.Words) }); n != 10 {
		t.Fatalf("%d words", n)
	}
	if err := unix.Truncate(file.Path(), 0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		file.Drain(func(r Run) int { return len(r.Words) })
		file.Stamp()
		file.Files(func(string, string, string, int, int) {})
		file.Number("m", "p", "l", 3)
		file.ReserveNumbers(2)
		file.TakeChunks(Request{Thread: Thread{1, 3}, First: true}, 2)
		file.Slot(3)
		file.Lost()
		file.Waits()
	}
	file.Finish(func(r Run) int { return len(r.Words) })
	if d := file.Damage(); !strings.Contains(d, "cut") {
		t.Errorf("%q", d)
	}
}

// A fault of the reader's own is not taken for one of the file's.
func TestPanicsPass(t *testing.T) {
	defer func(was string) { proc = was }(proc)
	proc = t.TempDir()
	file, err := NewIn(SystemClock(), 16, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	taken(t, file, Thread{1, 1}, 10)
	defer func() {
		if recover() != "mine" {
			t.Error("the panic did not pass")
		}
	}()
	file.Drain(func(Run) int { panic("mine") })
}

// FuzzReader: whatever the program writes into the memory that it shares with
// the reader, the reader neither panics nor runs for ever, and hands over only
// what a thread can have written.
func FuzzReader(f *testing.F) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 8 {
		b := make([]byte, 200)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := New(Monotonic, fuzzChunks)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		w := &wild{T: t, c: c, b: b}
		for len(w.b) > 0 {
			if op := w.next(1); op%16 < 10 {
				w.scribble(op)
			} else {
				w.use(op)
			}
		}
		c.Finish(w.fold)
		c.Damage()
	})
}

const fuzzChunks = 4

// wild is a program that writes what its bytes say into the channel, and cg,
// which uses it when they say so.
type wild struct {
	*testing.T
	c     *Channel
	b     []byte
	words int
}

// next is the next n bytes as a number.
func (w *wild) next(n int) (v uint64) {
	for range n {
		v <<= 8
		if len(w.b) > 0 {
			v |= uint64(w.b[0])
			w.b = w.b[1:]
		}
	}
	return v
}

// value is a small number, a large one, a word, or any.
func (w *wild) value() uint64 {
	switch v := w.next(1); {
	case v < 64:
		return v & 15
	case v < 96:
		return ^uint64(0) - v&7
	case v < 160:
		return uint64(Pack(w.c.clock.Now(), Kind(v), SiteID(w.next(2))))
	default:
		return w.next(8)
	}
}

func (w *wild) fold(r Run) int {
	if len(r.Words) > chunkWords || r.Thread.PID == 0 || r.Thread.TID == 0 {
		w.Fatalf("%+v", r.Thread)
	}
	w.words += len(r.Words)
	if w.words%3 == 1 {
		return len(r.Words) / 2
	}
	return len(r.Words)
}

// scribble writes somewhere into the channel.
func (w *wild) scribble(op uint64) {
	c := w.c
	put := func(offset int, v uint64) { binary.NativeEndian.PutUint64(c.mem[offset:], v) }
	switch op % 16 {
	case 0, 1:
		put(int(w.next(1))&^7, w.value())
	case 2, 3:
		c.state[w.next(1)%fuzzChunks] = uint32(w.next(1) % 4)
	case 4, 5, 6:
		put(c.offset(0)+int(w.next(1)%fuzzChunks)*chunkBytes+int(w.next(1)%16)*8, w.value())
	case 7:
		i := int(w.next(1) % fuzzChunks)
		for k := range c.words(i) {
			c.words(i)[k] = Word(w.value() | 1)
		}
	case 8:
		i := w.next(2)
		c.files[i].key, c.files[i].value = w.value(), w.value()
	case 9:
		put(len(c.mem)-nameBytes+int(w.next(1)%64)*8, w.value())
	}
}

// use does with the channel what cg does.
func (w *wild) use(op uint64) {
	c := w.c
	switch op % 16 {
	case 10:
		thread := Thread{uint32(w.next(1)), uint32(w.next(1))}
		c.TakeChunks(Request{Thread: thread, First: op&16 != 0, Sums: op&32 != 0, Lost: w.next(1)}, 2)
	case 11:
		c.Drain(w.fold)
	case 12:
		c.Files(func(_, _, _ string, base, count int) {
			if base < 0 || count < 0 || base+count >= int(OwnSite) {
				w.Fatalf("%d sites behind %d", count, base)
			}
		})
	case 13:
		base, err := c.Number("m", "p", "l", 1+int(w.next(1)))
		if err == nil && (base < 0 || base >= int(OwnSite)) {
			w.Fatalf("base %d", base)
		}
	case 14:
		c.Stamp()
		c.Slot(SiteID(w.next(1)))
	case 15: // a chunk as it should be
		c.TakeChunks(Request{Thread: Thread{1, 1}, First: op&16 != 0}, 1)
	}
}

// Reading to the end takes no memory for the chunks that no writer has used.
func TestFinishTouchesNoFreeChunk(t *testing.T) {
	c, err := New(Monotonic, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Drain(func(Run) int { return 0 })
	blocks := func() int64 {
		var st unix.Stat_t
		if err := unix.Stat(c.Path(), &st); err != nil {
			t.Fatal(err)
		}
		return st.Blocks
	}
	before := blocks()
	c.Finish(func(Run) int { return 0 })
	if after := blocks(); after != before {
		t.Errorf("%d blocks of 512 B, %d before", after, before)
	}
}
