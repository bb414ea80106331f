package e2e

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cg/long"
	"cg/ranks"
)

// slurmConf is a cluster of two virtual nodes on this machine. %[1]s is its folder, %[2]s the host, and
// then come three ports.
const slurmConf = `ClusterName=t
SlurmctldHost=%[2]s(127.0.0.1)
SlurmctldPort=%[3]d
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=%[1]s/munge.sock
StateSaveLocation=%[1]s/state
SlurmdSpoolDir=%[1]s/spool-%%n
SlurmctldPidFile=%[1]s/ctld.pid
SlurmdPidFile=%[1]s/slurmd-%%n.pid
SlurmdLogFile=%[1]s/slurmd-%%n.log
SlurmctldLogFile=%[1]s/ctld.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=2,bf_interval=2
ReturnToService=2
MpiDefault=none
TaskProlog=%[6]s
NodeName=n0 NodeHostname=%[2]s NodeAddr=127.0.0.1 Port=%[4]d CPUs=4 CoresPerSocket=4 State=UNKNOWN
NodeName=n1 NodeHostname=%[2]s NodeAddr=127.0.0.1 Port=%[5]d CPUs=4 CoresPerSocket=4 State=UNKNOWN
PartitionName=p Nodes=n0,n1 Default=YES MaxTime=INFINITE State=UP
%[7]s`

