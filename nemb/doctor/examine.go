package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"cg/attach/perf"
	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/condition"
	"cg/nemb/counter"
	"cg/nemb/patience"
	"cg/nemb/processor"
	"cg/nemb/rapl"
	"cg/nemb/sysfs"
	"cg/shown"
)

// Level is how much a finding matters.
type Level string

const (
	Fine    Level = "ok"
	Remark  Level = "note"    // good to know
	Warning Level = "warning" // figures are worse for it
	Failure Level = "failure" // nothing measures for it
)

// Finding is what an examination found of one thing, and the command that
// mends or betters it.
type Finding struct {
	Check string `json:"check"`
	Level Level  `json:"level"`
	Text  string `json:"text"`
	Fix   string `json:"fix"` // "" where nothing needs mending, or no command does
}

// Diagnosis is what an examination found.
type Diagnosis struct {
	Measures bool      `json:"measures"` // some energy is measured here
	Findings []Finding `json:"findings"`
}

// Next is the finding whose fix improves measuring most: the first one with a fix among failures, else among
// warnings, else among remarks. ok is false where nothing has a fix.
func (d *Diagnosis) Next() (f Finding, ok bool) {
	for _, level := range []Level{Failure, Warning, Remark} {
		for _, f := range d.Findings {
			if f.Level == level && f.Fix != "" {
				return f, true
			}
		}
	}
	return Finding{}, false
}

func (d *Diagnosis) add(check string, level Level, fix, format string, args ...any) {
	d.Findings = append(d.Findings, Finding{check, level, fmt.Sprintf(format, args...), fix})
}

// Examine tells what stands in the way of measuring: sensors that cannot be
// read, counters that do not count or count what cannot be, and what else is
// going on. It watches the counters for window, half a second say. Sensors and
// identity are those below root; load, steal and other sessions are always the
// live machine's.
func Examine(root nemb.Root, want []string, window time.Duration) (*Diagnosis, error) {
	found, err := nemb.Inspect(root, want)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	d := &Diagnosis{Findings: []Finding{}}
	before := account.ReadHost()
	d.counters(&found, window)
	busy, steal := before.Until(account.ReadHost(), processor.Online())
	d.sources(&found)
	for _, n := range found.Doubts() {
		d.add("figures", Warning, "", "%s", n.Text)
	}
	m := machineOf(root)
	d.missing(root, m, &found)
	d.walls(root, m, &found)
	d.filtering(root, m, &found)
	d.surroundings(m)
	d.account(account.InheritWorks())
	d.stacks(perf.Check(unix.Getpid()))
	if c := clockOf(root); !c.Invariant && c.Kernel != "" {
		d.add("clock", Remark, "", "the processors' cycle counter is not invariant: checkpoints read CLOCK_MONOTONIC, "+
			"which takes some three times as long")
	}
	if p := permissions(root); !p.Realtime {
		d.add("sampler", Remark, `sudo setcap cap_sys_nice+ep "$(command -v cg)"`,
			"the sampler may not run under SCHED_FIFO: on a busy machine some samples come late")
	}
	d.sessions()
	d.load(busy, steal)
	return d, nil
}

