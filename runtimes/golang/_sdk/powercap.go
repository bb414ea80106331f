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
	wrap uint64 // 0: it does not
	raw  uint64 // the last reading that did not fail
	at   int64  // when that was, 0 for none of a sample
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

// openPowercap opens what makes up the machine's energy. why says what is in the way;
// where there is a source it is of the zones that are missing.
func openPowercap(interval time.Duration, record bool) (s *source, why []string) {
	found := findPowercap(os.Getenv("CG_SYSROOT"))
	if len(found.domains) == 0 {
		if found.failed == nil {
			found.failed = []string{"there are no powercap counters"}
		}
		return nil, found.failed
	}
	if interval == 0 {
		interval = 10 * time.Millisecond
		if record {
			interval = time.Millisecond
		}
	}
	support := supports[min(2, len(found.domains))]
	return &source{
		via: "powercap", intervalNs: int64(interval), domains: found.domains, support: support, doubts: found.doubts,
		counter: newPowercap(found.files, interval),
	}, found.failed
}

// foundPowercap is what makes up a machine's energy, why some of it cannot be read,
// and what is wrong with a unit.
type foundPowercap struct {
	domains        []domain
	files          []counter
	failed, doubts []string
}

// findPowercap opens the counters below a root, "" for this machine.
func findPowercap(root string) (found foundPowercap) {
	var all []*zone
	folders, _ := answers([]string{filepath.Join(root, "/sys/class/powercap")}, zoneFolders)
	said, errs := answers(folders[0], readZone)
	for i, z := range said {
		if errs[i] != nil {
			found.failed = append(found.failed, "powercap: "+errs[i].Error())
		} else if z != nil {
			all = append(all, z)
		}
	}
	all = arranged(all)
	sources := make([]string, len(all))
	for i, z := range all {
		sources[i] = filepath.Join(z.path, "energy_uj")
	}
	opened, errs := answers(sources, openCounter)
	left, read := map[*zone]bool{}, map[*zone]*counter{}
	known := processorOf(root)
	for i, z := range all {
		if errs[i] != nil {
			found.failed = append(found.failed, "powercap: "+errs[i].Error())
			continue
		}
		c := &opened[i]
		for o, other := range read {
			again := func() (uint64, error) {
				path := filepath.Join(o.path, "energy_uj")
				values, errs := answers([]string{path}, func(string) (uint64, error) { return other.read() })
				return values[0], errs[0]
			}
			left[z] = left[z] || z.shows(o, c.raw, other.raw, again)
		}
		if left[z] = left[z] || left[z.parent]; left[z] {
			c.file.Close()
			continue
		}
		read[z], c.wrap = c, z.wrap
		found.domains, found.files = append(found.domains, z.domain()), append(found.files, *c)
		if text := z.doubt(known); text != "" {
			found.doubts = append(found.doubts, text)
		}
	}
	return found
}

// zoneFolders are the paths of a folder's zones.
func zoneFolders(folder string) (paths []string, err error) {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if zoneFolder().MatchString(e.Name()) {
			paths = append(paths, filepath.Join(folder, e.Name()))
		}
	}
	return paths, err
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

// openCounter opens the file of a counter; raw is what it shows.
func openCounter(path string) (c counter, err error) {
	if err := regular(path); err != nil {
		return c, err
	}
	f, err := os.Open(path)
	if err != nil {
		return c, err
	}
	c = counter{file: f}
	if c.raw, err = c.read(); err != nil {
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
		old, before, now := c.raw, c.at, monotonic()
		c.raw, c.at = value, now
		if before == 0 {
			continue
		}
		more, known := unwrapped(old, value, c.wrap, now-before+2*raplPeriodNs)
		if !known {
			flags |= flagGap // what it had is not known
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
