package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/rogpeppe/go-internal/txtar"
)

// watched is a cg report --watch on a terminal of 60 columns and 20 rows.
type watched struct {
	t     *testing.T
	cmd   *exec.Cmd
	f     *os.File
	all   bytes.Buffer
	chunk chan []byte
}

const frame = "\x1b[H\x1b[J"

func watching(t *testing.T, dir string, args ...string) *watched {
	cmd := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), append([]string{"report", "--watch"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir, "TZ=UTC", "NO_COLOR=1")
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 20, Cols: 60})
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{t: t, cmd: cmd, f: f, chunk: make(chan []byte)}
	go func() {
		defer close(w.chunk)
		for {
			b := make([]byte, 4096)
			n, err := f.Read(b)
			if err != nil { // EIO: the other side is closed
				return
			}
			w.chunk <- b[:n]
		}
	}()
	timer := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	t.Cleanup(func() { timer.Stop(); f.Close() })
	return w
}

// until waits for a frame with a text and gives it.
func (w *watched) until(text string) string {
	w.t.Helper()
	for {
		if frames := strings.Split(w.all.String(), frame); strings.Contains(frames[len(frames)-1], text) {
			return frames[len(frames)-1]
		}
		b, more := <-w.chunk
		if !more {
			w.t.Fatalf("it ended without %q: %q", text, w.all.String())
		}
		w.all.Write(b)
	}
}

// end waits until it has ended, which is with status 0.
func (w *watched) end() {
	w.t.Helper()
	for b := range w.chunk {
		w.all.Write(b)
	}
	if err := w.cmd.Wait(); err != nil {
		w.t.Errorf("%v: %q", err, w.all.String())
	}
}

// cg report --watch waits for a file, shows what is saved there each time, keeps what it showed while the file cannot
// be read, never more than there is room for, and ends with Ctrl-C.
func TestWatchReport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	save := func(text []byte) {
		t.Helper()
		part := filepath.Join(dir, "part")
		if err := os.WriteFile(part, text, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(part, filepath.Join(dir, "run.json")); err != nil {
			t.Fatal(err)
		}
	}
	saved := func(kind string) []byte {
		b, err := os.ReadFile("report/reporttest/testdata/run-" + kind + ".json")
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	w := watching(t, dir, "run.json")
	w.until("run.json is not there yet")
	save(saved("measured"))
	shown := w.until("saved 20")
	if !strings.HasPrefix(shown, "Program  18.0 J ") {
		t.Errorf("%q", shown)
	}
	if lines := strings.Split(shown, "\r\n"); len(lines) > 19 || !strings.Contains(shown, " more lines: a higher window") {
		t.Errorf("%d lines: %q", len(lines), shown)
	}
	save([]byte(`{"half":`))
	if broken := w.until("run.json: "); !strings.HasPrefix(broken, "Program  18.0 J ") {
		t.Errorf("%q", broken)
	}
	save(saved("estimated"))
	w.until("ESTIMATED")
	w.f.Write([]byte{3}) // Ctrl-C
	w.end()

	// With -o a file is written anew, and nothing is shown of the run.
	save(saved("measured"))
	w = watching(t, dir, "run.json", "-o", "run.md")
	w.until("run.md: saved ")
	if b, err := os.ReadFile(filepath.Join(dir, "run.md")); err != nil || !bytes.HasPrefix(b, []byte("### Energy of ")) {
		t.Errorf("%v: %.100s", err, b)
	}
	w.f.Write([]byte{3})
	w.end()
}

// A run of many ranks that goes on is shown from its folder, until all its ranks have ended.
func TestWatchRanks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archive, err := txtar.ParseFile("testdata/script/merge.txt")
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const last = "out/ranks/000001.json"
	files := map[string]string{}
	for _, f := range archive.Files {
		files[f.Name] = strings.ReplaceAll(string(f.Data), `"size":3`, `"size":2`)
		write(f.Name, files[f.Name])
	}
	w := watching(t, dir, "out")
	w.until("saved 20")
	ended := strings.NewReplacer(`"state":"running"`, `"state":"ended"`, `"ended_unix_ns":0`,
		`"ended_unix_ns":1767323046600000000`, `"ended_mono_ns":0`, `"ended_mono_ns":2600000000`).Replace(files[last])
	if ended == files[last] {
		t.Fatal(ended)
	}
	write(last, ended)
	w.end()
}
