package report

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/launcher"
	"cg/measure"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute"
	"cg/nemb/sampler"
)

// kindOf is what makes a run one of its kind: domains of constant power and what
// threads did, on virtual time.
type kindOf struct {
	domains []nemb.Domain
	watts   []float64
	threads [][]checkpoint.Word // words of each
	busy    float64             // processors that the program keeps busy
	idle    float64             // part of the time that the machine has nothing to do
	result  launcher.Result
	sites   []checkpoint.Site
	skipped []Skip
	denied  []error
	faults  []sampler.Faults
}

const ms = 1_000_000

func call(site checkpoint.SiteID, from, to int64, within ...checkpoint.Word) []checkpoint.Word {
	return slices.Concat([]checkpoint.Word{checkpoint.Pack(checkpoint.Tick(from*ms), checkpoint.Enter, site)}, within,
		[]checkpoint.Word{checkpoint.Pack(checkpoint.Tick(to*ms), checkpoint.Exit, site)})
}

func kindsOfRuns() map[string]kindOf {
	counter := func(id, parent, kind string, inTotal bool) nemb.Domain {
		return nemb.Domain{ID: id, Parent: parent, Kind: kind, Source: "powercap", Method: nemb.Measured,
			InTotal: inTotal, Lo: 1, Hi: 1, IdleShare: 0.3}
	}
	pkg := counter("package-0", "", "cpu_package", true)
	sites := []checkpoint.Site{
		{ID: 1, Language: "python", Func: "shop.stock.Stock.refill", File: "/home/u/shop/stock.py", Line: 30, Col: 5,
			EndLine: 40, Kind: checkpoint.Method},
		{ID: 2, Language: "python", Func: "shop.stock.prüfsumme", File: "/home/u/shop/stock.py", Line: 50, Col: 1,
			EndLine: 60, Kind: checkpoint.Function},
		{ID: 3, Language: "python", Func: "shop.orders.worker", File: "/home/u/shop/orders.py", Line: 7, Col: 1,
			EndLine: 9, Kind: checkpoint.Function},
	}
	one := [][]checkpoint.Word{call(1, 100, 1000, call(2, 300, 900)...)}
	ended := launcher.Result{Exited: true, User: 900 * time.Millisecond, System: 100 * time.Millisecond,
		MaxRSS: 20 << 20}
	gpu := counter("gpu0", "", "gpu", true)
	gpu.Source, gpu.Method, gpu.Lo, gpu.Hi, gpu.IdleShare = "NVML: a GPU", nemb.Derived, 0.95, 1.05, 0
	model := nemb.Domain{ID: "cpu", Kind: "cpu_package", Source: "estimate: a processor", Method: nemb.Estimated,
		InTotal: true, Lo: 0.5, Hi: 1.5, Base: 5}
	failed := ended
	failed.Exited, failed.Signal, failed.Status = false, unix.SIGSEGV, 139
	return map[string]kindOf{
		"small": {domains: []nemb.Domain{pkg}, watts: []float64{20}, threads: one, busy: 1, idle: 0.2,
			result: ended, sites: sites},
		"estimated": {domains: []nemb.Domain{model}, watts: []float64{20}, threads: one, busy: 1, idle: 0.2,
			result: ended, sites: sites,
			denied: []error{errors.New("powercap: /sys/class/powercap/intel-rapl:0/energy_uj: permission denied")}},
		"threads": {
			domains: []nemb.Domain{pkg}, watts: []float64{30}, busy: 2, result: ended, sites: sites,
			threads: [][]checkpoint.Word{call(1, 100, 1000, call(2, 300, 900)...), call(3, 200, 1050),
				slices.Concat(call(3, 250, 400), call(2, 500, 700))},
		},
		"failed": {domains: []nemb.Domain{pkg}, watts: []float64{20}, threads: [][]checkpoint.Word{one[0][:2]},
			busy: 1, result: failed, sites: sites,
			skipped: []Skip{{"/home/u/shop/odd.py", "not parsed: the grammar does not place the text at line 3"}}},
		"gpu": {domains: []nemb.Domain{pkg, gpu}, watts: []float64{20, 80}, threads: one, busy: 1, result: ended,
			sites: sites},
		"gpu-only": {domains: []nemb.Domain{gpu}, watts: []float64{80}, threads: one, busy: 1, result: ended,
			sites: sites},
		"two-socket": {
			domains: []nemb.Domain{pkg, counter("core-0", "package-0", "nested", false),
				counter("dram-0", "", "dram", true), counter("package-1", "", "cpu_package", true),
				counter("core-1", "package-1", "nested", false), counter("dram-1", "", "dram", true)},
			watts: []float64{40, 30, 4, 12, 5, 3}, threads: one, busy: 1, idle: 0.5, result: ended, sites: sites,
		},
		"empty": {domains: []nemb.Domain{pkg}, watts: []float64{20}, busy: 1, result: launcher.Result{Exited: true}},
	}
}

