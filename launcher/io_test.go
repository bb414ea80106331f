package launcher

import (
	"os"
	"testing"
)

// What the program and the children that it waits for read and write is told.
func TestIO(t *testing.T) {
	if _, err := os.ReadFile("/proc/self/io"); err != nil {
		t.Skipf("the kernel tells no I/O of processes: %v", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	child, err := Start(Cmd{Args: []string{"sh", "-c", "dd if=/dev/zero of=/dev/null bs=7 count=3000 2>/dev/null; exit 3"},
		Pty: Never, Stdin: null, Stdout: null, Stderr: null})
	if err != nil {
		t.Fatal(err)
	}
	r := child.Wait()
	if r.Status != 3 || r.IO == nil || r.IO.Writes < 3000 || r.IO.Writes > 3100 || r.IO.WrittenBytes < 21_000 ||
		r.IO.WrittenBytes > 40_000 || r.IO.Reads < 3000 || r.IO.ReadBytes < 21_000 {
		t.Errorf("%+v, %+v", r, r.IO)
	}
	if io := ioOf(-1); io != nil {
		t.Errorf("of no process: %+v", io)
	}
}
