package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"cg/checkpoint"
	"cg/instrument"
	"cg/languages"
	"cg/launcher"
	"cg/measure"
	"cg/report"
	"cg/runtimes"
	"cg/scratch"
)

// prepared is a program that is ready to be started with checkpoints.
type prepared struct {
	command languages.Command
	channel *checkpoint.Channel
	server  *instrument.Server
	native  languages.Native
	short   *scratch.Folder // of the socket, where the run's has too long a path
	closed  bool
}

// socketLength is the size of sun_path (unix(7)), the closing zero included.
const socketLength = 108

func prepare(ctx context.Context, lang *languages.Language, target languages.Target, o options, dir string) (*prepared, error) {
	cache := cacheDir()
	p := &prepared{}
	clock := checkpoint.SystemClock()
	var err error
	if lang.Native != "" {
		if p.native.Path, err = runtimes.Library(ctx, lang.Native, cache, dir); err != nil {
			p.native.Reason = err.Error()
			clock = checkpoint.Monotonic // which every runtime can read
		}
	}
	if p.channel, err = checkpoint.NewIn(clock, 0, dir); err != nil {
		return nil, err
	}
	p.server = &instrument.Server{Planner: lang.Plan, Language: lang.Name, Options: o.instrument, Channel: p.channel}
	socket := filepath.Join(dir, "server")
	if len(socket) >= socketLength {
		if p.short, err = scratch.NewFolder("/tmp"); err != nil {
			p.channel.Close()
			return nil, fmt.Errorf("the run's folder %s is too deep for a socket, and /tmp cannot be used: %w (set TMPDIR to a shorter path)", dir, err)
		}
		socket = filepath.Join(p.short.Path, "server")
	}
	setup := languages.Setup{
		Dir: dir, Cache: cache, Channel: p.channel.Path(), Server: socket, Key: key(o, lang),
		Coarse: o.granularity == instrument.Coarse, Native: p.native, Off: o.instrumented,
		Options: o.instrument, Number: p.server.Number, Skip: p.server.Skip, Drop: p.server.Drop, Give: p.server.Give, Place: p.server.Place,
	}
	for _, g := range o.instrument.Include {
		setup.Foreign = setup.Foreign || strings.Contains(g, "/")
	}
	if err := p.server.Listen(setup.Server); err != nil {
		p.channel.Close()
		if p.short != nil {
			p.short.Remove()
		}
		return nil, err
	}
	if p.command, err = lang.Launch(target, setup); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *prepared) close() {
	if p.closed {
		return
	}
	p.closed = true
	if p.command.Done != nil {
		p.command.Done()
	}
	p.server.Close()
	p.channel.Close()
	if p.short != nil {
		p.short.Remove()
	}
}

// start fills in how the program is started.
func (p *prepared) start(c *launcher.Cmd) {
	c.Args, c.Env, c.Dir = p.command.Args, p.environment(), p.command.Dir
	if p.command.Change != nil {
		c.Lines = &launcher.Lines{Marks: p.command.Marks, Change: p.command.Change}
	}
}

// again asks whether the program is to be run again, and writes what was kept
// back until that is known.
func (p *prepared) again(o *measure.Outcome, stdout, stderr *os.File) bool {
	if p.command.Again == nil {
		return false
	}
	status := o.Result.Status
	if !o.Result.Exited || o.Result.TimedOut || status > 123 { // somebody ended it
		status = 0
	}
	verdict := p.command.Again(status)
	if verdict.Why != "" {
		say(verdict.Why)
		return true
	}
	cmp.Or(stdout, os.Stdout).Write(verdict.Stdout)
	cmp.Or(stderr, os.Stderr).Write(verdict.Stderr)
	return false
}

// facts adds what was prepared and found to the facts of a run.
func (p *prepared) facts(o *measure.Outcome, f report.Facts) report.Facts {
	f.Outcome, f.Sites, f.Begun = o, p.server.Sites(), p.server.Begun()
	f.Spans = map[checkpoint.SiteID]report.Span{}
	for id, s := range p.server.Spans() {
		f.Spans[id] = report.Span(s)
	}
	for _, s := range p.server.Skipped() {
		f.Skipped = append(f.Skipped, report.Skip(s))
	}
	if reason, is := p.server.Pure(); is {
		f.Pure = &reason
	}
	if reason, is := p.server.Off(); is {
		f.Off = &reason
	}
	if p.command.Without != "" {
		f.Off = &p.command.Without
	}
	if tests := p.command.Tests; tests != nil {
		f.Outcomes = func(tasks []string) map[string]report.Outcome {
			out := map[string]report.Outcome{}
			for name, t := range tests(tasks) {
				out[name] = report.Outcome(t)
			}
			return out
		}
	}
	f.Clock, f.LanguageVersion = p.channel.Clock(), p.command.Version
	f.LanguageMeta, f.Untested = p.command.Meta, p.command.Untested
	return f
}

// environment is ours with the command's additions in place of what they
// replace.
func (p *prepared) environment() []string {
	set := map[string]bool{}
	for _, kv := range p.command.Env {
		name, _, _ := strings.Cut(kv, "=")
		set[name] = true
	}
	var env []string
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); !set[name] {
			env = append(env, kv)
		}
	}
	return append(env, p.command.Env...)
}

// key stands for everything that changes a plan, in the names of cached code.
func key(o options, lang *languages.Language) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %q %q %s", Version, o.granularity, o.instrument.Include, o.instrument.Exclude, lang.PlanVersion))
	return hex.EncodeToString(sum[:6])
}

// runDir makes the folder of a run: below TMPDIR, or /tmp if that is awkward.
// Folders that runs left there which were killed are removed.
func runDir() (*scratch.Folder, error) {
	base, err := filepath.Abs(os.TempDir())
	if err != nil || awkward(base) {
		base = "/tmp"
	}
	return scratch.NewFolder(base)
}

// awkward reports whether a path cannot stand in a list of paths (PYTHONPATH)
// or on a line.
func awkward(path string) bool { return strings.ContainsAny(path, ":\n") }

// cacheDir is where cg keeps what it can make again: $XDG_CACHE_HOME/cg. "" if
// it cannot be written, or named where paths are listed.
func cacheDir() string {
	base, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	dir := filepath.Join(base, "cg")
	if awkward(dir) {
		return ""
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return ""
	}
	probe, err := os.CreateTemp(dir, ".writable-")
	if err != nil {
		return ""
	}
	_, err = probe.Write(make([]byte, 256<<10)) // is the disk full?
	probe.Close()
	os.Remove(probe.Name())
	if err != nil {
		return ""
	}
	return dir
}
