package reporttest

import (
	"fmt"
	"math"
	"testing"

	"cg/nemb"
	"cg/nemb/attribute"
	"cg/report"
)

// Largest is a run with many paths and nearly as many samples as one can have: 65 s
// on a machine with a GPU, in 2000 functions.
func Largest(t testing.TB) *report.Run {
	t.Helper()
	r := Example(t, nemb.Measured)
	domains := []nemb.Domain{
		{ID: "package-0", InTotal: true, Kind: "cpu_package"}, {ID: "core", Parent: "package-0", Kind: "nested"},
		{ID: "dram", InTotal: true, Kind: "dram"}, {ID: "gpu0", InTotal: true, Kind: "gpu"},
	}
	r.Meta.DomainTopology = nemb.Topology(domains)
	r.Samples = samplesOf(domains)
	for i := range r.Tasks {
		r.Tasks[i].StartedAtMonoNs, r.Tasks[i].EndedAtMonoNs = 1e9, 66e9
	}
	language := r.Functions[0].Language
	r.Sites, r.Functions, r.Paths = nil, nil, nil
	one := report.Joules(1000)
	for i := range 2000 {
		f := report.Function{Name: fmt.Sprintf("package%d.module.f%d", i%40, i),
			File: fmt.Sprintf("/src/package%d/module.py", i%40), Line: i, Language: language, EnergyKind: nemb.Measured,
			Calls: uint64(i), SelfEnergyJ: &one, SelfEnergyLoJ: &one, SelfEnergyHiJ: &one, InclusiveEnergyJ: &one,
			InclusiveEnergyLoJ: &one, InclusiveEnergyHiJ: &one}
		r.Functions = append(r.Functions, f)
		r.Sites = append(r.Sites, report.Site{ID: uint32(i + 1), Name: f.Name, File: f.File, Line: i, EndLine: i + 1,
			Language: language})
	}
	for i := range attribute.FewPaths {
		self := report.Joules(1000 + i*7919%10000)
		r.Paths = append(r.Paths, report.Path{Parent: i / 2 * 31 / 32, Site: uint32(1 + i*7%2000), Calls: 1,
			SelfEnergyJ: &self, SelfTimeS: 0.001})
	}
	r.Paths[0].Parent, r.Paths[0].Site = -1, 0
	r.Paths[1].Parent = 0
	return r
}

// samplesOf are every seventeenth of 65000 samples, a millisecond each.
func samplesOf(domains []nemb.Domain) []report.Sample {
	const each = 17
	var out []report.Sample
	used := make([]report.Joules, len(domains)) // since the first sample
	for i := range 65000 {
		for d, w := range []int{30 + i%17, 20 + i%13, 4, 60 + 40*((i/9000)%2)} {
			if i > 0 {
				used[d] += report.Joules(w * 1000) // in a millisecond
			}
		}
		if i%each != 0 {
			continue
		}
		s := report.Sample{TNs: 1e9 + int64(i)*1e6, DomainJ: map[string]report.Joules{}, DomainW: map[string]float64{},
			ProgramCPUS: float64(i) * 1e-3, OtherCPUS: float64(i/5) * 1e-3}
		var sum report.Joules
		for d, domain := range domains {
			s.DomainJ[domain.ID] = used[d]
			if domain.InTotal {
				sum += used[d]
			}
		}
		s.EnergyJ = &sum
		if i > 0 {
			prev := out[len(out)-1]
			watts := func(now, before report.Joules) float64 {
				return math.Round((now.Float()-before.Float())/(each*1e-3)*1e3) / 1e3
			}
			power := watts(sum, *prev.EnergyJ)
			s.PowerW = &power
			for id, e := range s.DomainJ {
				s.DomainW[id] = watts(e, prev.DomainJ[id])
			}
		}
		out = append(out, s)
	}
	return out
}
