package hwmon

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"cg/nemb"
	"cg/nemb/sensor"
	"cg/nemb/sysfs"
	"cg/pattern"
)

func init() { nemb.RegisterMetric(nemb.Metric{Name: "hwmon", Open: openHwmonGauge}) }

// hwmonFile names the readings of a chip below /sys/class/hwmon that are no
// energy (Documentation/hwmon/sysfs-interface.rst): temperatures in
// millidegrees Celsius and powers in microwatts.
var hwmonFile = pattern.Later(`^(temp|power)([0-9]+)_(input|average)$`)

// hwmonGauge reads them through kept file descriptors.
type hwmonGauge struct {
	columns []nemb.Column
	files   []int
	paths   []string
	scales  []float64
}

func openHwmonGauge(root nemb.Root) (nemb.Gauge, error) {
	chips, err := filepath.Glob(root.Sys("class/hwmon", "hwmon*"))
	if err != nil {
		return nil, fmt.Errorf("hwmon: %w", err)
	}
	g := &hwmonGauge{}
	var errs []error
	scopes := map[string]int{}
	for _, chip := range chips {
		entries, err := os.ReadDir(chip)
		if err != nil {
			continue // it went away
		}
		name, _ := os.ReadFile(filepath.Join(chip, "name"))
		scope := sysfs.Text(name)
		if scope == "" {
			scope = filepath.Base(chip)
		}
		scopes[scope]++
		scope = fmt.Sprintf("%s-%d", scope, scopes[scope]-1)
		for _, e := range entries {
			m := hwmonFile().FindStringSubmatch(e.Name())
			if m == nil {
				continue
			}
			path := filepath.Join(chip, e.Name())
			column, scale := nemb.Column{Scope: scope, Name: "temp" + m[2] + "_c", Unit: "C"}, 1e-3
			if m[1] == "power" {
				column, scale = nemb.Column{Scope: scope, Name: "power" + m[2] + "_w", Unit: "W"}, 1e-6
				if m[3] == "average" {
					column.Name = "power" + m[2] + "_average_w"
				}
			}
			fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err == nil {
				if _, err = readNumber(fd); err != nil {
					unix.Close(fd)
				}
			}
			if err != nil {
				errs = append(errs, sensor.Fixable(fmt.Errorf("hwmon: %s: %w", path, err)))
				continue
			}
			g.columns, g.files = append(g.columns, column), append(g.files, fd)
			g.paths, g.scales = append(g.paths, path), append(g.scales, scale)
		}
	}
	if len(g.columns) == 0 {
		if len(errs) == 0 {
			errs = append(errs, fmt.Errorf("hwmon: %s: %w", root.Sys("class/hwmon"), fs.ErrNotExist))
		}
		return nil, errors.Join(errs...)
	}
	return g, errors.Join(errs...)
}

func (g *hwmonGauge) Columns() []nemb.Column { return slices.Clone(g.columns) }

func (g *hwmonGauge) Read(dst []float64) error {
	var errs []error
	for i, fd := range g.files {
		v, err := readNumber(fd)
		if dst[i] = float64(v) * g.scales[i]; err != nil {
			dst[i] = math.NaN()
			errs = append(errs, fmt.Errorf("hwmon: %s: %w", g.paths[i], err))
		}
	}
	return errors.Join(errs...)
}

func (g *hwmonGauge) Close() error {
	for _, fd := range g.files {
		unix.Close(fd)
	}
	g.files = nil
	return nil
}

// readNumber reads a decimal number, which may be negative, at offset 0.
func readNumber(fd int) (int64, error) {
	var text [24]byte
	n, err := unix.Pread(fd, text[:], 0)
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseInt(strings.TrimSpace(string(text[:n])), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reads %q: want a decimal number", text[:n])
	}
	return v, nil
}
