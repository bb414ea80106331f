package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"cg/ranks"
	merged "cg/report/cluster"
)

// standInMPI has what a library of MPI has: functions by two names in C, and in Fortran by those of
// the module mpi and those of mpi_f08 as Open MPI and as MPICH call them. A barrier calls another function of MPI.
const standInMPI = `#include <stdio.h>
int PMPI_Init(int *n, char ***v) { (void)n; (void)v; return 0; }
int MPI_Init(int *, char ***) __attribute__((weak, alias("PMPI_Init")));
int MPI_Allreduce(void *a, void *b, int n, int t, int op, int c);
int PMPI_Barrier(int c) { return MPI_Allreduce(0, 0, 0, 0, 0, c) - 6; }
int MPI_Barrier(int) __attribute__((weak, alias("PMPI_Barrier")));
int PMPI_Allreduce(void *a, void *b, int n, int t, int op, int c) { (void)a; (void)b; return n + t + op + c; }
int MPI_Allreduce(void *, void *, int, int, int, int) __attribute__((weak, alias("PMPI_Allreduce")));
void pmpi_barrier_(int *c, int *e) { *e = *c + 1; }
void mpi_barrier_(int *, int *) __attribute__((weak, alias("pmpi_barrier_")));
void pmpi_barrier_f08_(int *c, int *e) { *e = *c + 2; }
void mpi_barrier_f08_(int *, int *) __attribute__((weak, alias("pmpi_barrier_f08_")));
void pmpir_bcast_f08ts_(void *b, int *n, int *t, int *r, int *c, int *e) { (void)b; *e = *n + *t + *r + *c; }
void mpi_bcast_f08ts_(void *, int *, int *, int *, int *, int *) __attribute__((weak, alias("pmpir_bcast_f08ts_")));
void mpi_wait_f08_(int *r, void *s, int *e) { (void)s; *e = *r + 9; }
int PMPI_Finalize(void) { return 0; }
int MPI_Finalize(void) __attribute__((weak, alias("PMPI_Finalize")));
`

// standInProgram calls it, and looks whether what it gave arrived.
const standInProgram = `int MPI_Init(int *, char ***), MPI_Barrier(int), MPI_Finalize(void);
int MPI_Allreduce(void *, void *, int, int, int, int);
void mpi_barrier_(int *, int *), mpi_barrier_f08_(int *, int *), mpi_wait_f08_(int *, void *, int *);
void mpi_bcast_f08ts_(void *, int *, int *, int *, int *, int *);
int main(int argc, char **argv) {
	int e[4], c = 6;
	MPI_Init(&argc, &argv);
	if (MPI_Barrier(c) != 0 || MPI_Allreduce(0, 0, 1, 2, 3, 4) != 10)
		return 1;
	mpi_barrier_(&c, &e[0]);
	mpi_barrier_f08_(&c, &e[1]);
	mpi_bcast_f08ts_(0, &c, &c, &c, &c, &e[2]);
	mpi_wait_f08_(&c, 0, &e[3]);
	MPI_Finalize();
	return !(e[0] == 7 && e[1] == 8 && e[2] == 24 && e[3] == 15);
}
`

// TestRanksOfAnyMPI needs no MPI: what is called through any name is counted once, reaches the
// library, and comes back.
func TestRanksOfAnyMPI(t *testing.T) {
	cc := needed(t, "cc")
	c := newCluster(t, 1)
	for name, text := range map[string]string{"mpi.c": standInMPI, "p.c": standInProgram} {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"-shared", "-fPIC", "-o", "libmpi.so", "mpi.c"},
		{"-o", "p", "p.c", "-L.", "-lmpi", "-Wl,-rpath," + c.dir}} {
		if out, err := launch(c.dir, nil, append([]string{cc}, args...)...); err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	var commands []*exec.Cmd
	for r := range 2 {
		cmd := c.rank("n0", 0, 1, "run", "--ranks", "out", "--", "./p")
		cmd.Env = append(cmd.Env, "CG_RANK=", "CG_SIZE=", fmt.Sprintf("PMI_RANK=%d", r), "PMI_SIZE=2")
		commands = append(commands, cmd)
	}
	all(t, commands)
	want := map[string]uint64{"MPI_Init": 1, "MPI_Finalize": 1, "MPI_Barrier": 3, "MPI_Allreduce": 1, "MPI_Bcast": 1,
		"MPI_Wait": 1}
	for _, r := range c.read("out").ranks {
		got := map[string]uint64{}
		for _, m := range r.MPI {
			got[m.Function] = m.Calls
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("rank %d: %v, want %v", r.Rank, got, want)
		}
	}
	c.empty()
}

