// Package hwmon reads the energies and powers of hardware monitors below /sys/class/hwmon,
// and as metrics their temperatures and powers.
package hwmon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"cg/nemb"
	"cg/nemb/counter"
	"cg/nemb/processor"
	"cg/nemb/rapl"
	"cg/nemb/sensor"
	"cg/nemb/sysfs"
	"cg/pattern"
)

// name is that of the source.
const name = "hwmon"

func init() { nemb.Register(nemb.Source{Name: name, Open: openHwmon, Rank: -10, Metric: "hwmon"}) }

// energyFile is a sensor of energy or power of a hardware monitor.
type energyFile struct {
	chip  string // name: amd_energy, power_meter, amdgpu
	label string // what it measures, as the driver says
	dir   string // of the chip
	path  string
	kind  string // energy, power
	order int    // of the chip among those of its name
	alone bool   // it is the only one
	fault error  // its label is there and cannot be read: what it measures is not known
	why   string // it is not taken
}

var hwmonName = pattern.Later(`^(energy|power)([0-9]+)_(input|average)$`)

// every is how often powers are read: drivers bring them up to date 1 to
// 20 times a second.
const every = 50 * time.Millisecond

// openHwmon opens what the hardware monitors below class/hwmon tell of energy
// and power (Documentation/hwmon/sysfs-interface.rst): energyN_input in
// microjoules, powerN_average and powerN_input in microwatts, which are
// integrated. Only sensors whose meaning is known are taken, by the driver's
// name and its label:
//
//	amd_energy      Esocket0              package-0 (Documentation/hwmon/amd_energy.rst of Linux 5.8 to 5.12)
//	power_meter     Grace Power Socket 0  package-0 (NVIDIA Grace Performance Tuning Guide, Power Telemetry)
//	                CPU, SysIO Power ...  parts of it
//	                Module Power ...      the module with its GPU
//	                anything else         the whole machine (Documentation/hwmon/acpi_power_meter.rst)
//	smpro_hwmon     CORE, SoC, RCA VRD    together package-N; DIMM VRD1 and 2 together dram (of several dram-N)
//	                                      (Documentation/hwmon/smpro-hwmon.rst)
//	apm_xgene       CPU power, IO power   together package-N (Documentation/hwmon/xgene-hwmon.rst)
//	amdgpu          PPT, slowPPT          a GPU with memory of its own (Documentation/gpu/amdgpu/thermal.rst)
//	xe, i915        card, pkg             a discrete GPU (Documentation/ABI/testing/sysfs-driver-intel-xe-hwmon)
//
// A sensor of these that cannot be read is left out and noted: monitors on
// buses come and go. One that is a part of a sum takes the sum with it, and one
// whose label cannot be read may be a part of any sum of its chip. A power of 0 W
// is left out, too. Sensors that are not taken are noted.
func openHwmon(root nemb.Root) ([]nemb.Sensor, error) {
	o := hwmonOpening{energies: sensor.NewFile(name), powers: sensor.NewPower(name, every), lost: map[string]bool{}}
	for _, f := range energyFiles(root) {
		o.add(f)
	}
	o.untaken()
	for i, d := range o.powers.Domains() {
		if !o.lost[d.ID] && o.powers.Silent(i) {
			o.notes = append(o.notes, nemb.Note{Text: fmt.Sprintf("hwmon: %s: left out: %v", d.ID, sensor.ErrNoPower)})
			o.lost[d.ID] = true
		}
	}
	for id := range o.lost {
		o.powers.Drop(id)
	}
	var sensors []nemb.Sensor
	if len(o.energies.Domains()) > 0 {
		sensors = append(sensors, o.energies)
	}
	if len(o.powers.Domains()) > 0 {
		sensors = append(sensors, o.powers)
	}
	o.setIdleShares(root.CPU())
	o.freeParts()
	for _, n := range o.notes {
		o.energies.Note(n)
	}
	if len(sensors) == 0 {
		if len(o.errs) == 0 {
			why := error(fs.ErrNotExist)
			if len(o.notes) > 0 {
				var texts []string
				for _, n := range o.notes {
					texts = append(texts, n.Text)
				}
				why = fmt.Errorf("%w (%s)", why, strings.Join(texts, "; "))
			}
			dir := root.Sys("class/hwmon")
			o.errs = append(o.errs, fmt.Errorf("hwmon: %s: no sensor of energy or power: %w", dir, why))
		}
	} else if len(o.energies.Domains()) == 0 {
		for _, n := range o.notes {
			o.powers.Note(n)
		}
	}
	return sensors, errors.Join(o.errs...)
}

