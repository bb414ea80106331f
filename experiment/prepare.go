package experiment

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cg/checkpoint"
	"cg/instrument"
	"cg/kernels"
	"cg/languages"
	"cg/launcher"
	"cg/measure"
	"cg/pmsampling/beside"
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
	kernels string          // the library that tells kernels on GPUs, "" for none
	short   *scratch.Folder // of the socket, where the run's has too long a path
	cache   runtimes.Cache
	refused []string // of Instrumented
	closed  bool
}

// socketLength is the size of sun_path (unix(7)), the closing zero included.
const socketLength = 108

// prepare makes the program ready: its checkpoints' library, the channel, the server
// of its sites, and what its language does before a start.
func (x *Instrumented) prepare(ctx context.Context) (*prepared, error) {
	lang, cache, dir := x.Language, x.Cache, x.Dir
	if lang.Packages != nil {
		include, err := lang.Packages(x.Target, x.Options.Include, cache)
		if err != nil {
			return nil, err
		}
		x.Options.Include = include
	}
	p := &prepared{cache: cache, refused: x.Refused}
	clock := checkpoint.SystemClock()
	var err error
	if lang.Runtime != nil {
		if p.native.Path, p.native.Content, err = runtimes.Library(ctx, lang.Runtime.Library, cache, dir); err != nil {
			p.native.Reason = err.Error()
			clock = checkpoint.Monotonic // which every runtime can read
		}
	}
	if p.kernels, err = x.kernelLibrary(ctx); err != nil {
		return nil, err
	}
	if p.channel, err = checkpoint.NewIn(clock, 0, dir); err != nil {
		return nil, err
	}
	p.server = &instrument.Server{Planner: lang.Plan, Weaver: lang.Weave, Rewriter: lang.Rewrite, Language: lang.Name,
		LanguageOf: languageOf, Options: x.Options, Channel: p.channel, Waiting: x.Waiting}
	socket := filepath.Join(dir, "server")
	if len(socket) >= socketLength {
		if p.short, err = scratch.NewFolder("/tmp"); err != nil {
			p.channel.Close()
			return nil, fmt.Errorf("the run's folder %s is too deep for a socket, and /tmp cannot be used: %w (set "+
				"TMPDIR to a shorter path)", dir, err)
		}
		socket = filepath.Join(p.short.Path, "server")
	}
	fine := x.Options
	fine.Granularity, fine.PlacesOf = instrument.Fine, nil
	setup := languages.Setup{
		Dir: dir, Cache: cache, Channel: p.channel.Path(), Server: socket, PlanKey: x.key(x.Options),
		FineKey: x.key(fine),
		Coarse:  x.Options.Granularity == instrument.Coarse, Native: p.native, OwnCheckpoints: x.OwnCheckpoints,
		Options: x.Options, NumberSites: p.server.NumberSites, Skip: p.server.Skip, DropSite: p.server.DropSite,
		TakeNumbers: p.server.TakeNumbers,
		PlaceSites:  p.server.PlaceSites,
	}
	for _, g := range x.Options.Include {
		setup.Foreign = setup.Foreign || strings.Contains(g, "/")
	}
	if err := p.server.Listen(setup.Server); err != nil {
		p.channel.Close()
		if p.short != nil {
			p.short.Remove()
		}
		return nil, err
	}
	if p.command, err = lang.Launch(x.Target, setup); err != nil {
		p.close()
		return nil, err
	}
	p.server.SetAhead(p.command.Ahead)
	p.server.SetKeep(p.command.Keep)
	return p, nil
}

// languageOf is the language of a source file by its ending, "" where that says none.
func languageOf(file string) string {
	if l := languages.ForFile(file); l != nil {
		return l.Name
	}
	return ""
}

