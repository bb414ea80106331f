package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cg/nemb"
	"cg/report"
	"cg/report/saved"
	"cg/statistics"
)

// noEnergy is why BenchmarkDotNet's files have no energy to compare.
const noEnergy = "BenchmarkDotNet tells times, and no energy (cg run -- dotnet run measures it)"

// ofBenchmark begins the field of a benchmark's time.
const ofBenchmark = "benchmarks."

func (c Change) isOfBenchmark() bool { return strings.HasPrefix(c.Of, ofBenchmark) }

// areBenchmarks reports whether both sides are what BenchmarkDotNet exported. One of them alone is an error.
func areBenchmarks(base, head Side) (bool, error) {
	of, other := "", ""
	for _, s := range []Side{base, head} {
		for i, d := range s.Saved {
			if d.Benchmarks != nil {
				of = s.Names[i]
			} else {
				other = s.Names[i]
			}
		}
	}
	if of != "" && other != "" {
		return false, fmt.Errorf("%s is a report of BenchmarkDotNet, and %s is not: compare two of a kind", of, other)
	}
	return of != "", nil
}

// compareBenchmarks holds the times of an operation of each benchmark against each other. Their iterations are what
// runs are otherwise.
func compareBenchmarks(base, head Side, o Options) (*Result, error) {
	c := &Result{
		Comparison: Meta{SchemaVersion: report.SchemaVersion, CgVersion: o.Version, Threshold: o.Threshold,
			Confidence: confidence},
		Base: describedBenchmarks(base), Head: describedBenchmarks(head), Different: differentHosts(base, head),
		Worse: []string{}, Notes: []string{}, Functions: []FunctionChange{}, OnlyInBase: []OneSided{},
		OnlyInHead: []OneSided{}, Verdict: NotComparable,
		Totals: []Change{{Of: "program_energy_j", Name: "program", Unit: "J", Verdict: NotComparable, Why: noEnergy}},
	}
	if err := distinctBenchmarks(base, head); err != nil {
		return nil, err
	}
	if err := c.refused(o, alike); err != nil {
		return nil, err
	}
	times := [2]map[string][]float64{timesOf(base), timesOf(head)}
	var ps []float64
	var tested []int
	for _, name := range slices.Sorted(maps.Keys(times[0])) {
		if _, is := times[1][name]; !is {
			continue
		}
		change := Change{Of: ofBenchmark + name + ".time_s", Name: name, Unit: "s"}
		for i := range times {
			var all []bound
			for _, s := range times[i][name] {
				all = append(all, bound{value: &s})
			}
			if len(all) == 0 { // it failed
				all = []bound{{}}
			}
			change.value(i, all)
		}
		if change.compute(); change.P != nil {
			ps, tested = append(ps, *change.P), append(tested, len(c.Totals))
		}
		c.Totals = append(c.Totals, change)
	}
	for k, p := range statistics.Holm(ps) {
		c.Totals[tested[k]].P = &p
	}
	for i := range c.Totals[1:] {
		c.Totals[1+i].judge(o.Threshold)
	}
	if len(c.Totals) == 1 {
		return nil, fmt.Errorf("%s and %s have no benchmark in common", c.Base.Name, c.Head.Name)
	}
	c.notesOfBenchmarks(times, len(tested))
	return c, nil
}

// distinctBenchmarks refuses a report that is there twice: BenchmarkDotNet's titles have the time of the run.
func distinctBenchmarks(base, head Side) error {
	type run struct{ title, os, processor, runtime, architecture string }
	file := map[run]string{}
	for _, s := range []Side{base, head} {
		for i, d := range s.Saved {
			h := d.Benchmarks.Host
			of := run{d.Benchmarks.Title, h.OS, string(h.Processor), h.Runtime, h.Architecture}
			if other, there := file[of]; there && of.title != "" {
				return fmt.Errorf("%s and %s are the same run (%s): there is nothing to compare", other, s.Names[i],
					of.title)
			}
			file[of] = s.Names[i]
		}
	}
	return nil
}

// timesOf are the times of a side's benchmarks, those of one that is in several files together.
func timesOf(s Side) map[string][]float64 {
	all := map[string][]float64{}
	for _, d := range s.Saved {
		for _, b := range d.Benchmarks.All {
			all[b.Name()] = append(all[b.Name()], b.Seconds()...)
		}
	}
	return all
}

func describedBenchmarks(s Side) SideMeta {
	first := s.Saved[0].Benchmarks
	return SideMeta{Name: strings.Join(s.Names, ", "), Files: s.Names, Runs: len(s.Saved), Command: first.Title,
		CPUModel: string(first.Host.Processor), Source: strings.TrimSpace("BenchmarkDotNet " + first.Host.Version),
		Kind: nemb.Unavailable}
}

// differentHosts are the properties, but for the program, in which any two files differ.
func differentHosts(base, head Side) []Difference {
	out := []Difference{}
	all := slices.Concat(base.Saved, head.Saved)
	for _, p := range []struct {
		what string
		of   func(*saved.Benchmarks) string
	}{
		{"processors", func(b *saved.Benchmarks) string { return string(b.Host.Processor) }},
		{"systems", func(b *saved.Benchmarks) string { return b.Host.OS }},
		{"runtimes", func(b *saved.Benchmarks) string { return b.Host.Runtime }},
		{"architectures", func(b *saved.Benchmarks) string { return b.Host.Architecture }},
	} {
		for _, d := range all[1:] {
			if one, other := p.of(all[0].Benchmarks), p.of(d.Benchmarks); one != other {
				out = append(out, Difference{p.what, one, other})
				break
			}
		}
	}
	return out
}

func (c *Result) notesOfBenchmarks(times [2]map[string][]float64, tested int) {
	c.Notes = append(c.Notes, noEnergy, "the iterations of a benchmark are taken for runs, and how much a benchmark "+
		"differs from one start of its process to the next is in no interval, unless it was started several times")
	if tested > 1 {
		c.Notes = append(c.Notes, fmt.Sprintf("%d benchmarks are judged at once: their p-values are adjusted (Holm), "+
			"so that none is called changed by chance in 95 of 100 comparisons", tested))
	}
	for i, other := range []map[string][]float64{times[1], times[0]} {
		for _, name := range slices.Sorted(maps.Keys(times[i])) {
			switch _, is := other[name]; {
			case !is:
				c.Notes = append(c.Notes, fmt.Sprintf("only in %s: %s", []string{"BASE", "HEAD"}[i], name))
			case len(times[i][name]) == 0:
				c.Notes = append(c.Notes, fmt.Sprintf("%s failed in %s: it has no statistics there", name,
					[]string{"BASE", "HEAD"}[i]))
			}
		}
	}
}
