package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cg/ranks"
	"cg/report"
)

// rankProgram is a program of a rank: it uses the processor and moves the counter of its
// node, as often as its arguments say. Between the two it waits for a file, if it is given one.
const rankProgram = `import fcntl, os, sys, time
root, times, uj = os.environ["CG_SYSROOT"], int(sys.argv[1]), int(sys.argv[2])
wait = sys.argv[3] if len(sys.argv) > 3 else ""

def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

def add():
    with open(root + "/lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with open(root + "/sys/class/powercap/intel-rapl:0/energy_uj", "r+") as f:
            now = int(f.read())
            f.seek(0)
            f.write("%d\n" % (now + uj))

burn(0.02)
if wait:
    open(wait + ".here" + os.environ["CG_RANK"], "w").close()
    end = time.time() + 120
    while not os.path.exists(wait) and time.time() < end:
        time.sleep(0.01)
for i in range(times):
    burn(0.01)
    add()
`

// cluster is a machine that is taken for several nodes, with a counter each.
type cluster struct {
	dir string // the counters below n0, n1 and so on, the program main.py, and what ranks write: out
	t   *testing.T
}

const firstUj = 1_000_000

func newCluster(t *testing.T, nodes int) cluster {
	t.Helper()
	c := cluster{t.TempDir(), t}
	write := func(name, text string) {
		path := filepath.Join(c.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for n := range nodes {
		zone := fmt.Sprintf("n%d/sys/class/powercap/intel-rapl:0/", n)
		write(zone+"name", "package-0\n")
		write(zone+"energy_uj", fmt.Sprintln(firstUj))
		write(zone+"max_energy_range_uj", "262143328850\n")
	}
	write("main.py", rankProgram)
	write("shm/.here", "")
	return c
}

// rank is the command of a rank on a node.
func (c cluster) rank(node string, rank, size int, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "CG_NODE="+node, "CG_SYSROOT="+filepath.Join(c.dir, node),
		"CG_NODE_DIR="+filepath.Join(c.dir, "shm"), "CG_RANK="+strconv.Itoa(rank), "CG_SIZE="+strconv.Itoa(size))
	return cmd
}

// moved is by how much a node's counter moved.
func (c cluster) moved(node string) uint64 {
	b, err := os.ReadFile(filepath.Join(c.dir, node, "sys/class/powercap/intel-rapl:0/energy_uj"))
	if err != nil {
		c.t.Fatal(err)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		c.t.Fatal(err)
	}
	return n - firstUj
}

// left is what ranks left in their folder.
type left struct {
	folder *ranks.Folder
	ranks  []ranks.Rank
	nodes  []ranks.Node
}

// read reads the folder of a run, and checks that each ledger adds up and that a rank's report has
// what its node's record says.
func (c cluster) read(dir string) (l left) {
	c.t.Helper()
	var err error
	if l.folder, err = ranks.Open(filepath.Join(c.dir, dir)); err != nil {
		c.t.Fatal(err)
	}
	for r, err := range l.folder.Ranks() {
		if err != nil {
			c.t.Fatal(err)
		}
		l.ranks = append(l.ranks, r)
	}
	shares, less, more := map[int]uint64{}, map[int]uint64{}, map[int]uint64{}
	for n, err := range l.folder.Nodes() {
		if err != nil {
			c.t.Fatal(err)
		}
		for _, fault := range n.Unsound() {
			c.t.Error(fault)
		}
		for _, s := range n.Ranks {
			for d, uj := range s.ShareUj {
				if n.Domains[d].InTotal {
					shares[s.Rank] += uj
					less[s.Rank] += s.LessUj[d]
					more[s.Rank] += s.MoreUj[d]
				}
			}
		}
		l.nodes = append(l.nodes, n)
	}
	for _, r := range l.ranks {
		path := l.folder.RunPath(r)
		if path == "" {
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			c.t.Fatal(err)
		}
		var run report.Run
		if err := json.Unmarshal(b, &run); err != nil {
			c.t.Fatal(err)
		}
		if !r.Settled {
			c.t.Errorf("rank %d is not settled: %v", r.Rank, r.Warnings)
		}
		e := run.Totals.EnergyJ
		if e == nil && shares[r.Rank] == 0 && r.ShareUj["package-0"] == 0 {
			continue // a counter that did not move tells nothing
		}
		if e == nil || uint64(*e) != shares[r.Rank] || r.ShareUj["package-0"] != shares[r.Rank] {
			c.t.Errorf("rank %d: the report has %v, its file %d uJ, its node's record %d uJ", r.Rank, e,
				r.ShareUj["package-0"], shares[r.Rank])
		}
		if lo, hi := run.Totals.LoJ, run.Totals.HiJ; e != nil && (lo == nil || hi == nil ||
			uint64(*lo)+min(uint64(*e), less[r.Rank]) > uint64(*e)+1 || uint64(*hi)+1 < uint64(*e)+more[r.Rank]) {
			c.t.Errorf("rank %d: %+v, and its share may be less by %d uJ or more by %d", r.Rank, run.Totals, less[r.Rank],
				more[r.Rank])
		}
	}
	return l
}

// total is what a node's records have of its counter.
func (l left) total(node string) (uj uint64) {
	for _, n := range l.nodes {
		if n.Node == node {
			uj += n.Domains[0].TotalUj
		}
	}
	return uj
}

func (l left) holes() (texts []string) {
	for _, h := range ranks.Holes(l.folder.Marker, l.ranks, l.nodes) {
		texts = append(texts, h.Text)
	}
	return texts
}

// empty expects that nothing is left of the boards.
func (c cluster) empty() {
	c.t.Helper()
	if names := list(c.t, filepath.Join(c.dir, "shm"), ".here"); len(names) > 0 {
		c.t.Errorf("left in the nodes' shared memory: %q", names)
	}
}

// all starts commands and waits for their ends.
func all(t *testing.T, commands []*exec.Cmd) {
	t.Helper()
	outs := make([]strings.Builder, len(commands))
	for i, cmd := range commands {
		cmd.Stdout, cmd.Stderr = &outs[i], &outs[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for i, cmd := range commands {
		if err := cmd.Wait(); err != nil {
			t.Errorf("rank %d: %v: %s", i, err, outs[i].String())
		}
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after a minute: not %s", what)
		}
	}
}

func TestRanksOfTwoNodes(t *testing.T) {
	python(t)
	c := newCluster(t, 2)
	var commands []*exec.Cmd
	for r := range 4 {
		args := []string{"measure", "-g", "fine", "--ranks", "out", "main.py", "5", "100003"}
		if r == 3 {
			args = []string{"run", "--ranks", "out", "--", "python3", "main.py", "5", "100003"}
		}
		commands = append(commands, c.rank([]string{"n0", "n1"}[r/2], r, 4, args...))
	}
	all(t, commands)
	l := c.read("out")
	if len(l.ranks) != 4 {
		t.Errorf("%d ranks, want 4", len(l.ranks))
	}
	for _, node := range []string{"n0", "n1"} {
		if got, want := l.total(node), c.moved(node); got != want || want != 2*5*100003 {
			t.Errorf("%s: %d uJ in the records, and the counter moved by %d", node, got, want)
		}
	}
	if holes := l.holes(); len(holes) > 0 {
		t.Errorf("holes: %q", holes)
	}
	for _, n := range l.nodes {
		for _, o := range n.Offsets { // of one clock
			if o.Method == ranks.ByPing && (*o.LoNs > 0 || *o.HiNs < 0) {
				t.Errorf("%s: the clock is off by %d to %d ns from its own", n.Node, *o.LoNs, *o.HiNs)
			}
		}
	}
	c.empty()
	for _, args := range [][]string{{"merge", "out", "-o", "run.json"}, {"verify", "run.json", "out"}} {
		if out, err := launch(c.dir, nil, append([]string{os.Getenv("CG_TEST_BIN") + "/cg"}, args...)...); err != nil {
			t.Errorf("%q: %v: %s", args, err, out)
		}
	}
	cmd := c.rank("n0", 0, 4, "run", "--ranks", "out", "--", "true")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "rank 0 is there already") {
		t.Errorf("a second run in the folder: %v: %s", err, out)
	}
}

// waiting starts two ranks whose programs wait in the middle, and returns when both do. Their
// counters move when they go on.
func waiting(t *testing.T) (c cluster, commands []*exec.Cmd, goOn func()) {
	t.Helper()
	python(t)
	c = newCluster(t, 1)
	wait := filepath.Join(c.dir, "go")
	for r := range 2 {
		cmd := c.rank("n0", r, 2, "run", "--ranks", "out", "--", "python3", "main.py", "3", "70001", wait)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		commands = append(commands, cmd)
	}
	goOn = func() {
		if err := os.WriteFile(wait, nil, 0o644); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(goOn)
	here := func(r int) bool { _, err := os.Stat(fmt.Sprintf("%s.here%d", wait, r)); return err == nil }
	eventually(t, "both programs run", func() bool { return here(0) && here(1) })
	return c, commands, goOn
}

func TestRankThatIsKilled(t *testing.T) {
	c, commands, goOn := waiting(t)
	var pid int
	for _, r := range c.read("out").ranks {
		if r.Rank == 1 {
			pid = r.PID
		}
	}
	if pid == 0 {
		t.Fatal("rank 1 has no file")
	}
	unix.Kill(pid, unix.SIGKILL)
	commands[1].Wait()
	lost := func() bool {
		for _, n := range c.read("out").nodes {
			if slices.ContainsFunc(n.Ranks, func(s ranks.Share) bool { return s.Rank == 1 && s.State == ranks.Lost }) {
				return true
			}
		}
		return false
	}
	eventually(t, "rank 1 lost", lost)
	goOn()
	if err := commands[0].Wait(); err != nil {
		t.Error(err)
	}
	l := c.read("out")
	holes := l.holes()
	if want := "rank 1 on n0 was killed"; len(holes) == 0 || !strings.Contains(strings.Join(holes, "\n"), want) {
		t.Errorf("holes %q, want %s", holes, want)
	}
	c.empty()
}

func TestMeasurerThatIsKilled(t *testing.T) {
	c, commands, goOn := waiting(t)
	nodes := c.read("out").nodes
	if len(nodes) != 1 || len(nodes[0].Measurers) != 1 {
		t.Fatalf("records: %+v", nodes)
	}
	pid := nodes[0].Measurers[0].PID
	for _, sig := range []unix.Signal{unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGQUIT, unix.SIGINT, unix.SIGTERM,
		unix.SIGHUP} { // what stops or ends a rank is not meant for its node
		if !ignores(t, pid, sig) {
			t.Errorf("the measurer does not ignore %s", unix.SignalName(sig))
		}
	}
	unix.Kill(pid, unix.SIGKILL)
	eventually(t, "another measurer", func() bool {
		nodes := c.read("out").nodes
		return len(nodes) == 1 && len(nodes[0].Measurers) == 2
	})
	goOn()
	for r, cmd := range commands {
		if err := cmd.Wait(); err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
	l := c.read("out")
	if got, want := l.total("n0"), c.moved("n0"); got != want || want != 2*3*70001 {
		t.Errorf("%d uJ in the record, and the counter moved by %d", got, want)
	}
	want := fmt.Sprintf("node n0: its measurer (process %d) was killed, and nobody sampled its counters for", pid)
	if holes := l.holes(); len(holes) != 1 || !strings.HasPrefix(holes[0], want) {
		t.Errorf("holes %q, want %s", holes, want)
	}
	c.empty()
}

// A rank whose processors change while it runs is said to have moved.
func TestRankThatMoves(t *testing.T) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil || set.Count() < 2 {
		t.Skipf("one processor: there is no other one (%v)", err)
	}
	c := newCluster(t, 1)
	cmd := c.rank("n0", 0, 1, "run", "--ranks", "out", "--", os.Args[0])
	cmd.Env = append(cmd.Env, "CG_MOVE_PARENT=1")
	all(t, []*exec.Cmd{cmd})
	out, err := launch(c.dir, nil, os.Getenv("CG_TEST_BIN")+"/cg", "report", "out")
	if err != nil || !strings.Contains(out, ", moved") || !strings.Contains(out, "rank-moved: rank 0: it was bound to") {
		t.Errorf("%v: it is not said that the rank moved:\n%s", err, out)
	}
}

// moveParent binds the process that started this one to one of its processors.
func moveParent() error {
	var set, one unix.CPUSet
	if err := unix.SchedGetaffinity(os.Getppid(), &set); err != nil {
		return err
	}
	for cpu := 0; one.Count() == 0; cpu++ {
		if set.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", os.Getppid()))
	for _, task := range tasks {
		if tid, err := strconv.Atoi(task.Name()); err == nil {
			unix.SchedSetaffinity(tid, &one)
		}
	}
	return err
}

// ignores reports whether a process ignores a signal (proc(5), SigIgn).
func ignores(t *testing.T, pid int, sig unix.Signal) bool {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, mask, _ := strings.Cut(string(b), "SigIgn:")
	bits, err := strconv.ParseUint(strings.Fields(mask)[0], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return bits>>(sig-1)&1 == 1
}

// launchersVariables lists the variables of an environment by which a launcher tells a process
// its rank, or what belongs to it.
func launchersVariables(environ []string) (names []string) {
	prefixes := []string{"SLURM", "SBATCH_", "SRUN_", "OMPI_", "OPAL_", "PMI", "PRTE_", "MPI_LOCAL", "HYDI_", "HYDRA_",
		"MPIR_", "RAY_", "TORCHELASTIC_", "CG_LOCAL_"}
	exact := []string{"CG_RANK", "CG_SIZE", "CG_JOB", "CG_NODE", "CG_NODE_DIR", ranks.MPIVariable, "RANK", "WORLD_SIZE",
		"LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "ROLE_RANK", "ROLE_WORLD_SIZE"}
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		if slices.Contains(exact, name) ||
			slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			names = append(names, name)
		}
	}
	return names
}

// Tests that are started as a rank are none.
func TestLaunchersVariables(t *testing.T) {
	set := map[string]string{"CG_RANK": "0", "SLURM_PROCID": "0", "OMPI_COMM_WORLD_RANK": "0", "PMI_RANK": "0",
		"PMIX_RANK": "0", "MPI_LOCALRANKID": "0", "RAY_RANK": "0", "RANK": "0", "WORLD_SIZE": "1",
		"TORCHELASTIC_RUN_ID": "x", "SLURM_JOB_ID": "7", "PRTE_MCA_x": "y"}
	environ := []string{"PATH=/bin", "CG_TEST_BIN=/x", "HOME=/"}
	for name, value := range set {
		environ = append(environ, name+"="+value)
	}
	for _, name := range launchersVariables(environ) {
		if _, launchers := set[name]; !launchers {
			t.Errorf("%s is no launcher's", name)
		}
		delete(set, name)
	}
	id, err := ranks.Identify(func(name string) string { return set[name] })
	if err != nil || id.Launcher != ranks.Nobody || len(set) > 0 {
		t.Errorf("%+v, %v; left: %q", id, err, set)
	}
	if left := launchersVariables(os.Environ()); len(left) > 0 {
		t.Errorf("the tests run with %q", left)
	}
}

func TestRanksRefused(t *testing.T) {
	c := newCluster(t, 1)
	other := filepath.Join(c.dir, "other")
	os.Mkdir(other, 0o755)
	if err := os.WriteFile(filepath.Join(other, "cg-ranks.json"), []byte(`{"format":1,"cg_version":"0.0.9","size":1}`),
		0o644); err != nil {
		t.Fatal(err)
	}
	defer c.empty()
	for _, c := range []struct {
		what string
		cmd  *exec.Cmd
		want string
	}{
		{"two versions of cg", c.rank("n0", 0, 1, "run", "--ranks", "other", "--", "true"),
			"belongs to ranks that cg 0.0.9 measures, and this is cg 0.1.0"},
		{"a file of its own", c.rank("n0", 0, 1, "measure", "--ranks", "out", "-o", "x.json", "main.py"),
			"--ranks: each rank writes its report into out, so --output does not go with it"},
		{"runs", c.rank("n0", 0, 1, "run", "-n", "3", "--ranks", "out", "--", "true"), "so --repeat does not go with it"},
		{"a rank that is none", c.rank("n0", -1, 1, "run", "--ranks", "out", "--", "true"), `CG_RANK="-1": want a number`},
		{"no such sensor", c.rank("n0", 0, 1, "run", "--ranks", "out", "-s", "psu", "--", "true"), `"psu"`},
	} {
		if out, err := c.cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v: %s", c.what, err, out)
		}
	}
}
