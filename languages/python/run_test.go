package python

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/instrument"
	"cg/languages"
	"cg/languages/languagetest"
	"cg/runtimes"
)

// cacheDir keeps the native runtime for all tests of this process, and bareDir its interpreters.
var cacheDir, bareDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "cg-languages-test-")
	if err != nil {
		panic(err)
	}
	cacheDir = dir
	if bareDir, err = os.MkdirTemp("", "cg-languages-test-pythons-"); err != nil {
		panic(err)
	}
	spare = func() int { return 1 } // on each machine
	code := m.Run()
	os.RemoveAll(dir)
	os.RemoveAll(bareDir)
	os.Exit(code)
}

// pythons lists the interpreters of this machine, 3.8 to 3.15, oldest first, or
// those that CG_PYTHONS names: python3.14t, pypy3.11. CI must have at least one.
func pythons(t testing.TB) []string {
	t.Helper()
	found := foundPythons()
	if len(found) == 0 {
		languagetest.Missing(t, "no Python 3.8 to 3.15 found")
	}
	return found
}

var foundPythons = sync.OnceValue(func() []string {
	if named := os.Getenv("CG_PYTHONS"); named != "" {
		return filepath.SplitList(named)
	}
	var found []string
	for minor := 8; minor <= newestMinor; minor++ {
		name := fmt.Sprintf("python3.%d", minor)
		candidates := []string{name}
		if home, err := os.UserHomeDir(); err == nil {
			dirs, _ := filepath.Glob(filepath.Join(home, ".pyenv/versions", fmt.Sprintf("3.%d.*", minor), "bin", name))
			candidates = append(dirs, candidates...)
		}
		for _, c := range candidates {
			if path, err := bare(c, name); err == nil {
				found = append(found, path)
				break
			}
		}
	}
	return found
})

// installed are the interpreters of foundPythons with the packages of this machine.
var installed []string

// bare is an interpreter in an environment of its own, without the packages that are installed on this machine: what some
// of them do at the start of every interpreter takes several times as long as the start itself.
func bare(python, name string) (string, error) {
	const where = "import os, sys; print(os.path.realpath(sys.executable))"
	out, err := exec.Command(python, "-c", where).Output() // python may be a script that starts the interpreter
	if err != nil {
		return "", err
	}
	real := strings.TrimSpace(string(out))
	installed = append(installed, real)
	path := filepath.Join(bareDir, name, "bin", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	config := "home = " + filepath.Dir(real) + "\ninclude-system-site-packages = false\n"
	if err := os.WriteFile(filepath.Join(bareDir, name, "pyvenv.cfg"), []byte(config), 0o600); err != nil {
		return "", err
	}
	return path, os.Symlink(real, path)
}

// ran is what a program did.
type ran struct {
	Stdout, Stderr string
	Status         int
	Events         []string            // "kind name", in the order of each thread
	Runs           []events            // as the reader got them; none where threads only add up
	Tasks          []checkpoint.SiteID // the sites that are tasks
	Skipped        []instrument.Skip
	Pure           bool
	Lost           uint64
	Counted        uint64            // intervals that were counted and not timed
	Summing        int               // threads that added up themselves
	Sums           map[string]turns  // of each function, from its events or, without them, from what was added up
	Places         map[string]uint64 // how often calls came to a place: "line 4-4" of -g line and -g block
	Nodes          int               // of the largest tree
	added, single  map[checkpoint.SiteID]turns
	placed         map[checkpoint.SiteID]uint64
}

// turns is how often the frames of a function were entered, and how many of
// them left their thread without ending and did not come back.
type turns struct {
	enters uint64
	away   int64
}

// note adds to what is known of a site.
func note(all map[checkpoint.SiteID]turns, site checkpoint.SiteID, enters uint64, away int64) {
	if site == 0 || site == checkpoint.OwnSite {
		return
	}
	t := turns{all[site].enters + enters, all[site].away + away}
	if all[site] = t; t == (turns{}) {
		delete(all, site)
	}
}

// addUp adds up single events as writers do.
func addUp(runs []events) map[checkpoint.SiteID]turns {
	all := map[checkpoint.SiteID]turns{}
	stacks := map[checkpoint.Thread][]checkpoint.SiteID{}
	forks := map[checkpoint.Thread]map[checkpoint.Tick][]checkpoint.SiteID{}
	for _, e := range runs {
		stack := stacks[e.Thread]
		if e.First {
			stack = slices.Clone(forks[e.Parent][e.ForkTick.Low()])
		}
		for i, kind := range e.Kinds {
			site := e.Sites[i]
			at := len(stack) - 1
			for at >= 0 && stack[at] != site {
				at--
			}
			switch kind {
			case checkpoint.Enter:
				note(all, site, 1, 0)
				stack = append(stack, site)
			case checkpoint.Suspend:
				note(all, site, 0, 1)
				if at >= 0 {
					stack = stack[:at]
				}
			case checkpoint.Resume:
				note(all, site, 0, -1)
				stack = append(stack, site)
			case checkpoint.Fork:
				if forks[e.Thread] == nil {
					forks[e.Thread] = map[checkpoint.Tick][]checkpoint.SiteID{}
				}
				forks[e.Thread][e.Low[i]] = slices.Clone(stack)
			case checkpoint.Close:
				note(all, site, 0, -1)
			case checkpoint.Exit, checkpoint.Unwind:
				if at < 0 {
					note(all, site, 0, -1)
				} else {
					stack = stack[:at]
				}
				if kind == checkpoint.Unwind {
					stack = append(stack, site)
				}
			}
		}
		stacks[e.Thread] = stack
	}
	return all
}

// events are what one thread reported in one piece.
type events struct {
	checkpoint.Run
	Kinds []checkpoint.Kind
	Sites []checkpoint.SiteID
	Names []string
	Low   []checkpoint.Tick
}

// plainly runs a program as it is.
func plainly(t testing.TB, dir, python string, args ...string) ran {
	t.Helper()
	cmd := exec.Command(python, args...)
	cmd.Dir = dir
	return execute(t, cmd)
}

func execute(t testing.TB, cmd *exec.Cmd) ran {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, "PYTHONHASHSEED=0")
	if _, set := os.LookupEnv("PYTHONDONTWRITEBYTECODE"); !set {
		cmd.Env = append(cmd.Env, "PYTHONDONTWRITEBYTECODE=1")
	}
	err := cmd.Run()
	r := ran{Stdout: out.String(), Stderr: errs.String()}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		r.Status = exit.ExitCode()
		if r.Status < 0 {
			r.Status = 128 + int(exit.Sys().(syscall.WaitStatus).Signal())
		}
	case err != nil:
		t.Fatal(err)
	}
	return r
}

