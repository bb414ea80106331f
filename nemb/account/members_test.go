package account

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// A program and its child are members, cg and its parent are not; what was found of a process
// stays when it is over, and nothing is known of one that nobody asked for in time.
func TestMember(t *testing.T) {
	a := New()
	defer a.Close()
	cmd := exec.Command("sh", "-c", "sleep 1000 & echo $!; read line; kill $!; wait; exit 0")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	a.Watch(cmd.Process.Pid)
	line, err := bufio.NewReader(out).ReadString('\n')
	child := 0
	if _, scan := fmt.Sscan(line, &child); err != nil || scan != nil {
		t.Fatal(line, err, scan)
	}
	is := func(when string, pid int, want Membership) {
		t.Helper()
		if got := a.Member(pid); got != want {
			t.Errorf("%s: process %d is %v, want %v", when, pid, got, want)
		}
	}
	is("running", child, Member)
	is("running", os.Getpid(), Stranger)
	is("running", os.Getppid(), Stranger)
	is("running", 1, Stranger)
	is("running", 0, Stranger)
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	is("over", child, Member)
	is("over", cmd.Process.Pid, Member)
	is("over", 1<<22+1, Vanished) // more than the kernel's largest number
}
