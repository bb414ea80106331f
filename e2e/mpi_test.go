package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cg/long"
	"cg/ranks"
)

// mpiProgram is a program of MPI that uses the processor, waits for others, and moves the
// counter of its node.
const mpiProgram = `#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static void burn(double seconds) {
	clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
	while (clock() < end) {}
}

static void add(const char *root, long uj) {
	char name[4096];
	snprintf(name, sizeof name, "%s/lock", root);
	FILE *lock = fopen(name, "w");
	flock(fileno(lock), LOCK_EX);
	snprintf(name, sizeof name, "%s/sys/class/powercap/intel-rapl:0/energy_uj", root);
	FILE *f = fopen(name, "r+");
	long now;
	if (fscanf(f, "%ld", &now) != 1)
		exit(9);
	rewind(f);
	fprintf(f, "%ld\n", now + uj);
	fclose(f);
	fclose(lock);
}

int main(int argc, char **argv) {
	int rank, size;
	long one = 1, sum = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < 3; i++) {
		burn(0.01 * (rank % 2 + 1));
		if (argc > 1)
			add(getenv("CG_SYSROOT"), 50021);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		MPI_Send(&sum, 1, MPI_LONG, 1, 7, MPI_COMM_WORLD);
	if (rank == 1)
		MPI_Recv(&sum, 1, MPI_LONG, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Finalize();
	return sum == size ? 0 : 7;
}
`

// pythonMPI is such a program in Python.
const pythonMPI = `from mpi4py import MPI

def compute():
    return sum(i * i for i in range(100000))

compute()
comm = MPI.COMM_WORLD
comm.Barrier()
comm.Barrier()
assert comm.allreduce(1) == comm.Get_size()
`

// mpiEnvironment lets MPI run as root, on few processors, with nothing but this machine.
var mpiEnvironment = []string{
	"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_plm=isolated",
	"OMPI_MCA_rmaps_base_oversubscribe=1", "OMPI_MCA_hwloc_base_binding_policy=none", "OMPI_MCA_mpi_yield_when_idle=1",
	"OMPI_MCA_btl_vader_single_copy_mechanism=none", "PRTE_ALLOW_RUN_AS_ROOT=1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1",
	"PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe",
}

// needed is the path of a tool. A user's machine need not have it.
func needed(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed", name)
	}
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

// noMPI ends a test whose MPI does not start a program, also without cg. In CI, where it was
// installed for the tests, that is a failure.
func noMPI(t *testing.T, mpi string, err error, out string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s starts no program on this machine, without cg: %v: %s", mpi, err, out)
	}
	t.Skipf("%s starts no program on this machine, without cg: %v: %s", mpi, err, out)
}

