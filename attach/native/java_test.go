package native

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"cg/attach/perf"
	"cg/attach/unwind"
	"cg/long"
)

// What jcmd has a virtual machine of Java write names the code at its addresses. The samples are made here, so that
// this needs no perf events.
func TestMapOfJava(t *testing.T) {
	long.Skip(t, "a virtual machine of Java starts and compiles")
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	dir := t.TempDir()
	if out, err := exec.CommandContext(ctx, "javac", "-d", dir, "../testdata/Shares.java").CombinedOutput(); err != nil {
		if _, missing := exec.LookPath("javac"); missing != nil && os.Getenv("CI") != "true" {
			t.Skip("no JDK is installed")
		}
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.CommandContext(ctx, "java", "-XX:+UseSerialGC", "-XX:CICompilerCount=2", "-Xmx64m", "-cp", dir, "Shares")
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
	pid := uint32(cmd.Process.Pid)
	defer func() {
		to.Write([]byte("\n"))
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		os.Remove(fmt.Sprintf("/tmp/perf-%d.map", pid))
	}()
	if _, err := bufio.NewReader(from).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	names := &named{}
	before := newReader(names.number)
	if s := before.space(pid); !s.java {
		t.Fatal("no Java")
	}
	jcmd := exec.CommandContext(ctx, "jcmd", fmt.Sprint(pid), "Compiler.perfmap")
	if out, err := jcmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var m made
	m.load(pid)
	found := map[string]uint64{}
	for _, f := range m.functions {
		found[madeSite(f.name, true).Func] = f.start + (f.end-f.start)/2
	}
	after := newReader(names.number)
	for _, name := range []string{"Shares.spin", "Interpreter"} {
		if found[name] == 0 {
			t.Errorf("no %s among %d functions", name, len(m.functions))
			continue
		}
		record := &perf.Record{Kind: perf.Sample, PID: pid, TID: pid, At: 1}
		record.Registers[unwind.Address] = found[name]
		after.take(record)
		if got := names.path(after.looks[len(after.looks)-1].Path); got != name {
			t.Errorf("the code of %s is %q", name, got)
		}
		// A reader that looks at the map no more often than mapEvery has not seen it yet.
		before.spaces[pid].made.asked = 1
		before.take(record)
	}
	if !before.IsJava(pid) || before.Unnamed[pid] != 2 || after.Unnamed[pid] != 0 {
		t.Errorf("without the map %d looks have no name, with it %d", before.Unnamed[pid], after.Unnamed[pid])
	}
}
