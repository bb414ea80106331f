// Package idle remembers what runs showed of a machine's idle power, for later runs on it.
//
// It takes a folder of the user's cache and what a machine is known by (Conditions), and
// gives the idle power of each domain (Memory.Recall). A machine has one file, with a line of
// JSON for each domain and condition. A line that cannot be read is left out and told of, and
// the others are used. Several processes may use the folder at the same time. The package
// measures nothing.
package idle

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"cg/nemb"
	"cg/nemb/counter"
)

// Conditions are what an idle power holds for.
type Conditions struct {
	Machine  string // a digest of the machine's number and its processors
	Kernel   string // its release
	Governor string // of the first processor's frequency, "" where there is none
}

// Here are the conditions below a system root, without a Machine where it cannot be told
// from others.
func Here(root nemb.Root) Conditions {
	text := func(path string) string {
		b, _ := os.ReadFile(path)
		return strings.TrimSpace(string(b))
	}
	dir := root.Dir
	if dir == "" {
		dir = "/"
	}
	id := text(filepath.Join(dir, "etc", "machine-id"))
	if id == "" && root.Dir == "" {
		id, _ = os.Hostname()
	}
	if id == "" {
		return Conditions{}
	}
	// The number itself is not to be told to others (machine-id(5)).
	sum := sha256.Sum256([]byte("cg idle power\n" + id + "\n" + root.CPU().Identity()))
	return Conditions{
		Machine: hex.EncodeToString(sum[:16]), Kernel: text(root.Proc("sys", "kernel", "osrelease")),
		Governor: text(root.Sys("devices", "system", "cpu", "cpu0", "cpufreq", "scaling_governor")),
	}
}

// Store is a folder of files that are written as a whole, such as one of the user's cache.
type Store interface {
	Read(name string) ([]byte, error)
	Write(name string, content []byte) error
	Used(name string) // keeps a file for longer
}

// entry is what is known of a domain under some conditions, a line of the file. Powers are in
// watts.
type entry struct {
	Kernel   string `json:"kernel"`
	Governor string `json:"governor"`
	Domain   string `json:"domain"`
	// The least power that was measured, with the lower end of its interval, and the
	// highest upper end of any; 0 where none was.
	Power   float64 `json:"power_w"`
	Lo      float64 `json:"power_lo_w"`
	Highest float64 `json:"highest_w"`
	// Bound is the least power that the domain was seen to draw, 0 where none was told.
	Bound float64   `json:"bound_w"`
	At    time.Time `json:"at"` // of the last change
}

func (e entry) of(k Conditions, domain string) bool {
	return e.Kernel == k.Kernel && e.Governor == k.Governor && e.Domain == domain
}

// check tells what is wrong with an entry.
func (e entry) check() error {
	for _, v := range []float64{e.Power, e.Lo, e.Highest, e.Bound} {
		if !(v >= 0 && v <= counter.MaxWatts) {
			return fmt.Errorf("%g W is no power", v)
		}
	}
	if e.Domain == "" || e.Lo > e.Power || e.Power > 0 && e.Power > e.Highest {
		return errors.New("it is no interval of a domain's power")
	}
	return nil
}

// most is how many entries a file keeps, those that changed last.
const most = 256

// Memory is what is remembered of a machine. nil remembers nothing.
type Memory struct {
	store      Store
	lock       string
	conditions Conditions
	entries    []entry
	fault      error
}

// Open reads what is remembered below a folder, which is the store's. It is nil for a
// machine that cannot be told from others.
func Open(store Store, dir string, k Conditions) *Memory {
	if k.Machine == "" {
		return nil
	}
	m := &Memory{store: store, lock: filepath.Join(dir, k.Machine+".lock"), conditions: k}
	m.entries, m.fault = m.read()
	return m
}

// Fault is what of the file could not be read, nil if all could.
func (m *Memory) Fault() error {
	if m == nil {
		return nil
	}
	return m.fault
}

func (m *Memory) file() string { return m.conditions.Machine + ".jsonl" }

