package main

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// target is what cg is built for: an architecture, as GOARCH has it, and a C library, gnu or musl.
type target struct{ goarch, libc string }

// native is what this machine runs, where its C library is the GNU one.
func native() target { return target{runtime.GOARCH, "gnu"} }

// targets are those that the flags name. That of this machine has to be one: its cg writes the man pages.
func targets(arch, libc string) (all []target, err error) {
	for _, goarch := range strings.Split(arch, ",") {
		if _, ok := arches[goarch]; !ok {
			return nil, fmt.Errorf("-arch %s is not known: use amd64, arm64", goarch)
		}
		for _, name := range strings.Split(libc, ",") {
			if name != "gnu" && name != "musl" {
				return nil, fmt.Errorf("-libc %s is not known: use gnu, musl", name)
			}
			all = append(all, target{goarch, name})
		}
	}
	if !slices.Contains(all, native()) {
		return nil, fmt.Errorf("-arch has to have %s, and -libc gnu, too: their cg writes the man pages",
			runtime.GOARCH)
	}
	return all, nil
}

// String is the part of an archive's name: amd64, or musl-amd64.
func (t target) String() string {
	if t.libc == "gnu" {
		return t.goarch
	}
	return t.libc + "-" + t.goarch
}

// glibc is the lowest version of the GNU C library on which cg runs.
const glibc = "2.28"

// musl is the version of musl from which on cg runs: PEP 656 names wheels by it, and its types of time
// have 64 bits from there on.
const musl = "1.2"

// compiler is the C compiler for a target.
func (r *release) compiler(t target) string {
	zig := arches[t.goarch].cpu + "-linux-" + t.libc
	if t.libc == "gnu" {
		zig += "." + glibc
	}
	return filepath.Join(r.source, "release", "zigcc") + " " + zig
}

// wheel is the platform of a wheel (PEP 600, PEP 656).
func (t target) wheel() string {
	version := map[string]string{"gnu": "manylinux_" + glibc, "musl": "musllinux_" + musl}[t.libc]
	return strings.ReplaceAll(version, ".", "_") + "_" + arches[t.goarch].cpu
}

// archiveName is the name of an archive without its ending: cg-VERSION-linux-amd64.
func (r *release) archiveName(t target) string { return "cg-" + r.version + "-linux-" + t.String() }
