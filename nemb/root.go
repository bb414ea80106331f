package nemb

import (
	"os"
	"path/filepath"
	"sync"

	"cg/nemb/processor"
)

// Root is where sensors and the machine's identity are found. With Dir "" it
// is the live machine: /sys and /proc. Otherwise it is a captured or simulated
// machine: Dir/sys, and Dir/proc for cpuinfo and meminfo when that folder
// exists. Processor time is always that of the live machine.
type Root struct {
	Dir string
	BMC BMC // of the machine
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