// counters reads every domain twice.
func (d *Diagnosis) counters(found *nemb.Found, window time.Duration) {
	type reading struct {
		raw []nemb.Energy
		err error
		at  checkpoint.Instant
	}
	read := func() (all []reading) {
		for _, s := range found.Sensors {
			r := reading{raw: make([]nemb.Energy, len(s.Domains()))}
			r.err, r.at = s.Read(r.raw), checkpoint.Monotime()
			all = append(all, r)
		}
		return all
	}
	first := read()
	time.Sleep(window)
	second := read()
	var measured []string
	for i, s := range found.Sensors {
		a, b := first[i], second[i]
		if err := errors.Join(a.err, b.err); err != nil {
			d.add("counters", Warning, "", "%v", err)
			continue
		}
		elapsed := time.Duration(b.at - a.at)
		domains := s.Domains()
		drew := make([]nemb.Energy, len(domains))
		for k, domain := range domains {
			if domain.Method == nemb.Estimated {
				continue
			}
			delta, v := counter.Unwrap(a.raw[k], b.raw[k], domain.Wrap, elapsed)
			drew[k] = delta
			switch {
			case !v.Known():
				d.add("counters", Warning, "", "%s: the counter was reset while it was watched (%s)", domain.ID,
					domain.Source)
			case delta == 0 && domain.InTotal:
				d.add("counters", Warning, "", "%s: the counter did not move in %v (%s): it does not count", domain.ID,
					elapsed.Round(time.Millisecond), domain.Source)
			case domain.InTotal:
				d.Measures = true
				measured = append(measured, fmt.Sprintf("%s %.3g W", domain.ID, delta.Joules()/elapsed.Seconds()))
			}
		}
		for _, n := range nemb.Implausible(domains, drew, elapsed) {
			d.add("figures", Warning, "", "%s", n.Text)
		}
	}
	switch {
	case d.Measures:
		d.Findings = slices.Insert(d.Findings, 0, Finding{"energy", Fine,
			"measured here: " + strings.Join(measured, ", "), ""})
	case found.MeasuresProcessors() && len(found.Domains()) > 0:
		d.Findings = slices.Insert(d.Findings, 0, Finding{"energy", Failure,
			"nothing here measures energy; cg works all the same and estimates it from processor time, " +
				"better where two readings of any meter are known", "cg calibrate --idle WATTS --load WATTS"})
	default:
		d.Findings = slices.Insert(d.Findings, 0, Finding{"energy", Failure,
			"nothing here measures energy, and nothing estimates it", ""})
	}
}

// sources tells which sources cannot be read.
func (d *Diagnosis) sources(found *nemb.Found) {
	absent := []string{}
	for _, s := range found.Seen {
		if s.State == nemb.Absent {
			absent = append(absent, s.Source.Name)
		}
		for _, err := range s.Errors {
			var denied *nemb.Denied
			switch {
			case patience.Hangs(err):
				d.add(s.Source.Name, Warning, "", "%v: runs go on without it; see what its driver says (dmesg), or "+
					"leave it out with -s", err)
			case errors.As(err, &denied):
				level := Failure
				if d.Measures {
					level = Warning
				}
				if found.Covered(err) {
					level = Remark
				}
				d.add(s.Source.Name, level, denied.Fix, "%s: %v: %s", denied.What, denied.Err, denied.Why)
			case errors.Is(err, fs.ErrNotExist):
			case errors.Is(err, fs.ErrPermission):
				d.add(s.Source.Name, Warning, "", "%v", err)
			default:
				d.add(s.Source.Name, Warning, "", "%v: runs stop at it; leave it out with -s", err)
			}
		}
		for _, n := range s.Notes {
			if !n.Doubt {
				d.add(s.Source.Name, Remark, "", "%s", n.Text)
			}
		}
	}
	if len(absent) > 0 {
		d.add("absent", Remark, "", "this machine has no %s", strings.Join(absent, ", "))
	}
}

// missing tells of devices whose source is absent for want of what it reads them
// through.
func (d *Diagnosis) missing(root nemb.Root, m Machine, found *nemb.Found) {
	for _, s := range found.Seen {
		if s.State != nemb.Absent || s.Source.Missing == nil {
			continue
		}
		if text, fix := s.Source.Missing(root, m.Container != ""); text != "" {
			d.add(s.Source.Name, Warning, fix, "%s", text)
		}
	}
}

// walls tells of sources that measure the whole machine and are not read, because another
// measures the processors.
func (d *Diagnosis) walls(root nemb.Root, m Machine, found *nemb.Found) {
	for _, s := range found.Seen {
		if !s.Source.Wall || s.State != nemb.Spare || len(s.Errors) > 0 {
			continue
		}
		name := s.Source.Name
		sensors, err := nemb.OpenSource(root, name)
		var denied *nemb.Denied
		switch {
		case len(sensors) > 0:
			d.add(name, Remark, "", "what the machine draws at its power supplies can be read, too: name it beside "+
				"the others (-s auto,%s)", name)
		case errors.As(err, &denied):
			d.add(name, Remark, denied.Fix, "%s: %v: %s", denied.What, denied.Err, denied.Why)
		case !errors.Is(err, fs.ErrNotExist):
			d.add(name, Remark, "", "%v", err)
		case s.Source.Missing != nil:
			if text, fix := s.Source.Missing(root, m.Container != ""); text != "" {
				d.add(name, Remark, fix, "%s", text)
			}
		}
		for _, sensor := range sensors {
			sensor.Close()
		}
	}
}

