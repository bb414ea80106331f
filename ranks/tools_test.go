package ranks

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// A stand-in for sacct answers as the real one does.
func TestAskSlurm(t *testing.T) {
	dir := t.TempDir()
	id := Identity{Launcher: Slurm, Job: "7", Step: "0"}
	number := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		what, script string
		id           Identity
		joules       *float64
		source       string
	}{
		{"energy", `[ "$4" = 7.0 ] && printf '7|9\n7.0|1234\n7.1|5\n'`, id, number(1234), "sacct ConsumedEnergyRaw"},
		{"no energy", `printf '7.0|0\n'`, id, nil, "sacct: Slurm gathers no energy here (AcctGatherEnergyType)"},
		{"no value", `printf '7.0|18446744073709551614\n'`, id, nil,
			"sacct: Slurm gathers no energy here (AcctGatherEnergyType)"},
		{"nonsense", `printf '7.0|many\n'`, id, nil, `sacct: ConsumedEnergyRaw "many" is no energy`},
		{"another step", `printf '8.0|3\n'`, id, nil, "sacct knows nothing of the step 7.0"},
		{"no accounting", `echo 'Slurm accounting storage is disabled' >&2; exit 1`, id, nil,
			"sacct: exit status 1 Slurm accounting storage is disabled"},
		{"another rank", `exit 9`, Identity{Launcher: Slurm, Job: "7", Step: "0", Rank: 1}, nil, "asked by rank 0"},
	} {
		if err := os.WriteFile(filepath.Join(dir, "sacct"), []byte("#!/bin/sh\n"+c.script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir)
		want := &SlurmStep{JobID: "7", StepID: "0", ConsumedEnergyJ: c.joules, Source: c.source}
		if got := AskSlurm(context.Background(), c.id); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", c.what, got, want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if got := AskSlurm(context.Background(), id); got == nil || got.Source != "sacct is not installed" {
		t.Errorf("without sacct: %+v", got)
	}
	if got := AskSlurm(context.Background(), Identity{Launcher: OpenMPI, Job: "7"}); got != nil {
		t.Errorf("outside of Slurm: %+v", got)
	}
}

func TestReadMPI(t *testing.T) {
	dir := t.TempDir()
	file := func(entries ...MPICalls) []byte {
		b := make([]byte, mpiHeader+mpiEntry*(len(entries)+2))
		copy(b, mpiMagic)
		for i, e := range entries {
			at := b[mpiHeader+mpiEntry*i:]
			copy(at, e.Function)
			for k, v := range []uint64{e.Calls, uint64(e.TimeNs), uint64(e.CPUNs)} {
				binary.NativeEndian.PutUint64(at[mpiName+8*k:], v)
			}
		}
		return b
	}
	write := func(name string, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("1.mpi", file(MPICalls{Function: "MPI_Send", Calls: 2, TimeNs: 10, CPUNs: 5},
		MPICalls{Function: "MPI_Barrier", Calls: 1, TimeNs: 100, CPUNs: 50}, MPICalls{Function: "MPI_Recv"}))
	write("2.mpi", file(MPICalls{Function: "MPI_Send", Calls: 1, TimeNs: 3, CPUNs: 5}))
	write("3.mpi", []byte("cut"))
	write("4.mpi", append([]byte("OTHER001"), make([]byte, 200)...))
	write("5.mpi", file(MPICalls{Function: "MPI_Send", Calls: 1})[:mpiHeader+20])
	want := []MPICalls{
		{Function: "MPI_Barrier", Calls: 1, TimeNs: 100, CPUNs: 50, EnergyUj: 500},
		{Function: "MPI_Send", Calls: 3, TimeNs: 13, CPUNs: 10, EnergyUj: 100},
	}
	if got := ReadMPI(dir, 1000, 100); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := ReadMPI(t.TempDir(), 1, 1); got != nil {
		t.Errorf("without files: %+v", got)
	}
}
