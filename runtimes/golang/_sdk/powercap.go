package codegreen

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// most is a power in W that no domain draws: a counter that fell back and
// would mean more was reset.
const most = 5000

// powercap reads the counters below /sys/class/powercap, where cg is not there
// and they may be read (kernel documentation: power/powercap/powercap.rst).
type powercap struct {
	mu    sync.Mutex
	files []counter
	total []uint64 // uJ since the first reading
	at    int64
	kept  []kept // what was not read yet
	over  chan struct{}
	ended sync.WaitGroup
}

type counter struct {
	file *os.File
	wrap uint64
	raw  uint64
	seen bool
}

type kept struct {
	at       int64
	flags    uint64
	energies []uint64
}

// openPowercap opens the top-level zones of packages, memory and platform, and the memory
// below packages: package-N, dram-N. why says what is in the way.
func openPowercap(interval time.Duration, record bool) (s *source, why []string) {
	p := &powercap{over: make(chan struct{})}
	var domains []domain
	for _, z := range zonesOf(filepath.Join(os.Getenv("CG_SYSROOT"), "/sys/class/powercap")) {
		if slices.ContainsFunc(domains, func(d domain) bool { return d.ID == z.ID }) {
			continue
		}
		c, err := openCounter(z.Source)
		if err != nil {
			why = append(why, "powercap: "+err.Error())
			continue
		}
		domains, p.files = append(domains, z), append(p.files, c)
	}
	if len(domains) == 0 {
		if why == nil {
			why = []string{"there are no powercap counters"}
		}
		return nil, why
	}
	if interval == 0 {
		interval = 10 * time.Millisecond
		if record {
			interval = time.Millisecond
		}
	}
	p.total = make([]uint64, len(domains))
	p.take()
	p.ended.Add(1)
	go p.loop(interval)
	support := "scalar_only"
	if len(domains) > 1 {
		support = "full"
	}
	return &source{via: "powercap", intervalNs: int64(interval), domains: domains, support: support, counter: p}, nil
}

// zonesOf lists the zones that make up the machine's energy.
func zonesOf(folder string) []domain {
	paths, _ := filepath.Glob(filepath.Join(folder, "intel-rapl:*"))
	names := map[string]string{} // by folder
	for _, path := range paths {
		if b, err := os.ReadFile(filepath.Join(path, "name")); err == nil {
			names[filepath.Base(path)] = strings.TrimSpace(string(b))
		}
	}
	var packages, memory, platform []domain
	for _, path := range paths {
		zone := filepath.Base(path)
		name := names[zone]
		kind, rest, _ := strings.Cut(name, "-")
		d := domain{InTotal: true, Method: "measured", Source: filepath.Join(path, "energy_uj"), PeriodNs: int64(time.Millisecond), Lo: 1, Hi: 1}
		switch kind {
		case "package":
			d.ID, d.Kind = name, "cpu_package"
			packages = append(packages, d)
		case "dram":
			if above, is := strings.CutPrefix(names[zone[:strings.LastIndex(zone, ":")]], "package-"); is {
				rest = above
			}
			if rest == "" {
				rest = "0"
			}
			d.ID, d.Kind = "dram-"+rest, "dram"
			memory = append(memory, d)
		case "psys":
			d.ID, d.Kind = name, "psys"
			platform = append(platform, d)
		}
	}
	if len(packages) == 0 {
		return platform[:min(1, len(platform))]
	}
	return append(packages, memory...)
}

func openCounter(path string) (c counter, err error) {
	b, err := os.ReadFile(filepath.Join(filepath.Dir(path), "max_energy_range_uj"))
	if err != nil {
		return c, err
	}
	last, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return c, err
	}
	c = counter{file: f, wrap: last + 1}
	if _, err := c.read(); err != nil {
		f.Close()
		return c, err
	}
	return c, nil
}

func (c *counter) read() (uint64, error) {
	var b [32]byte
	n, err := c.file.ReadAt(b[:], 0)
	if n == 0 {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(b[:n])), 10, 64)
}

// take takes a sample.
func (p *powercap) take() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.files == nil { // closed
		return
	}
	began, flags := monotonic(), uint64(0)
	for i := range p.files {
		c := &p.files[i]
		value, err := c.read()
		if err != nil {
			flags |= flagFailed
			continue
		}
		old, seen := c.raw, c.seen
		c.raw, c.seen = value, true
		if !seen {
			continue
		}
		more := value - old
		if value < old {
			more += c.wrap
		}
		if float64(more) > most*1e-3*float64(max(1, began-p.at)) {
			flags |= flagGap // it was reset: what it had is not known
			continue
		}
		p.total[i] += more
	}
	p.at = (began + monotonic()) / 2
	p.kept = append(p.kept, kept{p.at, flags, slices.Clone(p.total)})
}

func (p *powercap) loop(interval time.Duration) {
	defer p.ended.Done()
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for {
		select {
		case <-p.over:
			return
		case <-ticks.C:
			p.take()
		}
	}
}

func (p *powercap) read(to *samples) {
	p.mu.Lock()
	all := p.kept
	p.kept = nil
	p.mu.Unlock()
	for _, k := range all {
		to.add(k.at, k.flags, k.energies)
	}
}

func (p *powercap) close() {
	close(p.over)
	p.ended.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.files {
		c.file.Close()
	}
	p.files = nil
}
