// Package processor tells which processors a machine has: from /proc/cpuinfo their kind,
// and from tables of that kind the year, the thermal design power, and how much of their
// power servers of that age draw when they are idle. It reads no energy.
package processor

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"cg/nemb/sysfs"
	"cg/shown"
)

// CPU is what is known of a machine's processors.
type CPU struct {
	Vendor     string // as /proc/cpuinfo writes it: GenuineIntel, AuthenticAMD; on ARM the implementer, 0x41
	Family     int
	Model      int // on ARM the part number
	Stepping   int
	Name       string // model name; what cpuinfo calls the machine where it has none
	Processors int    // logical processors that this kernel sees
	Sockets    int
	Virtual    bool // a guest: the processors are a share of a socket

	// Of the microarchitecture; March is "" when it is not in the table.
	March   string
	Year    int     // of release
	TDP     float64 // W per socket, of a common model
	Threads int     // hardware threads per socket, of the same model
}

// AMD tells whether AMD made the processor, or Hygon by AMD's licence.
func (c CPU) AMD() bool { return c.Vendor == AMD || c.Vendor == "HygonGenuine" }

func (c CPU) String() string {
	name := c.Name
	if name == "" {
		name = "unknown CPU"
	}
	if c.March != "" {
		name += fmt.Sprintf(" (%s, %d)", c.March, c.Year)
	}
	return name
}

// Identity distinguishes machines whose power differs: the processor's numbers
// and name, how many there are, and whether they are a guest's.
func (c CPU) Identity() string {
	kind := "machine"
	if c.Virtual {
		kind = "guest"
	}
	return fmt.Sprintf("%s %d/%d/%d %q, %s of %d processors",
		c.Vendor, c.Family, c.Model, c.Stepping, c.Name, kind, c.Processors)
}

// march is a row of the table of microarchitectures.
type march struct {
	vendor        string
	family, model int
	name          string
	year          int
	tdp           float64 // W
	threads       int
}

// Vendors, as /proc/cpuinfo writes them.
const (
	Intel = "GenuineIntel"
	AMD   = "AuthenticAMD"
	arm   = "0x41"
)

