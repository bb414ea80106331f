package output

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"cg/cli/exit"
	"cg/cli/tell"
	"cg/report/format"
	"cg/scratch"
)

// Folder is the folder of a report that is several files. It is made aside, and
// gets its name when the report is whole.
type Folder struct {
	name  string
	aside *scratch.Folder
}

// OpenFolder makes the folder that -o names. It never replaces a folder with something in
// it.
func OpenFolder(f format.Format, name string) (*Folder, error) {
	if name == "" || name == "-" {
		return nil, exit.Usage("format %s is a folder of files: name the folder with -o", f.Name)
	}
	name = filepath.Clean(name)
	switch inside, err := os.ReadDir(name); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, exit.Usage("-o: %s is there and is no folder, which format %s writes: name another", name,
			f.Name)
	case len(inside) > 0:
		return nil, exit.Usage("-o: %s is there and is not empty: name another folder, or remove it", name)
	}
	aside, err := scratch.NewFolder(filepath.Dir(name))
	if err != nil {
		return nil, exit.Usage("-o: %s cannot be written: %w", name, tell.Reason(err))
	}
	return &Folder{name, aside}, nil
}

// Create makes a file of the folder.
func (o *Folder) Create(name string) (io.WriteCloser, error) {
	path := filepath.Join(o.aside.Path, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	return os.Create(path)
}

// Save gives the folder its name.
func (o *Folder) Save() error {
	aside := o.aside
	o.aside = nil
	err := errors.Join(aside.Keep(), os.Chmod(aside.Path, os.FileMode(0o777&^umask())))
	if err == nil {
		if err = os.Remove(o.name); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err == nil {
		err = os.Rename(aside.Path, o.name)
	}
	if err != nil {
		scratch.RemoveAll(aside.Path)
	}
	return err
}

// Abandon removes what was written aside.
func (o *Folder) Abandon() {
	if o.aside != nil {
		o.aside.Remove()
	}
}
