package reporttest

import (
	"fmt"
	"os"
	"time"

	"cg/nemb"
	"cg/ranks"
	"cg/report"
)

// Job is a run of many ranks that GenerateRanks makes up.
type Job struct {
	Ranks, PerNode, Functions int
	Killed, Absent            int // ranks, 0 for none
}

// started is when every generated job began.
const started = 1_767_323_045_000_000_000

// version is that of the cg which every generated job was measured by.
const version = "0.1.0"

// GenerateRanks writes the folder of a run that never took place, for tests and benchmarks:
// powers, times and shares follow from the numbers of ranks and functions alone.
func GenerateRanks(dir string, j Job) error {
	f, err := ranks.Create(dir, version, ranks.Identity{Size: j.Ranks, Job: "42"})
	if err != nil {
		return err
	}
	marker := fmt.Sprintf(`{"format":1,"cg_version":%q,"job":"42","size":%d,"created_unix_ns":%d}`+"\n", version,
		j.Ranks, int64(started))
	if err := os.WriteFile(dir+"/cg-ranks.json", []byte(marker), 0o644); err != nil {
		return err
	}
	for first := 0; first < j.Ranks; first += j.PerNode {
		if err := j.node(f, first); err != nil {
			return err
		}
	}
	return nil
}

// share is what rank i used, in microjoules.
func (j Job) share(i int) uint64 { return uint64(j.Functions+1) * uint64(1_000_000+1000*(i%7)) }

// node writes the record of a node, and its ranks.
func (j Job) node(f *ranks.Folder, first int) error {
	at := first / j.PerNode
	name := fmt.Sprintf("n%d", at)
	d := ranks.Domain{ID: "package-0", Kind: "cpu_package", Source: "counter", Method: string(nemb.Measured),
		InTotal: true, Lo: 0.99, Hi: 1.01, OtherUj: 1_000_000, IdleUj: 5_000_000, CgUj: 10_000, UnattributedUj: 1}
	end := int64(started + 3*time.Second)
	n := ranks.Node{Format: ranks.Version, CgVersion: version, Node: name, Record: name + "-00000000", Hostname: name,
		CPUModel: "a processor", CPUs: j.PerNode, IntervalNs: 10_000_000, StartedUnixNs: started, EndedUnixNs: end,
		UpdatedUnixNs: end, Measurers: []ranks.Measurer{{PID: 1, StartedUnixNs: started, EndedUnixNs: end}},
		Holes: []ranks.Hole{}, Warnings: []ranks.Warning{}}
	if at > 0 {
		lo, hi := int64(-40_000*at), int64(50_000*at)
		n.Offsets = []ranks.Offset{{Reference: "n0", LoNs: &lo, HiNs: &hi, AtUnixNs: started, Method: ranks.ByPing}}
	}
	for i := first; i < min(first+j.PerNode, j.Ranks); i++ {
		if i > 0 && i == j.Absent {
			continue
		}
		d.RanksUj += j.share(i)
		state := ranks.Settled
		if i > 0 && i == j.Killed {
			state = ranks.Lost
		}
		n.Ranks = append(n.Ranks, ranks.Share{Rank: i, PID: 100 + i, State: state, CPUNs: 1_900_000_000,
			ShareUj: []uint64{j.share(i)}})
		if err := j.rank(f, i, n.Record, name); err != nil {
			return err
		}
	}
	d.TotalUj = d.RanksUj + d.OtherUj + d.IdleUj + d.CgUj + d.UnattributedUj
	n.Domains = []ranks.Domain{d}
	for k := range uint64(31) {
		n.Samples = append(n.Samples, ranks.Sample{UnixNs: started + int64(k)*100_000_000,
			EnergyUj: []uint64{d.TotalUj * k * k / 900}})
	}
	return f.PutNode(n)
}