// hwmonOpening is what openHwmon has found so far.
type hwmonOpening struct {
	energies *sensor.File
	powers   *sensor.Power
	lost     map[string]bool // domains of which a meter is missing
	notes    []nemb.Note
	errs     []error
	denied   *nemb.Denied
	left     []energyFile // that are not taken, in the order in which they were found
}

// add opens a sensor, or tells why not.
func (o *hwmonOpening) add(f energyFile) {
	if f.fault != nil {
		for _, id := range f.sums() {
			o.lost[id] = true
			o.refuse(f, id, f.fault)
		}
		return
	}
	d, why := f.domain()
	if why != "" {
		f.why = why
		o.left = append(o.left, f)
		return
	}
	d.Source = "hwmon: " + f.path
	var err error
	if f.kind == "energy" {
		err = addText(o.energies, d, f.path)
	} else {
		var g *sensor.Number
		if g, err = openMeter(f.path); err == nil {
			o.powers.Add(d, g)
		} else {
			o.lost[d.ID] = true
		}
	}
	o.refuse(f, d.ID, err)
}

// refuse tells why a domain is not read; nil is no reason.
func (o *hwmonOpening) refuse(f energyFile, id string, err error) {
	switch {
	case errors.Is(err, fs.ErrPermission):
		if o.denied == nil {
			path := f.path
			var at *fs.PathError
			if f.fault != nil && errors.As(err, &at) {
				path = at.Path
			}
			o.denied = &nemb.Denied{
				What: "hwmon: " + path, Err: fs.ErrPermission, Why: "root alone may read it",
				Fix: "sudo chmod g+r " + path + " and a group that you are in",
			}
			o.errs = append(o.errs, o.denied)
		}
		if !slices.Contains(o.denied.Domains, id) {
			o.denied.Domains = append(o.denied.Domains, id)
		}
	case err != nil:
		o.notes = append(o.notes, nemb.Note{Text: fmt.Sprintf("hwmon: %s: left out: %v", id, err)})
	}
}

// untaken tells which sensors are not taken and why, chip by chip.
func (o *hwmonOpening) untaken() {
	var order []string
	names := map[string][]string{}
	for _, f := range o.left {
		key := fmt.Sprintf("hwmon: %s (\"%s\"): not taken: %s", f.dir, f.chip, f.why)
		if names[key] == nil {
			order = append(order, key)
		}
		name := filepath.Base(f.path)
		if f.label != "" {
			name += fmt.Sprintf(" \"%s\"", f.label)
		}
		names[key] = append(names[key], name)
	}
	for _, key := range order {
		list := names[key]
		if n := len(list) - 4; n > 0 {
			list = append(list[:4:4], fmt.Sprintf("%d more", n))
		}
		o.notes = append(o.notes, nemb.Note{Text: key + ": " + strings.Join(list, ", ")})
	}
}

// setIdleShares sets how much of its power each domain draws with idle processors.
func (o *hwmonOpening) setIdleShares(cpu processor.CPU) {
	set := func(d *nemb.Domain) {
		if d.Kind != "gpu" {
			d.ShareIdle(cpu)
		}
	}
	o.energies.Adjust(set)
	o.powers.Adjust(set)
}

// freeParts makes parts of a domain that cannot be read stand for themselves.
func (o *hwmonOpening) freeParts() {
	all := slices.Concat(o.energies.Domains(), o.powers.Domains())
	o.powers.Adjust(func(d *nemb.Domain) {
		if d.Parent != "" && !slices.ContainsFunc(all, func(o nemb.Domain) bool { return o.ID == d.Parent }) {
			d.Kind, d.Parent = "independent", ""
		}
	})
}

// openMeter opens a power in microwatts; a variable for tests, since root may
// read everything.
var openMeter = func(path string) (*sensor.Number, error) { return sensor.OpenPower(path, 1e-6) }

