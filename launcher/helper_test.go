package launcher

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// The test binary is also every program the tests run: LAUNCHER_TEST names which.
const helperVar = "LAUNCHER_TEST"

func TestMain(m *testing.M) {
	if name := os.Getenv(helperVar); name != "" {
		helper(name, os.Args[1:])
		os.Exit(99)
	}
	// Who starts the tests may ignore signals, as nohup(1) and a shell's background do; what the tests start would, too.
	for _, sig := range []os.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
	r, w, _ := os.Pipe() // starts the runtime's poller, whose descriptors stay
	r.Close()
	w.Close()
	signal.Notify(make(chan os.Signal, 1), unix.SIGURG)
	before := descriptors()
	status := m.Run()
	leaked := func() string {
		for _, p := range processes() {
			if p.ppid == os.Getpid() {
				return fmt.Sprintf("child %d, state %c", p.pid, p.state)
			}
		}
		if now := descriptors(); len(now) > len(before) {
			return fmt.Sprintf("descriptors %v, before %v", now, before)
		}
		return ""
	}
	deadline := time.Now().Add(3 * time.Second)
	for leaked() != "" && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if what := leaked(); what != "" && status == 0 {
		fmt.Fprintln(os.Stderr, "leaked:", what)
		status = 1
	}
	os.Exit(status)
}

func descriptors() (all []string) {
	list, _ := os.ReadDir("/proc/self/fd")
	for _, e := range list {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			all = append(all, e.Name()+"="+to)
		}
	}
	return all
}

// cgCmd is what the helper "cg" runs; see runCG.
type cgCmd struct {
	Args   []string
	Helper string
	Pty    PtyMode
	Blocks bool
	Panic  bool // when a result block comes
}

func helper(name string, args []string) {
	number := func(i int) int { n, _ := strconv.Atoi(args[i]); return n }
	switch name {
	case "exit":
		os.Exit(number(0))
	case "kill": // itself
		unix.Kill(os.Getpid(), syscall.Signal(number(0)))
		select {}
	case "bytes":
		w := bufio.NewWriter(os.Stdout)
		for i := range number(0) {
			w.WriteByte(pattern(i))
		}
		w.Flush()
		os.Exit(0)
	case "alternate":
		for i := range 200 {
			fmt.Fprintln([]*os.File{os.Stdout, os.Stderr}[i%2], i)
		}
		os.Exit(0)
	case "count": // bytes of stdin
		n, err := io.Copy(io.Discard, os.Stdin)
		fmt.Println(n, err)
		os.Exit(0)
	case "parentless": // on a system that has no subreapers, a program that leaves a process
		if err := refuseSubreapers(); err != nil {
			fmt.Println(err)
			os.Exit(98)
		}
		c, err := Start(Cmd{Args: []string{"sh", "-c", "(sleep 0.2 >&- 2>&- &) ; exit 3"}, Pty: Never})
		if err != nil {
			fmt.Println(err)
			os.Exit(97)
		}
		r := c.Wait()
		fmt.Println(r.Status, r.Left, r.Orphans)
		os.Exit(0)
	case "closed": // which standard descriptors were, on descriptor 3
		fmt.Fprint(os.NewFile(3, "3"), Closed(0), Closed(1), Closed(2))
		os.Exit(0)
	case "signals": // print each; the end of stdin is the end
		ch := make(chan os.Signal, 10)
		signal.Notify(ch, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGCONT, unix.SIGWINCH)
		ended := make(chan bool)
		go func() {
			in := bufio.NewScanner(os.Stdin)
			for in.Scan() && in.Text() != "q" {
				fmt.Println("read", in.Text())
			}
			close(ended)
		}()
		size := func() string {
			ws, err := unix.IoctlGetWinsize(1, unix.TIOCGWINSZ)
			if err != nil {
				return "none"
			}
			return fmt.Sprintf("%dx%d", ws.Row, ws.Col)
		}
		fmt.Println("ready tty", isTerminal(0), isTerminal(1), isTerminal(2), "size", size())
		for {
			select {
			case s := <-ch:
				if s == unix.SIGWINCH {
					fmt.Println("winch", size())
				} else {
					fmt.Println("got", unix.SignalName(s.(syscall.Signal)))
				}
			case <-ended:
				for len(ch) > 0 {
					fmt.Println("got", unix.SignalName((<-ch).(syscall.Signal)))
				}
				fmt.Println("end")
				os.Exit(0)
			}
		}
	case "stubborn": // a tree of n, each in a session of its own, that only SIGKILL ends
		signal.Ignore(unix.SIGTERM, unix.SIGHUP, unix.SIGINT)
		if n := number(0); n > 0 {
			c := exec.Command(os.Args[0], strconv.Itoa(n-1))
			c.Stdout, c.SysProcAttr = os.Stdout, &syscall.SysProcAttr{Setsid: true}
			c.Start()
			if n == 2 {
				os.Exit(0) // its child is an orphan
			}
		}
		fmt.Println("pid", os.Getpid())
		select {}
	case "cg":
		var c cgCmd
		if err := json.Unmarshal([]byte(os.Getenv("LAUNCHER_CMD")), &c); err != nil {
			panic(err)
		}
		os.Unsetenv("LAUNCHER_CMD")
		os.Unsetenv(helperVar)
		cmd := Cmd{Args: c.Args, Pty: c.Pty, Env: env(c.Helper)}
		if c.Blocks {
			cmd.ResultBlock = func([]byte) {
				if c.Panic {
					go panic("elsewhere")
				}
			}
		}
		child, err := Start(cmd)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(125)
		}
		r := child.Wait()
		if f := os.Getenv("LAUNCHER_RESULT"); f != "" {
			text, _ := json.Marshal(struct {
				Result
				OutputErr string
			}{r, fmt.Sprint(r.OutputErr)})
			os.WriteFile(f, text, 0o600)
		}
		os.Exit(r.Status)
	}
}

