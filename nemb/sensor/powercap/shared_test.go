package powercap

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cg/nemb"
)

var update = flag.Bool("update", false, "write ../../../runtimes/sdk/spec/cases/powercap.json")

// sharedPowercap is a case of ../../../runtimes/sdk/spec/cases/powercap.json: the files
// below /sys/class/powercap, the processor (vendor, family, model of /proc/cpuinfo),
// and what makes up the machine's energy there.
type sharedPowercap struct {
	Name    string              `json:"name"`
	CPU     string              `json:"cpu"`
	Files   map[string]string   `json:"files"`
	Domains []sharedPowerDomain `json:"domains"`
	Doubted []string            `json:"doubted"` // domains whose unit is doubtful
	Left    []string            `json:"left"`    // domains that show the counter of another
	Failed  []string            `json:"failed"`  // files that are there and cannot be read
}

type sharedPowerDomain struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	Step uint64 `json:"step_uj"`
	Zone string `json:"zone"`
}

const (
	intelServer = "GenuineIntel 6 85" // Skylake-X, whose memory counts in 15.3 uJ
	range61     = "262143328850"
	range15     = "65532610987"
)

func sharedPowercapCases() []*sharedPowercap {
	machine := func(name, cpu string, zones ...string) *sharedPowercap {
		c := &sharedPowercap{Name: name, CPU: cpu, Files: map[string]string{}, Domains: []sharedPowerDomain{}, Doubted: []string{}, Left: []string{}, Failed: []string{}}
		for i, z := range zones { // zone, name, energy, range; - is a file that is not there
			f := strings.Split(z, " ")
			for len(f) < 4 {
				f = append(f, []string{"", "", fmt.Sprint(5_000_000 + 70_000_000*i), range61}[len(f)])
			}
			for n, file := range []string{"", "name", "energy_uj", "max_energy_range_uj"} {
				if n > 0 && f[n] != "-" {
					c.Files[f[0]+"/"+file] = f[n]
				}
			}
		}
		return c
	}
	want := func(c *sharedPowercap, domains ...string) *sharedPowercap {
		for _, d := range domains { // id, kind, step, zone
			var w sharedPowerDomain
			fmt.Sscan(d, &w.ID, &w.Kind, &w.Step, &w.Zone)
			c.Domains = append(c.Domains, w)
		}
		return c
	}
	doubted := func(c *sharedPowercap, ids ...string) *sharedPowercap { c.Doubted = ids; return c }
	left := func(c *sharedPowercap, ids ...string) *sharedPowercap { c.Left = ids; return c }
	failed := func(c *sharedPowercap, files ...string) *sharedPowercap { c.Failed = files; return c }
	return []*sharedPowercap{
		want(machine("a client with psys", "GenuineIntel 6 142", "intel-rapl:0 package-0", "intel-rapl:0:0 core", "intel-rapl:0:1 uncore", "intel-rapl:0:2 dram", "intel-rapl:1 psys"),
			"package-0 cpu_package 62 intel-rapl:0", "dram dram 62 intel-rapl:0:2"),
		want(machine("psys alone", "GenuineIntel 6 142", "intel-rapl:0 psys"), "psys psys 62 intel-rapl:0"),
		want(machine("two of psys and no package", "GenuineIntel 6 142", "intel-rapl:0 psys-0", "intel-rapl:1 psys-1"), "psys-0 psys 62 intel-rapl:0"),
		want(machine("two sockets with memory of 15.3 uJ", intelServer, "intel-rapl:0 package-0", "intel-rapl:0:0 dram 1 "+range15, "intel-rapl:1 package-1", "intel-rapl:1:0 dram 1 "+range15),
			"package-0 cpu_package 62 intel-rapl:0", "dram-0 dram 16 intel-rapl:0:0", "package-1 cpu_package 62 intel-rapl:1", "dram-1 dram 16 intel-rapl:1:0"),
		want(machine("eleven sockets are in the order of their numbers", intelServer, "intel-rapl:0 package-0", "intel-rapl:2 package-2", "intel-rapl:10 package-10"),
			"package-0 cpu_package 62 intel-rapl:0", "package-2 cpu_package 62 intel-rapl:2", "package-10 cpu_package 62 intel-rapl:10"),
		want(machine("memory beside packages", intelServer, "intel-rapl:0 package-0", "intel-rapl:1 dram 7 "+range15), "package-0 cpu_package 62 intel-rapl:0", "dram dram 16 intel-rapl:1"),
		want(machine("memory beside packages with a number", intelServer, "intel-rapl:0 package-0", "intel-rapl:1 dram-1 7 "+range15), "package-0 cpu_package 62 intel-rapl:0", "dram-1 dram 16 intel-rapl:1"),
		want(machine("memory alone", intelServer, "intel-rapl:0 dram 7 "+range15), "dram dram 16 intel-rapl:0"),
		want(machine("two dies", "AuthenticAMD 23 1", "intel-rapl:0 package-0-die-0 5000000", "intel-rapl:0:0 dram 9", "intel-rapl:1 package-0-die-1 9000000", "intel-rapl:1:0 dram 8"),
			"package-0-die-0 cpu_package 62 intel-rapl:0", "dram-0-die-0 dram 62 intel-rapl:0:0", "package-0-die-1 cpu_package 62 intel-rapl:1", "dram-0-die-1 dram 62 intel-rapl:1:0"),
		left(want(machine("two dies that show one counter", "AuthenticAMD 23 1", "intel-rapl:0 package-0-die-0 5000000", "intel-rapl:1 package-0-die-1 5000000", "intel-rapl:1:0 dram 9"),
			"package-0-die-0 cpu_package 62 intel-rapl:0"), "package-0-die-1"),
		want(machine("dies of two packages that show one figure", "AuthenticAMD 23 1", "intel-rapl:0 package-0-die-0 5000000", "intel-rapl:1 package-1-die-0 5000000"),
			"package-0-die-0 cpu_package 62 intel-rapl:0", "package-1-die-0 cpu_package 62 intel-rapl:1"),
		want(machine("two packages that show one figure", intelServer, "intel-rapl:0 package-0 5000000", "intel-rapl:1 package-1 5000000"),
			"package-0 cpu_package 62 intel-rapl:0", "package-1 cpu_package 62 intel-rapl:1"),
		want(machine("one package through two drivers", "GenuineIntel 6 142", "intel-rapl-mmio:0 package-0", "intel-rapl:0 package-0"), "package-0 cpu_package 62 intel-rapl:0"),
		want(machine("a package of another driver alone", "GenuineIntel 6 142", "intel-rapl-mmio:0 package-0"), "package-0 cpu_package 62 intel-rapl-mmio:0"),
		want(machine("a zone twice", intelServer, "intel-rapl:0 package-0", "intel-rapl:1 package-0"),
			"package-0 cpu_package 62 intel-rapl:0", "package-0-1 cpu_package 62 intel-rapl:1"),
		want(machine("a zone of power limits", "GenuineIntel 6 142", "intel-rapl:0 package-0", "intel-rapl:1 package-1 -"), "package-0 cpu_package 62 intel-rapl:0"),
		want(machine("a name that nobody knows", "GenuineIntel 6 142", "intel-rapl:0 package-0", "intel-rapl:1 mmio", "intel-rapl:2 packages"), "package-0 cpu_package 62 intel-rapl:0"),
		want(machine("files that are no zones", "GenuineIntel 6 142", "intel-rapl:0 package-0", "intel-rapl package-1", "intel-rapl:x package-2"), "package-0 cpu_package 62 intel-rapl:0"),
		want(machine("a counter that does not say where it wraps", intelServer, "intel-rapl:0 package-0 5 -"), "package-0 cpu_package 62 intel-rapl:0"),
		failed(want(machine("a counter that is no number", intelServer, "intel-rapl:0 package-0 x", "intel-rapl:1 package-1"), "package-1 cpu_package 62 intel-rapl:1"), "intel-rapl:0/energy_uj"),
		failed(want(machine("a zone without a name", intelServer, "intel-rapl:0 -", "intel-rapl:1 package-1"), "package-1 cpu_package 62 intel-rapl:1"), "intel-rapl:0/name"),
		doubted(want(machine("memory of 61 uJ where it counts 15.3", intelServer, "intel-rapl:0 package-0", "intel-rapl:0:0 dram"),
			"package-0 cpu_package 62 intel-rapl:0", "dram dram 62 intel-rapl:0:0"), "dram"),
		doubted(want(machine("memory of 15.3 uJ where it counts 61", "GenuineIntel 6 143", "intel-rapl:0 package-0", "intel-rapl:0:0 dram 7 "+range15),
			"package-0 cpu_package 62 intel-rapl:0", "dram dram 16 intel-rapl:0:0"), "dram"),
		want(machine("memory of another vendor", "AuthenticAMD 6 85", "intel-rapl:0 package-0", "intel-rapl:0:0 dram"), "package-0 cpu_package 62 intel-rapl:0", "dram dram 62 intel-rapl:0:0"),
		doubted(want(machine("a unit that RAPL has not", intelServer, "intel-rapl:0 package-0 5 999999999999999"), "package-0 cpu_package 232831 intel-rapl:0"), "package-0"),
		doubted(want(machine("a unit above a joule", intelServer, "intel-rapl:0 package-0 5 9999999999999999"), "package-0 cpu_package 62 intel-rapl:0"), "package-0"),
		want(machine("psys counts whole joules", "GenuineIntel 6 142", "intel-rapl:0 psys 5000000 4294967295999999"), "psys psys 1000000 intel-rapl:0"),
	}
}

