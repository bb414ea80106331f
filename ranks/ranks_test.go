package ranks

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func env(vars ...string) func(string) string {
	m := map[string]string{"CG_NODE": "n1"}
	for _, v := range vars {
		name, value, _ := strings.Cut(v, "=")
		m[name] = value
	}
	return func(name string) string { return m[name] }
}

func TestIdentify(t *testing.T) {
	cases := []struct {
		what string
		env  []string
		want Identity
	}{
		{"nobody", nil, Identity{Size: 1, LocalSize: 1, Node: "n1", Launcher: Nobody}},
		{"Open MPI", []string{"OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=8", "OMPI_COMM_WORLD_LOCAL_RANK=1",
			"OMPI_COMM_WORLD_LOCAL_SIZE=4", "PMIX_NAMESPACE=1234"},
			Identity{Rank: 3, Size: 8, LocalRank: 1, LocalSize: 4, Node: "n1", Job: "1234", Launcher: OpenMPI}},
		{"MPICH", []string{"PMI_RANK=3", "PMI_SIZE=8", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=4"},
			Identity{Rank: 3, Size: 8, LocalRank: 1, LocalSize: 4, Node: "n1", Launcher: MPICH}},
		{"PMI without more", []string{"PMI_RANK=0", "PMI_SIZE=2"},
			Identity{Rank: 0, Size: 2, LocalRank: -1, Node: "n1", Launcher: MPICH}},
		{"Slurm", []string{"SLURM_PROCID=5", "SLURM_STEP_NUM_TASKS=6", "SLURM_LOCALID=2", "SLURM_JOB_ID=77",
			"SLURM_STEP_ID=1", "CG_NODE=", "SLURMD_NODENAME=node/7"},
			Identity{Rank: 5, Size: 6, LocalRank: 2, Node: "node_7", Job: "77", Step: "1", Launcher: Slurm}},
		{"a task of an array", []string{"SLURM_PROCID=0", "SLURM_STEP_NUM_TASKS=1", "SLURM_LOCALID=0", "SLURM_JOB_ID=78",
			"SLURM_STEP_ID=0", "SLURM_ARRAY_TASK_ID=4"},
			Identity{Size: 1, Node: "n1", Job: "78", Step: "0", Task: "4", Launcher: Slurm}},
		{"a heterogeneous step", []string{"SLURM_PROCID=2", "SLURM_STEP_NUM_TASKS=3", "SLURM_LOCALID=0", "SLURM_JOB_ID=81",
			"SLURM_STEP_ID=0", "SLURM_HET_JOB_ID=80", "SLURM_HET_GROUP_ID=1"},
			Identity{Rank: 2, Size: 3, Node: "n1", Job: "80", Step: "0", Component: "1", Launcher: Slurm}},
		{"a part that srun does not name", []string{"SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=2", "SLURM_LOCALID=0",
			"SLURM_JOB_ID=5", "SLURM_STEP_ID=0", "SLURM_HET_SIZE=2", "SLURM_JOB_NODELIST_PACK_GROUP_0=n[0-7,012]",
			"SLURM_JOB_NODELIST_PACK_GROUP_1=login,n[08-15]x,n[8-15]", "SLURMD_NODENAME=n12"},
			Identity{Rank: 1, Size: 2, Node: "n1", Job: "5", Step: "0", Component: "1", Launcher: Slurm}},
		{"two parts on a node", []string{"SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=2", "SLURM_LOCALID=0",
			"SLURM_JOB_ID=5", "SLURM_STEP_ID=0", "SLURM_HET_SIZE=2", "SLURM_JOB_NODELIST_HET_GROUP_0=n[0-1]",
			"SLURM_JOB_NODELIST_HET_GROUP_1=n1", "SLURMD_NODENAME=n1"},
			Identity{Rank: 1, Size: 2, Node: "n1", Job: "5", Step: "0", Launcher: Slurm}},
		{"mpirun in an allocation", []string{"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", "SLURM_PROCID=0",
			"SLURM_JOB_ID=9", "SLURM_STEP_ID=0"},
			Identity{Rank: 1, Size: 2, LocalRank: -1, Node: "n1", Job: "9", Step: "0", Launcher: OpenMPI}},
		{"torchrun", []string{"RANK=3", "WORLD_SIZE=4", "LOCAL_RANK=3", "LOCAL_WORLD_SIZE=4", "TORCHELASTIC_RUN_ID=none"},
			Identity{Rank: 3, Size: 4, LocalRank: 3, LocalSize: 4, Node: "n1", Job: "none", Launcher: Torchrun}},
		{"like torchrun", []string{"RANK=1", "WORLD_SIZE=2", "LOCAL_RANK=1"},
			Identity{Rank: 1, Size: 2, LocalRank: 1, Node: "n1", Launcher: Torchrun}},
		{"a RANK alone is no launcher", []string{"RANK=1"}, Identity{Size: 1, LocalSize: 1, Node: "n1", Launcher: Nobody}},
		{"Ray", []string{"RAY_RANK=1", "RAY_WORLD_SIZE=2", "RAY_LOCAL_RANK=0", "RAY_JOB_ID=0100"},
			Identity{Rank: 1, Size: 2, Node: "n1", Job: "0100", Launcher: Ray}},
		{"an indexed Job of Kubernetes", []string{"JOB_COMPLETION_INDEX=2", "CG_NODE=worker-1"},
			Identity{Rank: 2, LocalRank: -1, Node: "worker-1", Launcher: Kubernetes}},
		{"torchrun in a pod", []string{"JOB_COMPLETION_INDEX=0", "RANK=1", "WORLD_SIZE=2", "LOCAL_RANK=1"},
			Identity{Rank: 1, Size: 2, LocalRank: 1, Node: "n1", Launcher: Torchrun}},
		{"by hand", []string{"CG_RANK=1", "CG_SIZE=2", "OMPI_COMM_WORLD_RANK=0"},
			Identity{Rank: 1, Size: 2, LocalRank: -1, Node: "n1", Launcher: Named}},
		{"a hostile name", []string{"CG_NODE=../../x\ny"},
			Identity{Size: 1, LocalSize: 1, Node: "_.._x_y", Launcher: Nobody}},
	}
	for _, c := range cases {
		got, err := Identify(env(c.env...))
		if err != nil || got != c.want {
			t.Errorf("%s: got %+v, %v, want %+v", c.what, got, err, c.want)
		}
	}
	for _, c := range []struct{ env, want string }{
		{"CG_RANK=x", `CG_RANK="x": want a number from 0 to 1048576`},
		{"CG_RANK=-1", `CG_RANK="-1": want a number from 0 to 1048576`},
		{"CG_RANK=99999999999999999999", `CG_RANK="99999999999999999999": want a number from 0 to 1048576`},
		{"CG_RANK=2 CG_SIZE=2", "rank 2 of 2: the variables of cg do not fit together"},
	} {
		if _, err := Identify(env(strings.Fields(c.env)...)); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.env, err, c.want)
		}
	}
}