// fortranMPI calls MPI through both of Fortran's modules.
const fortranMPI = `subroutine old()
  use mpi
  implicit none
  integer :: e, f
  call MPI_Barrier(MPI_COMM_WORLD, e)
  call MPI_File_open(MPI_COMM_WORLD, 'data', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, f, e)
  if (e /= MPI_SUCCESS) stop 3
  call MPI_File_close(f, e)
end subroutine

program p
  use mpi_f08
  implicit none
  integer :: rank, one, total
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  one = 1
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_Allreduce(one, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) call MPI_Send(total, 1, MPI_INTEGER, 1, 7, MPI_COMM_WORLD)
  if (rank == 1) call MPI_Recv(total, 1, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call old()
  call MPI_Finalize()
  if (total /= 2) stop 4
end program
`

func TestRanksOfFortran(t *testing.T) {
	for _, mpi := range []string{ranks.OpenMPI, ranks.MPICH} {
		t.Run(mpi, func(t *testing.T) {
			run, compiler := needed(t, "mpirun."+mpi), needed(t, "mpifort."+mpi)
			needed(t, "gfortran")
			c := newCluster(t, 1)
			if err := os.WriteFile(filepath.Join(c.dir, "p.f90"), []byte(fortranMPI), 0o644); err != nil {
				t.Fatal(err)
			}
			if out, err := launch(c.dir, nil, compiler, "-o", "p", "p.f90"); err != nil {
				t.Fatalf("%s: %v: %s", compiler, err, out)
			}
			if out, err := launch(c.dir, mpiEnvironment, run, "-n", "2", "./p"); err != nil {
				noMPI(t, mpi, err, out)
			}
			script := c.nodeScript(2, "run --ranks out -- ./p")
			if out, err := launch(c.dir, mpiEnvironment, run, "-n", "2", script); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for _, r := range c.read("out").ranks {
				want := map[string]uint64{"MPI_Init": 1, "MPI_Barrier": 3, "MPI_Allreduce": 1, "MPI_File_open": 1,
					"MPI_File_close": 1, "MPI_Finalize": 1, "MPI_Send": uint64(1 - r.Rank), "MPI_Recv": uint64(r.Rank)}
				for function, n := range want {
					if got := calls(r, function); got != n {
						t.Errorf("rank %d: %d calls of %s, want %d", r.Rank, got, function, n)
					}
				}
			}
			if _, err := os.Stat(filepath.Join(c.dir, "data")); err != nil {
				t.Error(err)
			}
			c.empty()
		})
	}
}

// javaRank is a program of a rank in Java, which moves its node's counter.
const javaRank = `import java.io.RandomAccessFile;
import java.nio.channels.FileChannel;
import java.nio.file.*;

public class Work {
    static double burn(int rounds) {
        double x = 0;
        for (int i = 1; i < rounds * 100000; i++) x += Math.sin(i);
        return x;
    }

    static void add(String root, long uj) throws Exception {
        try (RandomAccessFile lock = new RandomAccessFile(root + "/lock", "rw"); var held = lock.getChannel().lock()) {
            Path counter = Path.of(root, "sys/class/powercap/intel-rapl:0/energy_uj");
            long now = Long.parseLong(Files.readString(counter).trim());
            try (FileChannel to = FileChannel.open(counter, StandardOpenOption.WRITE)) {
                to.write(java.nio.ByteBuffer.wrap(((now + uj) + "\n").getBytes()));
            }
        }
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 3; i++) {
            if (burn(20) == 1) System.out.println();
            add(System.getenv("CG_SYSROOT"), 100003);
        }
    }
}
`

func TestRanksOfJava(t *testing.T) {
	needed(t, "javac")
	c := newCluster(t, 1)
	if err := os.WriteFile(filepath.Join(c.dir, "Work.java"), []byte(javaRank), 0o644); err != nil {
		t.Fatal(err)
	}
	var commands []*exec.Cmd
	for r := range 2 {
		commands = append(commands, c.rank("n0", r, 2, "measure", "-g", "fine", "--ranks", "out", "Work.java"))
	}
	all(t, commands)
	l := c.read("out")
	if got, want := l.total("n0"), c.moved("n0"); got != want || want != 2*3*100003 || len(l.ranks) != 2 {
		t.Errorf("%d ranks; %d uJ in the record, and the counter moved by %d", len(l.ranks), got, want)
	}
	d, err := merged.Merge(filepath.Join(c.dir, "out"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if faults := d.Check(); len(faults) > 0 {
		t.Errorf("%q", faults)
	}
	found := false
	for _, f := range d.Functions {
		if strings.HasSuffix(f.Name, "Work.burn") {
			found = f.Ranks == 2 && f.Calls == 6 && f.Language == "java"
		}
	}
	if !found || d.Meta.Language != "java" {
		t.Errorf("burn of two ranks is not there: %+v", d.Functions)
	}
	c.empty()
}
