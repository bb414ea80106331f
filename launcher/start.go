// Package launcher runs a program as if its user had: with the same terminal, signals and exit status.
//
// It takes a Cmd and returns a Result; the program's output passes through live. It gives the program a pty or pipes,
// passes on signals, keeps the terminal's state right, ends the whole process tree on a timeout, and takes result
// blocks out of the output. A program that cannot be executed is an error with the status that a shell would give.
// The package knows nothing of what the program does. Linux only.
package launcher

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// PtyMode says when the program gets a pty.
type PtyMode int

// Auto uses a pty when the output goes to a terminal. Always uses one in any case, Never uses none.
const (
	Auto PtyMode = iota
	Always
	Never
)

// defaultGrace is between SIGTERM and SIGKILL.
const defaultGrace = 5 * time.Second

// Cmd describes a program to run.
type Cmd struct {
	Args []string // argv; Args[0] is looked up in Env's PATH unless it has a slash
	Env  []string // the complete environment; nil: our own
	Dir  string   // empty: where we are
	Pty  PtyMode

	Stdin          *os.File // nil: os.Stdin
	Stdout, Stderr *os.File // where the program's output goes; nil: os.Stdout, os.Stderr

	Timeout time.Duration // 0: none
	Grace   time.Duration // between SIGTERM and SIGKILL after Timeout; 0: 5 s

	// Cores are the processors on which Prefork keeps the program, for reports; "" for all.
	Cores string
	// Prefork is called on the locked OS thread that forks, immediately before it does. Its error is ignored here.
	Prefork func() error
	// Group, if set, is the folder of a control group (cgroup v2) in which the program is born. Where the kernel does
	// not allow that, and on other processors than x86-64, it is born in ours.
	Group *os.File
	// ResultBlock, if set, is given what stands between a line --- CODEGREEN_RESULT_START --- and a line
	// --- CODEGREEN_RESULT_END --- of the program's stdout, which the user then does not see. A start line that comes
	// in pieces more than markerPatience apart is ordinary output.
	ResultBlock func(block []byte)
	// Lines, if set, changes lines of the program's stdout and stderr.
	Lines *Lines
	// Line, if set, is a line below what the program prints on the terminal.
	Line *Line
}

// Child is a program that was started. Wait must be called: until then the user's terminal may be in raw mode and
// signals to this process go to the program.
type Child struct {
	cmd     Cmd
	spawned spawned
	root    identity
	keeper  identity
	term    *terminal
	streams []*stream

	signals    chan os.Signal
	quit       chan struct{}
	forwarded  chan struct{}
	continuing atomic.Bool // the SIGCONT to come answers our own stop

	orphans error         // this process is no subreaper
	ended   int           // eventfd: the program has ended
	dead    chan struct{} // closed when status and usage are known
	status  unix.WaitStatus
	usage   unix.Rusage
	io      *IO   // when it had ended, nil where that is not told
	ourPeak int64 // KiB resident in this process by the time of the exec
	timer   *time.Timer
	expired chan struct{} // closed when the timeout has done its work

	mu       sync.Mutex
	gone     bool // reaped: the pid is no longer the program's
	timedOut bool

	once   sync.Once
	result Result
}

// Start runs the program. The error is an *Error when it is the program's fault. It makes this process a subreaper
// for good, where the system can: QEMU's user mode 7.2 cannot (Result.Orphans). One Child at a time: orphans of two
// could not be distinguished.
func Start(cmd Cmd) (_ *Child, err error) {
	if len(cmd.Args) == 0 {
		return nil, &Error{"", 127, errNotFound}
	}
	fds, err := cmd.complete()
	if err != nil {
		return nil, err
	}
	path, err := lookup(cmd.Args[0], cmd.Dir, cmd.Env)
	if err != nil {
		return nil, err
	}

	c := &Child{
		cmd: cmd, ended: -1, orphans: adoptOrphans(),
		signals: make(chan os.Signal, 64), quit: make(chan struct{}), forwarded: make(chan struct{}),
		dead: make(chan struct{}), expired: make(chan struct{}),
	}
	started := false
	defer func() { // also when Prefork panics
		if !started {
			c.abandon()
		}
	}()
	if c.ended, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, fmt.Errorf("launcher: eventfd: %w", err)
	}
	usePty := cmd.Pty == Always || cmd.Pty == Auto && isTerminal(fds[1])
	if c.term, err = newTerminal(fds[0], !usePty); err != nil {
		return nil, fmt.Errorf("launcher: %w", err)
	}
	p := program{
		path: path, args: cmd.Args, env: cmd.Env, dir: cmd.Dir, fds: fds, slave: -1, terminal: -1, group: -1,
		before: cmd.Prefork,
	}
	if cmd.Group != nil {
		p.group = int(cmd.Group.Fd())
	}
	if err := c.spawn(p, usePty); err != nil {
		return nil, err
	}
	started = true
	c.begin()
	return c, nil
}

