package nemb

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"cg/nemb/processor"
)

// Root is where sensors and the machine's identity are found. With Dir "" it
// is the live machine: /sys and /proc. Otherwise it is a captured or simulated
// machine: Dir/sys, and Dir/proc for cpuinfo and meminfo when that folder
// exists. Processor time is always that of the live machine.
type Root struct {
	Dir    string
	BMC    BMC     // of the machine
	Meters []Meter // that the user has named
}

// Meter is a meter of any make that the user has named: what it measures, and how its readings are had
// (nemb/sensor/meter reads them).
type Meter struct {
	Covers string        // name of the domain: wall, package, dram, gpu0, or another part
	Unit   string        // of its readings: W, mW, kW, J, mJ, kJ, Wh, kWh
	Factor float64       // of the unit, in watts or joules
	Energy bool          // it shows an energy that only grows, and not a power
	Period time.Duration // between two readings
	// ErrorPart and ErrorAmount are how far it may be off, together: a part of the figure, and watts or
	// joules.
	ErrorPart, ErrorAmount float64
	Take                   string // where the figure is in what it shows (work.Parse); "" for a number alone
	Way                    string // exec, lines, file, mqtt or mqtts
	Where                  string // a command, a path, or the URL of a broker
	Topic                  string // at the broker
}

// BMC is the management controller of a machine, and how it is reached over the network.
type BMC struct {
	URL       string // https://HOST[:PORT]; "" for none
	TokenFile string // has one line, USER:PASSWORD or the token of a session; "" asks without
	CA        string // file of the certificate that signed the BMC's; "" is those that the system trusts
}

// Sys returns the path of a file below sysfs.
func (r Root) Sys(elem ...string) string {
	dir := r.Dir
	if dir == "" {
		dir = "/"
	}
	return filepath.Join(append([]string{dir, "sys"}, elem...)...)
}

// Proc returns the path of a file below procfs that tells what the machine is.
func (r Root) Proc(elem ...string) string {
	dir := filepath.Join(r.Dir, "proc")
	if info, err := os.Stat(dir); r.Dir == "" || err != nil || !info.IsDir() {
		dir = "/proc"
	}
	return filepath.Join(append([]string{dir}, elem...)...)
}

// Dev returns the path of a device file.
func (r Root) Dev(elem ...string) string {
	dir := r.Dir
	if dir == "" {
		dir = "/"
	}
	return filepath.Join(append([]string{dir, "dev"}, elem...)...)
}

// CPU tells which processors the machine has.
func (r Root) CPU() processor.CPU {
	if r.Dir == "" {
		return liveCPU()
	}
	return r.identify()
}

// liveCPU is read once: the kernel writes the list of all processors anew for each reader.
var liveCPU = sync.OnceValue(Root{}.identify)

func (r Root) identify() processor.CPU {
	return processor.Identify(r.Proc("cpuinfo"), r.Sys("class/dmi/id"))
}
