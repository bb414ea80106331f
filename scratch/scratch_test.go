package scratch

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// TestMain also plays a process that makes a folder and a file, and is killed.
func TestMain(m *testing.M) {
	if base := os.Getenv("SCRATCH_TEST_BASE"); base != "" {
		f, err := NewFolder(base)
		if err != nil {
			panic(err)
		}
		os.MkdirAll(filepath.Join(f.Path, "locked/in"), 0o700)
		os.WriteFile(filepath.Join(f.Path, "locked/in/file"), nil, 0o400)
		os.Chmod(filepath.Join(f.Path, "locked/in"), 0o500)
		part, err := NewFile(filepath.Join(base, "k.json"))
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s\n%s\n", f.Path, part.Name())
		os.Stdin.Read(make([]byte, 1)) // until it is killed
		runtime.KeepAlive([]any{f, part})
	}
	os.Exit(m.Run())
}

// other starts a process that holds a folder and a file below base.
func other(t *testing.T, base string) (process *exec.Cmd, folder, file string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	process = exec.Command(self)
	process.Env = append(os.Environ(), "SCRATCH_TEST_BASE="+base)
	if _, err := process.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	folder = lines.Text()
	lines.Scan()
	return process, folder, lines.Text()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// What a killed process left is removed by the next one, and nothing else: not
// what a living process holds, what only has such a name, or what a user kept.
func TestLeftByTheKilled(t *testing.T) {
	base := t.TempDir()
	killed, itsFolder, itsFile := other(t, base)
	living, folder, file := other(t, base)
	defer func() {
		living.Process.Kill()
		living.Wait()
	}()
	named := filepath.Join(base, prefix+"notes")
	os.Mkdir(named, 0o700)
	kept, err := NewFolder(base)
	if err != nil || kept.Keep() != nil {
		t.Fatal(err)
	}
	others := []string{".k.json.cg-part-", ".k.json.cg-part-1x", ".other.json.cg-part-12"}
	for _, name := range others {
		os.WriteFile(filepath.Join(base, name), nil, 0o600)
	}
	target := filepath.Join(base, "target")
	os.WriteFile(target, nil, 0o600)
	os.Symlink(target, filepath.Join(base, ".k.json.cg-part-77"))
	killed.Process.Kill()
	killed.Wait()
	if !exists(itsFolder) || !exists(itsFile) {
		t.Fatal("nothing was left")
	}
	f, err := NewFolder(base)
	if err != nil {
		t.Fatal(err)
	}
	part, err := NewFile(filepath.Join(base, "k.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer part.Close()
	if exists(itsFolder) || exists(itsFile) {
		t.Errorf("%s and %s are still there", itsFolder, itsFile)
	}
	for _, path := range []string{folder, file, named, kept.Path, f.Path, part.Name(), target, filepath.Join(base, ".k.json.cg-part-77")} {
		if !exists(path) {
			t.Errorf("%s was removed", path)
		}
	}
	for _, name := range others {
		if !exists(filepath.Join(base, name)) {
			t.Errorf("%s was removed", name)
		}
	}
	if err := f.Remove(); err != nil || exists(f.Path) {
		t.Errorf("%v", err)
	}
	if info, err := os.Stat(kept.Path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}

// Processes that make folders and files at the same time take none from each other.
func TestManyAtOnce(t *testing.T) {
	base := t.TempDir()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				f, err := NewFolder(base)
				if err != nil {
					t.Error(err)
					return
				}
				part, err := NewFile(filepath.Join(base, "k.json"))
				if err != nil {
					t.Error(err)
					return
				}
				if !exists(filepath.Join(f.Path, marker)) || !exists(part.Name()) {
					t.Error("taken away")
				}
				os.Remove(part.Name())
				part.Close()
				if err := f.Remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if left, _ := os.ReadDir(base); len(left) > 0 {
		t.Errorf("%v", left)
	}
	if _, err := NewFolder(filepath.Join(base, "none")); err == nil {
		t.Error("no such folder")
	}
	if _, err := NewFile(filepath.Join(base, "none/x")); err == nil {
		t.Error("no such folder")
	}
}

func TestGone(t *testing.T) {
	base := t.TempDir()
	f, err := NewFolder(base)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{
		filepath.Join(f.Path, "head"):                  false, // it is there
		filepath.Join(base, prefix+"12", "head"):       true,
		filepath.Join(base, prefix+"12", "head/below"): false,
		filepath.Join(base, prefix+"notes", "head"):    false, // somebody else's
		filepath.Join(base, "cg-12", "head"):           false,
		filepath.Join(base, "disk", prefix+"1", "x"):   false, // may not be mounted
	}
	for path, want := range tests {
		if got := Abandoned(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if err := f.Remove(); err != nil || !Abandoned(filepath.Join(f.Path, "head")) {
		t.Errorf("%v", err)
	}
}
