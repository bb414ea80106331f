package laboratory

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

	"cg/nemb/simulate"
)

// tree is the files of the simulated machine: powercap zones (Documentation/power/powercap in the kernel) and
// /proc/stat. They are ordinary files, and what changes in them is written through memory that they are mapped to: to
// read one costs what it costs in sysfs, some microseconds, and not what it costs to ask another process.
type tree struct {
	zones  []zone
	mapped [][]byte
}

// zone is a counter, and where it shows.
type zone struct {
	counter simulate.Counter
	text    []byte
	shown   uint64
}

// A counter shows sixteen bytes: eight digits, seven more, and the end of the line. The last eight bytes are written
// as one word, so whoever reads meanwhile sees the one value or the other. The first eight are written right before
// them, once in 10 J: only who reads between these two stores sees a value that never was. To cg the counter then
// starts over elsewhere than at its end, and the run has no upper bounds.
const (
	lowDigits = 10_000_000
	textBytes = 16
)

// newTree makes the files of zones below root, an empty folder.
func newTree(root string, zones []simulate.Zone) (*tree, error) {
	t := &tree{}
	class := filepath.Join(root, "sys/class/powercap")
	if err := os.MkdirAll(class, 0o700); err != nil {
		return nil, fmt.Errorf("laboratory: %w", err)
	}
	for _, z := range zones {
		const devices = "devices/virtual/powercap/intel-rapl"
		dir := filepath.Join(root, "sys", devices, z.Dir)
		err := os.MkdirAll(dir, 0o700)
		for name, text := range map[string]string{
			"name": z.Name, "max_energy_range_uj": strconv.FormatUint(z.Counter.Range, 10),
		} {
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o400)
			}
		}
		if err == nil {
			err = os.Symlink(filepath.Join("../..", devices, z.Dir), filepath.Join(class, z.Dir))
		}
		if err != nil {
			t.close()
			return nil, fmt.Errorf("laboratory: %w", err)
		}
		text, err := t.file(filepath.Join(dir, "energy_uj"), make([]byte, textBytes))
		if err != nil {
			t.close()
			return nil, err
		}
		t.zones = append(t.zones, zone{counter: z.Counter, text: text, shown: math.MaxUint64})
	}
	t.show(0)
	return t, nil
}

// file makes a file of this text, and maps it.
func (t *tree) file(path string, text []byte) ([]byte, error) {
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, fmt.Errorf("laboratory: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("laboratory: %w", err)
	}
	defer f.Close()
	b, err := unix.Mmap(int(f.Fd()), 0, len(text), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("laboratory: %s: mmap: %w", path, err)
	}
	t.mapped = append(t.mapped, b)
	return b, nil
}

// show makes the counters show what they do at an instant.
func (t *tree) show(at time.Duration) {
	for i := range t.zones {
		z := &t.zones[i]
		v := z.counter.Read(at)
		high, low := digits(v/lowDigits), digits(v%lowDigits*10)
		low[7] = '\n'
		if v/lowDigits != z.shown/lowDigits {
			putWord(z.text, high) // with nothing to do before the next store
		}
		if v != z.shown {
			putWord(z.text[8:], low)
		}
		z.shown = v
	}
}

// digits is a number with leading zeros.
func digits(v uint64) (text [8]byte) {
	for i := len(text) - 1; i >= 0; i-- {
		text[i] = byte('0' + v%10)
		v /= 10
	}
	return text
}

// putWord writes eight bytes at once.
func putWord(to []byte, word [8]byte) {
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&to[0])), *(*uint64)(unsafe.Pointer(&word)))
}

func (t *tree) close() {
	for _, b := range t.mapped {
		_ = unix.Munmap(b)
	}
	t.mapped = nil
}