// filterRegister is IA32_MISC_PACKAGE_CTLS (Intel SDM vol. 4, table 2-2): with
// bit 0 set the energy counters show filtered values, against attacks that
// read secrets from them (INTEL-SA-00389, platypusattack.com). It stays set
// until the next reset.
const filterRegister = 0xbc

func (d *Diagnosis) filtering(root nemb.Root, m Machine, found *nemb.Found) {
	counts := slices.ContainsFunc(found.Seen, func(s nemb.Seen) bool {
		return s.Source.RAPL && s.State != nemb.Absent && s.State != nemb.Unasked
	})
	if m.Vendor != processor.Intel || !counts {
		return
	}
	path := root.Dev("cpu/0/msr")
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		d.add("filtering", Remark, "sudo modprobe msr && sudo cg doctor",
			"whether the processor filters its energy counters (INTEL-SA-00389) is not known: %s: %v", path, err)
		return
	}
	defer unix.Close(fd)
	bits, err := rapl.ReadRegister(fd, filterRegister)
	switch {
	case errors.Is(err, unix.EIO):
		d.add("filtering", Fine, "", "the processor cannot filter its energy counters")
	case err != nil:
		d.add("filtering", Remark, "", "whether the processor filters its energy counters (INTEL-SA-00389) is "+
			"not known: %s: %v", path, err)
	case bits&1 == 1:
		d.add("filtering", Warning, "", "the processor filters its energy counters (INTEL-SA-00389): energies of "+
			"short spans are noisy; turn SGX off in the firmware's setup and restart")
	default:
		d.add("filtering", Fine, "", "the processor does not filter its energy counters")
	}
}

// surroundings tells what comes between cg and the hardware.
func (d *Diagnosis) surroundings(m Machine) {
	if m.Virtual {
		of := ""
		if m.Hypervisor != "" {
			of = " (" + m.Hypervisor + ")"
		}
		level := Remark
		if !d.Measures {
			level = Warning
		}
		d.add("virtualisation", level, "", "this is a virtual machine%s: hypervisors pass on no energy counters, as a "+
			"rule; measure on the host to have them", of)
	}
	if m.Container != "" {
		d.add("container", Remark, "", "this is a container (%s): the counters are the whole machine's, and other "+
			"containers' use counts as other processes", m.Container)
	}
}

// account tells how the processor time of programs is counted.
func (d *Diagnosis) account(err error) {
	if err == nil {
		return
	}
	d.add("perf_event", Warning, "sudo sysctl kernel.perf_event_paranoid=2",
		"the processor time of programs comes from /proc, in steps of 10 ms, and short-lived processes are missed: %v",
		err)
}

// stacks tells why functions of machine code cannot be sampled.
func (d *Diagnosis) stacks(err error) {
	if err != nil {
		d.add("stacks", Remark, "", "cg measure --sample and --pid tell no functions of machine code, those of Python "+
			"alone: %v", err)
	}
}

// sessions tells who else measures here.
func (d *Diagnosis) sessions() {
	if others := condition.Others(); len(others) > 0 {
		d.add("sessions", Warning, "", "others measure here at the same time: %s; counters are the whole machine's, "+
			"so each session's total includes what the others use", strings.Join(condition.Names(others), ", "))
	}
}

// A machine that is busier than this before a run disturbs it.
const (
	busyMost  = 0.2
	stealMost = 0.01
)

func (d *Diagnosis) load(busy, steal float64) {
	load, _, _ := strings.Cut(sysfs.Line("/proc/loadavg"), " ")
	if busy > busyMost {
		d.add("load", Warning, "", "the processors are %.0f %% busy (load %s on %d): what others use is told apart by "+
			"processor time only, and runs take longer", 100*busy, shown.OrUnknown(load), processor.Online())
	} else {
		d.add("load", Fine, "", "the processors are %.0f %% busy (load %s on %d)", 100*busy, shown.OrUnknown(load),
			processor.Online())
	}
	if steal > stealMost {
		d.add("steal", Warning, "", "the host took %.0f %% of the processors' time for others: times and energies "+
			"vary with it", 100*steal)
	}
}
