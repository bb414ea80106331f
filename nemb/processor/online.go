package processor

import (
	"os"
	"strings"

	"cg/nemb/sysfs"
)

// Online is the number of logical processors that are online, all of the
// host's whatever this process may use (/sys/devices/system/cpu/online,
// Documentation/admin-guide/cputopology.rst). 0 where it cannot be read.
func Online() int {
	b, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return 0
	}
	return sysfs.Count(strings.TrimSpace(string(b)))
}
