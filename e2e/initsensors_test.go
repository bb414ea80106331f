package e2e

import (
	"errors"
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
		of := info.Sys().(*syscall.Stat_t)
		fmt.Fprintf(&b, "%s %v %d %d %q\n", strings.TrimPrefix(name, dir), info.Mode(), of.Uid, of.Gid, text)
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
			if out, err := cg(m, []uint32{gid}, "info"); err != nil || !strings.Contains(out, "present    package-0 dram") {
				t.Errorf("%v: %s", err, out)
			}
			if out, err := cg(m, nil, "info"); err != nil || !strings.Contains(out, "to fix it: sudo cg init-sensors") {
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

// twoZones is a machine with powercap and two users.
const twoZones = `
-- proc/cpuinfo --
processor	: 0
-- etc/passwd --
root:x:0:0:root:/root:/bin/sh
alice:x:1000:1000::/home/alice:/bin/sh
bob:x:1001:1001::/home/bob:/bin/sh
-- etc/group --
root:x:0:
-- sys/class/powercap/intel-rapl:0/name --
package-0
-- sys/class/powercap/intel-rapl:0/energy_uj --
100
-- sys/class/powercap/intel-rapl:0:0/name --
dram
-- sys/class/powercap/intel-rapl:0:0/energy_uj --
100
`

// initSensors runs cg init-sensors on a machine as root, for who called sudo.
func initSensors(t *testing.T, m captured, sudo string, args ...string) (said string, status int) {
	t.Helper()
	cmd := m.command(append([]string{"--sysroot", m.dir, "init-sensors"}, args...)...)
	cmd.Env = append(cmd.Env, "SUDO_USER="+sudo)
	out, _ := cmd.Output()
	return string(out) + fmt.Sprint(cmd.Stderr), cmd.ProcessState.ExitCode()
}

// What was there comes back as it was: modes, owners and groups that the kernel does not
// give, also after a second run, and after one that stopped on its way.
func TestInitSensorsGivesBack(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("giving files to a group takes root")
	}
	const one, two = "sys/class/powercap/intel-rapl:0/energy_uj", "sys/class/powercap/intel-rapl:0:0/energy_uj"
	for _, test := range []struct {
		name   string
		mode   os.FileMode
		user   int
		group  int
		before string // of /etc/group
		runs   [][]string
	}{
		{"everybody read it", 0o644, 0, 0, "", [][]string{{}}},
		{"of another owner", 0o640, 7, 8, "", [][]string{{}}},
		{"twice", 0o644, 0, 8, "", [][]string{{}, {}}},
		{"for two users", 0o604, 7, 0, "", [][]string{{}, {"--user", "bob"}}},
		{"it was so", 0o440, 0, 777, "cg-sensors:x:777:\n", [][]string{{}, {"--user", "bob"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := unpack(t, txtar.Parse([]byte(twoZones)))
			if err := os.WriteFile(filepath.Join(m.dir, "etc/group"), []byte("root:x:0:\n"+test.before), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Chown(filepath.Join(m.dir, one), test.user, test.group); err != nil {
				t.Fatal(err)
			}
			for name, mode := range map[string]os.FileMode{one: test.mode, two: 0o400} {
				if err := os.Chmod(filepath.Join(m.dir, name), mode); err != nil {
					t.Fatal(err)
				}
			}
			before := states(t, m.dir)
			for i, args := range test.runs {
				said, status := initSensors(t, m, "alice", append(args, "--yes")...)
				if status != 0 {
					t.Fatal(said)
				}
				if states(t, m.dir) == before {
					t.Fatalf("run %d changed nothing: %s", i, said)
				}
				if i == 0 { // as a run leaves it that was killed between two changes
					if err := os.Chown(filepath.Join(m.dir, two), 0, 0); err != nil {
						t.Fatal(err)
					}
				}
			}
			if said, status := initSensors(t, m, "alice", "--undo", "--yes"); status != 0 {
				t.Fatal(said)
			}
			if got := states(t, m.dir); got != before {
				t.Errorf("undone:\n%s\nbefore:\n%s", got, before)
			}
		})
	}
}

// A zone that came after the run was given to the group by the rule; it becomes what the
// kernel makes it. So do the files of a run of a cg that kept no modes.
func TestInitSensorsLaterZone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("giving files to a group takes root")
	}
	m := unpack(t, txtar.Parse([]byte(twoZones)))
	zone := filepath.Join(m.dir, "sys/class/powercap/intel-rapl:0:0/energy_uj")
	aside := zone + ".aside"
	if err := os.Rename(zone, aside); err != nil {
		t.Fatal(err)
	}
	if said, status := initSensors(t, m, "alice", "--yes"); status != 0 {
		t.Fatal(said)
	}
	first, err := os.Stat(filepath.Join(m.dir, "sys/class/powercap/intel-rapl:0/energy_uj"))
	if err != nil {
		t.Fatal(err)
	}
	gid := int(first.Sys().(*syscall.Stat_t).Gid)
	if err := errors.Join(os.Rename(aside, zone), os.Chown(zone, 0, gid), os.Chmod(zone, 0o440)); err != nil {
		t.Fatal(err)
	}
	if said, status := initSensors(t, m, "bob", "--yes"); status != 0 { // which keeps nothing of it
		t.Fatal(said)
	}
	if said, status := initSensors(t, m, "alice", "--undo", "--yes"); status != 0 {
		t.Fatal(said)
	}
	info, err := os.Stat(zone)
	if err != nil {
		t.Fatal(err)
	}
	if of := info.Sys().(*syscall.Stat_t); info.Mode().Perm() != 0o400 || of.Uid != 0 || of.Gid != 0 {
		t.Errorf("%v, %d:%d", info.Mode(), of.Uid, of.Gid)
	}
}

// What names nothing is refused before the first change.
func TestInitSensorsUnknown(t *testing.T) {
	m := unpack(t, txtar.Parse([]byte(twoZones)))
	before := states(t, m.dir)
	for _, test := range []struct {
		sudo string
		args []string
		want string
	}{
		{"alice", []string{"--user", "carol"}, "init-sensors: there is no user carol in " + m.dir + "/etc/passwd: nothing was done; --user names who is to read the counters"},
		{"carol", nil, "init-sensors: there is no user carol in " + m.dir + "/etc/passwd"},
		{"alice", []string{"--user", "-G"}, "there is no user -G"},
		{"alice", []string{"--user", "alice:x"}, "there is no user alice:x"},
		{"alice", []string{"--group", "-G"}, `"-G" is no name for a group`},
		{"alice", []string{"--method", "setcap", "--program", m.dir + "/nosuch"}, "there is no"},
		{"alice", []string{"--undo", "--program", m.dir + "/nosuch"}, m.dir + "/nosuch is no program that could be given a capability"},
		{"alice", []string{"--undo", "--program", m.dir}, " is no program that could be given a capability"},
	} {
		said, status := initSensors(t, m, test.sudo, append(test.args, "--yes")...)
		if status != 1 || !strings.Contains(said, test.want) || strings.Count(said, "\n") != 1 || states(t, m.dir) != before {
			t.Errorf("%q: status %d, %s\nwant %s", test.args, status, said, test.want)
		}
	}
}

// A tool that is missing is told before the first change, not after some.
func TestInitSensorsWithoutTools(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("an ordinary user is refused before the tools are looked for")
	}
	tools := t.TempDir()
	groupadd, err := exec.LookPath("groupadd")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(groupadd, filepath.Join(tools, "groupadd")); err != nil {
		t.Fatal(err)
	}
	m := unpack(t, txtar.Parse([]byte(twoZones)))
	before := states(t, m.dir)
	t.Setenv("PATH", tools)
	said, status := initSensors(t, m, "alice", "--yes")
	if status != 1 || !strings.Contains(said, "cg: init-sensors: usermod is not installed, and nothing was done: apt-get install passwd\n") || states(t, m.dir) != before {
		t.Errorf("status %d, %s", status, said)
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
