package crash

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"cg/crash/onpurpose"
)

// ways are how a process can come to its end; TestMain goes one of them.
var ways = map[string]func(){
	"panic":     func() { panic("on purpose") },
	"goroutine": func() { go panic("on purpose"); select {} },
	"nil":       func() { var p *int; *p = 1 },
	"throw":     func() { var m sync.Mutex; m.Unlock() },
	"overflow":  func() { debug.SetMaxStack(1 << 20); os.Exit(overflow(0)) },
	"memory": func() {
		if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: 2 << 30, Max: 2 << 30}); err != nil {
			panic(err)
		}
		for {
			kept = append(kept, make([]byte, 64<<20))
		}
	},
	"abort":      onpurpose.Abort,
	"fault in C": onpurpose.Fault,
	"SIGQUIT":    func() { unix.Kill(os.Getpid(), unix.SIGQUIT); select {} },
	"exit 2":     func() { os.Exit(2) },
	"exit 0":     func() {},
	"program 2":  func() { os.Exit(status(exec.Command("sh", "-c", "exit 2").Run())) },
	"program dies": func() {
		os.Exit(status(exec.Command("sh", "-c", "kill -ABRT $$").Run()))
	},
}

// kept is what is never given back.
var kept [][]byte

func overflow(depth int) int {
	if depth < 0 {
		return 0
	}
	return overflow(depth+1) + depth
}

// status is that of a program that has ended, as a shell gives it.
func status(err error) int {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0
	}
	if w := exit.Sys().(syscall.WaitStatus); w.Signaled() {
		return 128 + int(w.Signal())
	}
	return exit.ExitCode()
}

func TestMain(m *testing.M) {
	if way, ok := ways[os.Getenv("CRASH_TEST")]; ok {
		way()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Whatever ends cg itself is status 125, with the reason and a word of cg's below
// it; what it means to end with stays, and so does what a program ends with.
func TestStatus(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name := range ways {
		want, said := Status, "cg: cg itself failed"
		switch name {
		case "exit 0":
			want, said = 0, ""
		case "exit 2", "program 2":
			want, said = 2, ""
		case "program dies":
			want, said = 128+int(unix.SIGABRT), ""
		}
		for _, level := range []string{"", "none"} {
			t.Run(fmt.Sprintf("%s,GOTRACEBACK=%s", name, level), func(t *testing.T) {
				cmd := exec.Command(self)
				cmd.Env = append(os.Environ(), "CRASH_TEST="+name, "GOTRACEBACK="+level)
				out, err := cmd.CombinedOutput()
				if got := status(err); got != want {
					t.Errorf("status %d, want %d\n%s", got, want, out)
				}
				if said == "" && len(out) > 0 || !strings.Contains(string(out), said) {
					t.Errorf("it said %q, want %q", out, said)
				}
				if name == "panic" && !strings.Contains(string(out), "on purpose") {
					t.Errorf("the reason is not told:\n%s", out)
				}
			})
		}
	}
}

// A process that may not have the address space that the runtime takes is told
// so, in a line; whatever the limit is, the status is never 2.
func TestAddressSpace(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for mib := 256; mib <= 2048; mib += 64 {
		cmd := exec.Command("sh", "-c", fmt.Sprintf("ulimit -v %d; exec %s", mib<<10, self))
		cmd.Env = append(os.Environ(), "CRASH_TEST=exit 0")
		out, err := cmd.CombinedOutput()
		got := status(err)
		if got != 0 && got != Status || got == Status && !strings.Contains(string(out), "cg: ") {
			t.Errorf("%d MiB: status %d\n%s", mib, got, out)
		}
		if mib < 1024 && (got != Status || strings.Count(string(out), "\n") != 1) {
			t.Errorf("%d MiB: status %d\n%s", mib, got, out)
		}
	}
}
