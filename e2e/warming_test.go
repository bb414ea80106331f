package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const crowdJava = `public class Crowd {
    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    public static void main(String[] args) throws Exception {
        Thread[] all = new Thread[64];
        for (int i = 0; i < all.length; i++) {
            all[i] = new Thread(() -> fib(24));
            all[i].start();
        }
        for (Thread t : all)
            t.join();
    }
}
`

// Many threads of Java call at full rate before the virtual machine has compiled them and their checkpoints, which
// cost many times as much until then. What the function itself used is at most what the whole program uses alone, and
// twice as much where other work slows down one of the two runs: the interval knows that.
func TestCheckpointsBeforeTheyAreCompiled(t *testing.T) {
	need(t, "javac", "a JDK")
	dir := t.TempDir()
	file := filepath.Join(dir, "Crowd.java")
	if err := os.WriteFile(file, []byte(crowdJava), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "javac", "-d", dir, file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	alone := exec.CommandContext(ctx, "java", "-cp", dir, "Crowd")
	alone.WaitDelay = 10 * time.Second
	if out, err := alone.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	seconds := (alone.ProcessState.UserTime() + alone.ProcessState.SystemTime()).Seconds()
	r, _, err := measuredUntil(ctx, t, "-g", "fine", "-s", "estimate", "java", file)
	if err != nil {
		t.Fatal(err)
	}
	const calls = 64 * 150049 // of fib(24)
	if f := function(r, "Crowd.fib"); f.Calls != calls {
		t.Errorf("fib has %d calls, want %d", f.Calls, calls)
	}
	part := way{}.partOf(r, "Crowd.fib", 1)
	t.Logf("alone %.3f s; fib %.3f s of processor time", seconds, part)
	if part[0] > 2*seconds {
		t.Errorf("fib used at least %.3f s of processor time, and the whole program uses %.3f alone", part[0], seconds)
	}
}