// rank writes the file of a rank, and its report.
func (j Job) rank(f *ranks.Folder, i int, record, node string) error {
	took := int64(2*time.Second) + int64(i%7)*int64(10*time.Millisecond)
	r := ranks.Rank{Format: ranks.Version, CgVersion: version, Identity: ranks.Identity{Rank: i, Size: j.Ranks,
		LocalRank: i % j.PerNode, LocalSize: j.PerNode, Node: node, Job: "42", Launcher: ranks.OpenMPI}, Hostname: node,
		PID: 100 + i, State: ranks.Running, StartedUnixNs: started, StartedMonoNs: 1_000_000_000,
		CPUs: []int{i % j.PerNode}, Record: record, Warnings: []ranks.Warning{}}
	if i > 0 && i == j.Killed {
		return f.PutRank(r)
	}
	r.State, r.EndedUnixNs, r.EndedMonoNs, r.CPUNs = ranks.Ended, started+took, 1_000_000_000+took, took-1_000_000
	r.ShareUj, r.Settled, r.Run = map[string]uint64{"package-0": j.share(i)}, true, ranks.RunFile(i)
	r.MPI = []ranks.MPICalls{{Function: "MPI_Allreduce", Calls: 10, TimeNs: int64(7-i%7) * 10_000_000,
		CPUNs: int64(7-i%7) * 10_000_000, EnergyUj: uint64(7-i%7) * 5000}}
	if err := f.PutRank(r); err != nil {
		return err
	}
	b, err := j.report(i, node, took).JSON()
	if err != nil {
		return err
	}
	return os.WriteFile(f.Dir+"/"+ranks.RunFile(i), b, 0o644)
}

// report is that of a rank: each function used as much as any other.
func (j Job) report(i int, node string, took int64) *report.Run {
	r := report.PartOf("")
	total := report.Joules(j.share(i))
	each := total / report.Joules(j.Functions+1)
	r.Meta = report.Meta{SchemaVersion: report.SchemaVersion, Tool: "cg", CgVersion: version, Hostname: node,
		RunID: fmt.Sprintf("rank%d", i), Argv: []string{"./solver", "mesh.h5"}, Language: "julia", Granularity: "fine",
		DurationTotalS: time.Duration(took).Seconds(), StartedAt: "2026-01-02T03:04:05.000000+00:00",
		MeasurementQuality: "ok", CgEnv: map[string]string{},
		DomainTopology: map[string]report.Topology{"package-0": {TopLevel: true}}}
	of := func(e report.Joules) map[string]report.Joules { return map[string]report.Joules{"package-0": e} }
	bounds := func(e report.Joules) (*report.Joules, *report.Joules, *report.Joules) {
		lo, hi := e*99/100, e*101/100
		return &lo, &e, &hi
	}
	lo, whole, hi := bounds(total)
	r.Totals = report.Totals{EnergyJ: whole, Provenance: report.Provenance{LoJ: lo, HiJ: hi, Kind: nemb.Measured},
		ProgramEnergyJ: whole, ProgramEnergyLoJ: lo, ProgramEnergyHiJ: hi, DurationS: time.Duration(took).Seconds(),
		Domains: of(total), DomainsPowerW: map[string]float64{}, NoiseWarnings: []report.NoiseWarning{}}
	rest := total - each*report.Joules(j.Functions)
	one := report.Joules(rest)
	r.Paths = append(r.Paths, report.Path{Parent: -1, Calls: 1, SelfEnergyJ: &one})
	for k := range j.Functions {
		name := fmt.Sprintf("solver.step%d", k)
		site := uint32(k + 1)
		lo, e, hi := bounds(each)
		calls := uint64(100 + k)
		lasted := time.Duration(took).Seconds() / float64(j.Functions)
		r.Sites = append(r.Sites, report.Site{ID: site, Name: name, File: "/home/u/solver.jl", Line: 10 * (k + 1),
			Kind: "function", Language: "julia", Calls: calls})
		r.Paths = append(r.Paths, report.Path{Parent: 0, Site: site, Calls: calls, SelfEnergyJ: e, SelfTimeS: lasted})
		r.Functions = append(r.Functions, report.Function{Name: name, File: "/home/u/solver.jl", Line: 10 * (k + 1),
			Language: "julia", Kind: "function", Calls: calls, SelfEnergyJ: e, SelfEnergyLoJ: lo, SelfEnergyHiJ: hi,
			InclusiveEnergyJ: e, InclusiveEnergyLoJ: lo, InclusiveEnergyHiJ: hi, EnergyKind: nemb.Measured,
			EnergyMethod: "regression", SelfTimeS: lasted, InclusiveTimeS: lasted, CPUTimeS: lasted, Domains: of(each)})
	}
	lines := func(name string, e report.Joules) {
		r.Ledger = append(r.Ledger, report.Line{Name: name, EnergyJ: e,
			SharePercent: 100 * e.Float() / total.Float(), Domains: of(e)})
	}
	lines(report.LineFunctions, total-rest)
	lines(report.LineUninstrumented, rest)
	r.Sampler.Counters, r.Process.PIDsLeft, r.Warnings = []report.Counter{}, []int{}, []report.Warning{}
	return r
}
