// Package perf reads the energy counters of the power PMU, through perf_event_open(2).
package perf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"cg/nemb"
	"cg/nemb/counter"
	"cg/nemb/processor"
	"cg/nemb/rapl"
	"cg/nemb/sensor"
	"cg/nemb/sysfs"
)

// name is that of the source.
const name = "perf"

func init() {
	nemb.Register(nemb.Source{Name: name, Open: openPerf, Rank: -40, Distinct: true, RAPL: true, Metric: "rapl"})
}

// raplEvent is an event of the power PMU (arch/x86/events/rapl.c).
type raplEvent struct {
	name   string // below events/
	domain string // what powercap calls it
}

// raplEvents in the order of a package's domains. energy-gpu is the second
// power plane, which powercap calls uncore.
var raplEvents = []raplEvent{
	{"energy-pkg", "package"}, {"energy-cores", "core"}, {"energy-gpu", "uncore"},
	{"energy-ram", "dram"}, {"energy-psys", "psys"},
}

// openPerf opens the RAPL counters of the power PMU (rapl.PMU), an event source:
// type is its number for perf_event_open(2), cpumask lists one processor of each package or die,
// events/NAME says what to ask for, NAME.scale and NAME.unit what it counts
// (2^-32 J). The kernel extends the counter to 64 bits, so it never wraps, and
// one read tells all events of a package.
//
// An event counts only what the kernel knows on this processor: where powercap
// lists zones, events that it does not list are left out (kernels before 5.17
// offer such on AMD, and they count nothing).
func openPerf(root nemb.Root) ([]nemb.Sensor, error) {
	number, dir, err := rapl.PMU(root)
	if err != nil {
		return nil, fmt.Errorf("perf: %w", err)
	}
	mask, err := os.ReadFile(filepath.Join(dir, "cpumask"))
	if err != nil {
		return nil, fmt.Errorf("perf: %w", sensor.Broken(err))
	}
	cpus := sysfs.Members(strings.TrimSpace(string(mask)))
	if len(cpus) == 0 {
		return nil, fmt.Errorf("perf: %s: reads %q: want a list of processors", filepath.Join(dir, "cpumask"), mask)
	}
	p := &perf{
		File: sensor.NewFile(name),
		root: root, dir: dir, kind: uint32(number), cpu: root.CPU(),
	}
	zones, _ := rapl.Zones(root)
	for _, z := range zones {
		if z.Repeats != "" {
			continue
		}
		p.zones = append(p.zones, nemb.Domain{ID: z.ID})
	}
	places := rapl.Places(root, cpus)
	if p.cpu.AMD() { // its counters are the package's, whatever the kernel takes for a die
		places = rapl.Whole(places)
	}
	for _, at := range places {
		err = p.open(at)
		if err != nil {
			break
		}
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		p.Close()
		paranoid := "?"
		if n, err := sysfs.Number(root.Proc("sys/kernel/perf_event_paranoid")); err == nil {
			paranoid = strconv.Itoa(n)
		}
		return nil, &nemb.Denied{
			What: "perf: " + dir, Err: errors.Unwrap(err), Domains: p.wanted,
			Why: "events of the whole machine take CAP_PERFMON, or kernel.perf_event_paranoid of 0 or less (it is " +
				paranoid + ")",
			Fix: "sudo cg init-sensors --method setcap",
		}
	case err != nil:
		p.Close()
		return nil, err
	case len(p.Domains()) == 0:
		p.Close()
		return nil, fmt.Errorf("perf: %s: the kernel opens none of its events: %w", dir, fs.ErrNotExist)
	}
	// Half a machine would be taken for all of it.
	packages := func(suffix string) bool {
		return slices.ContainsFunc(p.Domains(), func(d nemb.Domain) bool { return d.ID == "package"+suffix })
	}
	some := slices.ContainsFunc(places, func(at rapl.Place) bool { return packages(at.Suffix()) })
	for _, at := range places {
		if some && !packages(at.Suffix()) {
			p.Close()
			return nil, fmt.Errorf("perf: %s: the kernel opens energy-pkg for other packages and not for package%s, "+
				"on processor %d: %w", dir, at.Suffix(), at.CPU, fs.ErrNotExist)
		}
	}
	p.Adjust(func(d *nemb.Domain) { d.ShareIdle(p.cpu) })
	return []nemb.Sensor{p.File}, nil
}

// perf is the power PMU while it is being opened.
type perf struct {
	*sensor.File
	root   nemb.Root
	dir    string
	kind   uint32
	cpu    processor.CPU
	zones  []nemb.Domain // what powercap lists
	wanted []string      // domains that were asked for
}

