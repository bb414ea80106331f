package e2e

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cg/ranks"
)

// accountingConf lets Slurm gather the energy of steps and keep it. %[1]s is its folder, %[2]d the
// port of slurmdbd.
const accountingConf = `AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=%[2]d
AccountingStoragePass=%[1]s/munge.sock
AccountingStorageTRES=energy
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1,energy=1
AcctGatherEnergyType=acct_gather_energy/pm_counters
AcctGatherNodeFreq=1
`

// slurmdbdConf is that of slurmdbd. %[1]s is its folder, %[2]s the host, and then come its port and that
// of its database.
const slurmdbdConf = `AuthType=auth/munge
AuthInfo=socket=%[1]s/munge.sock
DbdHost=%[2]s
DbdAddr=127.0.0.1
DbdPort=%[3]d
SlurmUser=root
LogFile=%[1]s/dbd.log
PidFile=%[1]s/dbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=%[4]d
StorageUser=root
StorageLoc=slurm
`

// seesCounters runs a command that sees DIR/cray as /sys/cray, where Slurm's plugin pm_counters reads
// the energy of a node. Nobody else sees it (mount_namespaces(7)).
func seesCounters(dir string) []string {
	return []string{"unshare", "-m", "sh", "-c", `mount --rbind /sys "$0/sys" && mount -t tmpfs none /sys &&
ln -s "$0"/sys/* /sys/ && ln -s "$0/cray" /sys/cray && exec "$@"`, dir}
}

// startAccounting starts slurmdbd with a database of the test's own, and makes counters for the
// nodes. It returns what slurm.conf needs for them; "" where this machine does not have what that takes.
func startAccounting(t *testing.T, dir, host string) string {
	t.Helper()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"slurmdbd", "mariadbd"} {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("CI") == "true" && os.Getenv("CG_NO_SLURM") == "" {
				t.Fatalf("%s is not installed", name)
			}
			t.Logf("%s is not installed: a stand-in answers for sacct", name)
			return ""
		}
	}
	for _, node := range []string{"n0", "n1"} {
		for _, sub := range []string{"/sys", "/cray/pm_counters"} {
			if err := os.MkdirAll(at(node+sub), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for name, text := range map[string]string{"energy": "1000 J 1\n", "power": "50 W 1\n"} {
			if err := os.WriteFile(at(node+"/cray/pm_counters/"+name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if out, err := launch(dir, nil, append(seesCounters(at(node)), "cat", "/sys/cray/pm_counters/energy")...); err != nil {
			t.Logf("a stand-in answers for sacct: nothing can be mounted here: %v: %s", err, out)
			return ""
		}
	}
	ports := freePorts(t, 2)
	conf := fmt.Sprintf(slurmdbdConf, dir, host, ports[0], ports[1])
	if err := os.WriteFile(at("slurmdbd.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	startDatabase(t, dir, ports[1])
	daemon(t, []string{"SLURM_CONF=" + at("slurm.conf")}, at("dbd.out"), "slurmdbd", "-D")
	if !soon(func() bool { return answers(ports[0]) }) {
		noSlurm(t, "slurmdbd does not start on this machine: %s", tail(at("dbd.out"), at("dbd.log"), at("db.out")))
	}
	return fmt.Sprintf(accountingConf, dir, ports[0])
}

// startDatabase starts a MariaDB that has nothing but its own tables, and lets everybody in who
// reaches it.
func startDatabase(t *testing.T, dir string, port int) {
	t.Helper()
	data := filepath.Join(dir, "db")
	if err := os.Mkdir(data, 0o755); err != nil {
		t.Fatal(err)
	}
	common := []string{"--no-defaults", "--user=root", "--datadir=" + data, "--innodb-log-file-size=4M"}
	tables := []io.Reader{strings.NewReader("create database mysql;\nuse mysql;\n")}
	for _, name := range []string{"mysql_system_tables.sql", "mysql_system_tables_data.sql"} {
		f, err := os.Open("/usr/share/mysql/" + name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		tables = append(tables, f)
	}
	first := exec.Command("mariadbd", append(common, "--bootstrap")...)
	first.Stdin = io.MultiReader(tables...)
	if out, err := first.CombinedOutput(); err != nil {
		noSlurm(t, "MariaDB makes no database on this machine: %v: %s", err, out)
	}
	daemon(t, nil, filepath.Join(dir, "db.out"), append([]string{"mariadbd"}, append(common, "--skip-grant-tables",
		"--bind-address=127.0.0.1", fmt.Sprint("--port=", port), "--socket="+filepath.Join(dir, "db.sock"),
		"--pid-file="+filepath.Join(dir, "db.pid"))...)...)
	if !soon(func() bool { return answers(port) }) {
		noSlurm(t, "MariaDB does not start on this machine: %s", tail(filepath.Join(dir, "db.out")))
	}
}

// answers reports whether somebody listens on a port.
func answers(port int) bool {
	c, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// slurmSays checks that cg shows what sacct tells of the step of a rank, beside its own figures.
func (c cluster) slurmSays(env []string, counters string, r ranks.Rank) {
	c.t.Helper()
	step, joules, said := r.Job+"."+r.Step, "1234", ""
	if !soon(func() bool { // slurmdbd is told when the step has ended
		if counters != "" {
			out, err := launch(c.dir, env, "sacct", "-n", "-P", "--jobs", step, "--format", "End,ConsumedEnergyRaw")
			end, text, _ := strings.Cut(strings.TrimSpace(out), "|")
			if joules = text; err != nil || end == "Unknown" || joules == "" || joules == "0" {
				said = out
				return false
			}
		}
		said, _ = launch(c.dir, env, os.Getenv("CG_TEST_BIN")+"/cg", "merge", "out")
		return strings.Contains(said, fmt.Sprintf(`"slurm":{"job_id":%q,"step_id":%q,"consumed_energy_j":%s,`+
			`"source":"sacct ConsumedEnergyRaw"}`, r.Job, r.Step, joules))
	}) {
		c.t.Errorf("the %s J of step %s are not beside cg's:\n%s", joules, step, said)
	}
}

// slurmKnows checks that Slurm's accounting finds the step of a run in which its counters stood
// still.
func (c cluster) slurmKnows(env []string, counters, dir string) {
	c.t.Helper()
	var said string
	if counters != "" && !soon(func() bool {
		said, _ = launch(c.dir, env, os.Getenv("CG_TEST_BIN")+"/cg", "report", dir)
		return strings.Contains(said, "sacct: Slurm gathers no energy here")
	}) {
		c.t.Errorf("%s: its step is not found:\n%s", dir, said)
	}
}
