package nemb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func init() { Register(Source{Name: "powercap", Open: openPowercap}) }

// zone is one directory that has name, energy_uj and max_energy_range_uj.
type zone struct {
	driver string // intel-rapl, intel-rapl-mmio
	nums   []int  // 0 1 of intel-rapl:0:1
	path   string
	name   string // what the zone measures: package-0, core, dram, psys
	wrap   Energy
	parent *zone
	id     string
}

var zoneName = regexp.MustCompile(`^([a-z][a-z0-9-]*)((?::[0-9]+)+)$`)

// raplPeriod: RAPL counters are updated about every millisecond (Intel SDM
// vol. 3B, 16.10.3: "approximately 1 millisecond").
const raplPeriod = time.Millisecond

func openPowercap(root Root) ([]Sensor, error) {
	zones, errs := powercapZones(root)
	if len(zones) == 0 && len(errs) == 0 {
		return nil, fmt.Errorf("powercap: %s: %w", root.Sys("class/powercap"), fs.ErrNotExist)
	}
	p := &fileSensor{name: "powercap"}
	var first []Energy // what the dies of package p.domains[i] read at opening
	share, most := idleShare(Identify(root))
	for i, d := range powercapDomains(zones) {
		d.IdleShare, d.IdleShareMost = share, most
		z := zones[i]
		path := filepath.Join(z.path, "energy_uj")
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		switch {
		case errors.Is(err, fs.ErrPermission):
			errs = append(errs, fmt.Errorf("powercap: %s: %w: since Linux 5.10 root alone may read it (CVE-2020-8694); run cg as root, "+
				"or let it read: sudo setcap cap_dac_read_search+ep \"$(command -v cg)\"", path, err))
			continue
		case err != nil:
			errs = append(errs, fmt.Errorf("powercap: %s: %w", path, broken{err}))
			continue
		}
		c := counter{fd: fd}
		e, err := c.read()
		if err != nil {
			unix.Close(fd)
			errs = append(errs, fmt.Errorf("powercap: %s: %w", path, broken{err}))
			continue
		}
		if mirrored(p, d, first, e) {
			unix.Close(fd)
			continue
		}
		d.Source = path
		p.domains = append(p.domains, d)
		p.list, p.open = append(p.list, c), append(p.open, fd)
		first = append(first, e)
	}
	if len(p.domains) == 0 {
		return nil, errors.Join(errs...)
	}
	return []Sensor{p}, errors.Join(errs...)
}

// broken hides what an error is: a zone that is listed and whose counter is
// missing is broken, not absent.
type broken struct{ err error }

func (b broken) Error() string { return b.err.Error() }

var dieName = regexp.MustCompile(`^(package-[0-9]+)-die-[0-9]+$`)

// mirrored tells whether die d, which read e, shows the counter of a die of
// the same package that is open already: some Threadripper show one counter
// under both dies (codecarbon#316), and the sum would count it twice. Two
// counters of 32 bits do not hold the same number by chance.
func mirrored(p *fileSensor, d Domain, first []Energy, e Energy) bool {
	die := dieName.FindStringSubmatch(d.ID)
	if die == nil {
		return false
	}
	for i, o := range p.domains {
		other := dieName.FindStringSubmatch(o.ID)
		if other == nil || other[1] != die[1] {
			continue
		}
		again, err := p.list[i].read()
		if err == nil && first[i] <= e && e <= again && again > 0 && again-first[i] < 1e6 {
			return true
		}
	}
	return false
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
	for _, path := range paths {
		m := zoneName.FindStringSubmatch(filepath.Base(path))
		if m == nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(path, "energy_uj")); errors.Is(err, fs.ErrNotExist) {
			continue // a zone of power limits only, or a container masks the tree
		}
		z := &zone{driver: m[1], path: path}
		for n := range strings.SplitSeq(m[2][1:], ":") {
			v, _ := strconv.Atoi(n)
			z.nums = append(z.nums, v)
		}
		name, err := os.ReadFile(filepath.Join(path, "name"))
		if z.name = strings.TrimSpace(string(name)); err == nil && z.name == "" {
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
		if slices.ContainsFunc(kept, func(o *zone) bool { return o.id == z.id && o.driver != z.driver }) {
			continue
		}
		for n := 1; slices.ContainsFunc(kept, func(o *zone) bool { return o.id == z.id }); n++ {
			z.id = fmt.Sprintf("%s-%d", z.name, n)
		}
		kept = append(kept, z)
	}
	return kept, errs
}

// powercapDomains says what the zones are. Packages and dram lie beside each
// other, core and uncore are parts of a package, psys includes everything and
// is in the total only where nothing else is: older machines count in it less
// than the packages draw.
func powercapDomains(zones []*zone) []Domain {
	sole := !slices.ContainsFunc(zones, func(z *zone) bool {
		return strings.HasPrefix(z.name, "package-") || z.name == "dram"
	})
	domains := make([]Domain, len(zones))
	for i, z := range zones {
		d := Domain{ID: z.id, Method: Measured, Wrap: z.wrap, Period: raplPeriod, Lo: 1, Hi: 1}
		switch {
		case strings.HasPrefix(z.name, "package-"):
			d.Kind, d.InTotal = "cpu_package", true
		case z.name == "dram":
			d.Kind, d.InTotal = "dram", true
		case z.name == "psys":
			d.Kind, d.InTotal = "psys", sole
		case z.parent != nil:
			d.Kind, d.Parent = "nested", z.parent.id
		default:
			d.Kind = "independent"
		}
		domains[i] = d
	}
	return domains
}
