package attach

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"cg/attach/perf"
	"cg/checkpoint"
	"cg/long"
)

// Compiled methods of Java have the names of the map that jcmd has the virtual machine write; before that they have none.
func TestJavaMap(t *testing.T) {
	long.Skip(t, "a virtual machine of Java starts and compiles")
	if err := perf.Check(os.Getpid()); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	dir := t.TempDir()
	if out, err := exec.CommandContext(ctx, "javac", "-d", dir, "testdata/Shares.java").CombinedOutput(); err != nil {
		if _, missing := exec.LookPath("javac"); missing != nil && os.Getenv("CI") != "true" {
			t.Skip("no JDK is installed")
		}
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.CommandContext(ctx, "java", "-XX:+PreserveFramePointer", "-XX:+UseSerialGC", "-XX:CICompilerCount=2",
		"-Xmx64m", "-cp", dir, "Shares")
	to, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(filepath.Join("/tmp", fmt.Sprintf("perf-%d.map", cmd.Process.Pid)))
	if _, err := bufio.NewReader(from).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	before := lookAtJava(ctx, cmd.Process.Pid)
	jcmd := exec.CommandContext(ctx, "jcmd", fmt.Sprint(cmd.Process.Pid), "Compiler.perfmap")
	if out, err := jcmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	after := lookAtJava(ctx, cmd.Process.Pid)
	to.Write([]byte("\n"))
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if before.named["Shares.spin"] > 0 || before.unnamed == 0 || !before.java {
		t.Errorf("without a map: %+v", before)
	}
	// The compiler may have inlined spin into its callers, and these into theirs.
	shares := after.named["Shares.spin"] + after.named["Shares.more"] + after.named["Shares.less"] +
		after.named["Shares.round"] + after.named["Shares.main"]
	if shares <= after.unnamed || shares == 0 {
		t.Errorf("with a map: %+v", after)
	}
}

// javaLooks are the looks at a Java program on a processor: by their innermost function, and those without a name.
type javaLooks struct {
	named   map[string]int
	unnamed int
	java    bool
}

// lookAtJava looks until a hundred looks are known.
func lookAtJava(ctx context.Context, pid int) javaLooks {
	found := javaLooks{named: map[string]int{}}
	s := Start(Config{PID: pid, Interval: time.Millisecond, Clock: checkpoint.SystemClock()})
	seen := 0
	take := func(until checkpoint.Tick) {
		for _, l := range s.Take(until) {
			if n := len(l.Path); n > 0 && !l.Waiting {
				found.named[s.Sites()[l.Path[n-1]-1].Func]++
				seen++
			}
		}
	}
	for seen < 100 && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
		take(s.Settled())
	}
	s.Stop()
	take(math.MaxUint64)
	for _, p := range s.Stats().Processes {
		found.unnamed += p.Unnamed
		found.java = found.java || p.Java
	}
	return found
}