// launch runs a command of a launcher to its end, in some minutes at most.
func launch(dir string, env []string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// nodeScript starts a rank with the node that it is on: the lower half of them on n0.
func (c cluster) nodeScript(half int, command string) string {
	c.t.Helper()
	path := filepath.Join(c.dir, "node.sh")
	text := fmt.Sprintf(`#!/bin/sh
r=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$SLURM_PROCID}}
export CG_NODE=n$((r / %d)) CG_NODE_DIR=%[2]s/shm
export CG_SYSROOT=%[2]s/$CG_NODE
exec %s/cg %s
`, half, c.dir, os.Getenv("CG_TEST_BIN"), command)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// calls are how often a rank called a function of MPI.
func calls(r ranks.Rank, function string) uint64 {
	for _, m := range r.MPI {
		if m.Function == function {
			return m.Calls
		}
	}
	return 0
}

func TestRanksOfMPI(t *testing.T) {
	for _, mpi := range []string{ranks.OpenMPI, ranks.MPICH} {
		t.Run(mpi, func(t *testing.T) {
			if mpi == ranks.MPICH {
				long.Skip(t, "ranks of C run with it")
			}
			run, compiler := needed(t, "mpirun."+mpi), needed(t, "mpicc."+mpi)
			c := newCluster(t, 2)
			if err := os.WriteFile(filepath.Join(c.dir, "p.c"), []byte(mpiProgram), 0o644); err != nil {
				t.Fatal(err)
			}
			if out, err := launch(c.dir, nil, compiler, "-O1", "-o", "p", "p.c"); err != nil {
				t.Fatalf("%s: %v: %s", compiler, err, out)
			}
			if out, err := launch(c.dir, mpiEnvironment, run, "-n", "8", "./p"); err != nil {
				noMPI(t, mpi, err, out)
			}
			const size, half = 8, 4
			script := c.nodeScript(half, "run --ranks out -- ./p add")
			if out, err := launch(c.dir, mpiEnvironment, run, "-n", fmt.Sprint(size), script); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			l := c.read("out")
			for _, node := range []string{"n0", "n1"} {
				if got, want := l.total(node), c.moved(node); got != want || want != half*3*50021 {
					t.Errorf("%s: %d uJ in the records, and the counter moved by %d", node, got, want)
				}
			}
			if holes := l.holes(); len(holes) > 0 {
				t.Errorf("holes: %q", holes)
			}
			if len(l.ranks) != size {
				t.Errorf("%d ranks, want %d", len(l.ranks), size)
			}
			for _, r := range l.ranks {
				c.checkMPI(r, mpi)
			}
			c.empty()
		})
	}
}

// checkMPI checks what a rank of mpiProgram has spent in MPI.
func (c cluster) checkMPI(r ranks.Rank, mpi string) {
	c.t.Helper()
	if r.Launcher != mpi || r.Size != 8 || r.LocalRank < 0 {
		c.t.Errorf("rank %d: %+v", r.Rank, r.Identity)
	}
	want := map[string]uint64{"MPI_Init": 1, "MPI_Finalize": 1, "MPI_Barrier": 3, "MPI_Allreduce": 1}
	switch r.Rank {
	case 0:
		want["MPI_Send"] = 1
	case 1:
		want["MPI_Recv"] = 1
	}
	var energy uint64
	for _, m := range r.MPI {
		if m.Calls != want[m.Function] {
			c.t.Errorf("rank %d: %d calls of %s, want %d", r.Rank, m.Calls, m.Function, want[m.Function])
		}
		delete(want, m.Function)
		if m.TimeNs <= 0 || m.CPUNs < 0 {
			c.t.Errorf("rank %d: %+v", r.Rank, m)
		}
		energy += m.EnergyUj
	}
	if len(want) > 0 || energy > r.ShareUj["package-0"]+1 {
		c.t.Errorf("rank %d: not seen: %v; %d uJ in MPI of %d", r.Rank, want, energy, r.ShareUj["package-0"])
	}
}

func TestRanksOfMPI4Py(t *testing.T) {
	run := needed(t, "mpirun.openmpi")
	const python = "/usr/bin/python3"
	if out, err := exec.Command(python, "-c", "import mpi4py").CombinedOutput(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("mpi4py is not installed: %s", out)
		}
		t.Skip("mpi4py is not installed")
	}
	c := newCluster(t, 1)
	if err := os.WriteFile(filepath.Join(c.dir, "p.py"), []byte(pythonMPI), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := launch(c.dir, mpiEnvironment, run, "-n", "2", python, "p.py"); err != nil {
		noMPI(t, "mpi4py", err, out)
	}
	script := c.nodeScript(2, "measure -g fine --python "+python+" --ranks out p.py")
	if out, err := launch(c.dir, mpiEnvironment, run, "-n", "2", script); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	l := c.read("out")
	for _, r := range l.ranks {
		if got := calls(r, "MPI_Barrier"); got != 2 {
			t.Errorf("rank %d: %d barriers, want 2: %+v", r.Rank, got, r.MPI)
		}
		b, err := os.ReadFile(l.folder.RunPath(r))
		if err != nil || !strings.Contains(string(b), `"__main__.compute"`) {
			t.Errorf("rank %d: its report has no function compute (%v)", r.Rank, err)
		}
	}
	if len(l.ranks) != 2 || len(l.holes()) > 0 {
		t.Errorf("%d ranks, want 2; holes: %q", len(l.ranks), l.holes())
	}
}

// TestRanksOfTorchrun has a launcher that sets what torchrun sets.
func TestRanksOfTorchrun(t *testing.T) {
	python(t)
	c := newCluster(t, 1)
	var commands []*exec.Cmd
	for r := range 4 {
		cmd := c.rank("n0", 0, 1, "measure", "--ranks", "out", "main.py", "2", "100003")
		for _, name := range []string{"CG_RANK", "CG_SIZE"} { // not torchrun's
			cmd.Env = append(cmd.Env, name+"=")
		}
		cmd.Env = append(cmd.Env, fmt.Sprintf("RANK=%d", r), "WORLD_SIZE=4", fmt.Sprintf("LOCAL_RANK=%d", r),
			"LOCAL_WORLD_SIZE=4", "TORCHELASTIC_RUN_ID=job1")
		commands = append(commands, cmd)
	}
	text, err := os.ReadFile(filepath.Join(c.dir, "main.py"))
	if err == nil {
		text = bytes.ReplaceAll(text, []byte("CG_RANK"), []byte("RANK"))
		err = os.WriteFile(filepath.Join(c.dir, "main.py"), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	all(t, commands)
	l := c.read("out")
	if got, want := l.total("n0"), c.moved("n0"); got != want || want != 4*2*100003 || len(l.ranks) != 4 {
		t.Errorf("%d ranks; %d uJ in the record, and the counter moved by %d", len(l.ranks), got, want)
	}
	for _, r := range l.ranks {
		if r.Launcher != ranks.Torchrun || r.Job != "job1" {
			t.Errorf("rank %d: %+v", r.Rank, r.Identity)
		}
	}
}