// marches maps what CPUID tells to a common model of that kind: its year of
// release, thermal design power and hardware threads, as the vendors publish
// them (ark.intel.com, amd.com, amperecomputing.com, nvidia.com). Models of
// one kind differ by a factor of two and more in TDP; the estimate's interval
// covers it. Family and model numbers are those of the kernel
// (arch/x86/include/asm/intel-family.h, arch/x86/kernel/cpu/amd.c,
// arch/arm64/include/asm/cputype.h).
var marches = []march{
	{Intel, 6, 0x3c, "Intel Haswell", 2013, 84, 8},            // i7-4770
	{Intel, 6, 0x45, "Intel Haswell U", 2013, 15, 4},          // i7-4600U
	{Intel, 6, 0x46, "Intel Haswell H", 2013, 47, 8},          // i7-4770HQ
	{Intel, 6, 0x3f, "Intel Haswell EP", 2014, 120, 24},       // E5-2680 v3
	{Intel, 6, 0x3d, "Intel Broadwell U", 2015, 15, 4},        // i7-5600U
	{Intel, 6, 0x47, "Intel Broadwell H", 2015, 65, 8},        // i7-5775C
	{Intel, 6, 0x56, "Intel Broadwell DE", 2015, 45, 16},      // Xeon D-1541
	{Intel, 6, 0x4f, "Intel Broadwell EP", 2016, 120, 28},     // E5-2680 v4
	{Intel, 6, 0x4e, "Intel Skylake U", 2015, 15, 4},          // i7-6600U
	{Intel, 6, 0x5e, "Intel Skylake", 2015, 65, 8},            // i7-6700
	{Intel, 6, 0x55, "Intel Skylake SP", 2017, 150, 40},       // Gold 6148; Cascade and Cooper Lake by stepping
	{Intel, 6, 0x8e, "Intel Kaby Lake U", 2017, 15, 8},        // i7-8550U
	{Intel, 6, 0x9e, "Intel Coffee Lake", 2017, 65, 12},       // i7-8700
	{Intel, 6, 0xa6, "Intel Comet Lake U", 2019, 15, 12},      // i7-10710U
	{Intel, 6, 0xa5, "Intel Comet Lake", 2020, 65, 16},        // i7-10700
	{Intel, 6, 0x7e, "Intel Ice Lake U", 2019, 15, 8},         // i7-1065G7
	{Intel, 6, 0x6a, "Intel Ice Lake SP", 2021, 250, 64},      // Platinum 8358
	{Intel, 6, 0x8c, "Intel Tiger Lake U", 2020, 28, 8},       // i7-1165G7
	{Intel, 6, 0x8d, "Intel Tiger Lake H", 2021, 45, 16},      // i7-11800H
	{Intel, 6, 0xa7, "Intel Rocket Lake", 2021, 65, 16},       // i7-11700
	{Intel, 6, 0x97, "Intel Alder Lake", 2021, 125, 20},       // i7-12700K
	{Intel, 6, 0x9a, "Intel Alder Lake P", 2022, 28, 16},      // i7-1260P
	{Intel, 6, 0xb7, "Intel Raptor Lake", 2022, 125, 24},      // i7-13700K
	{Intel, 6, 0xbf, "Intel Raptor Lake S", 2023, 65, 16},     // i5-13400
	{Intel, 6, 0xba, "Intel Raptor Lake P", 2023, 28, 16},     // i7-1360P
	{Intel, 6, 0x8f, "Intel Sapphire Rapids", 2023, 350, 112}, // Platinum 8480+
	{Intel, 6, 0xcf, "Intel Emerald Rapids", 2023, 350, 128},  // Platinum 8592+
	{Intel, 6, 0xaa, "Intel Meteor Lake", 2023, 28, 22},       // Ultra 7 155H
	{Intel, 6, 0xbd, "Intel Lunar Lake", 2024, 17, 8},         // Ultra 7 258V
	{Intel, 6, 0xc6, "Intel Arrow Lake", 2024, 125, 24},       // Ultra 9 285K
	{Intel, 6, 0xc5, "Intel Arrow Lake H", 2025, 28, 16},      // Ultra 7 255H
	{Intel, 6, 0xaf, "Intel Sierra Forest", 2024, 330, 144},   // 6780E
	{Intel, 6, 0xad, "Intel Granite Rapids", 2024, 500, 256},  // 6980P

	{AMD, 0x17, 0x01, "AMD Naples", 2017, 180, 64},         // EPYC 7551
	{AMD, 0x17, 0x08, "AMD Pinnacle Ridge", 2018, 105, 16}, // Ryzen 7 2700X
	{AMD, 0x17, 0x11, "AMD Raven Ridge", 2017, 15, 8},      // Ryzen 7 2700U
	{AMD, 0x17, 0x18, "AMD Picasso", 2019, 15, 8},          // Ryzen 7 3700U
	{AMD, 0x17, 0x31, "AMD Rome", 2019, 225, 128},          // EPYC 7742
	{AMD, 0x17, 0x60, "AMD Renoir", 2020, 15, 16},          // Ryzen 7 4800U
	{AMD, 0x17, 0x68, "AMD Lucienne", 2021, 15, 16},        // Ryzen 7 5700U
	{AMD, 0x17, 0x71, "AMD Matisse", 2019, 65, 16},         // Ryzen 7 3700X
	{AMD, 0x17, 0x90, "AMD Van Gogh", 2022, 15, 8},         // Steam Deck
	{AMD, 0x17, 0xa0, "AMD Mendocino", 2022, 15, 8},        // Ryzen 3 7320U
	{AMD, 0x19, 0x01, "AMD Milan", 2021, 225, 128},         // EPYC 7713
	{AMD, 0x19, 0x08, "AMD Chagall", 2022, 280, 128},       // Threadripper PRO 5995WX
	{AMD, 0x19, 0x11, "AMD Genoa", 2022, 360, 192},         // EPYC 9654
	{AMD, 0x19, 0x18, "AMD Storm Peak", 2023, 350, 128},    // Threadripper 7980X
	{AMD, 0x19, 0x21, "AMD Vermeer", 2020, 105, 16},        // Ryzen 7 5800X
	{AMD, 0x19, 0x44, "AMD Rembrandt", 2022, 28, 16},       // Ryzen 7 6800U
	{AMD, 0x19, 0x50, "AMD Cezanne", 2021, 15, 16},         // Ryzen 7 5800U
	{AMD, 0x19, 0x61, "AMD Raphael", 2022, 105, 16},        // Ryzen 7 7700X
	{AMD, 0x19, 0x74, "AMD Phoenix", 2023, 28, 16},         // Ryzen 7 7840U
	{AMD, 0x19, 0x75, "AMD Hawk Point", 2023, 28, 16},      // Ryzen 7 8840U
	{AMD, 0x19, 0xa0, "AMD Bergamo", 2023, 360, 256},       // EPYC 9754
	{AMD, 0x1a, 0x02, "AMD Turin", 2024, 500, 256},         // EPYC 9755
	{AMD, 0x1a, 0x11, "AMD Turin Dense", 2024, 500, 384},   // EPYC 9965
	{AMD, 0x1a, 0x24, "AMD Strix Point", 2024, 28, 24},     // Ryzen AI 9 HX 370
	{AMD, 0x1a, 0x44, "AMD Granite Ridge", 2024, 65, 16},   // Ryzen 7 9700X
	{AMD, 0x1a, 0x70, "AMD Strix Halo", 2025, 55, 32},      // Ryzen AI Max+ 395

	// Graviton 2 to 4 have Neoverse cores; Amazon publishes no TDP, so that
	// of another processor with the same cores stands for them.
	{arm, 0, 0xd0c, "Neoverse N1", 2020, 210, 80}, // Ampere Altra Q80-30
	{arm, 0, 0xd4f, "Neoverse V2", 2023, 250, 72}, // NVIDIA Grace, half of a 500 W superchip
}

