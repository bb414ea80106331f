package estimate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"cg/nemb/counter"
	"cg/nemb/processor"
)

// Calibration is what a meter says a machine draws: with all its processors
// idle, and with all of them busy. It replaces the tables of the estimate.
type Calibration struct {
	Idle  float64   `json:"idle_w"`
	Load  float64   `json:"load_w"`
	Meter string    `json:"meter"` // where the two come from
	Made  time.Time `json:"made"`
}

// calibratedBand: a straight line between two known points was off by 8.9 % on
// average in the test of processor.Era, the median curve through them by
// 7.7 % and 20.8 % at the 95th percentile. Of the line only the average is known:
// its 95th percentile is taken to be as much wider.
const calibratedBand = 0.25

// Check tells what is wrong with a calibration.
func (c Calibration) Check() error {
	switch {
	case !(c.Idle >= 0) || c.Idle > counter.MaxWatts:
		return fmt.Errorf("%g W is no power of an idle machine: use 0 to %d", c.Idle, counter.MaxWatts)
	case !(c.Load > c.Idle) || c.Load > counter.MaxWatts:
		return fmt.Errorf("%g W is no power of a busy machine that draws %g W when idle", c.Load, c.Idle)
	}
	return nil
}

// CalibrationFile is where calibrations are kept: cg/calibration.json in the
// user's configuration ($XDG_CONFIG_HOME, else ~/.config).
func CalibrationFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "cg", "calibration.json"), nil
}

// ReadCalibrations reads a file of calibrations by Identity. One that is not
// there has none.
func ReadCalibrations(path string) (map[string]Calibration, error) {
	all := map[string]Calibration{}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	for _, c := range all {
		err = errors.Join(err, c.Check())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w (remove it, and calibrate again)", path, err)
	}
	return all, nil
}

// WriteCalibrations replaces a file of calibrations, whole or not at all.
func WriteCalibrations(path string, all map[string]Calibration) error {
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return replace(path, append(text, '\n'))
}

// replace writes a file under another name first.
func replace(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".part-")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Calibrated returns the calibration of a CPU, if it has one. Without a home
// there is none.
func Calibrated(cpu processor.CPU) (Calibration, bool, error) {
	path, err := CalibrationFile()
	if err != nil {
		return Calibration{}, false, nil
	}
	all, err := ReadCalibrations(path)
	c, ok := all[cpu.Identity()]
	return c, ok, err
}

// LinearCalibration draws a line through two points: shares of the processors'
// time that were busy, and watts.
func LinearCalibration(share1, watts1, share2, watts2 float64) (Calibration, error) {
	if share1 > share2 {
		share1, watts1, share2, watts2 = share2, watts2, share1, watts1
	}
	if !(share2-share1 >= 0.3) {
		return Calibration{}, fmt.Errorf("the processors were busy for %.0f %% and %.0f %% of the time: two points "+
			"that are 30 %% apart are needed", 100*share1, 100*share2)
	}
	slope := (watts2 - watts1) / (share2 - share1)
	c := Calibration{Idle: watts1 - slope*share1, Load: watts1 + slope*(1-share1)}
	return c, c.Check()
}
