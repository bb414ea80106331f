// Package exit has the errors that end cg, each with its status and, where a signal ended the program or
// interrupted cg, with that signal.
package exit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"cg/languages"
	"cg/launcher"
)

// The statuses of cg's own failures (docs/messages.md).
const (
	StatusFailure  = 1
	StatusUsage    = 2
	StatusSelf     = 125
	StatusNotFound = 127
)

// SenderPatience is how long what waits for a broker or a collector is waited for at the end.
const SenderPatience = 3 * time.Second

// Error is an error with the status it ends cg with.
type Error struct {
	Status int
	Err    error
	Signal unix.Signal // by which cg ends, 0 for none
}

func (e *Error) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// With is an error with a status.
func With(status int, format string, args ...any) error {
	return &Error{Status: status, Err: fmt.Errorf(format, args...)}
}

// Usage is the error of a command line that cg does not understand.
func Usage(format string, args ...any) error { return With(StatusUsage, format, args...) }

// Failure is the error of a command that did not do what it is for.
func Failure(format string, args ...any) error { return With(StatusFailure, format, args...) }

// Self is the error of cg itself in a command that runs a program. The statuses below are the program's.
func Self(format string, args ...any) error { return With(StatusSelf, format, args...) }

// Of carries the measured program's own status out.
func Of(status int) error {
	if status == 0 {
		return nil
	}
	return &Error{Status: status}
}

// Like carries out how the measured program ended. cg dies of the signal that killed
// it, so that a shell that waits for cg sees what it would see of the program: Ctrl-C ends
// a loop around cg, too.
func Like(r launcher.Result) error {
	if r.Status == 0 {
		return nil
	}
	e := &Error{Status: r.Status}
	if !r.Exited && !r.TimedOut {
		e.Signal = r.Signal
	}
	return e
}

// By is the error of cg where a signal interrupted it, by which it ends.
func By(s unix.Signal, format string, args ...any) error {
	return &Error{Status: 128 + int(s), Err: fmt.Errorf(format, args...), Signal: s}
}

// Interrupted is the signal that ended a context.
func Interrupted(ctx context.Context) unix.Signal {
	for _, s := range []unix.Signal{unix.SIGTERM, unix.SIGHUP} {
		if strings.Contains(context.Cause(ctx).Error(), s.String()) {
			return s
		}
	}
	return unix.SIGINT
}

// Refused gives an error of a room the status it ends cg with.
func Refused(err error) error {
	var l *languages.Error
	var e *launcher.Error
	switch {
	case errors.As(err, &l):
		return &Error{Status: l.Status, Err: err}
	case errors.As(err, &e):
		return &Error{Status: e.Status, Err: err}
	}
	return &Error{Status: StatusSelf, Err: err}
}