// read reads the entries. The error is of the lines that are left out.
func (m *Memory) read() (entries []entry, fault error) {
	b, err := m.store.Read(m.file())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; lines.Scan(); n++ {
		var e entry
		err := json.Unmarshal(lines.Bytes(), &e)
		if err == nil {
			err = e.check()
		}
		if err != nil {
			fault = errors.Join(fault, fmt.Errorf("line %d of %s: %w", n, m.file(), err))
			continue
		}
		entries = append(entries, e)
	}
	return entries, errors.Join(fault, lines.Err())
}

// Recall is what is remembered of a domain's idle power under the present conditions. Its Hi
// is 0 where nothing is.
func (m *Memory) Recall(domain string) nemb.IdlePower {
	if m == nil {
		return nemb.IdlePower{}
	}
	for _, e := range m.entries {
		switch {
		case !e.of(m.conditions, domain):
		case e.Power > 0:
			p := nemb.IdlePower{Power: e.Power, Lo: e.Lo, Hi: e.Highest, Method: nemb.IdleRemembered}
			if e.Bound > 0 && e.Bound < p.Power { // a later run drew less than was measured
				p.Power, p.Hi = e.Bound, e.Bound
				if p.Hi < p.Lo { // the measurement does not hold
					p.Lo = 0
				}
			}
			return p
		case e.Bound > 0:
			return nemb.IdlePower{Power: e.Bound, Hi: e.Bound, Method: nemb.IdleBound}
		}
	}
	return nemb.IdlePower{}
}

// Set tells domains what is remembered of them.
func (m *Memory) Set(domains []nemb.Domain) {
	for i := range domains {
		if d := &domains[i]; !d.Program && d.Method != nemb.Estimated {
			d.Remembered = m.Recall(d.ID)
		}
	}
}

// worth is the part of a power by which it has to differ to be noted.
const worth = 0.005

// Note takes what a run showed, by domain: powers that were measured, and bounds.
func (m *Memory) Note(seen map[string]nemb.IdlePower, now time.Time) error {
	if m == nil || len(seen) == 0 {
		return nil
	}
	entries := slices.Clone(m.entries)
	if !note(&entries, m.conditions, seen, now) {
		m.store.Used(m.file())
		return nil
	}
	lock, err := os.OpenFile(m.lock, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("%s: %w", m.lock, err)
	}
	// Others may have written since.
	entries, _ = m.read()
	if !note(&entries, m.conditions, seen, now) {
		m.entries = entries
		return nil
	}
	if n := len(entries) - most; n > 0 {
		slices.SortStableFunc(entries, func(x, y entry) int { return x.At.Compare(y.At) })
		entries = entries[n:]
	}
	var b bytes.Buffer
	for _, e := range entries {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	if err := m.store.Write(m.file(), b.Bytes()); err != nil {
		return err
	}
	m.entries = entries
	return nil
}

// note changes entries by what was seen; false if that is nothing new.
func note(entries *[]entry, k Conditions, seen map[string]nemb.IdlePower, now time.Time) (changed bool) {
	for domain, p := range seen {
		i := slices.IndexFunc(*entries, func(e entry) bool { return e.of(k, domain) })
		e := entry{Kernel: k.Kernel, Governor: k.Governor, Domain: domain}
		if i >= 0 {
			e = (*entries)[i]
		}
		before := e
		e.take(p)
		if e.check() != nil || e == before {
			continue
		}
		e.At = now.UTC()
		if changed = true; i < 0 {
			*entries = append(*entries, e)
		} else {
			(*entries)[i] = e
		}
	}
	return changed
}

// take takes what a run showed into an entry.
func (e *entry) take(p nemb.IdlePower) {
	if math.IsNaN(p.Hi) || p.Hi <= 0 {
		return
	}
	if e.Bound == 0 || p.Hi < e.Bound*(1-worth) {
		e.Bound = p.Hi
	}
	if p.Method == nemb.IdleBound || p.Power <= 0 {
		return
	}
	if e.Power == 0 || p.Power < e.Power*(1-worth) {
		e.Power, e.Lo = p.Power, p.Lo
	}
	if p.Hi > e.Highest*(1+worth) {
		e.Highest = p.Hi
	}
}
