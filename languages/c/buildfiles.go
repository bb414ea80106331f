package c

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"

	"cg/pattern"
)

// buildFile is what files are called that say how a project is built: those of make, CMake, Meson and Ninja, presets,
// toolchains, scripts of a shell, and Python's setup.py.
var buildFile = pattern.Later(`^(?:(?:GNU)?[Mm]akefile(?:\..*)?|CMakeLists\.txt|CMake(?:User)?Presets\.json|` +
	`meson\.build|setup\.py|.*\.(?:mk|mak|make|cmake|ini|ninja|sh))$`)

// wholePath is a path from the root.
var wholePath = pattern.Later(`/[\w./+-]+`)

// largestBuildFile is the size from which on a file is not read.
const largestBuildFile = 4 << 20

// redirect has the copy's build files name the stand-ins where they name compilers by their whole paths, which the
// stand-ins in PATH do not reach.
func (p *project) redirect() error {
	return filepath.WalkDir(p.copy, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !buildFile().MatchString(d.Name()) {
			return err
		}
		info, err := d.Info()
		if err != nil || info.Size() > largestBuildFile {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		redirected, err := p.redirected(text)
		if err != nil || bytes.Equal(redirected, text) {
			return err
		}
		if err := os.WriteFile(path, redirected, info.Mode().Perm()); err != nil {
			return err
		}
		return os.Chtimes(path, info.ModTime(), info.ModTime())
	})
}

// redirected is the text of a build file with stand-ins in the place of compilers.
func (p *project) redirected(text []byte) (out []byte, err error) {
	last := 0
	for _, at := range wholePath().FindAllIndex(text, -1) {
		// What stands before it may make it a part of another path, such as $(PREFIX)/bin/cc.
		if at[0] > 0 && (isWord(text[at[0]-1]) || bytes.IndexByte([]byte(")}.~*-+"), text[at[0]-1]) >= 0) {
			continue
		}
		name := string(text[at[0]:at[1]])
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		standIn, err := p.wrapped(name)
		if err != nil {
			return nil, err
		}
		out, last = append(append(out, text[last:at[0]]...), standIn...), at[1]
	}
	return append(out, text[last:]...), nil
}
