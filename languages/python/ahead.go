package python

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cg/instrument"
	"cg/languages"
	"cg/runtimes"
	"cg/tool"
)

const (
	// enough new files make it worth while to start processes for those that follow.
	enough = 8
	// lead is how many files may be woven before the program comes to one that was not: what it never imports is
	// not woven without end.
	lead = 64
	// patience is how long the program waits for a file that a process is at.
	patience = 10 * time.Second
	// grace is how long a process has to end by itself.
	grace = 100 * time.Millisecond
	// helpers are the processes at most.
	helpers = 4
)

// spare is how many processors a program leaves that runs on one of them. A container's limit counts, which
// GOMAXPROCS knows.
var spare = func() int { return min(runtime.NumCPU(), runtime.GOMAXPROCS(0)) - 1 }

// ahead weaves files of a program before it comes to them, in processes of the same interpreter on the processors
// that the program leaves: the runtime's in-program/ahead.py. It knows what is imported next by the texts of the
// files that the program has come to. Where the program comes to a file that a process is at, it waits for it.
type ahead struct {
	start   func(ctx context.Context) (*helper, error)
	helpers int

	cancel context.CancelFunc
	ctx    context.Context
	done   sync.WaitGroup

	mu    sync.Mutex
	over  bool      // nothing will be done any more
	more  sync.Cond // there is more to do, or nothing will be done any more
	met   int       // files that the program has come to and that were not in the cache
	out   int       // files that were woven since then: what it finds in the cache it does not ask for
	known map[string]*coming
	next  []*coming // in the order in which the program will come to them
}

// coming is a file that the program has come to, or may come to.
type coming struct {
	module
	taken bool          // by the program, or by a process
	woven bool          // a process has put it into the cache
	done  chan struct{} // closed when a process has done with it, nil where none has begun
}

func newAhead(start func(ctx context.Context) (*helper, error), helpers int) *ahead {
	a := &ahead{start: start, helpers: helpers, known: map[string]*coming{}}
	a.more.L = &a.mu
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a
}

// meet is languages.Command.Ahead.
func (a *ahead) meet(name, path string) bool {
	m := module{name, path}
	a.mu.Lock()
	if a.over {
		a.mu.Unlock()
		return false
	}
	a.met++
	a.out = 0
	a.more.Broadcast()
	c := a.known[path]
	if c == nil {
		c = &coming{module: m, taken: true}
		if name != "__main__" { // whose entry is another one
			a.known[path] = c
		}
		a.mu.Unlock()
		a.follow(m)
		a.mu.Lock()
	} else if !c.taken {
		c.taken = true
		a.mu.Unlock()
		a.follow(m)
		a.mu.Lock()
	}
	if a.met == enough && !a.over {
		for range a.helpers {
			a.done.Go(a.work)
		}
	}
	done := c.done
	a.mu.Unlock()
	if done == nil {
		return false
	}
	select {
	case <-done:
	case <-time.After(patience): // the process is ill, and the program does it itself
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	woven := c.woven
	c.woven, c.done = false, nil // told once: the program may have to weave it all the same
	return woven
}

// follow puts what a module imports in front of all others: the program comes to it at once.
func (a *ahead) follow(m module) {
	text, err := os.ReadFile(m.path)
	if err != nil {
		return
	}
	found := imports(m, string(text))
	a.mu.Lock()
	defer a.mu.Unlock()
	var first []*coming
	for _, m := range found {
		if a.known[m.path] == nil && !strings.Contains(m.path, "\n") {
			c := &coming{module: m}
			a.known[m.path] = c
			first = append(first, c)
		}
	}
	a.next = append(first, a.next...)
	a.more.Broadcast()
}

// take waits for the next file that nobody has begun, nil where there will be none.
func (a *ahead) take() *coming {
	a.mu.Lock()
	defer a.mu.Unlock()
	for !a.over {
		for a.out < lead && len(a.next) > 0 {
			c := a.next[0]
			a.next = a.next[1:]
			if !c.taken {
				c.taken, c.done = true, make(chan struct{})
				return c
			}
		}
		a.more.Wait()
	}
	return nil
}

// work has a process weave what comes, until it or all ends.
func (a *ahead) work() {
	h, err := a.start(a.ctx)
	if err != nil {
		return
	}
	defer h.end()
	for {
		c := a.take()
		if c == nil {
			return
		}
		answer, err := h.weave(c.path)
		if answer == "made" || answer == "kept" {
			a.follow(c.module)
		}
		a.mu.Lock()
		c.woven = answer == "made"
		if c.woven {
			a.out++
		}
		a.mu.Unlock()
		close(c.done)
		if err != nil {
			return
		}
	}
}

// close ends the processes. One that is at a file may come to its end, which takes a few milliseconds of most files.
func (a *ahead) close() {
	a.mu.Lock()
	a.over = true
	a.more.Broadcast()
	a.mu.Unlock()
	late := time.AfterFunc(grace, a.cancel)
	defer late.Stop()
	a.done.Wait()
	a.cancel()
}

// helper is a process that weaves files, one after the other.
type helper struct {
	weave func(path string) (answer string, err error)
	end   func()
}

// startHelper starts one with a command, which says its process id first.
func startHelper(cmd *exec.Cmd) (*helper, error) {
	in, paths, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	answers, out, err := os.Pipe()
	if err != nil {
		in.Close()
		paths.Close()
		return nil, err
	}
	cmd.Stdin, cmd.Stdout = in, out
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = tool.Run(cmd) // the end of its answers says that it has ended
		in.Close()
		out.Close()
	}()
	uncount := func() {}
	h := &helper{end: func() {
		paths.Close()
		<-ended
		answers.Close()
		uncount()
	}}
	lines := bufio.NewReader(answers)
	say := func() (string, error) {
		line, err := lines.ReadString('\n')
		return strings.TrimSuffix(line, "\n"), err
	}
	h.weave = func(path string) (string, error) {
		if _, err := paths.WriteString(path + "\n"); err != nil {
			return "", err
		}
		return say()
	}
	first, err := say()
	if err != nil {
		h.end()
		return nil, err
	}
	if pid, err := strconv.Atoi(first); err == nil {
		uncount = tool.Count(pid)
	}
	return h, nil
}

// weaveAhead has files woven ahead of a program, if there are processors for it. command gets what the program and
// the end of the run call. work is what the processes find in CG_RUN, and socket where cg answers them; flags are
// those of the interpreter.
func weaveAhead(command *languages.Command, p interpreter, flags []string, s languages.Setup) (work, socket string) {
	n := min(spare(), helpers)
	if n < 1 || s.Coarse || s.Native.Path == "" || p.Implementation != "cpython" || p.FreeThreaded {
		return "", ""
	}
	// Its numbers of sites are nobody's: the program asks for those of what it finds in the cache.
	language := languages.Named("python")
	server := &instrument.Server{Planner: language.Plan, Weaver: language.Weave, Language: "python", Options: s.Options}
	work, socket = filepath.Join(s.Dir, "run-ahead"), s.Server+"-ahead"
	if err := server.Listen(socket); err != nil {
		return "", "" // its path is too long, and the program weaves all itself
	}
	a := newAhead(func(ctx context.Context) (*helper, error) {
		here, err := runtimes.Unpack("python", s.Cache, s.Dir)
		if err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, p.Path, slices.Concat(flags, []string{"-S", here + "/sitecustomize.py"})...)
		cmd.Env = append(os.Environ(), "CG_RUN="+work)
		return startHelper(cmd)
	}, n)
	command.Ahead, command.Release = a.meet, func() {
		a.close()
		server.Close()
	}
	return work, socket
}