// addText adds a domain whose counter is a text of microjoules.
func addText(s *sensor.File, d nemb.Domain, path string) error {
	if slices.ContainsFunc(s.Domains(), func(o nemb.Domain) bool { return o.ID == d.ID }) {
		return fmt.Errorf("%s is there twice", d.ID)
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	c := counter.Counter{FD: int32(fd)}
	e, err := c.Read()
	if err != nil {
		unix.Close(fd)
		return err
	}
	// Sockets that show the same counter are one (amd/amd_energy#5).
	for i, o := range s.Domains() {
		if again, err := s.Counters()[i].Read(); err == nil && d.Kind == "cpu_package" && o.Kind == d.Kind && e > 0 &&
			e <= again && again-e < 1e6 {
			unix.Close(fd)
			return fmt.Errorf("it shows the counter of %s", o.ID)
		}
	}
	d.Method, d.Step, d.Lo, d.Hi = nemb.Measured, rapl.Step(rapl.Unit61), 1, 1
	s.Add(d, c)
	s.Keep(fd)
	return nil
}

// MonitorFile is a sensor of energy or power of a hardware monitor, as a file.
type MonitorFile struct {
	Chip   string // name of the chip: amd_energy, power_meter, amdgpu
	Path   string
	Fault  error  // what it measures cannot be read; nil where it can
	Unused string // why the source hwmon does not measure with it; "" where it does
}

// Files lists the sensors of energy and power below class/hwmon, measured with or not.
func Files(root nemb.Root) []MonitorFile {
	var all []MonitorFile
	for _, f := range energyFiles(root) {
		_, unused := f.domain()
		all = append(all, MonitorFile{Chip: f.chip, Path: f.path, Fault: f.fault, Unused: unused})
	}
	return all
}

// energyFiles lists the sensors of energy and power, chips in the order of
// their numbers. The average of a power is taken where there is one. Monitors
// of power supplies are left to the battery.
func energyFiles(root nemb.Root) []energyFile {
	entries, _ := os.ReadDir(root.Sys("class/hwmon"))
	number := func(name string) int {
		n, err := strconv.Atoi(strings.TrimPrefix(name, "hwmon"))
		if err != nil {
			return 1 << 30
		}
		return n
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return number(a.Name()) - number(b.Name()) })
	var all []energyFile
	seen := map[string]int{}
	for _, e := range entries {
		dir := root.Sys("class/hwmon", e.Name())
		chip := sysfs.Line(filepath.Join(dir, "name"))
		if chip == "" {
			chip = sysfs.Line(filepath.Join(dir, "device/name"))
		}
		if chip == "" {
			continue
		}
		if _, err := os.Stat(root.Sys("class/power_supply", chip)); err == nil {
			continue
		}
		order := seen[chip]
		seen[chip]++
		// Older drivers put the files next to the device (acpi_power_meter).
		for _, at := range []string{dir, filepath.Join(dir, "device")} {
			files, _ := os.ReadDir(at)
			found := map[string]energyFile{}
			for _, file := range files {
				m := hwmonName().FindStringSubmatch(file.Name())
				if m == nil || m[1] == "energy" && m[3] == "average" {
					continue
				}
				channel := filepath.Join(at, m[1]+m[2])
				label, fault := readLabel(channel)
				if _, ok := found[channel]; !ok || m[3] == "average" {
					found[channel] = energyFile{chip: chip, label: label, dir: dir,
						path: filepath.Join(at, file.Name()), kind: m[1], order: order, fault: fault}
				}
			}
			for _, channel := range slices.SortedFunc(func(yield func(string) bool) {
				for c := range found {
					if !yield(c) {
						return
					}
				}
			}, func(a, b string) int {
				if len(a) != len(b) {
					return len(a) - len(b)
				}
				return strings.Compare(a, b)
			}) {
				all = append(all, found[channel])
			}
		}
	}
	for i := range all {
		all[i].alone = seen[all[i].chip] == 1
	}
	return all
}

var graceLabel = pattern.Later(`^(Module|Grace|CPU|SysIO) Power Socket ([0-9]+)$`)

