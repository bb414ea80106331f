package python

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"cg/instrument"
	"cg/languages"
)

// newestMinor is the newest Python 3 that cg is tested with. Beyond it
// weave.py leaves the tables of code objects alone.
const newestMinor = 15

// question is answered by every Python, also by those that cg refuses.
const question = `import sys
print('%d.%d.%d' % tuple(sys.version_info[:3]))
print(getattr(getattr(sys, 'implementation', None), 'name', 'cpython'))
print('t' in getattr(sys, 'abiflags', ''))`

// ask lets the interpreter say what it is.
func (p *interpreter) ask() error {
	out, err := exec.Command(p.Path, "-E", "-s", "-S", "-c", question).Output()
	if err != nil {
		return err
	}
	said := strings.Fields(string(out))
	if len(said) != 3 {
		return errors.New("it does not say its version")
	}
	p.Version, p.Implementation, p.FreeThreaded = said[0], said[1], said[2] == "True"
	return nil
}

// meta is what the report says of the interpreter.
func (p *interpreter) meta() map[string]string {
	m := map[string]string{"python_version": p.Version}
	if p.Implementation != "cpython" {
		m["python_implementation"] = p.Implementation
	}
	if p.FreeThreaded {
		m["python_free_threaded"] = "true"
	}
	return m
}

// untested says why this interpreter may behave in ways that nobody has tried
// with cg, "" for one that is tested.
func (p *interpreter) untested() string {
	var major, minor int
	fmt.Sscanf(p.Version, "%d.%d", &major, &minor)
	switch {
	case p.Implementation != "cpython" && p.Implementation != "pypy":
		return fmt.Sprintf("cg is tested with CPython and PyPy, and this is %s %s", p.Implementation, p.Version)
	case major > 3 || minor > newestMinor:
		return fmt.Sprintf("Python %s is newer than 3.%d, the newest that cg is tested with", p.Version, newestMinor)
	}
	return ""
}

// places is how the parts of functions are told apart, "" for not at all. Only the native library does so.
func (p *interpreter) places(s languages.Setup) (string, error) {
	g := s.Options.Granularity
	switch {
	case !g.HasPlaces():
		return "", nil
	case p.Implementation != "cpython" || p.FreeThreaded:
		return "", languages.Refuse(126, "-g %s needs CPython with its global lock, and %s is none: use -g fine", g,
			p.Path)
	case s.Native.Path == "":
		return "", languages.Refuse(126, "-g %s needs cg's native library in the interpreter, and there is none "+
			"(%s): use -g fine", g, s.Native.Reason)
	}
	return string(g), nil
}

// placedFiles are the files of functions that are told apart, where they alone are woven otherwise: each with the key
// of what is woven of it, between zero bytes.
func placedFiles(o instrument.Options) string {
	var words []string
	files := o.PlacesKeys()
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if strings.ContainsAny(file, "\n\x00") { // no line could name it
			return ""
		}
		words = append(words, file, files[file])
	}
	return strings.Join(words, "\x00")
}
