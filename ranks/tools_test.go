package ranks

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// A stand-in for sacct answers as the real one of Slurm 22.05.8 does. Its lines are from a cluster with
// slurmdbd and acct_gather_energy/pm_counters: a step, a heterogeneous one and one of an array.
func TestAskSlurm(t *testing.T) {
	dir := t.TempDir()
	id := Identity{Launcher: Slurm, Job: "7", Step: "0"}
	number := func(v float64) *float64 { return &v }
	const none = "sacct: Slurm gathers no energy here (AcctGatherEnergyType)"
	const lacking = "sacct: Slurm gathers no energy of a part of the step"
	for _, c := range []struct {
		what, script string
		id           Identity
		joules       *float64
		source       string
	}{
		{"energy", `[ "$4,$SLURM_TIME_FORMAT" = 7.0,%s ] && printf '7.0|7.0|1795449595|1795449599|600\n'`, id, number(600),
			"sacct ConsumedEnergyRaw"},
		{"a step that runs", `printf '7.0|7.0|1795449595|Unknown|0\n'`, id, nil, StillRan},
		{"parts", `printf '7+0.0|7.0|1795449595|1795449599|100\n7+1.0|8.0|1795449595|1795449599|50\n'`, id, number(150),
			"sacct ConsumedEnergyRaw"},
		{"a part that runs", `printf '7+0.0|7.0|1795449595|1795449599|0\n7+1.0|8.0|1795449595|Unknown|0\n'`, id, nil,
			StillRan},
		{"a part without a value",
			`printf '7+0.0|7.0|1795449595|1795449599|100\n7+1.0|8.0|1795449595|1795449599|18446744073709551614\n'`, id, nil,
			lacking},
		{"a part of nothing", `printf '7+0.0|7.0|1795449595|1795449599|0\n7+1.0|8.0|1795449595|1795449599|50\n'`, id, nil,
			lacking},
		{"parts without", `printf '7+0.0|7.0|1795449595|1795449599|0\n7+1.0|8.0|1795449595|1795449599|\n'`, id, nil, none},
		{"no number", `printf '7.0|7.0|1795449595|1795449599|NaN\n'`, id, nil,
			`sacct: ConsumedEnergyRaw "NaN" is no energy`},
		{"of an array", `printf '5_2.0|7.0|1795449595|1795449599|9\n'`, id, number(9), "sacct ConsumedEnergyRaw"},
		{"no energy", `printf '7.0|7.0|1795449595|1795449599|0\n'`, id, nil, none},
		{"no value", `printf '7.0|7.0|1795449595|1795449599|18446744073709551614\n'`, id, nil, none},
		{"nothing", `printf '7.0|7.0|1795449595|1795449599|\n'`, id, nil, none},
		{"nonsense", `printf '7.0|7.0|1795449595|1795449599|many\n'`, id, nil,
			`sacct: ConsumedEnergyRaw "many" is no energy`},
		{"another step", `printf '8.0|8.0|1795449595|1795449599|3\n'`, id, nil, "sacct knows nothing of the step 7.0"},
		{"an older job", `printf '7.0|7.0|1795440000|1795440010|3\n'`, id, nil,
			"sacct: the step 7.0 that it knows is another one, which had ended"},
		{"a later job", `printf '7.0|7.0|1795459595|1795459599|3\n'`, id, nil,
			"sacct: the step 7.0 that it knows is another one, of a later time"},
		{"no accounting", `echo 'Slurm accounting storage is disabled' >&2; exit 1`, id, nil,
			"sacct: exit status 1 Slurm accounting storage is disabled"},
		{"another rank", `exit 9`, Identity{Launcher: Slurm, Job: "7", Step: "0", Rank: 1}, nil, AskedByFirst},
	} {
		if err := os.WriteFile(filepath.Join(dir, "sacct"), []byte("#!/bin/sh\n"+c.script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir)
		want := &SlurmStep{JobID: "7", StepID: "0", ConsumedEnergyJ: c.joules, Source: c.source}
		if got := AskSlurm(context.Background(), c.id, time.Unix(1795449597, 0)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", c.what, got, want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if got := AskSlurm(context.Background(), id, time.Time{}); got == nil || got.Source != NoSacct {
		t.Errorf("without sacct: %+v", got)
	}
	if got := AskSlurm(context.Background(), Identity{Launcher: OpenMPI, Job: "7"}, time.Time{}); got != nil {
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
