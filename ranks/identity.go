package ranks

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// The variables that each launcher sets, in the order in which they are asked. A launcher
// is there when its rank is. Of two that are, the inner one counts: mpirun within an
// allocation of Slurm sets its own beside Slurm's.
var launchers = []struct {
	name                                  string
	rank, size, localRank, localSize, job []string
}{
	{name: Named, rank: []string{"CG_RANK"}, size: []string{"CG_SIZE"}, localRank: []string{"CG_LOCAL_RANK"},
		localSize: []string{"CG_LOCAL_SIZE"}, job: []string{"CG_JOB"}},
	{name: Torchrun, rank: []string{"TORCHELASTIC_RUN_ID+RANK"}, size: []string{"WORLD_SIZE"},
		localRank: []string{"LOCAL_RANK"}, localSize: []string{"LOCAL_WORLD_SIZE"},
		job: []string{"TORCHELASTIC_RUN_ID"}},
	{name: OpenMPI, rank: []string{"OMPI_COMM_WORLD_RANK"}, size: []string{"OMPI_COMM_WORLD_SIZE"},
		localRank: []string{"OMPI_COMM_WORLD_LOCAL_RANK"}, localSize: []string{"OMPI_COMM_WORLD_LOCAL_SIZE"},
		job: []string{"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}},
	{name: MPICH, rank: []string{"MPI_LOCALRANKID+PMI_RANK", "MPI_LOCALRANKID+PMIX_RANK"}, size: []string{"PMI_SIZE"},
		localRank: []string{"MPI_LOCALRANKID"}, localSize: []string{"MPI_LOCALNRANKS"}},
	{name: Slurm, rank: []string{"SLURM_PROCID"}, size: []string{"SLURM_STEP_NUM_TASKS"},
		localRank: []string{"SLURM_LOCALID"}},
	{name: MPICH, rank: []string{"PMI_RANK"}, size: []string{"PMI_SIZE"}},
	{name: Ray, rank: []string{"RAY_RANK", "RAY_WORKER_RANK"}, size: []string{"RAY_WORLD_SIZE"},
		localRank: []string{"RAY_LOCAL_RANK"}, localSize: []string{"RAY_LOCAL_WORLD_SIZE"},
		job: []string{"RAY_JOB_ID"}},
	{name: Torchrun, rank: []string{"WORLD_SIZE+RANK"}, size: []string{"WORLD_SIZE"},
		localRank: []string{"LOCAL_RANK"}, localSize: []string{"LOCAL_WORLD_SIZE"}},
	// An indexed Job: each pod is told its own index, and none how many there are.
	{name: Kubernetes, rank: []string{"JOB_COMPLETION_INDEX"}},
}

// Identify tells which rank a process is by the variables that its launcher set: getenv is
// os.Getenv. Without any it is rank 0 of 1, of the launcher Nobody. It is an error if a
// variable of a launcher is no number.
func Identify(getenv func(string) string) (Identity, error) {
	id := Identity{Size: 1, LocalRank: 0, LocalSize: 1, Launcher: Nobody}
	for _, l := range launchers {
		rank, name := first(getenv, l.rank)
		if name == "" {
			continue
		}
		id = Identity{LocalRank: -1, Launcher: l.name}
		var err error
		if id.Rank, err = number(name, rank); err != nil {
			return id, err
		}
		for _, n := range []struct {
			to    *int
			names []string
		}{{&id.Size, l.size}, {&id.LocalRank, l.localRank}, {&id.LocalSize, l.localSize}} {
			if text, name := first(getenv, n.names); name != "" {
				if *n.to, err = number(name, text); err != nil {
					return id, err
				}
			}
		}
		id.Job, _ = first(getenv, l.job)
		break
	}
	if id.Size > 0 && id.Rank >= id.Size {
		return id, fmt.Errorf("rank %d of %d: the variables of %s do not fit together", id.Rank, id.Size, id.Launcher)
	}
	id.fromSlurm(getenv)
	if id.Node = getenv("CG_NODE"); id.Node == "" {
		id.Node = getenv("SLURMD_NODENAME")
	}
	if id.Node == "" {
		id.Node, _ = os.Hostname()
	}
	if id.Node = safeName(id.Node); id.Node == "" {
		id.Node = "node"
	}
	return id, nil
}

// fromSlurm adds what Slurm tells of the job, whoever started the rank. All parts of a
// heterogeneous step have one job id and count their ranks through.
func (id *Identity) fromSlurm(getenv func(string) string) {
	job := getenv("SLURM_JOB_ID")
	if job == "" {
		return
	}
	if id.Launcher == Nobody {
		return
	}
	if het := getenv("SLURM_HET_JOB_ID"); het != "" {
		job, id.Component = het, getenv("SLURM_HET_GROUP_ID")
	}
	if id.Component == "" {
		id.Component = component(getenv)
	}
	id.Job, id.Step, id.Task = job, getenv("SLURM_STEP_ID"), getenv("SLURM_ARRAY_TASK_ID")
}

// first is the first variable that is set, with its name. "A+B" is B where A is set, too.
func first(getenv func(string) string, names []string) (value, name string) {
	for _, name := range names {
		also, rest, both := strings.Cut(name, "+")
		if both {
			if getenv(also) == "" {
				continue
			}
			name = rest
		}
		if value = getenv(name); value != "" {
			return value, name
		}
	}
	return "", ""
}

// most is more ranks than any launcher starts.
const most = 1 << 20

func number(name, text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("%s=%q: want a number from 0 to %d", name, text, most)
	}
	return n, nil
}

// safeName is a name with nothing in it that means something in a path.
func safeName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, name)
	return strings.TrimLeft(name[:min(len(name), 64)], ".")
}
