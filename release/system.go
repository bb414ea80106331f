package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers itself
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// about says what cg is, in one line.
const about = "measures how much energy each function of a program uses"

func (r *release) deb(t target) error {
	return r.system(t, "deb", "libc6 (>= "+glibc+")")
}

func (r *release) rpm(t target) error {
	return r.system(t, "rpm", "glibc >= "+glibc)
}

// system makes a package of a distribution. It has the unit of cg monitor, which is not started,
// and gives cg no right: sudo cg init-sensors does, when asked.
func (r *release) system(t target, kind, libc string) error {
	contents, err := r.contents(t)
	if err != nil {
		return err
	}
	info := nfpm.WithDefaults(&nfpm.Info{Name: "cg", Arch: t.goarch, Platform: "linux",
		Version: r.version, Release: "1",
		Section: "devel", Priority: "optional", Maintainer: maintainer, Homepage: "https://" + repository,
		License: "Apache-2.0", MTime: r.at,
		Description: about, DisableGlobbing: true,
		Overridables: nfpm.Overridables{Depends: []string{libc}, Contents: contents}})
	info.RPM.Summary = about
	if kind == "rpm" {
		info.Contents = append(info.Contents, r.folders(contents)...)
	}
	if err := nfpm.PrepareForPackager(info, kind); err != nil {
		return err
	}
	packager, err := nfpm.Get(kind)
	if err != nil {
		return err
	}
	w, err := os.Create(filepath.Join(r.out, packager.ConventionalFileName(info)))
	if err != nil {
		return err
	}
	return errorOf(packager.Package(info, w), w.Close())
}

// folders are those of shells' completions, which are there where the shell is. An .rpm has to have them itself, or rpm
// leaves them behind.
func (r *release) folders(of files.Contents) (all files.Contents) {
	seen := map[string]bool{}
	for _, f := range of {
		for d := path.Dir(f.Destination); ofShells(d) && !seen[d]; d = path.Dir(d) {
			seen[d] = true
			all = append(all, &files.Content{Destination: d, Type: files.TypeDir,
				FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: 0o755, MTime: r.at}})
		}
	}
	return all
}

// ofShells tells whether a folder is one that may be there for a shell alone: below /usr/share, and not of man or doc,
// which every system has.
func ofShells(folder string) bool {
	return strings.HasPrefix(folder, "/usr/share/") && !strings.HasPrefix(folder, "/usr/share/man") &&
		!strings.HasPrefix(folder, "/usr/share/doc")
}

// contents are the files of a distribution's package, which nfpm reads from a folder.
func (r *release) contents(t target) (files.Contents, error) {
	cg, err := r.program(t, "bin/cg")
	if err != nil {
		return nil, err
	}
	unit, err := r.unit()
	if err != nil {
		return nil, err
	}
	all := files.Contents{{Destination: "/usr/share/doc/cg", Type: files.TypeDir,
		FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: 0o755, MTime: r.at}}}
	for _, f := range append([]file{cg, unit}, r.extras...) {
		name := filepath.Join(r.work, "usr-"+t.String(), f.name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return nil, err
		}
		if err := os.WriteFile(name, f.content, 0o666); err != nil {
			return nil, err
		}
		all = append(all, &files.Content{Source: name, Destination: "/usr/" + f.name,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode, MTime: r.at}})
	}
	return all, nil
}

// unit is the service of cg monitor, with the path of the package's cg.
func (r *release) unit() (file, error) {
	name := filepath.Join(r.source, "deploy", "monitor", "cg-monitor.service")
	text, err := os.ReadFile(name)
	if err != nil {
		return file{}, err
	}
	packaged, err := replaced(string(text), "/usr/local/bin/cg ", "/usr/bin/cg ")
	if err == nil {
		packaged, err = replaced(packaged, "/etc/systemd/system/", "/usr/lib/systemd/system/")
	}
	if err != nil {
		return file{}, fmt.Errorf("%s: %w", name, err)
	}
	return file{"lib/systemd/system/cg-monitor.service", []byte(packaged), 0o644}, nil
}
