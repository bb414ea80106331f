package nemb

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"cg/nemb/counter"
	"cg/nemb/patience"
	"cg/nemb/processor"
	"cg/nemb/sysfs"
	"cg/runtimes/sdk/spec"
)

func init() {
	Register(Source{Name: "powercap", Open: openPowercap, Rank: -30, Distinct: true, RAPL: true, Metric: "rapl"})
}

// zone is one directory that has name, energy_uj and max_energy_range_uj.
type zone struct {
	driver string // intel-rapl, intel-rapl-mmio
	nums   []int  // 0 1 of intel-rapl:0:1
	path   string
	name   string // what the zone measures: package-0, core, dram, psys
	wrap   Energy
	parent *zone
	id     string
	// repeats is the driver that reads the same domain, "" for none.
	repeats string
}

var zoneName = regexp.MustCompile(`^([a-z][a-z0-9-]*)((?::[0-9]+)+)$`)

// raplPeriod: RAPL counters are updated about every millisecond (Intel SDM
// vol. 3B, 16.10.3: "approximately 1 millisecond").
const raplPeriod time.Duration = spec.RaplPeriodNs

// openPowercap opens the RAPL zones below /sys/class/powercap
// (Documentation/power/powercap/powercap.rst), each package, die and sub-zone
// of every driver once. They are read one after the other through kept file
// descriptors.
func openPowercap(root Root) ([]Sensor, error) {
	zones, errs := powercapZones(root)
	if len(zones) == 0 && len(errs) == 0 {
		return nil, fmt.Errorf("powercap: %s: %w", root.Sys("class/powercap"), fs.ErrNotExist)
	}
	p := &fileSensor{name: "powercap"}
	var first []Energy // what the dies of package p.domains[i] read at opening
	cpu := root.CPU()
	share, most := cpu.IdleShare()
	refused := refusals{errs: errs}
	left := map[string]bool{} // zones that repeat another
	domains, answers := powercapDomains(zones), openCounters(zones)
	known := slices.ContainsFunc(domains, Domain.hasProcessors)
	for i, d := range domains {
		d.IdleShare, d.IdleShareMost = share, most
		z := zones[i]
		if z.repeats != "" {
			p.notes = append(p.notes, Note{Text: fmt.Sprintf("powercap: %s: left out: it reads %s, as %s does", z.path, z.id, z.repeats)})
			continue
		}
		if z.parent != nil && left[z.parent.id] {
			left[z.id] = true
			continue
		}
		path := filepath.Join(z.path, "energy_uj")
		fd, e := answers[i].fd, answers[i].energy
		if err := answers[i].err; err != nil {
			refused.add(d.ID, path, err)
			continue
		}
		answers[i].fd = -1 // it is p's
		c := counter.Counter{FD: int32(fd)}
		if of := mirrored(p, d, first, e); of != "" {
			unix.Close(fd)
			left[z.id] = true
			p.notes = append(p.notes, Note{Text: fmt.Sprintf("powercap: %s: left out: it shows the counter of %s", d.ID, of)})
			continue
		}
		if d.Kind == "independent" {
			p.notes = append(p.notes, Note{Doubt: !known, Text: fmt.Sprintf("powercap: %s: nobody knows what a zone of the name \"%s\" counts: it is in no total", z.path, z.name)})
		}
		if text := unitDoubt(d, cpu); text != "" {
			p.notes = append(p.notes, Note{Doubt: true, Text: "powercap: " + text})
		}
		d.Source = path
		p.domains = append(p.domains, d)
		p.list, p.open = append(p.list, c), append(p.open, fd)
		first = append(first, e)
	}
	for _, a := range answers {
		if a.err == nil && a.fd >= 0 {
			unix.Close(a.fd)
		}
	}
	if len(p.domains) == 0 {
		return nil, refused.all()
	}
	return []Sensor{p}, refused.all()
}

