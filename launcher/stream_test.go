package launcher

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// piped runs a stream with a filter between two pipes. in is where the program writes, out what the user sees; closing in
// ends it, and finish then returns the rest of the output and the blocks.
func piped(t *testing.T) (in, out *os.File, finish func() (string, []string)) {
	t.Helper()
	from, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ended, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	s := &stream{
		in: int(from.Fd()), out: int(to.Fd()), ended: ended, done: make(chan struct{}),
		filter: &filter{block: func(b []byte) { blocks = append(blocks, string(b)) }},
		hangUp: func() { from.Close(); to.Close() },
	}
	go s.run(func() {})
	t.Cleanup(func() {
		in.Close()
		out.Close()
		<-s.done
		unix.Close(ended)
	})
	out.SetReadDeadline(time.Now().Add(20 * time.Second)) // a hang is a failure
	return in, out, func() (string, []string) {
		in.Close()
		rest, err := io.ReadAll(out)
		if err != nil {
			t.Error(err)
		}
		<-s.done
		return string(rest), blocks
	}
}

// expectRead reads exactly want.
func expectRead(t *testing.T, out *os.File, want string) {
	t.Helper()
	b := make([]byte, len(want))
	if n, err := io.ReadFull(out, b); err != nil || string(b) != want {
		t.Fatalf("read %q, want %q; %v", b[:n], want, err)
	}
}

func TestUnfinishedMarkerIsPassedOn(t *testing.T) {
	const rest = "\n{}\n" + end + "\n"
	for _, partial := range []string{"-", "--", "--- ", start, start + "\r"} {
		in, out, finish := piped(t)
		in.WriteString("a\n" + partial)
		expectRead(t, out, "a\n"+partial) // nothing more is written until it came
		in.WriteString(strings.TrimPrefix(start, partial) + rest)
		in.WriteString(start + rest)
		if got, blocks := finish(); got != strings.TrimPrefix(start, partial)+rest || strings.Join(blocks, "|") != "{}\n" {
			t.Errorf("%q: then %q, blocks %q", partial, got, blocks)
		}
	}
}