// steppings of Skylake SP that are other processors.
var skylakeSP = []struct {
	from int
	march
}{
	{10, march{Intel, 6, 0x55, "Intel Cooper Lake", 2020, 205, 56}}, // Platinum 8376H
	{5, march{Intel, 6, 0x55, "Intel Cascade Lake", 2019, 150, 40}}, // Gold 6248
}

// summitRidge is Naples' silicon on a desktop.
var summitRidge = march{AMD, 0x17, 0x01, "AMD Summit Ridge", 2017, 95, 16} // Ryzen 7 1800X

// Identify tells which processors a machine has, from its /proc/cpuinfo and the
// folder of its DMI strings, /sys/class/dmi/id. What it cannot tell stays zero.
func Identify(cpuinfo, dmiFolder string) CPU {
	text, err := os.ReadFile(cpuinfo)
	if err != nil {
		return CPU{}
	}
	c := Parse(string(text))
	dmi := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(dmiFolder, name))
		return sysfs.Text(text)
	}
	// ARM has no hypervisor flag. EC2 runs on both, bare metal says .metal.
	switch vendor, product := dmi("sys_vendor"), dmi("product_name"); {
	case strings.HasPrefix(vendor, "Amazon EC2"):
		c.Virtual = c.Virtual || !strings.Contains(product, ".metal")
	case vendor == "QEMU", vendor == "Google" && strings.Contains(product, "Compute Engine"),
		strings.Contains(product, "Virtual Machine"):
		c.Virtual = true
	}
	return c
}

// Parse reads the text of /proc/cpuinfo.
func Parse(text string) CPU {
	var c CPU
	sockets := map[string]bool{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch key {
		case "processor":
			if _, err := strconv.Atoi(value); err == nil {
				c.Processors++
			}
		case "vendor_id", "CPU implementer":
			c.Vendor = value
		case "cpu family":
			c.Family, _ = strconv.Atoi(value)
		case "model":
			c.Model, _ = strconv.Atoi(value)
		case "CPU part":
			part, _ := strconv.ParseInt(value, 0, 32)
			c.Model = int(part)
		case "stepping":
			c.Stepping, _ = strconv.Atoi(value)
		case "model name", "Model":
			c.Name = shown.Line(value)
		case "physical id":
			sockets[value] = true
		case "flags":
			c.Virtual = c.Virtual || strings.Contains(" "+value+" ", " hypervisor ")
		}
	}
	c.Sockets = max(len(sockets), min(c.Processors, 1))
	for _, m := range marches {
		if m.vendor != c.Vendor || m.family != c.Family || m.model != c.Model {
			continue
		}
		if m.vendor == Intel && m.model == 0x55 {
			for _, s := range skylakeSP {
				if c.Stepping >= s.from {
					m = s.march
					break
				}
			}
		}
		if m.name == "AMD Naples" && strings.Contains(c.Name, "Ryzen") && !strings.Contains(c.Name, "Threadripper") {
			m = summitRidge
		}
		c.March, c.Year, c.TDP, c.Threads = m.name, m.year, m.tdp, m.threads
	}
	return c
}
