package checkpoint

import (
	"encoding/binary"
	"errors"
	"strings"
	"sync/atomic"
	"time"
)

// ErrNumbers says that the numbers of sites, or the room for their names, are
// used up.
var ErrNumbers = errors.New("checkpoint: no more numbers for sites")

// digest continues a digest with a part, as FORMAT.md says.
func digest(h uint64, part string) uint64 {
	const k = 0x9e3779b97f4a7c15
	step := func(w uint64) {
		h = (h ^ w) * k
		h ^= h >> 32
	}
	step(uint64(len(part)))
	var b [8]byte
	for len(part) > 0 {
		b = [8]byte{}
		n := copy(b[:], part)
		step(binary.NativeEndian.Uint64(b[:]))
		part = part[n:]
	}
	return h
}

// FileKey is under what the table of files keeps a file.
func FileKey(module, path, lines string) uint64 {
	if key := digest(digest(digest(0, module), path), lines); key != 0 {
		return key
	}
	return 1
}

// Number gives the count sites of a file numbers behind base: those that it
// has, if a process of the program has loaded it.
func (c *Channel) Number(module, path, lines string, count int) (base int, err error) {
	err = ErrNumbers
	c.touch(func() { base, err = c.number(module, path, lines, count) })
	return base, err
}

func (c *Channel) number(module, path, lines string, count int) (base int, err error) {
	key := FileKey(module, path, lines)
	names := module + "\x00" + path + "\x00" + lines
	size := uint64(8+len(names)+7) &^ 7
	for i := range uint64(probes) {
		width := uint64(files)
		if i < 32 { // few files lie in few pages
			width = 256 << (i / 8 * 2)
		}
		f := &c.files[(key+i)%width]
		found := atomic.LoadUint64(&f.key)
		if found == 0 {
			named := atomic.LoadUint64(&c.head.named)
			if named > nameBytes || named+size > nameBytes || !c.left(count) {
				return 0, ErrNumbers
			}
			if atomic.CompareAndSwapUint64(&f.key, 0, key) {
				return c.give(f, names, size, count)
			}
			found = atomic.LoadUint64(&f.key)
		}
		if found != key {
			continue
		}
		// Another process is about to give the numbers, or was killed.
		for range 200 {
			if v := atomic.LoadUint64(&f.value); v != 0 {
				return fileValue(v).base(), nil
			}
			time.Sleep(50 * time.Microsecond)
		}
		return c.give(f, names, size, count)
	}
	return 0, ErrNumbers
}

func (c *Channel) give(f *file, names string, size uint64, count int) (int, error) {
	at := atomic.AddUint64(&c.head.named, size) - size
	if at > nameBytes || at+size > nameBytes || at%8 != 0 {
		return 0, ErrNumbers
	}
	base, err := c.ReserveNumbers(count)
	if err != nil {
		return 0, err
	}
	binary.NativeEndian.PutUint64(c.names[at:], uint64(len(names)))
	copy(c.names[at+8:], names)
	if !atomic.CompareAndSwapUint64(&f.value, 0, uint64(newFileValue(at, base, count))) {
		base = fileValue(atomic.LoadUint64(&f.value)).base()
	}
	return base, nil
}

func (c *Channel) left(count int) bool {
	given := atomic.LoadUint64(&c.head.given)
	return given < uint64(OwnSite) && given+uint64(count) < uint64(OwnSite)
}

// ReserveNumbers gives out count numbers behind base, to no file.
func (c *Channel) ReserveNumbers(count int) (base int, err error) {
	err = ErrNumbers
	c.touch(func() { base, err = c.more(count) })
	return base, err
}

func (c *Channel) more(count int) (base int, err error) {
	if !c.left(count) {
		return 0, ErrNumbers
	}
	base = int(atomic.AddUint64(&c.head.given, uint64(count))) - count
	if base < 0 || base+count >= int(OwnSite) {
		return 0, ErrNumbers
	}
	return base, nil
}

// Files calls f for each file that has got numbers since it was last asked.
func (c *Channel) Files(f func(module, path, lines string, base, count int)) {
	c.touch(func() { c.reportFiles(f) })
}

func (c *Channel) reportFiles(f func(module, path, lines string, base, count int)) {
	for i := range c.files {
		if c.reported[i] || atomic.LoadUint64(&c.files[i].key) == 0 {
			continue
		}
		v := fileValue(atomic.LoadUint64(&c.files[i].value))
		if v == 0 {
			continue
		}
		c.reported[i] = true
		at := v.offset()
		n := binary.NativeEndian.Uint64(c.names[at:])
		if n > nameBytes-8-at {
			c.unnamed++ // not written by a runtime
			continue
		}
		p := strings.SplitN(string(c.names[at+8:at+8+n]), "\x00", 3)
		if len(p) == 3 && v.base()+v.count() < int(OwnSite) {
			f(p[0], p[1], p[2], v.base(), v.count())
		} else {
			c.unnamed++
		}
	}
}