// noSlurm ends a test that has no Slurm. Where CI could install it and the kernel lets root do
// what its daemons do, that is a failure.
func noSlurm(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" && os.Getenv("CG_NO_SLURM") == "" && isWholeRoot(t) {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// isWholeRoot reports whether this process may become any user and give files to them: it is
// root with these capabilities, and not in a user namespace of some users (capabilities(7),
// user_namespaces(7)).
func isWholeRoot(t *testing.T) bool {
	t.Helper()
	users, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(status), "CapEff:")
	capabilities, err := strconv.ParseUint(strings.Fields(text)[0], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	const want = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_KILL | 1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID
	return os.Getuid() == 0 && strings.Join(strings.Fields(string(users)), " ") == "0 0 4294967295" &&
		capabilities&want == want
}

// startSlurm starts Slurm's daemons and returns the environment of its clients, and the folder
// with the counters from which Slurm takes the energy of its nodes; "" where it keeps none, as without
// accounts.
func startSlurm(t *testing.T, accounts bool) (env []string, counters string) {
	t.Helper()
	tools := map[string]string{}
	for _, name := range []string{"munged", "slurmctld", "slurmd", "srun", "sinfo", "sbatch"} {
		path, err := exec.LookPath(name)
		if err != nil {
			noSlurm(t, "%s is not installed", name)
		}
		tools[name] = path
	}
	if os.Getuid() != 0 {
		t.Skip("Slurm's daemons need root here")
	}
	dir, err := os.MkdirTemp("/tmp", "cg-slurm-") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	host, err := os.Hostname()
	if err != nil {
		t.Skipf("the machine has no name: %v", err)
	}
	host, _, _ = strings.Cut(host, ".")
	prolog, err := filepath.Abs("deploy/slurm/task_prolog.sh")
	if err != nil {
		t.Fatal(err)
	}
	key := make([]byte, 1024)
	rand.Read(key)
	ports := freePorts(t, 3)
	if err := os.WriteFile(filepath.Join(dir, "key"), key, 0o400); err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"state", "spool-n0", "spool-n1"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	os.Chmod(dir, 0o755)
	env = []string{"SLURM_CONF=" + filepath.Join(dir, "slurm.conf")}
	at := func(name string) string { return filepath.Join(dir, name) }
	daemon(t, env, at("munged.out"), tools["munged"], "--force", "--foreground", "--key-file="+at("key"),
		"--socket="+at("munge.sock"), "--pid-file="+at("munge.pid"), "--log-file="+at("munge.log"),
		"--seed-file="+at("munge.seed"))
	if !soon(func() bool { _, err := os.Stat(at("munge.sock")); return err == nil }) {
		noSlurm(t, "munged does not start on this machine: %s", tail(at("munged.out"), at("munge.log")))
	}
	accounting := ""
	if accounts {
		accounting = startAccounting(t, dir, host)
	}
	conf := fmt.Sprintf(slurmConf, dir, host, ports[0], ports[1], ports[2], prolog, accounting)
	if err := os.WriteFile(at("slurm.conf"), []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	daemon(t, env, at("ctld.out"), tools["slurmctld"], "-c", "-D")
	for _, node := range []string{"n0", "n1"} {
		slurmd := []string{tools["slurmd"], "-N", node, "-D"}
		if accounting != "" {
			slurmd = append(seesCounters(at(node)), slurmd...)
		}
		daemon(t, env, at(node+".out"), slurmd...)
	}
	up := func() bool {
		out, err := launch(dir, env, tools["sinfo"], "-h", "-N", "-o", "%T")
		return err == nil && strings.Count(out, "idle") == 2
	}
	if !soon(up) {
		noSlurm(t, "Slurm does not start on this machine: %s", tail(at("ctld.out"), at("ctld.log"), at("n0.out"), at("n1.out")))
	}
	if out, err := launch(dir, env, tools["srun"], "-N2", "-n2", "true"); err != nil {
		noSlurm(t, "Slurm starts no job on this machine, without cg: %v: %s", err, out)
	}
	if accounting != "" {
		counters = dir
	}
	return env, counters
}

// freePorts are ports of this machine that nobody uses.
func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Skipf("no port can be had: %v", err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// daemon starts a program that ends with the test.
func daemon(t *testing.T, env []string, log string, args ...string) {
	t.Helper()
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // they signal their groups
	if err := cmd.Start(); err != nil {
		noSlurm(t, "%s: %v", args[0], err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(unix.SIGTERM)
		killed := time.AfterFunc(5*time.Second, func() { cmd.Process.Kill() })
		cmd.Wait()
		killed.Stop()
		out.Close()
	})
}

// soon waits for a condition for a while, and tells whether it came.
func soon(is func() bool) bool {
	for end := time.Now().Add(40 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if is() {
			return true
		}
	}
	return false
}

// tail is the end of what daemons said.
func tail(names ...string) string {
	var all []string
	for _, name := range names {
		b, _ := os.ReadFile(name)
		lines := strings.Split(strings.TrimSpace(string(b)), "\n")
		all = append(all, lines[max(0, len(lines)-5):]...)
	}
	return strings.Join(all, "\n")
}

// TestRanksOfSlurm has the daemons of Slurm, with two virtual nodes.
func TestRanksOfSlurm(t *testing.T) {
	long.Skip(t, "it waits for Slurm's scheduler")
	python(t)
	env, counters := startSlurm(t, true)
	c := newCluster(t, 2)
	script := filepath.Join(c.dir, "rank.sh")
	// In the first step the counters that Slurm reads, once a second, go up by 100 J again and again.
	text := fmt.Sprintf(`#!/bin/sh
export CG_NODE_DIR=%[1]s/shm CG_SYSROOT=%[1]s/$CG_NODE PATH=%[1]s/bin:$PATH
joules=%[4]s/$SLURMD_NODENAME/cray/pm_counters/energy
if [ "$1$SLURM_LOCALID" = out0 ] && [ -e "$joules" ]; then
	(n=1000; while sleep 0.2; do n=$((n + 100)); echo "$n J 1" > $joules.new; mv $joules.new $joules; done) &
	meter=$!
fi
%[2]s/cg run --ranks $1 -- %[3]s main.py 2 100003
status=$?
[ -z "$meter" ] || { sleep 3; kill $meter; }
exit $status
`, c.dir, os.Getenv("CG_TEST_BIN"), python(t), counters)
	texts := map[string]string{script: text}
	if counters == "" { // what Slurm's accounting would say of the step that asks
		texts[filepath.Join(c.dir, "bin/sacct")] = "#!/bin/sh\necho \"$4|$4|$(($(date +%s) - 1))|$(date +%s)|1234\"\n"
	}
	os.Mkdir(filepath.Join(c.dir, "bin"), 0o755)
	for name, text := range texts {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) {
		t.Helper()
		if out, err := launch(c.dir, env, args...); err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	check := func(dir string, size int) left {
		t.Helper()
		l := c.read(dir)
		if holes := l.holes(); len(l.ranks) != size || len(holes) > 0 {
			t.Errorf("%s: %d ranks, want %d; holes %q", dir, len(l.ranks), size, holes)
		}
		for _, r := range l.ranks {
			if r.Launcher != ranks.Slurm || r.Job == "" || r.Step == "" || r.Slurm == nil || r.Slurm.JobID != r.Job {
				t.Errorf("%s: rank %d: %+v, %+v", dir, r.Rank, r.Identity, r.Slurm)
			}
		}
		return l
	}
	run("srun", "-N2", "-n4", "--ntasks-per-node=2", script, "out")
	l := check("out", 4)
	for _, node := range []string{"n0", "n1"} {
		if got, want := l.total(node), c.moved(node); got != want || want != 2*2*100003 {
			t.Errorf("%s: %d uJ in the records, and the counter moved by %d", node, got, want)
		}
	}
	if first := l.ranks[0].Slurm; counters != "" && (first.ConsumedEnergyJ != nil || first.Source != ranks.StillRan) {
		t.Errorf("Slurm knows the energy of a step that runs: %+v", first)
	}
	c.slurmSays(env, counters, l.ranks[0])
	run("srun", "-n1", script, "het", ":", "-n1", script, "het") // a step of two parts
	var parts []string
	for _, r := range check("het", 2).ranks {
		parts = append(parts, r.Component)
	}
	if !slices.Equal(parts, []string{"0", "1"}) {
		t.Errorf("parts of the heterogeneous step: %q", parts)
	}
	c.slurmKnows(env, counters, "het")
	run("sbatch", "--wait", "--array=0-1", "-n1", "-o", filepath.Join(c.dir, "log-%a"), "--wrap",
		"srun -n1 "+script+" task$SLURM_ARRAY_TASK_ID")
	var tasks []string
	for _, dir := range []string{"task0", "task1"} {
		for _, r := range check(dir, 1).ranks {
			tasks = append(tasks, r.Task)
		}
	}
	if !slices.Equal(tasks, []string{"0", "1"}) {
		t.Errorf("tasks of the array: %q", tasks)
	}
	c.slurmKnows(env, counters, "task1")
	c.empty()
}

// The scripts in deploy/slurm, with files in the place of the kernel's and stand-ins for squeue and
// chgrp. The user of the job is who runs the test.
func TestScriptsOfSlurm(t *testing.T) {
	dir := t.TempDir()
	uid := fmt.Sprint(os.Getuid())
	counter := filepath.Join(dir, "powercap/intel-rapl:0/energy_uj")
	boards := filepath.Join(dir, "shm/cg-"+uid)
	write := func(name, text string) {
		t.Helper()
		os.MkdirAll(filepath.Dir(name), 0o755)
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(counter, "")
	write(filepath.Join(dir, "bin/squeue"), "#!/bin/sh\necho $JOBS | tr ' ' '\\n' | grep .\n")
	write(filepath.Join(dir, "bin/chgrp"), "#!/bin/sh\necho $1 > "+dir+"/group\n")
	os.Chmod(counter, 0o400)
	script := func(name string, env ...string) string {
		t.Helper()
		out, err := launch(dir, append([]string{"PATH=" + dir + "/bin:" + os.Getenv("PATH"), "SLURMD_NODENAME=n7",
			"CG_POWERCAP=" + dir + "/powercap", "CG_NODE_DIR=" + dir + "/shm", "SLURM_JOB_UID=" + uid, "SLURM_JOB_GID=54321",
			"SLURM_JOB_ID=9"}, env...), mustAbs(t, "deploy/slurm/"+name))
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
		return out
	}
	expect := func(what, group string, mode os.FileMode) {
		t.Helper()
		info, err := os.Stat(counter)
		b, _ := os.ReadFile(filepath.Join(dir, "group"))
		if got := strings.TrimSpace(string(b)); err != nil || got != group || info.Mode() != mode {
			t.Errorf("%s: group %q, mode %o, want %q, %o", what, got, info.Mode(), group, mode)
		}
	}
	script("prolog.sh", "JOBS=8 9")
	expect("a node that two jobs share", "", 0o400)
	script("prolog.sh", "JOBS=") // the stand-in fails
	expect("nobody knows who else is there", "", 0o400)
	script("prolog.sh", "JOBS=9", "SLURM_JOB_GID=")
	expect("no job", "", 0o400)
	script("prolog.sh", "JOBS=8 9", "CG_SHARED_NODES=yes")
	expect("a shared node, as asked for", "54321", 0o440)
	script("epilog.sh")
	expect("after the job", "0", 0o400)
	script("prolog.sh", "JOBS=9")
	expect("a job alone", "54321", 0o440)
	script("epilog.sh")
	expect("after it", "0", 0o400)

	if out := script("task_prolog.sh", "CG_NODE=", "CG_NODE_DIR="); !strings.Contains(out, "export CG_NODE=n7\n") {
		t.Errorf("the task prolog prints %q", out)
	}
	if out := script("task_prolog.sh", "CG_NODE=mine"); out != "" {
		t.Errorf("the task prolog prints %q where all is given", out)
	}

	var locks []*os.File
	for _, name := range []string{"dead/rank-0", "rank/rank-0", "rank/rank-1", "measured/measurer", "joining/door",
		"dead.gone-7/board"} {
		write(filepath.Join(boards, name), "")
		write(filepath.Join(boards, filepath.Dir(name), "board"), "")
	}
	for _, name := range []string{"rank/rank-1", "measured/measurer", "joining/door"} {
		f, err := os.Open(filepath.Join(boards, name))
		if err == nil {
			err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		locks = append(locks, f)
	}
	script("epilog.sh")
	if left, want := list(t, boards), []string{"joining", "measured", "rank"}; !slices.Equal(left, want) {
		t.Errorf("boards: %q, want %q, whose locks are held", left, want)
	}
	for _, f := range locks {
		f.Close()
	}
	script("epilog.sh", "SLURM_JOB_GID=")
	if left := list(t, boards); len(left) != 3 {
		t.Errorf("boards: %q after no job", left)
	}
	script("epilog.sh")
	if _, err := os.Stat(boards); err == nil {
		t.Errorf("boards: %q, of which no lock is held", list(t, boards))
	}
}

func mustAbs(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