// refusals are why zones are not read; those that are denied are one error.
type refusals struct {
	errs   []error
	denied *Denied
}

func (r *refusals) add(id, path string, err error) {
	switch {
	case patience.Hangs(err):
		r.errs = append(r.errs, &patience.Hung{What: "powercap: " + path, After: patience.Limit, Domains: []string{id}})
	case errors.Is(err, fs.ErrPermission):
		if r.denied == nil {
			r.denied = &Denied{
				What: "powercap: " + path, Err: err,
				Why: "since Linux 5.10 root alone may read it (CVE-2020-8694)",
				Fix: "sudo cg init-sensors",
			}
			r.errs = append(r.errs, r.denied)
		}
		r.denied.Domains = append(r.denied.Domains, id)
	default:
		r.errs = append(r.errs, fmt.Errorf("powercap: %s: %w", path, broken{err}))
	}
}

func (r *refusals) all() error {
	if r.denied != nil && len(r.denied.Domains) > 1 {
		r.denied.What += fmt.Sprintf(" (%s and %d more)", r.denied.Domains[0], len(r.denied.Domains)-1)
	}
	return errors.Join(r.errs...)
}

// firstAnswer is what a zone's counter answered when it was opened.
type firstAnswer struct {
	fd     int
	energy Energy
	err    error
}

// openCounters opens and reads the counter of every zone that repeats no other.
// They are asked at the same time: all of those that hang have hung together.
func openCounters(zones []*zone) []firstAnswer {
	answers := make([]firstAnswer, len(zones))
	var asked sync.WaitGroup
	for i, z := range zones {
		if z.repeats != "" {
			answers[i].fd = -1
			continue
		}
		path := filepath.Join(z.path, "energy_uj")
		asked.Go(func() {
			a, ok := patience.Within(patience.Limit, func() firstAnswer { return openCounter(path) }, func(a firstAnswer) {
				if a.err == nil {
					unix.Close(a.fd)
				}
			})
			if answers[i] = a; !ok {
				answers[i].err = &patience.Hung{}
			}
		})
	}
	asked.Wait()
	return answers
}

func openCounter(path string) firstAnswer {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return firstAnswer{err: err}
	}
	e, err := counter.Counter{FD: int32(fd)}.Read()
	if err != nil {
		unix.Close(fd)
		err = broken{err}
	}
	return firstAnswer{fd, e, err}
}

// broken hides what an error is: a zone that is listed and whose counter is
// missing is broken, not absent.
type broken struct{ err error }

func (b broken) Error() string { return b.err.Error() }

var dieName = regexp.MustCompile(`^(package-[0-9]+)-die-[0-9]+$`)

// mirrored names the die whose counter die d, which read e, shows: one of the
// same package that is open already, "" for none. Some Threadripper show one counter
// under both dies (codecarbon#316), and the sum would count it twice. Two
// counters of 32 bits do not hold the same number by chance.
func mirrored(p *fileSensor, d Domain, first []Energy, e Energy) (of string) {
	die := dieName.FindStringSubmatch(d.ID)
	if die == nil {
		return ""
	}
	for i, o := range p.domains {
		other := dieName.FindStringSubmatch(o.ID)
		if other == nil || other[1] != die[1] {
			continue
		}
		again, err := p.list[i].Read()
		if err == nil && first[i] <= e && e <= again && again > 0 && again-first[i] < 1e6 {
			return o.ID
		}
	}
	return ""
}

// step is the unit of a zone's counter, which is its range by 2^32, but where that
// is none that RAPL counts in.
func (z *zone) step() Energy {
	if unit := z.wrap.Joules() / (1 << 32); unit > 0 && unit <= 1 {
		return stepOf(unit)
	}
	return stepOf(unit61)
}

// stepOf is a unit in joules as a Domain has it.
func stepOf(unit float64) Energy { return Energy(math.Ceil(unit * 1e6)) }

