package tell

import (
	"errors"
	"io/fs"
)

// Reason is an error of a file without the file's name.
func Reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
