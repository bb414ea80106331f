package hwmon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cg/nemb"
	"cg/nemb/fixture"
	"cg/nemb/sensor"
)

// chips writes hwmon chips: "power_meter: device/power1_average=50000000
// device/power1_oem_info=Grace Power Socket 0; ...".
func chips(t *testing.T, list ...string) nemb.Root {
	t.Helper()
	root := nemb.Root{Dir: t.TempDir()}
	for i, chip := range list {
		name, rest, _ := strings.Cut(chip, ": ")
		dir := fmt.Sprintf("sys/class/hwmon/hwmon%d/", i)
		texts := map[string]string{dir + "name": name + "\n"}
		for _, f := range strings.Split(rest, ", ") {
			file, text, _ := strings.Cut(f, "=")
			texts[dir+file] = text + "\n"
		}
		fixture.Files(t, root, texts)
	}
	return root
}

var grace = []string{
	"power_meter: device/power1_average=90000000, device/power1_oem_info=Module Power Socket 0",
	"power_meter: device/power1_average=50000000, device/power1_oem_info=Grace Power Socket 0",
	"power_meter: device/power1_average=30000000, device/power1_oem_info=CPU Power Socket 0",
	"power_meter: device/power1_average=8000000, device/power1_oem_info=SysIO Power Socket 0",
}

func TestHwmon(t *testing.T) {
	card := ", device/mem_info_vram_total=17163091968"
	tests := []struct {
		name  string
		want  []string // "" is auto
		chips []string
		ids   string
	}{
		{"Grace", nil, grace, "package-0/cpu_package+ cores-0<package-0/nested sysio-0<package-0/nested"},
		{"Grace, all of it", []string{"hwmon"}, grace, "module-0/psys package-0/cpu_package+ cores-0<package-0/nested sysio-0<package-0/nested"},
		{"Grace, parts only", nil, grace[2:], ""},
		{"ACPI meter", nil, []string{"power_meter: power1_average=200000000"}, "system/psys+"},
		{"Altra", nil, []string{"smpro_hwmon: power1_input=40000000, power1_label=power1 CORE VRD, power2_input=20000000, power2_label=power2 SoC, power3_input=5000000, power3_label=power3 DIMM VRD1, power4_input=6000000, power4_label=power4 DIMM VRD2, power5_input=1000000, power5_label=power5 RCA VRD"},
			"package-0/cpu_package+ dram/dram+"},
		{"amd_energy", nil, []string{"amd_energy: energy1_input=1000, energy1_label=Ecore000, energy2_input=700000000, energy2_label=Esocket0, energy3_input=900000000, energy3_label=Esocket1"},
			"package-0/cpu_package+ package-1/cpu_package+"},
		{"amd_energy of one socket shown twice", nil, []string{"amd_energy: energy2_input=700000000, energy2_label=Esocket0, energy3_input=700000000, energy3_label=Esocket1"},
			"package-0/cpu_package+"},
		{"a card", nil, []string{"amdgpu: power1_average=35000000, power1_label=PPT, power1_input=36000000" + card}, "gpu-amd-0/gpu+ machine/psys+"},
		{"an APU", nil, []string{"amdgpu: power1_average=35000000, power1_label=PPT, device/mem_info_vram_total=536870912"}, "machine/psys+"},
		{"Intel card", []string{"hwmon"}, []string{"xe: energy1_input=1000, energy1_label=card, energy2_input=500, energy2_label=pkg"},
			"gpu-intel-0/gpu+ gpu-intel-pkg-0<gpu-intel-0/nested"},
		{"a fan", nil, []string{"nct6775: fan1_input=900, power1_input=5"}, "machine/psys+"},
		{"unreadable", nil, []string{"power_meter: power1_average=n/a"}, "machine/psys+"},
		{"negative", nil, []string{"power_meter: power1_average=-4"}, "machine/psys+"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := chips(t, test.chips...)
			fixture.Files(t, root, map[string]string{"proc/cpuinfo": "processor\t: 0\n"})
			found, err := nemb.Discover(root, test.want)
			if err != nil {
				t.Fatal(err)
			}
			defer found.Close()
			var ids []string
			for _, d := range found.Domains() {
				s := d.ID
				if d.Parent != "" {
					s += "<" + d.Parent
				}
				if s += "/" + d.Kind; d.InTotal {
					s += "+"
				}
				ids = append(ids, s)
				if want := map[bool]nemb.Method{true: nemb.Measured, false: nemb.Derived}[strings.Contains(d.Source, "energy")]; d.ID != "machine" && d.Method != want {
					t.Errorf("%s is %s", d.ID, d.Method)
				}
			}
			if test.ids == "" {
				test.ids = "machine/psys+"
			}
			if got := strings.Join(ids, " "); got != test.ids {
				t.Errorf("\n got %s\nwant %s", got, test.ids)
			}
		})
	}
}

