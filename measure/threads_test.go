package measure

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"cg/checkpoint"
)

func TestThreadNames(t *testing.T) {
	main, pool := checkpoint.Thread{PID: 7, TID: 7}, checkpoint.Thread{PID: 7, TID: 9}
	asked := map[checkpoint.Thread]int{}
	names := newThreads()
	names.comm = func(of checkpoint.Thread) string {
		asked[of]++
		if of == main {
			return "python3"
		}
		return []string{"python3", "pool/0", "pool/0", "pool/0", ""}[asked[of]-1]
	}
	names.see(checkpoint.Run{Thread: pool, First: true, Tally: &checkpoint.Tally{Strands: true}})
	names.see(checkpoint.Run{Thread: main, First: true, Name: "MainThread"})
	for range 8 {
		names.sample()
	}
	names.see(checkpoint.Run{Thread: pool, Last: true})
	for range 8 {
		names.sample()
	}
	if asked[pool] != 1+4 || asked[main] != 1+5 { // after 1, 2, 4, 8 samples, and 16
		t.Errorf("asked %v times", asked)
	}
	want := []ThreadName{{main, "MainThread", "python3", false}, {pool, "", "pool/0", true}}
	if got := names.list(); !reflect.DeepEqual(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
	// Another thread with the same number.
	names.comm = func(checkpoint.Thread) string { return "" }
	names.see(checkpoint.Run{Thread: main, First: true})
	if got := names.list()[0]; got.Name != "" || got.Comm != "" {
		t.Errorf("%q has the name of the thread before it", got)
	}
	for i := range mostThreads {
		names.see(checkpoint.Run{Thread: checkpoint.Thread{PID: 8, TID: uint32(i)}, First: true})
	}
	if n := len(names.list()); n != mostThreads {
		t.Errorf("%d threads are kept", n)
	}
}

func TestComm(t *testing.T) {
	self := checkpoint.Thread{PID: uint32(os.Getpid()), TID: uint32(os.Getpid())}
	link, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(link)
	if want := name[:min(15, len(name))]; comm(self) != want {
		t.Errorf("%q, not %q", comm(self), want)
	}
	if got := comm(checkpoint.Thread{PID: 1 << 30, TID: 1}); got != "" {
		t.Errorf("%q of no thread", got)
	}
}