func pattern(i int) byte { return byte(i*7 + i>>8) }

// env makes the test binary a helper, one that under -race does not sleep a second before it exits.
func env(name string) []string {
	return append(os.Environ(), helperVar+"="+name, "GORACE=atexit_sleep_ms=0")
}

// self is argv of a helper.
func self(args ...string) []string { return append([]string{os.Args[0]}, args...) }

// cg prepares the helper "cg".
func cg(c cgCmd) *exec.Cmd {
	text, _ := json.Marshal(c)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(env("cg"), "LAUNCHER_CMD="+string(text))
	return cmd
}

// run starts c in this process, with pipes as its output, and returns all it wrote.
func run(t *testing.T, c Cmd) (string, Result) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	text := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(r)
		r.Close()
		text <- string(b)
	}()
	c.Stdout = w
	if c.Stderr == nil {
		c.Stderr = w
	}
	child, err := Start(c)
	if err != nil {
		w.Close()
		t.Fatal(err)
	}
	result := child.Wait()
	w.Close()
	return <-text, result
}

// cgLine is a shell's command line for the helper "cg".
func cgLine(c cgCmd) string {
	line := ""
	for _, v := range cg(c).Env {
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, "LAUNCHER_") || name == "GORACE" {
			line += name + "='" + strings.ReplaceAll(value, "'", `'\''`) + "' "
		}
	}
	return line + os.Args[0]
}

// screen is the outer terminal: what the user sees and types.
type screen struct {
	t      *testing.T
	master *os.File
	slave  *os.File
	modes  unix.Termios // at first
	mu     sync.Mutex
	more   *sync.Cond
	seen   string
	from   int
	done   chan struct{}
}

func newScreen(t *testing.T) *screen {
	t.Helper()
	m, s, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	pty.Setsize(m, &pty.Winsize{Rows: 33, Cols: 77})
	sc := &screen{t: t, master: m, slave: s, done: make(chan struct{})}
	sc.more = sync.NewCond(&sc.mu)
	sc.modes = sc.now()
	go func() {
		defer close(sc.done)
		buf := make([]byte, 4096)
		for {
			n, err := m.Read(buf)
			sc.mu.Lock()
			sc.seen += string(buf[:n])
			sc.more.Broadcast()
			sc.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		s.Close()
		<-sc.done
		m.Close()
	})
	return sc
}

func (s *screen) now() unix.Termios {
	modes, err := unix.IoctlGetTermios(int(s.slave.Fd()), unix.TCGETS)
	if err != nil {
		s.t.Fatal(err)
	}
	return *modes
}

// start runs cmd on the screen, leading a session of its own.
func (s *screen) start(cmd *exec.Cmd) {
	s.t.Helper()
	if cmd.Stdin == nil {
		cmd.Stdin = s.slave
	}
	if cmd.Stdout == nil {
		cmd.Stdout = s.slave
	}
	if cmd.Stderr == nil {
		cmd.Stderr = s.slave
	}
	ctty := 0
	if cmd.Stdin != any(s.slave) {
		ctty = 1
		if cmd.Stdout != any(s.slave) {
			ctty = 2
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: ctty}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	stop := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
	s.t.Cleanup(func() {
		stop.Stop()
		for _, p := range processes() {
			if p.session == cmd.Process.Pid {
				unix.Kill(p.pid, unix.SIGKILL)
			}
		}
		cmd.Wait()
		for _, p := range processes() {
			if p.ppid == os.Getpid() && p.session == cmd.Process.Pid {
				wait(p.pid) // a job of the shell, which fell to us
			}
		}
	})
}

func (s *screen) typed(text string) {
	if _, err := s.master.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// text is all that was seen.
func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// expect waits until text is seen after what was expected before.
func (s *screen) expect(text string) {
	s.t.Helper()
	late := false
	timer := time.AfterFunc(10*time.Second, func() { s.mu.Lock(); late = true; s.more.Broadcast(); s.mu.Unlock() })
	defer timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if i := strings.Index(s.seen[s.from:], text); i >= 0 {
			s.from += i + len(text)
			return
		}
		if late {
			s.t.Fatalf("waited for %q, saw %q then %q", text, s.seen[:s.from], s.seen[s.from:])
		}
		s.more.Wait()
	}
}

// until polls a condition.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !f(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}
