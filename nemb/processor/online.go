package processor

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"cg/nemb/sysfs"
)

// Online is the number of logical processors that are online, all of the
// host's whatever this process may use (/sys/devices/system/cpu/online,
// Documentation/admin-guide/cputopology.rst). Where /sys is not mounted, as in a
// bare root file system, /proc/stat has a line for each. 0 where neither can be read.
func Online() int { return onlineBelow("/") }

func onlineBelow(root string) int {
	if b, err := os.ReadFile(filepath.Join(root, "sys/devices/system/cpu/online")); err == nil {
		return sysfs.Count(strings.TrimSpace(string(b)))
	}
	b, err := os.ReadFile(filepath.Join(root, "proc/stat"))
	if err != nil {
		return 0
	}
	n := 0
	for line := range bytes.Lines(b) {
		// The first line, "cpu ", is of all.
		if len(line) > 3 && bytes.HasPrefix(line, []byte("cpu")) && line[3] >= '0' && line[3] <= '9' {
			n++
		}
	}
	return n
}
