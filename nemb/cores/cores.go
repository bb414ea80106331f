// Package cores tells how busy a machine's processors are and how fast they run, as metrics: no energies.
//
// It takes /proc/stat and the files of cpufreq, and gives means over the processors that are online. A machine
// without cpufreq, such as a virtual one, has no clock: the number in /proc/cpuinfo does not change there.
package cores

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"cg/nemb"
	"cg/nemb/sensor"
)

func init() {
	nemb.RegisterMetric(nemb.Metric{Name: "cpu-util", Open: func(root nemb.Root) (nemb.Gauge, error) {
		return openBusy(filepath.Join(root.Dir, "/proc/stat"))
	}})
	nemb.RegisterMetric(nemb.Metric{Name: "cpu-clock", Open: openClocks})
}

// busy is the part of the processors' time that was used since the reading before, from the first line of
// /proc/stat (proc_stat(5)):
//
//	cpu  user nice system idle iowait irq softirq steal guest guest_nice
//
// Waiting for a disk is idle; stolen time is neither.
type busy struct {
	path       string
	used, idle uint64 // at the reading before
}

func openBusy(path string) (nemb.Gauge, error) {
	b := &busy{path: path}
	var err error
	if b.used, b.idle, err = b.times(); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, sensor.Absent(err)
		}
		return nil, err
	}
	return b, nil
}

func (b *busy) times() (used, idle uint64, err error) {
	text, err := os.ReadFile(b.path)
	if err != nil {
		return 0, 0, fmt.Errorf("cpu-util: %w", err)
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) < 8 || string(fields[0]) != "cpu" {
		return 0, 0, fmt.Errorf("cpu-util: %s: not in the form of proc_stat(5)", b.path)
	}
	for i, field := range fields[1:8] {
		v, err := strconv.ParseUint(string(field), 10, 53)
		if err != nil {
			return 0, 0, fmt.Errorf("cpu-util: %s: not in the form of proc_stat(5)", b.path)
		}
		switch i {
		case 3, 4:
			idle += v
		default:
			used += v
		}
	}
	return used, idle, nil
}

func (b *busy) Columns() []nemb.Column {
	return []nemb.Column{{Scope: "cpu", Name: "busy_percent", Unit: "%"}}
}

// Read tells the mean since the last reading, or since Open; NaN where the kernel has counted nothing since.
func (b *busy) Read(dst []float64) error {
	dst[0] = math.NaN()
	used, idle, err := b.times()
	if err != nil {
		return err
	}
	if used >= b.used && idle >= b.idle && used+idle > b.used+b.idle {
		dst[0] = 100 * float64(used-b.used) / float64(used+idle-b.used-b.idle)
	}
	b.used, b.idle = used, idle
	return nil
}

func (b *busy) Close() error { return nil }

// clocks reads scaling_cur_freq of each processor, in kHz (Documentation/admin-guide/pm/cpufreq.rst).
type clocks struct{ files []int }

func openClocks(root nemb.Root) (nemb.Gauge, error) {
	paths, _ := filepath.Glob(root.Sys("devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq"))
	c := &clocks{}
	var errs []error
	for _, path := range paths {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			errs = append(errs, sensor.Fixable(fmt.Errorf("cpu-clock: %s: %w", path, err)))
			continue
		}
		c.files = append(c.files, fd)
	}
	if len(c.files) == 0 {
		errs = append(errs, sensor.Absent(fmt.Errorf("cpu-clock: %s: no processor tells its clock",
			root.Sys("devices/system/cpu"))))
		return nil, errors.Join(errs...)
	}
	return c, errors.Join(errs...)
}

func (c *clocks) Columns() []nemb.Column {
	return []nemb.Column{{Scope: "cpu", Name: "clock_mhz", Unit: "MHz"},
		{Scope: "cpu", Name: "highest_clock_mhz", Unit: "MHz"}}
}

// Read tells the mean and the highest clock of the processors that can be read: one that is offline cannot.
func (c *clocks) Read(dst []float64) error {
	dst[0], dst[1] = math.NaN(), math.NaN()
	sum, n, most := 0.0, 0, 0.0
	var failed error
	for _, fd := range c.files {
		var text [24]byte
		read, err := unix.Pread(fd, text[:], 0)
		if err != nil {
			failed = err
			continue
		}
		kHz, err := strconv.ParseUint(string(bytes.TrimSpace(text[:read])), 10, 53)
		if err != nil {
			failed = fmt.Errorf("reads %q: want a number", text[:read])
			continue
		}
		sum, n, most = sum+float64(kHz)/1e3, n+1, max(most, float64(kHz)/1e3)
	}
	if n == 0 {
		return fmt.Errorf("cpu-clock: %w", failed)
	}
	dst[0], dst[1] = sum/float64(n), most
	return nil
}

func (c *clocks) Close() error {
	for _, fd := range c.files {
		unix.Close(fd)
	}
	c.files = nil
	return nil
}
