package recorder

import (
	"bufio"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
)

// Repairs counts what the times of a rank needed.
//
// A record's two times are 32-bit numbers of ticks since the beginning of the record
// before it, and the writer takes them for unsigned. A record that is written after one
// that began later (every function of the program around others, and records of several
// threads) has a time below 0, which wraps by 2^32 ticks (429.5 s at 1e-7 s); so do times
// beyond that. A reader that does not know adds 429.5 s each time.
type Repairs struct {
	// Backward records began before the one that precedes them in the trace.
	Backward uint64 `json:"backward"`
	// Long records ended 2^32 ticks or more after the one that precedes them began.
	Long uint64 `json:"long"`
	// Unsure records may have begun 2^32 ticks later than they are taken for: in a rank with
	// records that certainly began before their predecessor both can be.
	Unsure uint64 `json:"unsure"`
}

const wrap = 1 << 32

// clock turns the pairs of times of a rank into ticks since the rank's beginning.
type clock struct {
	before int64 // beginning of the record before
	// signed says that some record of the rank certainly began before its predecessor.
	signed bool
	Repairs
}

// next gives beginning and end of a record.
//
//   - A beginning below 2^31 ticks is what it says; the end is at or after it, and one
//     wrap later where it would be before.
//   - A beginning from 2^31 on is that much later if the end is not before it, or it is
//     2^32 ticks less, if that is not before the rank began. Where both can be, it is
//     earlier in a rank in which others certainly are, and later otherwise.
func (c *clock) next(begin, end uint32) (from, to int64) {
	from, to = c.before+int64(begin), c.before+int64(end)
	if begin < 1<<31 {
		if end < begin {
			c.Long++
			to += wrap
		}
		c.before = from
		return from, to
	}
	later, earlier := end >= begin, from >= wrap
	if later && earlier && c.signed {
		c.Unsure++
	}
	switch {
	case earlier && (!later || c.signed):
		c.signed = c.signed || !later
		c.Backward++
		if from -= wrap; later { // the end is before the predecessor, too
			to -= wrap
		}
	case !later:
		c.Long++
		to += wrap
	}
	c.before = from
	return from, to
}

// pairs reads the times of a rank.
type pairs struct {
	r     io.Reader
	file  *os.File
	buf   []byte
	at, n int
	ended bool
}

// next gives the two times of a record; ok is false at the end.
func (p *pairs) next() (begin, end uint32, ok bool, err error) {
	if p.at == p.n {
		if p.ended {
			return 0, 0, false, nil
		}
		n, err := io.ReadFull(p.r, p.buf)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			p.ended, err = true, nil
		}
		if err != nil {
			return 0, 0, false, err
		}
		if n%8 != 0 {
			return 0, 0, false, fmt.Errorf("the times end within a record, after %d bytes too many", n%8)
		}
		if p.at, p.n = 0, n; n == 0 {
			return 0, 0, false, nil
		}
	}
	b := p.buf[p.at : p.at+8]
	p.at += 8
	return little.Uint32(b), little.Uint32(b[4:]), true, nil
}

func (p *pairs) close() { p.file.Close() }

// timesName is the file that has the times of a rank.
func (t *Trace) timesName(rank int) string {
	switch t.layout {
	case combined:
		return "recorder.dat"
	case packed3:
		return "recorder.ts"
	}
	return fmt.Sprintf("%d.ts", rank)
}

// openTimes opens the times of a rank, and tells how many bytes they have in the file.
func (t *Trace) openTimes(rank int) (*pairs, int64, error) {
	name := t.timesName(rank)
	f, size, err := openFile(filepath.Join(t.dir, name))
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", name, err)
	}
	from, to := int64(0), size
	if t.layout >= packed3 {
		if err := t.findTimes(f, size); err != nil {
			f.Close()
			return nil, 0, fmt.Errorf("%s: %w", name, err)
		}
		from, to = t.offsets[rank], t.offsets[rank+1]
	}
	var r io.Reader = io.NewSectionReader(f, from, to-from)
	if t.Compression != 0 {
		r = &blocks{r: bufio.NewReader(r), left: to - from}
	}
	return &pairs{r: r, file: f, buf: make([]byte, 64<<10)}, to - from, nil
}

// findTimes reads where each rank's times are: u64 for each rank, then the times.
func (t *Trace) findTimes(f *os.File, size int64) error {
	if t.offsets != nil {
		return nil
	}
	base := int64(0)
	if t.layout == combined {
		e, err := t.dat.find(sectionTimes, -1)
		if err != nil {
			return err
		}
		base, size = e.offset, e.size
	}
	head := int64(t.Ranks) * 8
	if size < head {
		return fmt.Errorf("it has %d bytes, and the sizes of %d ranks have %d", size, t.Ranks, head)
	}
	r := bufio.NewReader(io.NewSectionReader(f, base, head))
	offsets := make([]int64, t.Ranks+1)
	offsets[0] = base + head
	one := make([]byte, 8)
	for i := range t.Ranks {
		if _, err := io.ReadFull(r, one); err != nil {
			return reason(err)
		}
		n := little.Uint64(one)
		if n > uint64(base+size-offsets[i]) {
			return fmt.Errorf("rank %d has %d bytes of times, and %d are left", i, n, base+size-offsets[i])
		}
		offsets[i+1] = offsets[i] + int64(n)
	}
	t.offsets = offsets
	return nil
}

// blocks reads times that were compressed whenever the writer's buffer was full.
type blocks struct {
	r    *bufio.Reader
	left int64 // bytes of the rank that were not read
	z    io.ReadCloser
	in   *io.LimitedReader
}

// Read gives what the blocks unpack to.
func (b *blocks) Read(p []byte) (int, error) {
	for {
		if b.z == nil {
			if b.left == 0 {
				return 0, io.EOF
			}
			head := make([]byte, 16)
			if _, err := io.ReadFull(b.r, head); err != nil {
				return 0, errors.New("they end within the head of a block")
			}
			packed := little.Uint64(head)
			if b.left -= 16; b.left < 0 || packed > math.MaxInt64 || int64(packed) > b.left {
				return 0, fmt.Errorf("a block has %d bytes, and %d are left", packed, b.left)
			}
			b.left -= int64(packed)
			b.in = &io.LimitedReader{R: b.r, N: int64(packed)}
			z, err := zlib.NewReader(b.in)
			if err != nil {
				return 0, fmt.Errorf("a block is no zlib: %w", err)
			}
			b.z = z
		}
		n, err := b.z.Read(p)
		if err == io.EOF {
			if _, err := io.Copy(io.Discard, b.in); err != nil {
				return n, err
			}
			if b.z = nil; n == 0 {
				continue
			}
			return n, nil
		}
		if err != nil {
			return n, fmt.Errorf("a block is broken: %w", err)
		}
		return n, nil
	}
}
