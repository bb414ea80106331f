// Package history has the lines that cg gate --history appends, in a file or in git notes, and cg trend reads.
package history

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"cg/cli/tell"
	"cg/gate"
	"cg/report/trend"
)

// NotePrefix stands in front of the name of git notes that are a history.
const NotePrefix = "note:"

// Notes are git notes of the current folder's repository as a history.
func Notes(ctx context.Context, name string) (*gate.Repository, string, error) {
	notes, is := strings.CutPrefix(name, NotePrefix)
	if !is {
		return nil, "", nil
	}
	r, err := gate.FindRepository(ctx, ".")
	if err == nil {
		err = r.CheckNotes(ctx, notes)
	}
	return r, notes, err
}

// NotedLines are the lines of a history in git notes, in the order of the commits.
func NotedLines(ctx context.Context, name string) (all []trend.Line, err error) {
	r, notes, err := Notes(ctx, name)
	if err != nil {
		return nil, err
	}
	noted, lost, err := r.Notes(ctx, notes)
	if err != nil {
		return nil, err
	}
	if lost > 0 {
		tell.Warnf("%s: the notes of %d commits are left out: no branch or tag leads to them", name, lost)
	}
	for _, note := range noted {
		lines, _, err := trend.Read(strings.NewReader(note.Text))
		if err != nil {
			return nil, fmt.Errorf("note of %.10s: %w", note.Commit, err)
		}
		all = append(all, lines...)
	}
	return all, nil
}

// File is the file of cg gate --history. Several checks may append to it at a time: who appends, and who removes
// it, holds a lock on it (flock(2)).
type File struct {
	file  *os.File
	isNew bool // made by openHistory
}

// Open opens a history, or makes it, and refuses what is none.
func Open(name string) (*File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	isNew := errors.Is(err, fs.ErrNotExist)
	if isNew {
		f, err = os.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o666)
	}
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s is no regular file: lines are appended to it", name)
	}
	_, cut, err := trend.Read(f)
	if err == nil && cut {
		err = errors.New("its last line was cut off: remove what is behind the last line end")
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &File{f, isNew}, nil
}

// Close closes it, and removes one that is new and has got no line.
func (h *File) Close() {
	if h.isNew && h.lock() == nil {
		if info, err := h.file.Stat(); err == nil && info.Size() == 0 {
			os.Remove(h.file.Name())
		}
	}
	h.file.Close()
}

// Append appends a line, in one write.
func (h *File) Append(line []byte) error {
	if err := h.lock(); err != nil {
		return fmt.Errorf("%s: %w", h.file.Name(), err)
	}
	defer func() { unix.Flock(int(h.file.Fd()), unix.LOCK_UN) }()
	last := make([]byte, 1)
	if size, err := h.file.Seek(0, io.SeekEnd); err == nil && size > 0 {
		// An editor left the end of the last line away.
		if _, err := h.file.ReadAt(last, size-1); err == nil && last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	_, err := h.file.Write(line)
	return err
}

// lock locks the file that has the name. Where another check has removed the one that was opened, as its close does,
// that is another, or a new one.
func (h *File) lock() error {
	for {
		if err := unix.Flock(int(h.file.Fd()), unix.LOCK_EX); err != nil {
			return err
		}
		ours, err := h.file.Stat()
		if err != nil {
			return err
		}
		named, err := os.Stat(h.file.Name())
		if err == nil && os.SameFile(ours, named) {
			return nil
		}
		f, err := os.OpenFile(h.file.Name(), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o666)
		if err != nil {
			return err
		}
		h.file.Close()
		h.file = f
	}
}
