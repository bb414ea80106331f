package simulate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrNoPMU says that this machine's kernel offers no msr PMU, or does not let
// its events be opened: it takes x86-64, and root or CAP_PERFMON.
var ErrNoPMU = errors.New("simulate: a power PMU needs the msr PMU's event tsc")

// WritePMU writes a power PMU below a system root, as the kernel's RAPL driver
// shows it (Documentation/ABI/testing/sysfs-bus-event_source-devices-events).
// Its type is that of the msr PMU and its events, such as energy-pkg, are all
// the processor's cycle counter, scaled so that each draws the watts that are
// given, all the time. What opens them goes the whole way through
// perf_event_open(2) of the real kernel.
func WritePMU(root, cpumask string, watts map[string]float64) error {
	number, err := os.ReadFile("/sys/bus/event_source/devices/msr/type")
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoPMU, err)
	}
	kind, err := strconv.ParseUint(strings.TrimSpace(string(number)), 10, 32)
	if err != nil {
		return fmt.Errorf("simulate: the type of the msr PMU: %w", err)
	}
	rate, err := cycleRate(uint32(kind))
	if err != nil {
		return err
	}
	dir := filepath.Join(root, "sys/bus/event_source/devices/power")
	texts := map[string]string{"type": string(number), "cpumask": cpumask + "\n", "format/event": "config:0-7\n"}
	for name, w := range watts {
		texts["events/"+name] = "event=0x00\n"
		texts["events/"+name+".unit"] = "Joules\n"
		texts["events/"+name+".scale"] = fmt.Sprintf("%.20e\n", w/rate)
	}
	for name, text := range texts {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o644)); err != nil {
			return fmt.Errorf("simulate: %w", err)
		}
	}
	return nil
}

// cycleRate is how often a second the event tsc counts.
func cycleRate(kind uint32) (float64, error) {
	attr := unix.PerfEventAttr{Type: kind, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}
	fd, err := unix.PerfEventOpen(&attr, -1, 0, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrNoPMU, err)
	}
	defer unix.Close(fd)
	// The narrowest of a few readings at each end: the event is read on
	// another processor, which may take its time.
	read := func() (count uint64, at time.Time, err error) {
		width := time.Hour
		for range 20 {
			var text [8]byte
			begin := time.Now()
			if _, err := unix.Read(fd, text[:]); err != nil {
				return 0, at, fmt.Errorf("simulate: the event tsc: %w", err)
			}
			if took := time.Since(begin); took < width {
				width, at, count = took, begin.Add(took/2), binary.NativeEndian.Uint64(text[:])
			}
		}
		return count, at, nil
	}
	a, from, err := read()
	if err != nil {
		return 0, err
	}
	time.Sleep(100 * time.Millisecond)
	b, to, err := read()
	if err != nil {
		return 0, err
	}
	return float64(b-a) / to.Sub(from).Seconds(), nil
}