// complete fills in what was left out, and returns the descriptors of the program's
// standard streams. It refuses a folder that is none.
func (cmd *Cmd) complete() (fds [3]int, err error) {
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	if cmd.Grace <= 0 {
		cmd.Grace = defaultGrace
	}
	for i, f := range []*os.File{cmd.Stdin, cmd.Stdout, cmd.Stderr} {
		if f == nil {
			f = []*os.File{os.Stdin, os.Stdout, os.Stderr}[i]
		}
		fds[i] = descriptor(f)
	}
	if cmd.Dir == "" {
		return fds, nil
	}
	info, err := os.Stat(cmd.Dir)
	switch {
	case err != nil:
		return fds, fmt.Errorf("launcher: %w", err)
	case !info.IsDir():
		return fds, fmt.Errorf("launcher: %s: %w", cmd.Dir, syscall.ENOTDIR)
	}
	return fds, nil
}

// spawn connects the program's streams and starts it. A script without a #! line is
// run by sh, as shells do.
func (c *Child) spawn(p program, usePty bool) error {
	connect := c.connectPipes
	if usePty {
		connect = c.connectPty
	}
	theirs, err := connect(&p)
	defer func() {
		for _, fd := range theirs {
			unix.Close(fd)
		}
	}()
	if err != nil {
		return err
	}
	signal.Notify(c.signals, caught...)
	if usePty {
		c.term.hold()
		p.terminal, p.saved, p.raw = c.term.fd, c.term.saved, c.term.raw
	}
	c.spawned, err = spawn(p)
	if err == syscall.ENOEXEC && plainScript(p.dir, p.path) {
		p.path, p.args = "/bin/sh", append([]string{"sh", p.path}, p.args[1:]...)
		c.spawned, err = spawn(p)
	}
	if err != nil {
		return execError(c.cmd.Args[0], err)
	}
	return nil
}

// connectPty opens a pty for those of p.fds that belong on it, and returns the program's ends of what it opened.
func (c *Child) connectPty(p *program) (theirs []int, err error) {
	master, slave, err := openPty()
	if err != nil {
		return nil, err
	}
	theirs = []int{slave}
	c.term.master = master
	p.slave = slave
	size := &unix.Winsize{Row: dimension("LINES", 24), Col: dimension("COLUMNS", 80)}
	for _, fd := range []int{c.term.fd, p.fds[0], p.fds[1], p.fds[2]} {
		if fd < 0 {
			continue
		}
		if modes, err := unix.IoctlGetTermios(fd, unix.TCGETS); err == nil {
			unix.IoctlSetTermios(slave, unix.TCSETS, modes)
			if now, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ); err == nil {
				size = now
			}
			break
		}
	}
	unix.IoctlSetWinsize(master, unix.TIOCSWINSZ, size)

	out := p.fds[1]
	alone := true
	for _, fd := range p.fds {
		alone = alone && !isTerminal(fd)
	}
	if isTerminal(p.fds[0]) {
		p.fds[0] = slave
	}
	if alone || sameFile(out, p.fds[2]) || sameTerminal(out, p.fds[2]) || isTerminal(p.fds[2]) && !isTerminal(out) {
		p.fds[2] = slave
	}
	p.fds[1] = slave
	c.copyFrom(master, out, true, c.cmd.ResultBlock, false)
	if l := c.cmd.Line; l != nil && sameTerminal(out, l.fd) && (p.fds[2] == slave || !isTerminal(p.fds[2])) {
		l.begin(c.term)
		c.streams[0].line = l
	}
	if c.cmd.Lines == nil || p.fds[2] == slave || p.fds[2] < 0 {
		return theirs, nil
	}
	end, err := c.pipe(p.fds[2], nil, true)
	if err == nil {
		p.fds[2], theirs = end, append(theirs, end)
	}
	return theirs, err
}