// run measures it, sampled each tenth of a second.
func (k kindOf) run(name string) *Run {
	const processors, end, every = 4, 1100, 100
	a := attribute.New(k.domains, processors)
	sample := func(t int64) nemb.Sample {
		part := func(f float64) time.Duration { return time.Duration(f * float64(t) * ms) }
		busy := part(k.busy)
		s := nemb.Sample{At: checkpoint.Tick(t*ms + 1), Time: checkpoint.Instant(t*ms + 1),
			Usage: account.Usage{Program: busy, Own: part(0.02),
				Other: max(0, part(processors*(1-k.idle))-busy-part(0.02))}}
		for _, w := range k.watts {
			s.Energy = append(s.Energy, nemb.Energy(w*float64(t)*1000))
		}
		return s
	}
	series := nemb.Series{Domains: k.domains, Samples: []nemb.Sample{sample(0)}}
	a.Close(sample(0))
	left := slices.Clone(k.threads)
	for t := int64(every); t <= end; t += every {
		for i, words := range left {
			run := checkpoint.Run{Thread: checkpoint.Thread{PID: 1, TID: uint32(i + 1)}, First: t == every, Start: 1,
				Words: words}
			left[i] = words[a.Fold(run, checkpoint.Tick(t*ms+ms), checkpoint.Tick(t*ms+1)):]
		}
		s := sample(t)
		series.Samples = append(series.Samples, s)
		if t == end {
			a.Last(s)
		} else {
			a.Close(s)
		}
	}
	r := &Run{Skipped: []Skip{}, Warnings: []Warning{}}
	r.Meta = Meta{
		SchemaVersion: SchemaVersion, Tool: "cg", CgVersion: "test", RunID: name, Language: "python",
		Argv: []string{"cg", "measure", "-g", "fine", "main.py"}, CgEnv: map[string]string{},
		StartedAt: "2026-01-02T03:04:05.000000+00:00", StartedAtLocal: "2026-01-02T03:04:05.000000+00:00",
		HostTimezone: "UTC", Hostname: "host", Platform: "linux", Kernel: "Linux-6.12", Cwd: "/home/u/shop",
		Granularity: "fine", OutlierMethod: "none", IsoTimestampFormat: "rfc3339_utc",
	}
	r.started = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r.Finish(Facts{
		Outcome: &measure.Outcome{
			PID: 7, Domains: k.domains, Series: series, Faults: k.faults, Attributed: a.Finish(), Result: k.result,
			Sampler: sampler.Stats{Samples: len(series.Samples), OwnCPU: 3 * time.Millisecond, Realtime: true},
		},
		Sites: k.sites, Skipped: k.skipped, Denied: k.denied, CPUModel: "a processor", CPUKnown: true,
		CPUMethod: "test", Clock: checkpoint.Monotonic,
		LanguageVersion: "3.11.7", Program: "main.py", Interval: every * time.Millisecond,
	})
	r.Meta.EndedAt, r.Meta.EndedAtLocal, r.Meta.DurationTotalS = "2026-01-02T03:04:06.100000+00:00",
		"2026-01-02T03:04:06.100000+00:00", 1.1
	r.Tasks[0].EndedAt = r.Tasks[0].StartedAt + 1.1
	return r
}

// Every kind of run, saved, and every text that is made of the saved file.
func TestKindsGolden(t *testing.T) {
	for name, k := range kindsOfRuns() {
		r := k.run(name)
		b, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		validate(t, b)
		golden(t, filepath.Join("reporttest", "testdata", "kinds", name+".json"), b)
		saved, err := Read(b)
		if err != nil {
			t.Fatal(err)
		}
		if faults := saved.Check(); len(faults) > 0 {
			t.Errorf("%s: %q", name, faults)
		}
	}
}

// What sets a kind apart is in its run: a golden of the wrong thing would go
// unseen.
func TestKindsAreOfTheirKind(t *testing.T) {
	runs := map[string]*Run{}
	for name, k := range kindsOfRuns() {
		runs[name] = k.run(name)
	}
	self := func(r *Run, name string) float64 {
		for _, f := range r.Functions {
			if f.Name == name {
				return f.SelfTimeS
			}
		}
		return 0
	}
	for what, is := range map[string]bool{
		"small is measured": runs["small"].Totals.Kind == nemb.Measured &&
			len(runs["small"].Functions) == 2,
		"estimated is estimated": runs["estimated"].Totals.Kind == nemb.Estimated &&
			runs["estimated"].Meta.MeasurementQuality == "estimated",
		"threads ran at once": runs["threads"].Channel.Threads == 3 &&
			self(runs["threads"], "shop.orders.worker") > 0.9,
		"failed was ended by a signal": *runs["failed"].Process.Signal == "SIGSEGV" &&
			runs["failed"].Process.ExitStatus == 139 && runs["failed"].Channel.OpenAtEnd == 2,
		"gpu has a GPU in its total": runs["gpu"].Totals.Domains["gpu0"] == 88_000_000 &&
			*runs["gpu"].Totals.EnergyJ == 110_000_000 && runs["gpu"].Totals.Kind == nemb.Derived,
		"what the GPU used is nobody's": *runs["gpu"].Totals.ProgramEnergyJ < 22_000_000 &&
			runs["gpu"].Ledger[5].Name == LineUnattributed && runs["gpu"].Ledger[5].EnergyJ == 88_000_000,
		"gpu-only knows the machine's energy, and nobody's": *runs["gpu-only"].Totals.EnergyJ == 88_000_000 &&
			runs["gpu-only"].Totals.ProgramEnergyJ == nil && runs["gpu-only"].Functions[0].SelfEnergyJ == nil &&
			runs["gpu-only"].Functions[0].Unresolved == OnlyGPUs && *runs["gpu-only"].Tasks[0].EnergyJ == 88_000_000 && runs["gpu-only"].Tasks[0].ProgramEnergyJ == nil,
		"two-socket adds up both, once": *runs["two-socket"].Totals.EnergyJ == 1_100_000*(40+4+12+3) &&
			len(runs["two-socket"].Totals.Domains) == 6,
		"empty has no function, and an energy": len(runs["empty"].Functions) == 0 && len(runs["empty"].Sites) == 0 &&
			*runs["empty"].Totals.EnergyJ == 22_000_000,
	} {
		if !is {
			t.Errorf("it is not so that %s", what)
		}
	}
}