// readLabel reads what a channel measures; "" where the driver does not say.
func readLabel(channel string) (string, error) {
	for _, suffix := range []string{"_label", "_oem_info"} {
		text, err := readFile(channel + suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if label := sysfs.Text(text); label != "" {
			return label, nil
		}
	}
	return "", nil
}

// readFile reads a label; a variable for tests, since root may read everything.
var readFile = os.ReadFile

// Why a sensor is not taken.
const (
	whyUnknown  = "cg does not know what this driver's sensors measure"
	whyLabel    = "cg does not know what the driver means by this label"
	whyPart     = "it is a part of what another sensor of the chip tells"
	whyInternal = "the GPU is a part of the processor, whose power it tells"
)

// sums lists the domains that a sensor of a chip may be a part of.
func (f energyFile) sums() []string {
	socket := fmt.Sprintf("-%d", f.order)
	switch {
	case strings.HasPrefix(f.chip, "smpro"):
		return []string{"package" + socket, f.memory()}
	case f.chip == "apm_xgene":
		return []string{"package" + socket}
	}
	return []string{fmt.Sprintf("%s%s", f.chip, socket)}
}

// domain tells what a sensor measures, or why it is not taken.
func (f energyFile) domain() (d nemb.Domain, why string) {
	is := func(id, kind, parent string) (nemb.Domain, string) {
		return nemb.Domain{ID: id, Kind: kind, Parent: parent}, ""
	}
	socket := fmt.Sprintf("-%d", f.order)
	label := strings.ToLower(f.label)
	switch {
	case f.chip == "amd_energy" && f.kind == "energy":
		if n, found := strings.CutPrefix(label, "esocket"); found {
			return is("package-"+n, "cpu_package", "")
		}
		if strings.HasPrefix(label, "ecore") {
			return d, whyPart
		}
	case f.chip == "power_meter" && f.kind == "power":
		return f.acpi(socket)
	case strings.HasPrefix(f.chip, "smpro") && f.kind == "power":
		if strings.Contains(label, "dimm") {
			return is(f.memory(), "dram", "")
		}
		if strings.Contains(label, "core") || strings.Contains(label, "soc") || strings.Contains(label, "rca") {
			return is("package"+socket, "cpu_package", "")
		}
	case f.chip == "apm_xgene" && f.kind == "power":
		if label == "cpu power" || label == "io power" {
			return is("package"+socket, "cpu_package", "")
		}
	case f.chip == "amdgpu" && f.kind == "power":
		switch {
		case label != "" && label != "ppt" && label != "slowppt":
		case !f.ownMemory():
			return d, whyInternal
		default:
			return is("gpu-amd"+socket, "gpu", "")
		}
	case (f.chip == "xe" || f.chip == "i915") && f.kind == "energy":
		if label == "pkg" {
			return is("gpu-intel-pkg"+socket, "nested", "gpu-intel"+socket)
		}
		return is("gpu-intel"+socket, "gpu", "")
	default:
		return d, whyUnknown
	}
	return d, whyLabel
}

// memory is the domain of the memory beside the chip's package.
func (f energyFile) memory() string {
	if f.alone {
		return "dram"
	}
	return fmt.Sprintf("dram-%d", f.order)
}

// acpi tells what an ACPI power meter measures.
func (f energyFile) acpi(socket string) (nemb.Domain, string) {
	m := graceLabel().FindStringSubmatch(f.label)
	if m == nil {
		return nemb.Domain{ID: "system" + strings.TrimSuffix(socket, "-0"), Kind: "psys"}, ""
	}
	switch m[1] {
	case "Module":
		return nemb.Domain{ID: "module-" + m[2], Kind: "psys"}, ""
	case "Grace":
		return nemb.Domain{ID: "package-" + m[2], Kind: "cpu_package"}, ""
	case "CPU":
		return nemb.Domain{ID: "cores-" + m[2], Kind: "nested", Parent: "package-" + m[2]}, ""
	}
	return nemb.Domain{ID: "sysio-" + m[2], Kind: "nested", Parent: "package-" + m[2]}, ""
}

// ownMemory tells whether an AMD GPU is a card: an APU sets aside a part of
// the machine's memory, and has a limit of its own (amdgpu sysfs files
// mem_info_vram_total, apu_thermal_cap).
func (f energyFile) ownMemory() bool {
	if _, err := os.Stat(filepath.Join(f.dir, "device/apu_thermal_cap")); err == nil {
		return false
	}
	bytes, err := strconv.ParseUint(sysfs.Line(filepath.Join(f.dir, "device/mem_info_vram_total")), 10, 64)
	return err == nil && bytes >= 2<<30
}