// units of Intel's counters of memory in joules. What the registers count is
// not always the unit that MSR_RAPL_POWER_UNIT tells: the memory of servers
// from Haswell to Ice Lake counts 15.3 uJ, from Sapphire Rapids on it counts
// the package's 61 uJ (intel_rapl_common.c, arch/x86/events/rapl.c,
// RRZE-HPC/likwid#642).
const (
	unit61 = 1.0 / (1 << 14)
	unit15 = 1.0 / (1 << 16)
)

// memoryUnit is the unit of a server's memory counter, 0 where none is fixed.
func memoryUnit(cpu processor.CPU) float64 {
	if cpu.Vendor != processor.Intel || cpu.Family != 6 {
		return 0
	}
	switch cpu.Model {
	case 0x3f, 0x4f, 0x56, 0x55, 0x57, 0x85, 0x6a, 0x6c: // HSX, BDX, BDX-DE, SKX to CPX, KNL, KNM, ICX, ICX-D
		return unit15
	case 0x8f, 0xcf, 0xad, 0xae: // SPR, EMR, GNR, GNR-D
		return unit61
	}
	return 0
}

// unitDoubt tells what is wrong with the unit of a zone that wraps after 32
// bits: outside of what RAPL counts in, or not the unit of this processor's
// memory. "" is nothing.
func unitDoubt(d Domain, cpu processor.CPU) string {
	unit := d.Wrap.Joules() / (1 << 32)
	switch want := memoryUnit(cpu); {
	case d.Wrap == 0 || d.Kind == "psys": // which counts whole joules on some servers
	case d.Kind == "dram" && want > 0 && (unit > 1.5*want || unit < want/1.5):
		how := fmt.Sprintf("%.1f times too low", want/unit)
		if unit > want {
			how = fmt.Sprintf("%.1f times too high", unit/want)
		}
		return fmt.Sprintf("%s: the kernel takes its unit for %.1f uJ, and memory beside %s counts %.1f uJ: its energy is %s", d.ID, unit*1e6, cpu.March, want*1e6, how)
	case unit > 1e-3 || unit < 1e-7:
		return fmt.Sprintf("%s: max_energy_range_uj means a unit of %.3g uJ, and RAPL counts in 0.1 to 1000 uJ", d.ID, unit*1e6)
	}
	return ""
}