// A counter of the package is better than the monitor of the whole machine.
func TestHwmonBesideRAPL(t *testing.T) {
	root := fixture.Zones(t, "class/powercap", "intel-rapl:0 package-0")
	fixture.Files(t, root, map[string]string{
		"sys/class/hwmon/hwmon0/name":                       "power_meter\n",
		"sys/class/hwmon/hwmon0/power1_average":             "200000000\n",
		"sys/class/hwmon/hwmon1/name":                       "amdgpu\n",
		"sys/class/hwmon/hwmon1/power1_average":             "35000000\n",
		"sys/class/hwmon/hwmon1/device/mem_info_vram_total": "17163091968\n",
	})
	found, err := nemb.Discover(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, d := range found.Domains() {
		ids = append(ids, d.ID)
	}
	found.Close()
	if !slices.Equal(ids, []string{"package-0", "gpu-amd-0"}) {
		t.Errorf("%v", ids)
	}
	found, err = nemb.Discover(root, []string{"hwmon", "powercap"})
	if err != nil || len(found.Domains()) != 3 || found.Domains()[1].InTotal {
		t.Errorf("%+v, %v", found.Domains(), err)
	}
	found.Close()
}

// A domain that is the sum of several meters is known whole or not at all: what
// is left of it would be a wrong figure.
func TestHwmonPartOfASum(t *testing.T) {
	altra := "smpro_hwmon: power1_input=40000000, power1_label=power1 CORE VRD, power2_input=%s, power2_label=power2 SoC, power3_input=5000000, power3_label=power3 DIMM VRD1, power4_input=6000000, power4_label=power4 DIMM VRD2"
	xgene := "apm_xgene: power1_input=%s, power1_label=CPU power, power2_input=3000000, power2_label=IO power"
	for _, tt := range []struct {
		name, chip, broken string
		ids                string
		note               string
	}{
		{"Altra", altra, "odd", "dram", "package-0: left out: "},
		{"Altra, the file is empty", altra, "", "dram", "package-0: left out: "},
		{"X-Gene", xgene, "odd", "", ""},
		{"X-Gene, a part is off", xgene, "0", "package-0", ""},
	} {
		sensors, err := openHwmon(chips(t, fmt.Sprintf(tt.chip, tt.broken)))
		var ids, notes []string
		for _, s := range sensors {
			for _, d := range s.Domains() {
				ids = append(ids, d.ID)
			}
			for _, n := range s.(nemb.Noting).Notes() {
				notes = append(notes, n.Text)
			}
			s.Close()
		}
		if got := strings.Join(ids, " "); got != tt.ids || (err != nil) != (tt.ids == "") {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.ids)
		}
		if got := strings.Join(notes, "; "); !strings.Contains(got, tt.note) || strings.Count(got, "package-0") > 1 {
			t.Errorf("%s: %q", tt.name, got)
		}
		if err != nil && !strings.Contains(err.Error(), "package-0: left out: ") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// A power of 0 W is none: the domain is left out when it is opened. TestNoPower of
// package sensor has a power that is 0 W later.
func TestHwmonNoPower(t *testing.T) {
	const both = "smpro_hwmon: power1_input=0, power1_label=power1 CORE VRD, power2_input=0, power2_label=power2 SoC, power3_input=5000000, power3_label=power3 DIMM VRD1"
	root := chips(t, both)
	sensors, err := openHwmon(root)
	if err != nil || len(sensors) != 1 || len(sensors[0].Domains()) != 1 || sensors[0].Domains()[0].ID != "dram" {
		t.Fatalf("%+v, %v", sensors, err)
	}
	defer sensors[0].Close()
	if notes := sensors[0].(*sensor.Power).Notes(); len(notes) != 1 || !strings.HasPrefix(notes[0].Text, "hwmon: package-0: left out: it reads 0 W") {
		t.Errorf("%+v", notes)
	}
	found, err := nemb.Discover(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	found.Close()
	if d := found.Seen; !slices.ContainsFunc(d, func(s nemb.Seen) bool { return s.Source.Name == "estimate" && s.State == nemb.Present }) {
		t.Errorf("nothing stands in for the package: %+v", d)
	}
}

// The same where a meter may not be read: the whole domain is denied.
func TestHwmonDeniedPartOfASum(t *testing.T) {
	root := chips(t, "smpro_hwmon: power1_input=40000000, power1_label=power1 CORE VRD, power2_input=20000000, power2_label=power2 SoC, power3_input=5000000, power3_label=power3 DIMM VRD1")
	defer func(was func(string) (*sensor.Number, error)) { openMeter = was }(openMeter)
	openMeter = func(path string) (*sensor.Number, error) {
		if strings.HasSuffix(path, "power2_input") {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
		}
		return sensor.OpenPower(path, 1e-6)
	}
	sensors, err := openHwmon(root)
	var denied *nemb.Denied
	if !errors.As(err, &denied) || strings.Join(denied.Domains, " ") != "package-0" || !strings.Contains(denied.Fix, "power2_input") {
		t.Errorf("%v", err)
	}
	if len(sensors) != 1 || len(sensors[0].Domains()) != 1 || sensors[0].Domains()[0].ID != "dram" {
		t.Errorf("%+v", sensors)
	}
	dst := make([]nemb.Energy, 1)
	if err := sensors[0].Read(dst); err != nil {
		t.Error(err)
	}
	for _, s := range sensors {
		s.Close()
	}
}

// A meter whose label cannot be read may be a part of any sum of its chip:
// what the others add up to is not passed off as the whole.
func TestHwmonLabelOfASum(t *testing.T) {
	altra := "smpro_hwmon: power1_input=40000000, power1_label=power1 CORE VRD, power2_input=20000000, power2_label=power2 SoC, power3_input=5000000, power3_label=power3 DIMM VRD1"
	xgene := "apm_xgene: power1_input=40000000, power1_label=CPU power, power2_input=3000000, power2_label=IO power"
	defer func(was func(string) ([]byte, error)) { readFile = was }(readFile)
	for _, tt := range []struct {
		chip   string
		err    error
		denied string // domains
	}{
		{altra, fs.ErrPermission, "package-0 dram"}, {altra, syscall.EIO, ""},
		{xgene, fs.ErrPermission, "package-0"}, {xgene, syscall.EIO, ""},
	} {
		readFile = func(name string) ([]byte, error) {
			if strings.HasSuffix(name, "power2_label") {
				return nil, &fs.PathError{Op: "open", Path: name, Err: tt.err}
			}
			return os.ReadFile(name)
		}
		sensors, err := openHwmon(chips(t, tt.chip))
		if len(sensors) > 0 {
			t.Errorf("%v: a part is taken for the whole: %v", tt.err, sensors[0].Domains())
			sensors[0].Close()
		}
		var denied *nemb.Denied
		switch errors.As(err, &denied) {
		case true:
			if strings.Join(denied.Domains, " ") != tt.denied || !strings.Contains(denied.Fix, "power2_label") {
				t.Errorf("%+v", denied)
			}
		case false:
			if tt.denied != "" || err == nil || !strings.Contains(err.Error(), "package-0: left out: ") || !strings.Contains(err.Error(), "power2_label") {
				t.Errorf("%v: %v", tt.err, err)
			}
		}
	}
}

// What the monitors show and cg does not take is listed, with the reason.
func TestHwmonNotTaken(t *testing.T) {
	apu := "amdgpu: power1_average=35000000, power1_label=PPT, device/mem_info_vram_total=536870912"
	cores := "amd_energy: energy1_input=1000, energy1_label=Ecore000, energy2_input=1000, energy2_label=Ecore001, energy3_input=700000000, energy3_label=Esocket0"
	odd := "apm_xgene: power1_input=40000000, power1_label=Fan\x1b[2J"
	for _, tt := range []struct{ chip, want string }{
		{"nct6775: power1_input=5, power2_input=6", `(\"nct6775\"): not taken: ` + whyUnknown + ": power1_input, power2_input"},
		{apu, `(\"amdgpu\"): not taken: ` + whyInternal + `: power1_average \"PPT\"`},
		{cores, `(\"amd_energy\"): not taken: ` + whyPart + `: energy1_input \"Ecore000\", energy2_input \"Ecore001\"`},
		{odd, `(\"apm_xgene\"): not taken: ` + whyLabel + `: power1_input \"Fan\x1b[2J\"`},
		{"nct6775: power1_input=5, power2_input=6, power3_input=5, power4_input=6, power5_input=5, power6_input=6", "power4_input, 2 more"},
	} {
		root := chips(t, tt.chip)
		fixture.Files(t, root, map[string]string{"proc/cpuinfo": "processor\t: 0\n"})
		found, err := nemb.Inspect(root, []string{"hwmon"})
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, err := range found.Seen[0].Errors {
			said = append(said, err.Error())
		}
		for _, n := range found.Seen[0].Notes {
			said = append(said, n.Text)
		}
		if err := found.Close(); err != nil {
			t.Error(err)
		}
		want := strings.ReplaceAll(tt.want, `\"`, `"`)
		if got := strings.Join(said, "\n"); !strings.Contains(got, want) || !strings.Contains(got, "class/hwmon/hwmon0 (") {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