// connectPipes puts pipes where result blocks and lines to be changed may come, and returns the program's ends. All
// else the program inherits.
func (c *Child) connectPipes(p *program) (theirs []int, err error) {
	out, errs := p.fds[1], p.fds[2]
	if out >= 0 && (c.cmd.ResultBlock != nil || c.cmd.Lines != nil) {
		end, err := c.pipe(out, c.cmd.ResultBlock, false)
		if err != nil {
			return theirs, err
		}
		theirs = append(theirs, end)
		p.fds[1] = end
		if sameFile(out, errs) {
			p.fds[2] = end
			return theirs, nil
		}
	}
	if errs >= 0 && c.cmd.Lines != nil {
		end, err := c.pipe(errs, nil, true)
		if err != nil {
			return theirs, err
		}
		theirs = append(theirs, end)
		p.fds[2] = end
	}
	return theirs, nil
}

// pipe makes a pipe that is copied to out, and returns the end to write to.
func (c *Child) pipe(out int, block func([]byte), stderr bool) (int, error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return -1, fmt.Errorf("launcher: pipe: %w", err)
	}
	unix.SetNonblock(ends[0], true)
	c.copyFrom(ends[0], out, false, block, stderr)
	return ends[1], nil
}

func (c *Child) copyFrom(in, out int, isPty bool, block func([]byte), stderr bool) {
	s := &stream{in: in, out: out, pty: isPty, ended: c.ended, done: make(chan struct{})}
	if block != nil {
		s.filter = &filter{block: block}
	}
	if c.cmd.Lines != nil {
		s.lines = &lines{Lines: c.cmd.Lines, stderr: stderr}
	}
	s.hangUp = func() {
		if !isPty {
			unix.Close(in)
		} else if s.err != nil {
			c.term.hangUp()
			c.kill(unix.SIGHUP) // the kernel tells the session's leader only, which is the keeper
			c.kill(unix.SIGCONT)
		}
	}
	c.streams = append(c.streams, s)
}

// begin starts what goes on while the program runs.
func (c *Child) begin() {
	c.ourPeak = residentPeak()
	c.root = identity{pid: c.spawned.pid}
	if p, ok := stat(c.spawned.pid); ok {
		c.root = p.identity()
	}
	setStranger(c.root, true)
	if c.spawned.keeper != 0 {
		if p, ok := stat(c.spawned.keeper); ok {
			c.keeper = p.identity()
			setStranger(c.keeper, true)
		}
	}
	c.term.group = c.spawned.pid
	if c.term.pipes {
		close(c.term.pumped)
	} else {
		go c.term.pump(c.rescue)
	}
	for _, s := range c.streams {
		go s.run(c.rescue)
	}
	if c.cmd.Timeout > 0 {
		c.timer = time.AfterFunc(c.cmd.Timeout, c.expire)
	}
	go c.forward()
	go c.watch()
}

// abandon undoes what Start did before it failed.
func (c *Child) abandon() {
	signal.Stop(c.signals)
	for _, s := range c.streams {
		if !s.pty {
			unix.Close(s.in)
		}
	}
	if c.term != nil {
		close(c.term.pumped)
		c.term.close()
	}
	if c.ended >= 0 {
		unix.Close(c.ended)
	}
}

// rescue is deferred in every goroutine: a panic must not leave the user's terminal raw.
func (c *Child) rescue() {
	if r := recover(); r != nil {
		c.term.release(true)
		panic(r)
	}
}

// PID is the program's process id, which is also its process group's.
func (c *Child) PID() int { return c.spawned.pid }

// openPty returns a new pty's two ends: master non-blocking, both close-on-exec.
func openPty() (master, slave int, err error) {
	m, s, err := pty.Open()
	if err != nil {
		return -1, -1, fmt.Errorf("launcher: open a pty: %w", err)
	}
	defer m.Close()
	defer s.Close()
	if master, err = unix.FcntlInt(m.Fd(), unix.F_DUPFD_CLOEXEC, 3); err != nil {
		return -1, -1, fmt.Errorf("launcher: open a pty: %w", err)
	}
	if slave, err = unix.FcntlInt(s.Fd(), unix.F_DUPFD_CLOEXEC, 3); err != nil {
		unix.Close(master)
		return -1, -1, fmt.Errorf("launcher: open a pty: %w", err)
	}
	unix.SetNonblock(master, true)
	return master, slave, nil
}

// dimension reads a terminal dimension from the environment.
func dimension(name string, otherwise uint16) uint16 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 16); err == nil && n > 0 {
		return uint16(n)
	}
	return otherwise
}