// option changes how a program is measured; the last is the number of chunks.
type option func(*languages.Setup, *instrument.Server, *int)

// meeting stands between the program and what weaves ahead of it. Only a test that runs alone changes it.
var meeting = func(meet func(module, path string) bool) func(module, path string) bool { return meet }

func withChunks(n int) option {
	return func(_ *languages.Setup, _ *instrument.Server, chunks *int) { *chunks = n }
}

// adding has threads only add up, and tell no single events.
func adding(*languages.Setup, *instrument.Server, *int) {}

func pure(s *languages.Setup, _ *instrument.Server, _ *int) {
	s.Native = languages.Native{Reason: "tested without"}
}

// placing tells lines or blocks apart.
func placing(g instrument.Granularity) option {
	return func(s *languages.Setup, server *instrument.Server, _ *int) {
		s.PlanKey, s.Options.Granularity, server.Options.Granularity = string(g), g, g
	}
}

// compiled is the native library; without a C compiler the test is skipped.
func compiled(t testing.TB, scratch string) languages.Native {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil && os.Getenv("CI") != "true" {
		t.Skip("no C compiler")
	}
	path, content, err := runtimes.Library(context.Background(), "python.c", runtimes.Cache{Dir: cacheDir}, scratch)
	if err != nil {
		t.Fatal(err)
	}
	return languages.Native{Path: path, Content: content}
}

