package nemb

import (
	"os"
	"strconv"
	"strings"
)

// Processors is the number of logical processors that are online, all of the
// host's whatever this process may use (/sys/devices/system/cpu/online,
// Documentation/admin-guide/cputopology.rst). 0 where it cannot be read.
func Processors() int {
	b, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return 0
	}
	return countList(strings.TrimSpace(string(b)))
}

// countList counts the members of a list such as "0-3,8,10-11"; 0 if it is
// none.
func countList(list string) int {
	n := 0
	for _, part := range strings.Split(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(from)
		if err != nil {
			return 0
		}
		b := a
		if isRange {
			if b, err = strconv.Atoi(to); err != nil || b < a {
				return 0
			}
		}
		n += b - a + 1
	}
	return n
}
