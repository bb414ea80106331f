package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

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
	cache   runtimes.Cache
	closed  bool
}

// socketLength is the size of sun_path (unix(7)), the closing zero included.
const socketLength = 108

func prepare(ctx context.Context, lang *languages.Language, target languages.Target, o options, dir string) (*prepared, error) {
	cache, _ := keeping()
	p := &prepared{cache: cache}
	clock := checkpoint.SystemClock()
	var err error
	if lang.Native != "" {
		if p.native.Path, p.native.Content, err = runtimes.Library(ctx, lang.Native, cache, dir); err != nil {
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
	_, refused := keeping()
	f.Refused = slices.Concat(refused, p.cache.Refused(), p.server.Refused())
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

// keeping is where cg keeps what it can make again: $XDG_CACHE_HOME/cg, else a
// folder of this user in the place of temporary files where somebody else could
// write there, which refused tells. The cache is empty where nothing can be
// written, or where the name cannot stand where paths are listed.
var keeping = sync.OnceValues(func() (cache runtimes.Cache, refused []string) {
	base, err := os.UserCacheDir()
	if err != nil {
		return cache, nil
	}
	cache, err = openCache(filepath.Join(base, "cg"))
	var r *runtimes.Refusal
	if !errors.As(err, &r) {
		return cache, nil
	}
	text := fmt.Sprintf("%s is not used, since somebody else could change the code in it: %s; ", filepath.Join(base, "cg"), r)
	own := filepath.Join(os.TempDir(), fmt.Sprintf(".cg-cache-%d", os.Geteuid()))
	if cache, _ = openCache(own); cache.Dir == "" {
		return cache, []string{text + "everything is compiled anew in each run"}
	}
	return cache, []string{text + "code is kept in " + own}
})

// openCache opens the cache in a folder. Without an error it is one that can be
// written, or empty.
func openCache(dir string) (runtimes.Cache, error) {
	if awkward(dir) {
		return runtimes.Cache{}, nil
	}
	cache, err := runtimes.OpenCache(dir)
	if errors.As(err, new(*runtimes.Refusal)) {
		return runtimes.Cache{}, err
	}
	if err != nil || awkward(cache.Dir) {
		return runtimes.Cache{}, nil
	}
	probe, err := os.CreateTemp(cache.Dir, ".writable-")
	if err != nil {
		return runtimes.Cache{}, nil
	}
	_, err = probe.Write(make([]byte, 256<<10)) // is the disk full?
	probe.Close()
	os.Remove(probe.Name())
	if err != nil {
		return runtimes.Cache{}, nil
	}
	return cache, nil
}

// prune removes what has not been used for long.
func prune() {
	cache, _ := keeping()
	runtimes.Prune(cache, time.Now())
}