// measured runs a program with checkpoints and collects its events.
func measured(t testing.TB, dir, python string, args []string, options ...option) ran {
	t.Helper()
	scratch, err := os.MkdirTemp("", "cg-run-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(scratch)
	chunks := 0
	for _, o := range options {
		o(&languages.Setup{}, &instrument.Server{}, &chunks)
	}
	channel, err := checkpoint.New(checkpoint.SystemClock(), chunks)
	if err != nil {
		t.Fatal(err)
	}
	defer channel.Close()
	is := func(known option) bool {
		return slices.ContainsFunc(options, func(o option) bool {
			return reflect.ValueOf(o).Pointer() == reflect.ValueOf(known).Pointer()
		})
	}
	var native languages.Native
	if !is(pure) {
		native = compiled(t, scratch)
	}
	channel.Stamp()
	if !is(adding) {
		channel.WriteWords()
	}
	language := languages.Named("python")
	server := &instrument.Server{Planner: language.Plan, Weaver: language.Weave, Language: "python", Channel: channel, Options: instrument.Options{Granularity: instrument.Fine}}
	setup := languages.Setup{
		Dir: scratch, Cache: runtimes.Cache{Dir: cacheDir}, Channel: channel.Path(), Server: filepath.Join(scratch, "server"),
		PlanKey: "test", Native: native,
	}
	for _, o := range options {
		o(&setup, server, &chunks)
	}
	if err := server.Listen(setup.Server); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	command, err := language.Launch(languages.Target{Args: args, Interpreter: python}, setup)
	if err != nil {
		t.Fatal(err)
	}
	if command.Release != nil {
		defer command.Release()
	}
	if command.Ahead != nil {
		server.SetAhead(meeting(command.Ahead))
	}
	cmd := exec.Command(command.Args[0], command.Args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), command.Env...)
	cmd.Env = append(cmd.Env, "CG_DEBUG=1")

	r := ran{added: map[checkpoint.SiteID]turns{}, placed: map[checkpoint.SiteID]uint64{}, Places: map[string]uint64{}}
	fold := func(run checkpoint.Run) int {
		if run.Tally != nil {
			r.foldTally(run.Tally)
			return len(run.Tally.Windows)
		}
		e := events{Run: run}
		for _, w := range run.Words {
			e.Low, e.Kinds, e.Sites = append(e.Low, w.Low()), append(e.Kinds, w.Kind()), append(e.Sites, w.Site())
		}
		r.Runs = append(r.Runs, e)
		return len(run.Words)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				channel.Stamp()
				atomic.StoreUint64(channel.Epoch(), uint64(channel.Clock().Now()))
				channel.Drain(fold)
			}
		}
	}()
	done := execute(t, cmd)
	close(stop)
	<-stopped
	channel.Finish(fold)
	r.Stdout, r.Stderr, r.Status = done.Stdout, done.Stderr, done.Status
	sites := server.Sites()
	for _, s := range sites {
		if s.Kind == checkpoint.Task {
			r.Tasks = append(r.Tasks, s.ID)
		}
	}
	for i := range r.Runs {
		for k, site := range r.Runs[i].Sites {
			name := ""
			if site == checkpoint.OwnSite {
				name = "cg"
			} else if site > 0 {
				name = sites[site-1].Func
				r.Events = append(r.Events, r.Runs[i].Kinds[k].String()+" "+name)
			}
			r.Runs[i].Names = append(r.Runs[i].Names, name)
		}
	}
	for site, n := range r.placed {
		s := sites[site-1]
		r.Places[fmt.Sprintf("%s %d-%d", s.Kind, s.Line, s.EndLine)] += n
	}
	r.single = addUp(r.Runs)
	known := r.single
	if is(adding) {
		known = r.added
	}
	r.Sums = map[string]turns{}
	for site, n := range known {
		t := r.Sums[sites[site-1].Func]
		r.Sums[sites[site-1].Func] = turns{t.enters + n.enters, t.away + n.away}
	}
	r.Summing, _ = channel.SummingThreads()
	if n := channel.RefusedTrees(); n > 0 {
		t.Errorf("what %d threads added up is refused", n)
	}
	r.Skipped = server.Skipped()
	_, r.Pure = server.PureRuntime()
	if why, is := server.WithoutChannel(); is {
		t.Errorf("no checkpoints: %s", why)
	}
	r.Lost = channel.Lost()
	return r
}

// foldTally takes in what a thread has added up.
func (r *ran) foldTally(y *checkpoint.Tally) {
	r.Nodes = max(r.Nodes, len(y.Nodes))
	for _, w := range y.Windows {
		for _, p := range w.Parts {
			n := y.Nodes[p.Node]
			if n.Place() != 0 { // which has no calls
				r.placed[n.Place()] += p.Calls
				continue
			}
			if n.Parent == checkpoint.SideNode {
				p.Calls = 0
			}
			note(r.added, n.Site, p.Calls, p.Away)
			r.Counted += p.Counted
		}
	}
}

// write makes a tree of files.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// same fails unless the measured program did what the plain one did.
func same(t *testing.T, want, got ran) {
	t.Helper()
	if got.Stdout != want.Stdout {
		t.Errorf("stdout:\n%s\nwant:\n%s", got.Stdout, want.Stdout)
	}
	if got.Stderr != want.Stderr {
		t.Errorf("stderr:\n%s\nwant:\n%s", got.Stderr, want.Stderr)
	}
	if got.Status != want.Status {
		t.Errorf("status %d, want %d", got.Status, want.Status)
	}
}

func version(python string) string {
	_, after, _ := strings.Cut(filepath.Base(python), "3.")
	return "3." + after
}

// purely reports whether an interpreter cannot load the native module.
func purely(python string) bool {
	return strings.HasSuffix(python, "t") || strings.Contains(filepath.Base(python), "pypy")
}
