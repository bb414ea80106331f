package codegreen

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	period = 1_000_000 // ns between two readings of the counters
	most   = 5000      // watts that no package draws: a counter that wraps says less
)

type zone struct {
	file       *os.File // energy_uj
	wrap, last uint64   // uJ
}

// counters are the energy counters of the processor packages and their memory.
type counters struct {
	zones         []*zone
	at            int64 // of the last reading, ns
	joules, watts float64
}

func (c *counters) find(root string, now int64) {
	paths, _ := filepath.Glob(filepath.Join(root, "intel-rapl:*"))
	for _, path := range paths {
		name, err := os.ReadFile(filepath.Join(path, "name"))
		if err != nil || !strings.HasPrefix(string(name), "package") && !strings.HasPrefix(string(name), "dram") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(path, "max_energy_range_uj"))
		if err != nil {
			continue
		}
		top, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
		if err != nil {
			continue
		}
		file, err := os.Open(filepath.Join(path, "energy_uj"))
		if err != nil {
			continue
		}
		z := &zone{file: file, wrap: top + 1}
		if z.last, err = z.value(); err != nil {
			file.Close()
			continue
		}
		c.zones = append(c.zones, z)
	}
	c.at = now
}

func (z *zone) value() (uint64, error) {
	var b [64]byte
	n, err := z.file.ReadAt(b[:], 0)
	if n == 0 {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(b[:n])), 10, 64)
}

// read returns joules and watts as of the last reading, at most a period old; false
// where there is no counter.
func (c *counters) read(now int64) (joules, watts float64, ok bool) {
	if past := now - c.at; len(c.zones) > 0 && past >= period {
		var used uint64
		for _, z := range c.zones {
			value, err := z.value()
			if err != nil {
				continue
			}
			more := value - z.last
			if value < z.last {
				more += z.wrap
			}
			if value >= z.last || float64(more)*1e3 <= most*float64(past) {
				used += more // else it was reset: what it had is not known
			}
			z.last = value
		}
		c.watts = float64(used) * 1e3 / float64(past)
		c.joules += float64(used) * 1e-6
		c.at = now
	}
	return c.joules, c.watts, len(c.zones) > 0
}
