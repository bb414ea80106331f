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

func init() { Register(Source{Name: "hwmon", Open: openHwmon}) }

// energyFile is a sensor of energy or power of a hardware monitor.
type energyFile struct {
	chip  string // name: amd_energy, power_meter, amdgpu
	label string // what it measures, as the driver says
	dir   string // of the chip
	path  string
	kind  string // energy, power
	order int    // of the chip among those of its name
}

var hwmonName = regexp.MustCompile(`^(energy|power)([0-9]+)_(input|average)$`)

// hwmonEvery is how often powers are read: drivers bring them up to date 1 to
// 20 times a second.
const hwmonEvery = 50 * time.Millisecond

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
//	smpro_hwmon     CORE, SoC, RCA VRD    together package-N; DIMM VRD1 and 2 together dram-N (Documentation/hwmon/smpro-hwmon.rst)
//	apm_xgene       CPU power, IO power   together package-N (Documentation/hwmon/xgene-hwmon.rst)
//	amdgpu          PPT, slowPPT          a GPU with memory of its own (Documentation/gpu/amdgpu/thermal.rst)
//	xe, i915        card, pkg             a discrete GPU (Documentation/ABI/testing/sysfs-driver-intel-xe-hwmon)
//
// A sensor of these that cannot be read is left out and told: monitors on
// buses come and go. One that is a part of a sum takes the sum with it. So is a
// power of 0 W.
func openHwmon(root Root) ([]Sensor, error) {
	files := energyFiles(root)
	energies := &fileSensor{name: "hwmon"}
	powers := newPowerSensor("hwmon", hwmonEvery)
	var notes []Note
	var errs []error
	var denied *Denied
	lost := map[string]bool{} // domains of which a meter is missing
	for _, f := range files {
		d, ok := f.domain()
		if !ok {
			continue
		}
		d.Source = "hwmon: " + f.path
		var err error
		if f.kind == "energy" {
			err = energies.addText(d, f.path)
		} else {
			var g *gauge
			if g, err = openMeter(f.path); err == nil {
				powers.add(d, g)
			} else {
				lost[d.ID] = true
			}
		}
		switch {
		case errors.Is(err, fs.ErrPermission):
			if denied == nil {
				denied = &Denied{
					What: "hwmon: " + f.path, Err: fs.ErrPermission, Why: "root alone may read it",
					Fix: "sudo chmod g+r " + f.path + " and a group that you are in",
				}
				errs = append(errs, denied)
			}
			if !slices.Contains(denied.Domains, d.ID) {
				denied.Domains = append(denied.Domains, d.ID)
			}
		case err != nil:
			notes = append(notes, Note{Text: fmt.Sprintf("hwmon: %s: left out: %v", d.ID, err)})
		}
	}
	for i, d := range powers.domains {
		if !lost[d.ID] && powers.silent(i) {
			notes = append(notes, Note{Text: fmt.Sprintf("hwmon: %s: left out: %v", d.ID, errNoPower)})
			lost[d.ID] = true
		}
	}
	for id := range lost {
		powers.drop(id)
	}
	cpu := Identify(root)
	share, most := idleShare(cpu)
	var sensors []Sensor
	if len(energies.domains) > 0 {
		sensors = append(sensors, energies)
	}
	if len(powers.domains) > 0 {
		sensors = append(sensors, powers)
	}
	for _, s := range sensors {
		s.(interface{ arrange(func(*Domain)) }).arrange(func(d *Domain) {
			if d.Kind != "gpu" {
				d.IdleShare, d.IdleShareMost = share, most
			}
		})
	}
	// Parts of what cannot be read stand for themselves.
	has := func(id string) bool {
		return slices.ContainsFunc(slices.Concat(energies.domains, powers.domains), func(d Domain) bool { return d.ID == id })
	}
	powers.arrange(func(d *Domain) {
		if d.Parent != "" && !has(d.Parent) {
			d.Kind, d.Parent = "independent", ""
		}
	})
	energies.notes = notes
	if len(sensors) == 0 {
		if len(errs) == 0 {
			why := error(fs.ErrNotExist)
			if len(notes) > 0 {
				why = fmt.Errorf("%w (%s)", why, notes[0].Text)
			}
			errs = append(errs, fmt.Errorf("hwmon: %s: no sensor of energy or power: %w", root.Sys("class/hwmon"), why))
		}
	} else if len(energies.domains) == 0 {
		powers.notes = notes
	}
	return sensors, errors.Join(errs...)
}

// openMeter opens a power in microwatts; a variable for tests, since root may
// read everything.
var openMeter = func(path string) (*gauge, error) { return openGauge(path, 1e-6) }

