package laboratory

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// A control group is made where groups are, of either version, and a command starts in it.
func TestGroup(t *testing.T) {
	for version, parent := range map[string]string{"1": "cpu", "2": ""} {
		root := t.TempDir()
		if version == "1" {
			if err := os.Mkdir(filepath.Join(root, parent), 0o700); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(filepath.Join(root, "cgroup.controllers"), []byte("cpu\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		// An ordinary folder has no files of a controller: as a group to which none is handed on.
		if _, err := newGroup(root, 0.5); !errors.Is(err, ErrNoQuota) {
			t.Errorf("version %s: %v", version, err)
		}
		left, err := os.ReadDir(filepath.Join(root, parent))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range left {
			if e.IsDir() {
				t.Errorf("version %s: %s is left", version, e.Name())
			}
		}
	}
	if _, err := newGroup(filepath.Join(t.TempDir(), "none"), 1); !errors.Is(err, ErrNoQuota) {
		t.Errorf("without groups: %v", err)
	}
	dir := t.TempDir()
	cmd := exec.Command("printf", "%s,", "a b", "$c")
	group{dir}.hold(cmd)
	out, err := cmd.Output()
	if err != nil || string(out) != "a b,$c," {
		t.Errorf("%q, %v", out, err)
	}
	if pid, err := os.ReadFile(filepath.Join(dir, "cgroup.procs")); err != nil || len(pid) < 2 {
		t.Errorf("%q, %v", pid, err)
	}
}

// The rows have what changes the power of a program, or when it runs.
func TestMix(t *testing.T) {
	for name, has := range map[string]func(Case) bool{
		"two frequencies": func(c Case) bool { return c.Machine.Clocks > 0 },
		"a busy sibling":  func(c Case) bool { return c.Machine.Siblings && c.Machine.Neighbour.Watts > 0 },
		"little cores":    func(c Case) bool { return c.Machine.Little && c.Program.workers() > 1 },
		"a neighbour":     func(c Case) bool { return c.Machine.Neighbour.Watts > 0 && !c.Machine.Siblings },
		"a quota":         func(c Case) bool { return c.Quota > 0 },
	} {
		if !slices.ContainsFunc(Cases(), has) {
			t.Errorf("no row has %s", name)
		}
	}
}
