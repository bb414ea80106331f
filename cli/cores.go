package cli

import (
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/cli/exit"
	"cg/launcher"
)

func coresFlag() cli.Flag {
	return &cli.StringFlag{Name: "cores", Usage: "run the program on these processors only (`LIST`, such as 0-3,6)"}
}

// restrict makes a command run on the processors of a list; "" leaves it as it is.
func restrict(cmd *launcher.Cmd, list string) error {
	if list == "" {
		return nil
	}
	set, err := processorList(list)
	if err != nil {
		return exit.Usage("--cores: %w", err)
	}
	// The thread that forks, and ends then: the program inherits what it may run on.
	cmd.Prefork, cmd.Cores = func() error { return unix.SchedSetaffinity(0, &set) }, listOf(&set)
	return nil
}

// listOf is a set of processors as the kernel writes it, such as 0-3,6.
func listOf(set *unix.CPUSet) string {
	var parts []string
	for n := 0; n < 8*int(unsafe.Sizeof(*set)); n++ {
		first := n
		if !set.IsSet(n) {
			continue
		}
		for set.IsSet(n + 1) {
			n++
		}
		if part := strconv.Itoa(first); first == n {
			parts = append(parts, part)
		} else {
			parts = append(parts, part+"-"+strconv.Itoa(n))
		}
	}
	return strings.Join(parts, ",")
}

// processorList reads a list such as 0-3,6, and refuses processors that cg itself may not
// run on.
func processorList(list string) (set unix.CPUSet, err error) {
	var own unix.CPUSet
	if err := unix.SchedGetaffinity(0, &own); err != nil {
		return set, err
	}
	for part := range strings.SplitSeq(list, ",") {
		from, to, several := strings.Cut(strings.TrimSpace(part), "-")
		if !several {
			to = from
		}
		first, err := strconv.ParseUint(from, 10, 16)
		last, wrong := strconv.ParseUint(to, 10, 16)
		if err != nil || wrong != nil || last < first {
			return set, fmt.Errorf("%q is no list of processors: use numbers and ranges, such as 0-3,6", list)
		}
		for n := first; n <= last; n++ {
			if !own.IsSet(int(n)) {
				return set, fmt.Errorf("processor %d is not there, or cg may not use it", n)
			}
			set.Set(int(n))
		}
	}
	return set, nil
}