// addText adds a domain whose counter is a text of microjoules.
func (s *fileSensor) addText(d Domain, path string) error {
	if slices.ContainsFunc(s.domains, func(o Domain) bool { return o.ID == d.ID }) {
		return fmt.Errorf("%s is told twice", d.ID)
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	c := counter{fd: fd}
	e, err := c.read()
	if err != nil {
		unix.Close(fd)
		return err
	}
	// Sockets that show the same counter are one (amd/amd_energy#5).
	for i, o := range s.domains {
		if again, err := s.list[i].read(); err == nil && d.Kind == "cpu_package" && o.Kind == d.Kind && e > 0 && e <= again && again-e < 1e6 {
			unix.Close(fd)
			return fmt.Errorf("it shows the counter of %s", o.ID)
		}
	}
	d.Method, d.Lo, d.Hi = Measured, 1, 1
	s.domains, s.list, s.open = append(s.domains, d), append(s.list, c), append(s.open, fd)
	return nil
}

// energyFiles lists the sensors of energy and power, chips in the order of
// their numbers. A power is told by its average where there is one. Monitors
// of power supplies are left to the battery.
func energyFiles(root Root) []energyFile {
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
		chip := readLine(filepath.Join(dir, "name"))
		if chip == "" {
			chip = readLine(filepath.Join(dir, "device/name"))
		}
		if chip == "" {
			continue
		}
		if _, err := os.Stat(root.Sys("class/power_supply", chip)); err == nil {
			continue
		}
		order := seen[chip]
		seen[chip]++
		// Older drivers put the files beside the device (acpi_power_meter).
		for _, at := range []string{dir, filepath.Join(dir, "device")} {
			files, _ := os.ReadDir(at)
			found := map[string]energyFile{}
			for _, file := range files {
				m := hwmonName.FindStringSubmatch(file.Name())
				if m == nil || m[1] == "energy" && m[3] == "average" {
					continue
				}
				channel := filepath.Join(at, m[1]+m[2])
				label := readLine(channel + "_label")
				if label == "" {
					label = readLine(channel + "_oem_info")
				}
				if _, ok := found[channel]; !ok || m[3] == "average" {
					found[channel] = energyFile{chip, label, dir, filepath.Join(at, file.Name()), m[1], order}
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
	return all
}

var graceLabel = regexp.MustCompile(`^(Module|Grace|CPU|SysIO) Power Socket ([0-9]+)$`)

// domain tells what a sensor measures; ok is false when that is not known.
func (f energyFile) domain() (d Domain, ok bool) {
	is := func(id, kind, parent string) (Domain, bool) { return Domain{ID: id, Kind: kind, Parent: parent}, true }
	socket := fmt.Sprintf("-%d", f.order)
	label := strings.ToLower(f.label)
	switch {
	case f.chip == "amd_energy" && f.kind == "energy":
		if n, found := strings.CutPrefix(label, "esocket"); found {
			return is("package-"+n, "cpu_package", "")
		}
	case f.chip == "power_meter" && f.kind == "power":
		m := graceLabel.FindStringSubmatch(f.label)
		if m == nil {
			return is("system"+strings.TrimSuffix(socket, "-0"), "psys", "")
		}
		switch m[1] {
		case "Module":
			return is("module-"+m[2], "psys", "")
		case "Grace":
			return is("package-"+m[2], "cpu_package", "")
		case "CPU":
			return is("cores-"+m[2], "nested", "package-"+m[2])
		}
		return is("sysio-"+m[2], "nested", "package-"+m[2])
	case strings.HasPrefix(f.chip, "smpro") && f.kind == "power":
		if strings.Contains(label, "dimm") {
			return is("dram"+socket, "dram", "")
		}
		if strings.Contains(label, "core") || strings.Contains(label, "soc") || strings.Contains(label, "rca") {
			return is("package"+socket, "cpu_package", "")
		}
	case f.chip == "apm_xgene" && f.kind == "power":
		if label == "cpu power" || label == "io power" {
			return is("package"+socket, "cpu_package", "")
		}
	case f.chip == "amdgpu" && f.kind == "power":
		if label != "" && label != "ppt" && label != "slowppt" || !f.ownMemory() {
			return d, false // an APU's is its package's power
		}
		return is("gpu-amd"+socket, "gpu", "")
	case (f.chip == "xe" || f.chip == "i915") && f.kind == "energy":
		if label == "pkg" {
			return is("gpu-intel-pkg"+socket, "nested", "gpu-intel"+socket)
		}
		return is("gpu-intel"+socket, "gpu", "")
	}
	return d, false
}

// ownMemory tells whether an AMD GPU is a card: an APU sets aside a part of
// the machine's memory, and has a limit of its own (amdgpu sysfs files
// mem_info_vram_total, apu_thermal_cap).
func (f energyFile) ownMemory() bool {
	if _, err := os.Stat(filepath.Join(f.dir, "device/apu_thermal_cap")); err == nil {
		return false
	}
	bytes, err := strconv.ParseUint(readLine(filepath.Join(f.dir, "device/mem_info_vram_total")), 10, 64)
	return err == nil && bytes >= 2<<30
}