// powercapZones lists the zones below root in the order of their numbers,
// with parents before children and repetitions left out.
func powercapZones(root Root) (zones []*zone, errs []error) {
	var paths []string
	entries, err := os.ReadDir(root.Sys("class/powercap"))
	for _, e := range entries {
		paths = append(paths, root.Sys("class/powercap", e.Name()))
	}
	if !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return zoneName.MatchString(e.Name()) }) {
		dir := root.Sys("devices/virtual/powercap")
		err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && zoneName.MatchString(d.Name()) {
				paths = append(paths, path)
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		})
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, fmt.Errorf("powercap: %w", err))
	}
	masked := 0
	for _, path := range paths {
		m := zoneName.FindStringSubmatch(filepath.Base(path))
		if m == nil {
			continue
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			masked++ // a link to nowhere
			continue
		}
		if _, err := os.Stat(filepath.Join(path, "energy_uj")); errors.Is(err, fs.ErrNotExist) {
			continue // a zone of power limits only
		}
		z := &zone{driver: m[1], path: path}
		for n := range strings.SplitSeq(m[2][1:], ":") {
			v, _ := strconv.Atoi(n)
			z.nums = append(z.nums, v)
		}
		name, err := os.ReadFile(filepath.Join(path, "name"))
		if z.name = sysfs.Text(name); err == nil && z.name == "" {
			err = errors.New("no name")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("powercap: %s: %w", filepath.Join(path, "name"), broken{err}))
			continue
		}
		if text, err := os.ReadFile(filepath.Join(path, "max_energy_range_uj")); err == nil {
			if v, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 63); err == nil && v > 0 {
				z.wrap = Energy(v) + 1
			}
		}
		zones = append(zones, z)
	}
	if masked > 0 && len(zones) == 0 {
		errs = append(errs, &Denied{
			What: "powercap: " + root.Sys("devices/virtual/powercap"), Err: fs.ErrPermission,
			Why: "there are counters and this container hides them",
			Fix: "docker run --security-opt systempaths=unconfined ...",
		})
	}
	slices.SortFunc(zones, func(a, b *zone) int {
		if c := strings.Compare(a.driver, b.driver); c != 0 {
			return c
		}
		return slices.Compare(a.nums, b.nums)
	})
	kept := zones[:0]
	for _, z := range zones {
		for _, o := range kept {
			if o.driver == z.driver && slices.Equal(o.nums, z.nums[:len(z.nums)-1]) {
				z.parent = o
			}
		}
		z.id = z.name
		if z.parent != nil {
			z.id = z.name + strings.TrimPrefix(z.parent.id, "package")
			if !strings.HasPrefix(z.parent.id, "package-") {
				z.id = z.name + "-" + z.parent.id
			}
		}
		if z.name == "dram" && z.parent == nil {
			z.id = "dram-0"
		}
		// The same zone through another driver: intel-rapl-mmio:0 reads the
		// package that intel-rapl:0 reads, through memory instead of an MSR.
		if i := slices.IndexFunc(kept, func(o *zone) bool { return o.id == z.id && o.driver != z.driver && o.repeats == "" }); i >= 0 {
			z.repeats = kept[i].driver
			kept = append(kept, z)
			continue
		}
		for n := 1; slices.ContainsFunc(kept, func(o *zone) bool { return o.id == z.id }); n++ {
			z.id = fmt.Sprintf("%s-%d", z.name, n)
		}
		kept = append(kept, z)
	}
	return kept, errs
}

// PowercapCounters lists the file energy_uj of every zone.
func PowercapCounters(root Root) []string {
	zones, _ := powercapZones(root)
	base, err := filepath.EvalSymlinks(root.Sys())
	if err != nil {
		return nil
	}
	var all []string
	for _, z := range zones {
		// Zones are links. What lies outside the root is none of its counters.
		name, err := filepath.EvalSymlinks(filepath.Join(z.path, "energy_uj"))
		if err == nil && strings.HasPrefix(name, strings.TrimSuffix(base, "/")+"/") {
			all = append(all, name)
		}
	}
	return all
}

// memoryName and systemName are what zones beside the packages are called.
var (
	memoryName = regexp.MustCompile(`^dram(-[0-9]+)?$`)
	systemName = regexp.MustCompile(`^psys(-[0-9]+)?$`)
)

// powercapDomains says what the zones are. Packages and memory lie beside each
// other, in whichever of the two layouts memory is told: a sub-zone of its
// package, or a zone of its own. Core and uncore are parts of a package, psys
// includes everything.
func powercapDomains(zones []*zone) []Domain {
	domains := make([]Domain, len(zones))
	for i, z := range zones {
		d := Domain{ID: z.id, Method: Measured, Wrap: z.wrap, Period: raplPeriod, Step: z.step(), Lo: 1, Hi: 1}
		switch {
		case strings.HasPrefix(z.name, "package-"):
			d.Kind = "cpu_package"
		case memoryName.MatchString(z.name):
			d.Kind = "dram"
		case systemName.MatchString(z.name):
			d.Kind = "psys"
		case z.parent != nil:
			d.Kind, d.Parent = "nested", z.parent.id
		default:
			d.Kind = "independent"
		}
		domains[i] = d
	}
	return domains
}

// countsJoules tells whether psys counts whole joules: Sapphire and Emerald Rapids
// (arch/x86/events/rapl.c).
func countsJoules(c processor.CPU) bool {
	return c.Vendor == processor.Intel && c.Family == 6 && (c.Model == 0x8f || c.Model == 0xcf)
}