// open adds the events of one package or die, as one group.
func (p *perf) open(at rapl.Place) error {
	leader, members := -1, 0
	for _, e := range raplEvents {
		d, c, config, err := p.event(e, at)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if !p.lists(d) {
			p.Note(nemb.Note{Text: fmt.Sprintf("perf: %s: left out: powercap has no %s, and such an event counts "+
				"nothing", e.name, d.ID)})
			continue
		}
		p.wanted = append(p.wanted, d.ID)
		fd, err := p.openEvent(config, at.CPU, leader)
		if errors.Is(err, unix.EINVAL) && leader >= 0 { // it does not go into the group
			leader, members = -1, 0
			fd, err = p.openEvent(config, at.CPU, leader)
		}
		switch {
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV), errors.Is(err, unix.EOPNOTSUPP),
			errors.Is(err, unix.EINVAL):
			continue // listed, and this kernel or machine does not count it
		case err != nil:
			return fmt.Errorf("perf: %s on processor %d: %w", e.name, at.CPU, err)
		}
		if p.Keep(fd); leader < 0 {
			leader = fd
		}
		c.FD, c.At = int32(leader), uint64(members)
		if members++; members == counter.GroupMost {
			leader, members = -1, 0
		}
		if d.Kind == "nested" {
			if !slices.ContainsFunc(p.Domains(), func(o nemb.Domain) bool { return o.ID == d.Parent }) {
				d.Kind, d.Parent = "independent", ""
			}
		}
		p.Add(d, c)
	}
	return nil
}

// lists tells whether powercap, where it lists anything, lists a domain.
func (p *perf) lists(d nemb.Domain) bool {
	if len(p.zones) == 0 {
		return !p.cpu.AMD() || d.Kind == "cpu_package"
	}
	return slices.ContainsFunc(p.zones, func(z nemb.Domain) bool { return nemb.Covers(z.ID, d.ID) })
}

// event describes an event.
func (p *perf) event(e raplEvent, at rapl.Place) (d nemb.Domain, c counter.Counter, config uint64, err error) {
	name := filepath.Join(p.dir, "events", e.name)
	terms, err := os.ReadFile(name)
	if err != nil {
		return d, c, 0, fmt.Errorf("perf: %w", err)
	}
	value, ok := strings.CutPrefix(strings.TrimSpace(string(terms)), "event=")
	if config, err = strconv.ParseUint(value, 0, 64); !ok || err != nil {
		return d, c, 0, fmt.Errorf("perf: %s: reads %q: want event=NUMBER", name, terms)
	}
	unit, err := os.ReadFile(name + ".unit")
	if err != nil {
		return d, c, 0, fmt.Errorf("perf: %w", sensor.Broken(err))
	}
	if u := strings.TrimSpace(string(unit)); u != "Joules" {
		return d, c, 0, fmt.Errorf("perf: %s.unit: reads %q: want Joules", name, u)
	}
	text, err := os.ReadFile(name + ".scale")
	if err != nil {
		return d, c, 0, fmt.Errorf("perf: %w", sensor.Broken(err))
	}
	scale, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	if err != nil || !(scale > 0) || scale > 1e3 {
		return d, c, 0, fmt.Errorf("perf: %s.scale: reads %q: want joules per count", name, text)
	}
	c = counter.Counter{Form: counter.Group, Mask: 1<<64 - 1, Scale: scale * 1e6}
	d = nemb.Domain{
		ID: at.Domain(e.domain), Method: nemb.Measured, Period: rapl.Period, Step: rapl.Step(rapl.Unit61),
		Lo: 1, Hi: 1,
		Source: fmt.Sprintf("perf: power/%s/ on processor %d", e.name, at.CPU),
	}
	switch e.domain {
	case "package":
		d.Kind = "cpu_package"
	case "dram":
		d.Kind = "dram"
	case "psys":
		d.Kind = "psys"
		if rapl.CountsJoules(p.cpu) {
			d.Step = rapl.Step(1)
		}
	default:
		d.Kind, d.Parent = "nested", at.Domain("package")
	}
	return d, c, config, nil
}

func (p *perf) openEvent(config uint64, cpu, leader int) (int, error) {
	return unix.PerfEventOpen(&unix.PerfEventAttr{
		Type:        p.kind,
		Size:        uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Config:      config,
		Read_format: unix.PERF_FORMAT_GROUP,
	}, -1, cpu, leader, unix.PERF_FLAG_FD_CLOEXEC)
}
