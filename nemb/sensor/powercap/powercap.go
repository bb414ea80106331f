// Package powercap reads the energy counters below /sys/class/powercap.
package powercap

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"cg/nemb"
	"cg/nemb/counter"
	"cg/nemb/patience"
	"cg/nemb/processor"
	"cg/nemb/rapl"
	"cg/nemb/sensor"
	"cg/pattern"
	"cg/runtimes/sdk/spec"
)

// Name is that of the source.
const Name = "powercap"

func init() {
	nemb.Register(nemb.Source{Name: Name, Open: openPowercap, Rank: -30, Distinct: true, RAPL: true, Metric: "rapl"})
}

// openPowercap opens the RAPL zones below /sys/class/powercap
// (Documentation/power/powercap/powercap.rst), each package, die and sub-zone
// of every driver once. They are read one after the other through kept file
// descriptors.
func openPowercap(root nemb.Root) ([]nemb.Sensor, error) {
	zones, errs := rapl.Zones(root)
	if len(zones) == 0 && len(errs) == 0 {
		return nil, fmt.Errorf("powercap: %s: %w", root.Sys("class/powercap"), fs.ErrNotExist)
	}
	p := sensor.NewFile(Name)
	var first []nemb.Energy // what the dies of package p.Domains()[i] read at opening
	cpu := root.CPU()
	refused := refusals{errs: errs}
	left := map[string]bool{} // zones that repeat another
	domains, answers := rapl.Domains(zones), openCounters(zones)
	known := slices.ContainsFunc(domains, nemb.Domain.HasProcessors)
	for i, d := range domains {
		d.ShareIdle(cpu)
		z := zones[i]
		if z.Repeats != "" {
			p.Note(nemb.Note{Text: fmt.Sprintf("powercap: %s: left out: it reads %s, as %s does", z.Path, z.ID,
				z.Repeats)})
			continue
		}
		if z.Parent != nil && left[z.Parent.ID] {
			left[z.ID] = true
			continue
		}
		path := filepath.Join(z.Path, "energy_uj")
		fd, e := answers[i].fd, answers[i].energy
		if err := answers[i].err; err != nil {
			refused.add(d.ID, path, err)
			continue
		}
		answers[i].fd = -1 // it is p's
		c := counter.Counter{FD: int32(fd)}
		if of := mirrored(p, d, first, e); of != "" {
			unix.Close(fd)
			left[z.ID] = true
			p.Note(nemb.Note{Text: fmt.Sprintf("powercap: %s: left out: it shows the counter of %s", d.ID, of)})
			continue
		}
		if d.Kind == "independent" {
			p.Note(nemb.Note{Doubt: !known, Text: fmt.Sprintf("powercap: %s: nobody knows what a zone of the name "+
				"\"%s\" counts: it is in no total", z.Path, z.Name)})
		}
		if text := unitDoubt(d, cpu); text != "" {
			p.Note(nemb.Note{Doubt: true, Text: "powercap: " + text})
		}
		d.Source = path
		p.Add(d, c)
		p.Keep(fd)
		first = append(first, e)
	}
	for _, a := range answers {
		if a.err == nil && a.fd >= 0 {
			unix.Close(a.fd)
		}
	}
	if len(p.Domains()) == 0 {
		return nil, refused.all()
	}
	return []nemb.Sensor{p}, refused.all()
}

// refusals are why zones are not read; those that are denied are one error.
type refusals struct {
	errs   []error
	denied *nemb.Denied
}

func (r *refusals) add(id, path string, err error) {
	switch {
	case patience.Hangs(err):
		r.errs = append(r.errs, &patience.Hung{What: "powercap: " + path, After: patience.Limit, Domains: []string{id}})
	case errors.Is(err, fs.ErrPermission):
		if r.denied == nil {
			r.denied = &nemb.Denied{
				What: "powercap: " + path, Err: err,
				Why: "since Linux 5.10 root alone may read it (CVE-2020-8694)",
				Fix: "sudo cg init-sensors",
			}
			r.errs = append(r.errs, r.denied)
		}
		r.denied.Domains = append(r.denied.Domains, id)
	default:
		r.errs = append(r.errs, fmt.Errorf("powercap: %s: %w", path, sensor.Broken(err)))
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
	energy nemb.Energy
	err    error
}

// openCounters opens and reads the counter of every zone that repeats no other.
// They are asked at the same time: all of those that hang have hung together.
func openCounters(zones []*rapl.Zone) []firstAnswer {
	answers := make([]firstAnswer, len(zones))
	var asked sync.WaitGroup
	for i, z := range zones {
		if z.Repeats != "" {
			answers[i].fd = -1
			continue
		}
		path := filepath.Join(z.Path, "energy_uj")
		asked.Go(func() {
			a, ok := patience.Within(patience.Limit, func() firstAnswer { return openCounter(path) },
				func(a firstAnswer) {
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
		err = sensor.Broken(err)
	}
	return firstAnswer{fd, e, err}
}

var dieName = pattern.Later(`^(package-[0-9]+)-die-[0-9]+$`)

// mirrored names the die whose counter die d, which read e, shows: one of the
// same package that is open already, "" for none. Some Threadripper show one counter
// under both dies (codecarbon#316), and the sum would count it twice. Two
// counters of 32 bits do not hold the same number by chance.
func mirrored(p *sensor.File, d nemb.Domain, first []nemb.Energy, e nemb.Energy) (of string) {
	die := dieName().FindStringSubmatch(d.ID)
	if die == nil {
		return ""
	}
	for i, o := range p.Domains() {
		other := dieName().FindStringSubmatch(o.ID)
		if other == nil || other[1] != die[1] {
			continue
		}
		again, err := p.Counters()[i].Read()
		if err == nil && first[i] <= e && e <= again && again > 0 && again-first[i] < spec.MirrorUj {
			return o.ID
		}
	}
	return ""
}

// unitDoubt tells what is wrong with the unit of a zone that wraps after 32
// bits: outside of what RAPL counts in, or not the unit of this processor's
// memory. "" is nothing.
func unitDoubt(d nemb.Domain, cpu processor.CPU) string {
	unit := rapl.UnitOf(d.Wrap)
	switch want := rapl.MemoryUnit(cpu); {
	case d.Wrap == 0 || d.Kind == "psys": // which counts whole joules on some servers
	case d.Kind == "dram" && want > 0 && (unit > spec.UnitFactor*want || unit < want/spec.UnitFactor):
		how := fmt.Sprintf("%.1f times too low", want/unit)
		if unit > want {
			how = fmt.Sprintf("%.1f times too high", unit/want)
		}
		return fmt.Sprintf("%s: the kernel takes its unit for %.1f uJ, and memory beside %s counts %.1f uJ: its "+
			"energy is %s", d.ID, unit*1e6, cpu.March, want*1e6, how)
	case unit*1e6 > spec.UnitMostUj || unit*1e6 < spec.UnitLeastUj:
		return fmt.Sprintf("%s: max_energy_range_uj means a unit of %.3g uJ, and RAPL counts in %g to %g uJ", d.ID,
			unit*1e6, float64(spec.UnitLeastUj), float64(spec.UnitMostUj))
	}
	return ""
}
