package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// states tells of every file below dir what it is, whose, and what it holds.
func states(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, "-") || strings.HasSuffix(name, ".lock") { // copies and locks of groupadd
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(name)
		fmt.Fprintf(&b, "%s %v %d %q\n", strings.TrimPrefix(name, dir), info.Mode(), info.Sys().(*syscall.Stat_t).Gid, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestInitSensors(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("giving files to a group takes root")
	}
	for _, test := range []struct {
		name, group string // group: of /etc/group before
		made        bool
	}{
		{"new group", "root:x:0:\n", true},
		{"the group is there", "root:x:0:\ncg-sensors:x:777:bob\n", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := unpack(t, txtar.Parse([]byte(`
!mode 0400 sys/class/powercap/*/energy_uj
!unprivileged
-- proc/cpuinfo --
processor	: 0
-- etc/passwd --
root:x:0:0:root:/root:/bin/sh
alice:x:1000:1000::/home/alice:/bin/sh
bob:x:1001:1001::/home/bob:/bin/sh
-- sys/class/powercap/intel-rapl:0/name --
package-0
-- sys/class/powercap/intel-rapl:0/energy_uj --
100
-- sys/class/powercap/intel-rapl:0:0/name --
dram
-- sys/class/powercap/intel-rapl:0:0/energy_uj --
100
-- etc/group --
`+test.group)))
			before := states(t, m.dir)
			root := m
			root.nobody = false
			cg := func(m captured, groups []uint32, args ...string) (string, error) {
				t.Helper()
				cmd := m.command(append([]string{"--sysroot", m.dir}, args...)...)
				if cmd.SysProcAttr != nil {
					cmd.SysProcAttr.Credential.Groups = groups
				}
				cmd.Env = append(cmd.Env, "SUDO_USER=alice")
				out, err := cmd.Output()
				return string(out) + fmt.Sprint(cmd.Stderr), err
			}
			if out, err := cg(m, nil, "init-sensors", "--yes"); err == nil || !strings.Contains(out, "that takes root, and nothing was done") || states(t, m.dir) != before {
				t.Errorf("as nobody: %v, %s", err, out)
			}
			if out, err := cg(root, nil, "init-sensors", "--yes"); err != nil || !strings.Contains(out, "alice is in the group from the next login on") {
				t.Fatalf("%v: %s", err, out)
			}
			var gid uint32
			for _, zone := range []string{"intel-rapl:0", "intel-rapl:0:0"} {
				info, err := os.Stat(filepath.Join(m.dir, "sys/class/powercap", zone, "energy_uj"))
				if err != nil {
					t.Fatal(err)
				}
				if gid = info.Sys().(*syscall.Stat_t).Gid; info.Mode().Perm() != 0o440 || gid == 0 {
					t.Errorf("%s: %v, group %d", zone, info.Mode(), gid)
				}
			}
			b, err := os.ReadFile(filepath.Join(m.dir, "etc/group"))
			if want := fmt.Sprintf("cg-sensors:x:%d:", gid); err != nil || !strings.Contains(string(b), want) || !strings.Contains(string(b), "alice") {
				t.Errorf("%s, %v", b, err)
			}
			// Who is in the group measures, who is not does not.
			if out, err := cg(m, []uint32{gid}, "info"); err != nil || !strings.Contains(out, "present    package-0 dram-0") {
				t.Errorf("%v: %s", err, out)
			}
			if out, err := cg(m, nil, "info"); err != nil || !strings.Contains(out, "to mend it: sudo cg init-sensors") {
				t.Errorf("%v: %s", err, out)
			}
			after := states(t, m.dir)
			if out, err := cg(root, nil, "init-sensors", "--yes"); err != nil || !strings.Contains(out, "nothing to do") || states(t, m.dir) != after {
				t.Errorf("again: %v: %s", err, out)
			}
			if out, err := cg(root, nil, "init-sensors", "--undo", "--yes"); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if got := states(t, m.dir); got != before {
				t.Errorf("undone:\n%s\nbefore:\n%s", got, before)
			}
		})
	}
}

func TestInitSensorsCapability(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("giving capabilities takes root")
	}
	m := unpack(t, txtar.Parse([]byte("-- proc/cpuinfo --\nprocessor	: 0\n-- sys/bus/event_source/devices/power/type --\n32\n-- program --\n#!/bin/sh\n")))
	program := filepath.Join(m.dir, "program")
	if out, err := exec.Command("setcap", "cap_perfmon+ep", program).CombinedOutput(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%v: %s", err, out)
		}
		t.Skipf("setcap does not work here: %s", out)
	}
	if out, err := exec.Command("setcap", "-r", program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	caps := func() string {
		out, err := exec.Command("getcap", program).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run := func(args ...string) {
		t.Helper()
		cmd := m.command(append([]string{"--sysroot", m.dir, "init-sensors", "--yes", "--program", program}, args...)...)
		if _, err := cmd.Output(); err != nil {
			t.Fatalf("%v: %s", err, cmd.Stderr)
		}
	}
	run()
	if got := caps(); got != program+" cap_perfmon=ep" {
		t.Errorf("%q", got)
	}
	run() // nothing to do
	run("--undo")
	if got := caps(); got != "" {
		t.Errorf("%q", got)
	}
}