func (p *prepared) close() {
	if p.closed {
		return
	}
	p.closed = true
	if p.command.Release != nil {
		p.command.Release()
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

// kernelLibrary is what tells kernels on GPUs, "" where that was not asked for.
func (x *Instrumented) kernelLibrary(ctx context.Context) (path string, err error) {
	switch {
	case x.CUPTI != "":
		if path, _, err = runtimes.Library(ctx, "kernels.c", x.Cache, x.Dir); err != nil {
			return "", fmt.Errorf("--gpu-kernels: %w", err)
		}
	case x.Launches:
		if path, _, err = runtimes.Library(ctx, "launches.c", x.Cache, x.Dir); err != nil {
			return "", fmt.Errorf("--gpu-launches: %w", err)
		}
	}
	return path, nil
}

// gather makes the program tell what it runs on GPUs, where that was asked for. counters are sampled beside it, or nil.
func (x *Instrumented) gather(c *launcher.Cmd, p *prepared, counters *beside.Recorder) (*kernels.Gatherer, error) {
	if p.kernels == "" {
		return nil, nil
	}
	var counting kernels.Counting
	if counters != nil {
		counting = counters
	}
	g, err := kernels.Listen(counting)
	if err != nil {
		return nil, err
	}
	g.NoCUPTI = x.NoCUPTI
	if x.CUPTI != "" {
		c.Env = append(c.Env, g.Env(p.kernels, x.CUPTI, p.channel.Path())...)
		return g, nil
	}
	preloaded := ""
	for _, kv := range c.Env {
		if value, is := strings.CutPrefix(kv, "LD_PRELOAD="); is {
			preloaded = value
		}
	}
	env, err := g.LaunchEnv(p.kernels, preloaded, p.channel.Path())
	if err != nil {
		g.End()
		flag := "--gpu-launches"
		if x.NoCUPTI != "" {
			flag = "--gpu-kernels"
		}
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	c.Env = append(c.Env, env...)
	return g, nil
}

// again asks whether the program is to be run again, and why. Else it writes what
// the program printed and was kept back until that was known.
func (p *prepared) again(o *measure.Outcome, c launcher.Cmd) (why string, is bool) {
	if p.command.RunAgain == nil || o.Running {
		return "", false
	}
	status := o.Result.Status
	if !o.Result.Exited || o.Result.TimedOut || status > 123 { // somebody ended it
		status = 0
	}
	verdict := p.command.RunAgain(status)
	if verdict.Why != "" {
		return verdict.Why, true
	}
	cmp.Or(c.Stdout, os.Stdout).Write(verdict.Stdout)
	cmp.Or(c.Stderr, os.Stderr).Write(verdict.Stderr)
	return "", false
}

// facts adds what was prepared and found to the facts of a run.
func (p *prepared) facts(o *measure.Outcome, f report.Facts) report.Facts {
	var off string
	if p.command.Ended != nil {
		off = p.command.Ended(len(p.server.Sites()))
	}
	f.Refused = slices.Concat(p.refused, p.cache.Refused(), p.server.RefusedFiles())
	f.Outcome, f.Sites, f.Begun = o, p.server.Sites(), p.server.TaskStarts()
	f.Spans = map[checkpoint.SiteID]report.Span{}
	for id, s := range p.server.Spans() {
		f.Spans[id] = report.Span(s)
	}
	for _, s := range p.server.Skipped() {
		f.Skipped = append(f.Skipped, report.Skip(s))
	}
	f.LeftOut = p.server.LeftOut()
	if reason, is := p.server.PureRuntime(); is {
		f.Pure = &reason
	}
	if reason, is := p.server.WithoutChannel(); is {
		f.Off = &reason
	}
	if off = cmp.Or(p.command.Uninstrumented, off); off != "" {
		f.Off = &off
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
func (x *Instrumented) key(o instrument.Options) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %q %q %s %q", x.Version, o.Granularity, o.Include, o.Exclude,
		x.Language.PlanVersion(), o.PlacesOf))
	return hex.EncodeToString(sum[:6])
}
