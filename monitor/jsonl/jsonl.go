// Package jsonl appends rows to a file as lines of JSON, and starts the file anew when it
// is long: FILE becomes FILE.1, FILE.1 becomes FILE.2, and the oldest is removed. A line is
// written in one piece, so a process that is killed leaves whole lines.
package jsonl

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// Rotation says when a file is started anew. The zero value is never.
type Rotation struct {
	Size int64 // bytes that a file has at most, but for one line
	Keep int   // earlier files that are kept
}

// keep is how many earlier files are kept unless it is said.
const keep = 5

var units = []struct {
	name  string
	bytes float64
}{{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}, {"", 1}}

// ParseRotation reads "SIZE" or "SIZE,N": bytes, or with a unit (100MB, 64MiB), and how
// many earlier files are kept.
func ParseRotation(s string) (Rotation, error) {
	r := Rotation{Keep: keep}
	size, count, counted := strings.Cut(s, ",")
	if counted {
		n, err := strconv.Atoi(strings.TrimSpace(count))
		if err != nil || n < 1 || n > 1000 {
			return r, fmt.Errorf("%q: %q is no number of files: use 1 to 1000", s, count)
		}
		r.Keep = n
	}
	for _, u := range units {
		number, ok := strings.CutSuffix(strings.TrimSpace(size), u.name)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err == nil && v*u.bytes >= 1e3 && v*u.bytes <= 1e15 {
			r.Size = int64(v * u.bytes)
			return r, nil
		}
	}
	return r, fmt.Errorf("%q is no size of a file: use at least 1kB, such as 100MB, or 100MB,5 to keep 5 earlier files",
		s)
}

// File is an open file of rows. It is used from one goroutine.
type File struct {
	path     string
	rotation Rotation
	file     *os.File
	size     int64
}

// Open opens a file to add rows to it, and makes it if it is not there. A last line that is
// cut off, since its writer was killed, gets an end of its own.
func Open(path string, r Rotation) (*File, error) {
	f := &File{path: path, rotation: r}
	return f, f.open()
}

func (f *File) open() error {
	file, err := os.OpenFile(f.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && info.Mode().IsRegular() && info.Size() > 0 {
		var last [1]byte
		if _, err = file.ReadAt(last[:], info.Size()-1); err == nil && last[0] != '\n' {
			_, err = file.WriteString("\n")
		}
	}
	if err != nil {
		file.Close()
		return fmt.Errorf("%s: %w", f.path, err)
	}
	f.file, f.size = file, info.Size()
	return nil
}

// Write adds a row.
func (f *File) Write(row any) error {
	line, err := json.Marshal(row)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if f.rotation.Size > 0 && f.size > 0 && f.size+int64(len(line)) > f.rotation.Size {
		if err := f.rotate(); err != nil {
			return err
		}
	}
	n, err := f.file.Write(line)
	f.size += int64(n)
	return err
}

func (f *File) rotate() error {
	if err := f.file.Close(); err != nil {
		return err
	}
	for k := f.rotation.Keep; k > 0; k-- {
		from := fmt.Sprintf("%s.%d", f.path, k-1)
		if k == 1 {
			from = f.path
		}
		if err := os.Rename(from, fmt.Sprintf("%s.%d", f.path, k)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return f.open()
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }
