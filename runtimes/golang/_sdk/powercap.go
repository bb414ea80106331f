package codegreen

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// answer is in what time a sensor's file is opened, or read. A file that hangs,
// whatever is behind it, holds neither the program nor the session's end.
var answer time.Duration = answerNs

// powercap reads the counters below /sys/class/powercap, where cg is not there
// and they may be read (kernel documentation: power/powercap/powercap.rst). Only
// its goroutine reads them.
type powercap struct {
	files []counter
	total []uint64 // uJ since the first reading
	at    int64

	wake, over, done chan struct{}

	mu                 sync.Mutex
	kept               []kept        // what was not read yet
	asked, given, late uint64        // numbers of samples that were asked for, are there, did not come in time
	came               chan struct{} // closed with the next sample
}

type counter struct {
	file interface {
		io.ReaderAt
		io.Closer
	}
	wrap uint64
	raw  uint64
	seen bool
}

type kept struct {
	at       int64
	flags    uint64
	energies []uint64
}

// answers asks f about each path, about all at a time, in goroutines that are
// given up; an error stands in the place of what did not come.
func answers[T any](paths []string, f func(path string) (T, error)) ([]T, []error) {
	type reply struct {
		value T
		err   error
	}
	late := time.After(answer)
	values, errs, replies := make([]T, len(paths)), make([]error, len(paths)), make([]chan reply, len(paths))
	for i, path := range paths {
		replies[i] = make(chan reply, 1)
		go func() {
			v, err := f(path)
			replies[i] <- reply{v, err}
		}()
	}
	for i, path := range paths {
		select {
		case r := <-replies[i]:
			values[i], errs[i] = r.value, r.err
			continue
		default:
		}
		select {
		case r := <-replies[i]:
			values[i], errs[i] = r.value, r.err
		case <-late:
			late = closed
			errs[i] = fmt.Errorf("%s: no answer in %v", path, answer)
		}
	}
	return values, errs
}

// closed is a time that has come.
var closed = func() <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}()

// regular refuses what is no file: a pipe would never give a number.
func regular(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", path)
	}
	return err
}

func textOf(path string) (string, error) {
	if err := regular(path); err != nil {
		return "", err
	}
	b, err := os.ReadFile(path)
	return strings.TrimSpace(string(b)), err
}

// openPowercap opens the top-level zones of packages, memory and platform, and the memory
// below packages: package-N, dram-N. why says what is in the way; where there is a
// source it is of the zones that are missing.
func openPowercap(interval time.Duration, record bool) (s *source, why []string) {
	zones, why := zonesOf(filepath.Join(os.Getenv("CG_SYSROOT"), "/sys/class/powercap"))
	var wanted []domain
	var paths []string
	for _, z := range zones {
		if !slices.ContainsFunc(wanted, func(d domain) bool { return d.ID == z.ID }) {
			wanted, paths = append(wanted, z), append(paths, z.Source)
		}
	}
	opened, errs := answers(paths, openCounter)
	var domains []domain
	var files []counter
	for i, err := range errs {
		if err != nil {
			why = append(why, "powercap: "+err.Error())
			continue
		}
		domains, files = append(domains, wanted[i]), append(files, opened[i])
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
	support := supports[min(2, len(domains))]
	return &source{via: "powercap", intervalNs: int64(interval), domains: domains, support: support, counter: newPowercap(files, interval)}, why
}

func newPowercap(files []counter, interval time.Duration) *powercap {
	p := &powercap{
		files: files, total: make([]uint64, len(files)),
		wake: make(chan struct{}, 1), over: make(chan struct{}), done: make(chan struct{}), came: make(chan struct{}),
	}
	go p.loop(interval)
	p.take()
	return p
}

// zonesOf lists the zones that make up the machine's energy; why says what hides one.
func zonesOf(folder string) (zones []domain, why []string) {
	found, _ := answers([]string{folder}, func(folder string) ([]string, error) { return filepath.Glob(filepath.Join(folder, "intel-rapl:*")) })
	paths := found[0]
	said, errs := answers(paths, func(path string) (string, error) { return textOf(filepath.Join(path, "name")) })
	names := map[string]string{} // by folder
	for i, path := range paths {
		if errs[i] != nil {
			why = append(why, "powercap: "+errs[i].Error())
			continue
		}
		names[filepath.Base(path)] = said[i]
	}
	var packages, memory, platform []domain
	for _, path := range paths {
		zone := filepath.Base(path)
		name := names[zone]
		kind, rest, _ := strings.Cut(name, "-")
		d := domain{InTotal: true, Method: "measured", Source: filepath.Join(path, "energy_uj"), PeriodNs: raplPeriodNs, StepUj: 62, Lo: 1, Hi: 1}
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
		return platform[:min(1, len(platform))], why
	}
	return append(packages, memory...), why
}

func openCounter(path string) (c counter, err error) {
	text, err := textOf(filepath.Join(filepath.Dir(path), "max_energy_range_uj"))
	if err != nil {
		return c, err
	}
	last, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	if err := regular(path); err != nil {
		return c, err
	}
	f, err := os.Open(path)
	if err != nil {
		return c, err
	}
	c = counter{file: f, wrap: last + 1}
	if _, err := c.read(); err != nil {
		f.Close()
		return c, fmt.Errorf("%s: %w", path, err)
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

// sample reads all counters.
func (p *powercap) sample() kept {
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
		if float64(more) > implausibleW*1e-3*float64(max(1, began-p.at)) {
			flags |= flagGap // it was reset: what it had is not known
			continue
		}
		p.total[i] += more
	}
	p.at = (began + monotonic()) / 2
	return kept{p.at, flags, slices.Clone(p.total)}
}

func (p *powercap) loop(interval time.Duration) {
	defer close(p.done)
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for {
		select {
		case <-p.over:
			for _, c := range p.files {
				c.file.Close()
			}
			return
		case <-p.wake:
		case <-ticks.C:
		}
		p.mu.Lock()
		asked := p.asked
		p.mu.Unlock()
		k := p.sample()
		p.mu.Lock()
		p.kept, p.given = append(p.kept, k), asked
		close(p.came)
		p.came = make(chan struct{})
		p.mu.Unlock()
	}
}

// take takes a sample. One that is late is not waited for again.
func (p *powercap) take() {
	p.mu.Lock()
	p.asked++
	number := p.asked
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default: // it is about to take one
	}
	late := time.NewTimer(answer)
	defer late.Stop()
	for {
		p.mu.Lock()
		enough, came := p.given >= number || p.late > p.given, p.came
		p.mu.Unlock()
		if enough {
			return
		}
		select {
		case <-came:
		case <-p.done:
			return
		case <-late.C:
			p.mu.Lock()
			if p.given < number {
				p.late = number
			}
			p.mu.Unlock()
			return
		}
	}
}

// hangs tells that a counter has not answered in time.
func (p *powercap) hangs() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.late > p.given
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
	if p.hangs() {
		return // its goroutine ends when the counter answers
	}
	select {
	case <-p.done:
	case <-time.After(answer):
	}
}
