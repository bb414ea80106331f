package account

import (
	"os"
	"os/exec"
	"testing"
)

// A tree that cg is in does not count cg, nor what cg has started.
func TestTreeWithoutItself(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	above := newTree(os.Getppid())
	defer above.close()
	above.scan()
	if above.live[os.Getpid()] != nil || above.live[cmd.Process.Pid] != nil {
		t.Errorf("cg (%d) or its child (%d) is in %v", os.Getpid(), cmd.Process.Pid, above.live)
	}
	own := newTree(os.Getpid())
	defer own.close()
	own.scan()
	if own.live[cmd.Process.Pid] == nil {
		t.Errorf("%d is not in its parent's tree", cmd.Process.Pid)
	}
}
