package sensor

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Number is a file that holds a decimal number of units.
type Number struct {
	path string
	fd   int
	unit float64 // in watts
}

// OpenPower opens a file of a power and reads it once.
func OpenPower(path string, unit float64) (*Number, error) {
	g, err := OpenNumber(path)
	if err != nil {
		return nil, err
	}
	g.unit = unit
	if _, err := g.Watts(); err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// OpenNumber opens a file of a number and reads it once.
func OpenNumber(path string) (*Number, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	g := &Number{path: path, fd: fd}
	if _, err := g.Read(); err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// Watts is the number as a power, which is never negative.
func (g *Number) Watts() (float64, error) {
	v, err := g.Read()
	if err == nil && v < 0 {
		err = fmt.Errorf("%s: reads %d: want a power", g.path, v)
	}
	return float64(v) * g.unit, err
}

// Read reads the number.
func (g *Number) Read() (int64, error) {
	var text [32]byte
	n, err := unix.Pread(g.fd, text[:], 0)
	if err != nil {
		return 0, &fs.PathError{Op: "read", Path: g.path, Err: err}
	}
	v, err := strconv.ParseInt(strings.TrimSpace(string(text[:n])), 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%s: reads %q: want a decimal number", g.path, text[:n])
	}
	return v, nil
}

// Close closes the file.
func (g *Number) Close() { unix.Close(g.fd) }
