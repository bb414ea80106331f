package rapl

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cg/nemb"
	"cg/nemb/sysfs"
)

// PMU returns the number of the power PMU for perf_event_open(2) and its folder,
// bus/event_source/devices/power (Documentation/ABI/testing/
// sysfs-bus-event_source-devices-events). An error that is fs.ErrNotExist says that
// the machine has none, or one that counts nothing: for servers from Sapphire Rapids
// on the kernel lists energy-psys without asking the processor for its register
// (no_check of intel_rapl_spr_msrs in arch/x86/events/rapl.c). A virtual machine that
// has no event of a package has no such register either, and the event stays at 0.
func PMU(root nemb.Root) (number int, dir string, err error) {
	dir = root.Sys("bus/event_source/devices/power")
	if number, err = sysfs.Number(filepath.Join(dir, "type")); err != nil {
		return 0, dir, err
	}
	if events := pmuEvents(dir); slices.Equal(events, []string{"energy-psys"}) && root.CPU().Virtual {
		return 0, dir, fmt.Errorf("%s: the kernel lists energy-psys unasked, and a virtual machine "+
			"does not count it: %w", dir, fs.ErrNotExist)
	}
	return number, dir, nil
}

// pmuEvents names what the folder of a power PMU lists.
func pmuEvents(dir string) (names []string) {
	files, err := os.ReadDir(filepath.Join(dir, "events"))
	if err != nil {
		return nil // which is told when they are opened
	}
	for _, f := range files {
		if !strings.Contains(f.Name(), ".") { // NAME.scale and NAME.unit tell about NAME
			names = append(names, f.Name())
		}
	}
	return names
}