// TestPowercapIsShared holds the table by which the packages for sessions read
// powercap themselves, and cg's own sensor to it.
func TestPowercapIsShared(t *testing.T) {
	const file = "../../../runtimes/sdk/spec/cases/powercap.json"
	var b bytes.Buffer
	for i, c := range sharedPowercapCases() {
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString([]string{"[", ",\n"}[min(i, 1)])
		b.Write(text)
		c.hold(t)
	}
	b.WriteString("]\n")
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if saved, err := os.ReadFile(file); err != nil || !bytes.Equal(saved, b.Bytes()) {
		t.Errorf("%s is not the table of this test (%v): go test ./nemb/sensor/powercap -run PowercapIsShared -update", file, err)
	}
}

func (c *sharedPowercap) hold(t *testing.T) {
	root := nemb.Root{Dir: t.TempDir()}
	cpu := strings.Fields(c.CPU)
	files := map[string]string{root.Dir + "/proc/cpuinfo": fmt.Sprintf("vendor_id\t: %s\ncpu family\t: %s\nmodel\t\t: %s\n", cpu[0], cpu[1], cpu[2])}
	for name, text := range c.Files {
		files[root.Sys("class/powercap", name)] = text + "\n"
	}
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found, _ := nemb.Inspect(root, []string{"powercap"})
	defer found.Close()
	domains := []sharedPowerDomain{}
	for _, d := range found.Domains() {
		if d.InTotal {
			domains = append(domains, sharedPowerDomain{d.ID, d.Kind, uint64(d.Step), filepath.Base(filepath.Dir(d.Source))})
		}
	}
	if fmt.Sprint(domains) != fmt.Sprint(c.Domains) {
		t.Errorf("%s: got %v, want %v", c.Name, domains, c.Domains)
	}
	doubts, notes := "", ""
	for _, n := range found.Notes {
		if n.Doubt {
			doubts += n.Text + "\n"
		} else {
			notes += n.Text + "\n"
		}
	}
	broken := fmt.Sprint(errors.Join(found.Broken...))
	for _, list := range []struct {
		text, form string
		want       []string
	}{{doubts, "powercap: %s: ", c.Doubted}, {notes, "powercap: %s: left out: it shows ", c.Left}, {broken, "%s: ", c.Failed}} {
		for _, one := range list.want {
			if !strings.Contains(list.text, fmt.Sprintf(list.form, one)) {
				t.Errorf("%s: no %q in %q", c.Name, one, list.text)
			}
		}
	}
	if len(c.Doubted) == 0 && doubts != "" || len(c.Failed) != len(found.Broken) {
		t.Errorf("%s: %q, %q", c.Name, doubts, broken)
	}
}
