package launcher

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Error says that a program could not be started because of the program itself. Status is what a shell would exit with:
// 127 when it was not found, 126 when it cannot be executed.
type Error struct {
	Name   string
	Status int
	Err    error
}

func (e *Error) Error() string { return e.Name + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

var (
	errNotFound  = errors.New("command not found")
	errDirectory = errors.New("is a directory")
)

// lookup finds the file to execute: name itself when it has a slash, else the first executable of that name in the
// PATH of env. Like the program's own, relative paths count from dir.
func lookup(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, executable(name, dir, name)
	}
	worst := error(&Error{name, 127, errNotFound})
	if name == "" {
		return "", worst
	}
	path := "/usr/local/bin:/usr/bin:/bin"
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			path = value
			break
		}
	}
	for _, folder := range filepath.SplitList(path) {
		file := "./" + name
		if folder != "" {
			file = folder + "/" + name
		}
		err := executable(name, dir, file)
		var e *Error
		switch {
		case err == nil:
			return file, nil
		case errors.As(err, &e) && e.Status == 126 && e.Err != errDirectory:
			worst = err
		}
	}
	return "", worst
}

// executable returns nil when file can be executed, and an *Error about name when not.
func executable(name, dir, file string) error {
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, os.ErrPermission):
		return &Error{name, 126, syscall.EACCES}
	case err != nil:
		return &Error{name, 127, errors.Unwrap(err)}
	case info.IsDir():
		return &Error{name, 126, errDirectory}
	}
	if err := unix.Faccessat(unix.AT_FDCWD, file, unix.X_OK, unix.AT_EACCESS); err != nil {
		return &Error{name, 126, err}
	}
	return nil
}

// execError says what an errno of exec means for name.
func execError(name string, err error) error {
	switch err {
	case syscall.ENOENT:
		return &Error{name, 127, fmt.Errorf("its interpreter was not found")}
	case syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.ECHILD, syscall.ENOTTY:
		return fmt.Errorf("launcher: start %s: %w", name, err)
	}
	if _, ok := err.(syscall.Errno); ok {
		return &Error{name, 126, err}
	}
	return err
}

// plainScript says whether a file the kernel does not know how to execute is text, which execvp(3) and every shell then
// give to /bin/sh.
func plainScript(dir, file string) bool {
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, 256)
	n, err := io.ReadFull(f, b)
	return (err == nil || err == io.ErrUnexpectedEOF || err == io.EOF) && bytes.IndexByte(b[:n], 0) < 0
}
