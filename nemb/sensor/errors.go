package sensor

import "io/fs"

// Broken hides what an error is: what is listed and whose counter is missing is
// broken, not absent.
func Broken(err error) error { return broken{err} }

type broken struct{ err error }

func (b broken) Error() string { return b.err.Error() }

// Absent makes err say that the machine has no such sensors (see nemb.Source.Open).
func Absent(err error) error { return classed{err, fs.ErrNotExist} }

// Fixable makes err say that a person can fix it (fs.ErrPermission).
func Fixable(err error) error { return classed{err, fs.ErrPermission} }

// classed is an error that stands for a class: one of absent (fs.ErrNotExist)
// or one that a person can fix (fs.ErrPermission), see Source.Open.
type classed struct {
	error
	class error
}

func (c classed) Is(target error) bool { return target == c.class }

func (c classed) Unwrap() error { return c.error }