func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	id := Identity{Rank: 1, Size: 3, Node: "n1", Job: "7", Launcher: Slurm}
	var all sync.WaitGroup
	for range 8 { // ranks that come at the same time
		all.Go(func() {
			if _, err := Create(dir, "1.2.3", id); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	f, err := Create(dir, "1.2.3", id)
	if err != nil {
		t.Fatal(err)
	}
	rank := Rank{Format: Version, CgVersion: "1.2.3", Identity: id, State: Running, Record: "n1-ab"}
	var begun atomic.Int32
	for range 8 { // processes that have the same rank
		all.Go(func() {
			switch err := f.Begin(rank); {
			case err == nil:
				begun.Add(1)
			case !strings.Contains(err.Error(), "rank 1 is there already: process 0 on n1 has it"):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := begun.Load(); n != 1 {
		t.Errorf("%d processes are rank 1", n)
	}
	for _, c := range []struct {
		version string
		id      Identity
		want    string
	}{
		{"1.2.4", id, "belongs to ranks that cg 1.2.3 measures, and this is cg 1.2.4"},
		{"1.2.3", Identity{Size: 3, Job: "8"}, `belongs to the job "7", and this is the job "8"`},
		{"1.2.3", Identity{Size: 4, Job: "7"}, "belongs to a job of 3 ranks, and this one has 4"},
	} {
		if _, err := Create(dir, c.version, c.id); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	rank0 := rank
	rank0.Rank, rank0.State, rank0.Run = 0, Ended, RunFile(0)
	if err := f.PutRank(rank0); err != nil {
		t.Fatal(err)
	}
	node := Node{Format: Version, CgVersion: "1.2.3", Node: "n1", Record: "n1-ab", UpdatedUnixNs: 50,
		Domains: []Domain{{ID: "package-0", TotalUj: 10, RanksUj: 6, OtherUj: 1, IdleUj: 2, CgUj: 1}},
		Ranks:   []Share{{Rank: 0, ShareUj: []uint64{4}}, {Rank: 1, ShareUj: []uint64{2}}}}
	if err := f.PutNode(node); err != nil {
		t.Fatal(err)
	}
	read, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var ranks []Rank
	for r, err := range read.Ranks() {
		if err != nil {
			t.Fatal(err)
		}
		ranks = append(ranks, r)
	}
	if want := []Rank{rank0, rank}; !reflect.DeepEqual(ranks, want) {
		t.Errorf("got %+v, want %+v", ranks, want)
	}
	var nodes []Node
	for n, err := range read.Nodes() {
		if err != nil {
			t.Fatal(err)
		}
		if faults := n.Unsound(); len(faults) > 0 {
			t.Error(faults)
		}
		nodes = append(nodes, n)
	}
	var texts []string
	for _, h := range Holes(read.Marker, ranks, nodes) {
		texts = append(texts, h.Text)
	}
	want := "node n1: its record has no end: nothing is known of it from then on\n" +
		"rank 1 on n1 was killed: it has no report, and its energy is in its node's record\nrank 2 never came"
	if got := strings.Join(texts, "\n"); got != want {
		t.Errorf("holes:\n%s\nwant:\n%s", got, want)
	}
	nodes[0].Domains[0].TotalUj++
	nodes[0].Ranks[0].ShareUj[0]++
	if faults := nodes[0].Unsound(); len(faults) != 2 {
		t.Errorf("faults %q, want two", faults)
	}
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(path), 0o777)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	_, err := Open(dir)
	expect(err, "no folder of ranks: it has no cg-ranks.json")
	if Is(dir) {
		t.Error("a folder without the marker is one of ranks")
	}
	write(markerName, `{"format":9,"cg_version":"9.9"}`)
	_, err = Open(dir)
	expect(err, "layout 9, written by cg 9.9: this cg reads layout 1")
	write(markerName, `{"format":1,"cg_version":"1.0"}`)
	f, err := Open(dir)
	if err != nil || !Is(dir) {
		t.Fatal(err)
	}
	only := func() error {
		for _, err := range f.Ranks() {
			return err
		}
		for _, err := range f.Nodes() {
			return err
		}
		return nil
	}
	write(RankFile(2), `{"format":1,"cg_version":"1.1","rank":2}`)
	expect(only(), "was written by cg 1.1 and "+dir+"/cg-ranks.json by cg 1.0")
	write(RankFile(2), `{"format":1,"cg_version":"1.0","rank":3}`)
	expect(only(), "says that it is of rank 3")
	write(RankFile(2), `{"format":1`)
	expect(only(), "unexpected end of JSON input")
	os.Remove(filepath.Join(dir, RankFile(2)))
	write(NodeFile("n1-0"), `{"format":1,"cg_version":"1.0","ranks":[{"rank":1,"share_uj":[1,2]}],"domains":[{}]}`)
	expect(only(), "rank 1 has 2 shares of 1 domains")
	write(NodeFile("n1-0"), `{"format":1,"cg_version":"1.0","samples":[{"energy_uj":[1,2]}],"domains":[{}]}`)
	expect(only(), "sample 0 has 2 energies of 1 domains")
}

// Ranks that are missing for the same reason are one hole, however many they are.
func TestHolesOfManyRanks(t *testing.T) {
	var all []Rank
	for rank := range 10_004 {
		r := Rank{Identity: Identity{Rank: rank, Node: "n1"}, State: Running, StartedUnixNs: int64(1000 + rank)}
		switch {
		case rank == 2:
			r.State, r.Run = Ended, RunFile(rank)
		case rank == 3:
			r.State = Ended
		case rank > 5 && rank%2 == 0 || rank > 5000:
			continue
		}
		all = append(all, r)
	}
	const were = " were killed: they have no reports, and their energy is in their node's record"
	want := []Hole{
		{Kind: HoleRank, Node: "n1", Rank: 0, FromUnixNs: 1000,
			Text: "2501 ranks (0-1,4-5,7,9,11,13,15,17 and 2491 more) on n1" + were},
		{Kind: HoleRank, Rank: 6, Text: "7501 ranks (6,8,10,12,14,16,18,20 and 7493 more) never came"},
		{Kind: HoleReport, Node: "n1", Rank: 3, FromUnixNs: 1003, Text: "rank 3 on n1 ended without a report"},
	}
	got := Holes(Marker{Size: 10_004}, all, nil)
	for i := range got {
		if list := got[i].Ranks; i < 2 && strings.Count(list, ",") > 2000 {
			got[i].Ranks = ""
		} else if i < 2 {
			t.Errorf("hole %d has the ranks %.50q", i, list)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	lines := Holes(Marker{Size: 10_000}, []Rank{{State: Ended, Run: RunFile(0)}}, nil)
	if want := []Hole{{Kind: HoleRank, Rank: 1, Ranks: "1-9999", Text: "9999 ranks (1-9999) never came"}}; !reflect.DeepEqual(lines, want) {
		t.Errorf("got %+v, want %+v", lines, want)
	}
	record := Node{Node: "n1", Record: "n1-1", EndedUnixNs: 9, UpdatedUnixNs: 9, Holes: []Hole{
		{Kind: HoleRank, Node: "n1", Rank: 0, FromUnixNs: 7, Text: "rank 0 on n1 was killed: its share ends there"},
		{Kind: HoleRank, Node: "n1", Rank: 5, FromUnixNs: 7, Text: "rank 5 on n1 was killed: its share ends there"}}}
	told := Holes(Marker{}, []Rank{{Identity: Identity{Node: "n1"}, State: Running, Record: "n1-1"}}, []Node{record})
	if len(told) != 2 || told[0].Rank != 5 || told[1].Rank != 0 || told[1].FromUnixNs != 7 {
		t.Errorf("a rank that was killed is to be named once: %+v", told)
	}
}

// A name that is there is an error, but where it is the file's own: the answer to the first
// of two requests was lost.
func TestLink(t *testing.T) {
	dir := t.TempDir()
	file, name := filepath.Join(dir, "whole"), filepath.Join(dir, "000001.json")
	if err := os.WriteFile(file, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(link(file, name), link(file, name)); err != nil {
		t.Error(err)
	}
	other := filepath.Join(dir, "other")
	if err := os.WriteFile(other, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := link(other, name); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
}
