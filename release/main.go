// Command release makes the packages of cg: archives, .deb, .rpm, wheels, npm packages, images,
// the Java package as a Maven repository, the Go module, the source, a script that installs cg, a formula
// of Homebrew and a flake of Nix, with their checksums.
//
//	cd release && go run . -o DIR [-arch amd64,arm64] [-libc gnu,musl] [-base amd64=ROOT.tar]
//
// An image is made for an architecture whose -base gives it the C library: a root file system as tar.
//
// It takes the source in the folder above, and Zig as the C compiler (see zigcc), so that one
// machine builds for each architecture. It needs git and a JDK, too. It refuses a folder that
// is not empty. The times in the packages are that of the commit, or SOURCE_DATE_EPOCH.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// release is what is made of one source.
type release struct {
	source, out string // folders
	staged      string // the folder of what is built
	version     string // of cg
	at          time.Time
	work        string            // a folder for what is made on the way
	cg          map[target]string // programs
	bases       map[string]string // root file systems of images, by GOARCH
	extras      []file            // man pages, completions, licences: what each package has beside cg
}

// arch is an architecture under its names.
type arch struct{ cpu, npm string }

// arches are the architectures by GOARCH.
var arches = map[string]arch{
	"amd64": {"x86_64", "x64"},
	"arm64": {"aarch64", "arm64"},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("release", flag.ExitOnError)
	out := flags.String("o", "", "the `folder` of the packages, new or empty")
	names := flags.String("arch", "amd64,arm64", "architectures")
	libcs := flags.String("libc", "gnu,musl", "C libraries")
	r := &release{cg: map[target]string{}, bases: map[string]string{}}
	flags.Func("base", "`GOARCH=FILE`: a root file system with the C library, as tar, for an image", r.base)
	flags.Parse(args)
	if *out == "" {
		return errors.New("name a folder for the packages: -o DIR")
	}
	wanted, err := targets(*names, *libcs)
	if err != nil {
		return err
	}
	if err := r.begin(*out); err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	if err := r.stage(); err != nil {
		return err
	}
	for _, t := range wanted {
		if err := r.build(t); err != nil {
			return fmt.Errorf("building cg for %s: %w", t, err)
		}
	}
	return r.packages()
}

// base takes a value of -base.
func (r *release) base(text string) error {
	goarch, name, _ := strings.Cut(text, "=")
	if _, ok := arches[goarch]; !ok || name == "" {
		return errors.New("use amd64=FILE or arm64=FILE")
	}
	r.bases[goarch] = name
	return nil
}

// begin finds the folders and the time.
func (r *release) begin(out string) (err error) {
	if r.source, err = filepath.Abs(".."); err != nil {
		return err
	}
	if r.out, err = filepath.Abs(out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o777); err != nil {
		return err
	}
	there, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	if len(there) > 0 {
		return fmt.Errorf("%s is not empty: name another folder, or remove it", r.out)
	}
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		if seconds, err = r.said("git", "-C", r.source, "log", "-1", "--format=%ct"); err != nil {
			return err
		}
	}
	if r.at, err = epoch(seconds); err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	r.work, err = os.MkdirTemp("", "cg-release-")
	return err
}

// epoch is a time in seconds since 1970.
func epoch(seconds string) (time.Time, error) {
	n, err := strconv.ParseInt(seconds, 10, 64)
	return time.Unix(n, 0).UTC(), err
}

// build makes cg for a machine, with what cg would compile at first use.
func (r *release) build(t target) error {
	if err := r.prebuild(t); err != nil {
		return err
	}
	stamp, err := r.stamp()
	if err != nil {
		return err
	}
	name := filepath.Join(r.work, t.String(), "cg")
	_, err = r.in(r.staged, []string{"CGO_ENABLED=1", "GOOS=linux", "GOARCH=" + t.goarch, "CC=" + r.compiler(t)},
		"go", "build", "-trimpath", "-buildvcs=false", "-tags=prebuilt", "-ldflags=-s -w"+stamp, "-o", name, ".")
	if err == nil {
		r.cg[t] = name
	}
	return err
}

// packages makes all of them of the programs.
func (r *release) packages() error {
	fields, err := r.said(r.cg[native()], "--version")
	if err != nil {
		return err
	}
	words := strings.Fields(fields)
	r.version = words[len(words)-1]
	if err := r.gather(); err != nil {
		return err
	}
	for t := range r.cg {
		steps := []func(target) error{r.archive, r.wheel, r.npm}
		if t.libc == "gnu" { // that of the distributions with these packages
			steps = append(steps, r.deb, r.rpm, r.image)
		}
		for _, step := range steps {
			if err := step(t); err != nil {
				return fmt.Errorf("%s: %w", t, err)
			}
		}
	}
	for _, step := range []func() error{r.maven, r.sources, r.goModule, r.recipes, r.sums} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// said runs a command, and returns what it printed, without the last end of line.
func (r *release) said(name string, args ...string) (string, error) {
	return r.in(r.source, nil, name, args...)
}

// in is said in a folder, with more variables.
func (r *release) in(dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}
