package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// What takes long before a program starts is told on a terminal, and taken back. --quiet tells
// nothing. The compiler waits here until the test has seen it, or for the end of what is tried.
func TestProgressOfPreparing(t *testing.T) {
	python(t)
	for _, test := range []struct {
		name  string
		flags []string
		told  bool
	}{{"plain", nil, true}, {"quiet", []string{"--quiet"}, false}, {"level", []string{"--log-level", "warning"}, false}} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			// It is no compiler: cg then goes on without the native library.
			cc := "#!/bin/sh\necho $$ >" + dir + "/asked\nwhile [ ! -e " + dir + "/seen ]; do sleep 0.05; done\nexit 1\n"
			for name, text := range map[string]string{"slow-cc": cc, "works.py": "print('works')\n"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), append(test.flags, "measure", "python", "works.py")...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "CC="+filepath.Join(dir, "slow-cc"), "XDG_CACHE_HOME="+t.TempDir(), "TERM=vt100")
			terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 100})
			if err != nil {
				t.Fatal(err)
			}
			defer terminal.Close()
			stuck := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
			defer stuck.Stop()
			release := func() { os.WriteFile(filepath.Join(dir, "seen"), nil, 0o600) }
			if !test.told { // longer than a word of it would take
				appears(t, filepath.Join(dir, "asked"))
				late := time.AfterFunc(time.Second, release)
				defer late.Stop()
			}
			const word = "preparing the program"
			seen := ""
			for b := make([]byte, 4096); ; {
				n, err := terminal.Read(b)
				if seen += string(b[:n]); strings.Contains(seen, word) {
					release()
				}
				if err != nil {
					break
				}
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v\n%s", err, seen)
			}
			if strings.Contains(seen, word) != test.told {
				t.Errorf("told %v, want %v:\n%q", !test.told, test.told, seen)
			}
			if _, after, _ := strings.Cut(seen, word); test.told && !strings.Contains(after, "\r\x1b[K") {
				t.Errorf("the word stays:\n%q", seen)
			}
		})
	}
}

// What cg validate is at is told on a terminal.
func TestProgressOfValidation(t *testing.T) {
	cmd := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), "validate", "--tries", "100000000")
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir(), "TERM=vt100")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	stuck := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	defer stuck.Stop()
	const word = "\r\x1b[Kmeasuring power and span 1 of 25"
	seen := ""
	for b := make([]byte, 4096); ; {
		n, err := terminal.Read(b)
		if seen += string(b[:n]); strings.Contains(seen, word) {
			cmd.Process.Kill()
		}
		if err != nil {
			break
		}
	}
	_ = cmd.Wait() // which was killed
	if !strings.Contains(seen, word) {
		t.Errorf("not told: %q", seen)
	}
}
