package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"cg/checkpoint"
	"cg/kernels"
	"cg/measure"
	"cg/nemb"
	"cg/nemb/attribute/gpus"
	"cg/pmsampling/beside"
)

// ByKernel is the gpu_method of a run whose kernels CUPTI told, with the call paths that launched them.
const ByKernel = "cupti_activity"

// ByLaunch is that of a run of which launches and synchronisations are known alone.
const ByLaunch = "launch_intervals"

// OutsideFunctions is the name in GPUFunction of what no function with checkpoints launched: threads without any, such
// as those of a library, and code outside.
const OutsideFunctions = "outside functions"

// GPUKernel is what a kernel, or a kind of copies, used on a GPU, over all call paths.
type GPUKernel struct {
	Domain string  `json:"domain"`
	Name   string  `json:"name"` // demangled
	Kind   string  `json:"kind"` // kernel, copy or fill
	Runs   uint64  `json:"runs"`
	TimeS  float64 `json:"time_s"` // on the GPU
	Bytes  uint64  `json:"bytes"`  // that copies and fills moved
	GPUUse
	AvgPowerW *float64 `json:"avg_power_w"` // above idle, while it ran
	// LaunchedBy are the functions that launched it, by falling time.
	LaunchedBy []string `json:"launched_by"`
	// Metrics are the counters over the samples that lie wholly in a run of it, whatever else ran then (--gpu-metrics).
	Metrics []GPUMetric `json:"metrics,omitempty"`
}

// GPURun is one run of a kernel, copy or fill.
type GPURun struct {
	Kernel          int    `json:"kernel"`         // index of Kernels
	Site            uint32 `json:"site,omitempty"` // of the function that launched it; none outside of all
	StartedAtMonoNs int64  `json:"started_at_mono_ns"`
	EndedAtMonoNs   int64  `json:"ended_at_mono_ns"`
}

// GPUUse is an energy of a GPU, with its bounds; nil where it is not known.
type GPUUse struct {
	EnergyJ   *Joules `json:"energy_j"`
	EnergyLoJ *Joules `json:"energy_lo_j"`
	EnergyHiJ *Joules `json:"energy_hi_j"`
}

// GPUFunction is what a function used on GPUs by what it launched itself, and with the functions that it called.
type GPUFunction struct {
	Name      string  `json:"name"`
	File      string  `json:"file"`
	Line      int     `json:"line"`
	Launches  uint64  `json:"launches"` // by itself
	SelfTimeS float64 `json:"self_time_s"`
	TimeS     float64 `json:"inclusive_time_s"`
	Self      GPUUse  `json:"self"`
	Inclusive GPUUse  `json:"inclusive"`
}

// activitySum is what activities add up to.
type activitySum struct {
	runs, bytes uint64
	time        time.Duration
	energy      float64
	lo, hi      float64
	known       bool
}

func (s *activitySum) add(a *kernels.Activity, parts []gpus.Part) {
	s.runs, s.bytes, s.time = s.runs+a.Count, s.bytes+a.Bytes, s.time+a.Time
	if parts == nil {
		return
	}
	p := parts[a.Key()]
	s.known = true
	s.energy, s.lo, s.hi = s.energy+float64(p.Energy), s.lo+p.Lo, s.hi+p.Hi
}

func (s *activitySum) use() GPUUse {
	if !s.known {
		return GPUUse{}
	}
	e := nemb.Energy(s.energy)
	lo, hi := max(0, min(s.lo, s.energy)), max(s.hi, s.energy)
	return GPUUse{joules(e), joules(nemb.Energy(lo)), joules(nemb.Energy(hi + 0.5))}
}

// within is the use of what was launched by something itself, where all is that with what it called: 0 where all is
// known and it launched nothing.
func (s *activitySum) within(all *activitySum) GPUUse {
	if all.known && s.runs == 0 {
		return noUse()
	}
	return s.use()
}

// noUse is the use of what is known to have launched nothing.
func noUse() GPUUse { return GPUUse{joules(0), joules(0), joules(0)} }

// kernels tells what ran on GPUs and which functions launched it.
func (r *Run) kernels(k *measure.Kernels, counters *measure.Counters, sites []checkpoint.Site) {
	if k == nil || r.GPUs == nil {
		return
	}
	s := kernelSums{sites: sites, kernels: map[kernelKey]*kernelSum{}, self: map[checkpoint.SiteID]*activitySum{},
		all: map[checkpoint.SiteID]*activitySum{}, ranges: map[*kernels.Range]*rangeSum{}}
	if counters != nil {
		s.metrics = counters.Recorder.Metrics()
	}
	var rest Joules
	for _, g := range k.GPUs {
		for _, a := range g.GPU.Activities {
			s.add(g, a)
		}
		if g.Parts != nil {
			rest += Joules(g.Rest)
		}
	}
	if len(s.kernels) == 0 {
		return
	}
	weighed := func(g measure.KernelsOfGPU) bool { return g.GPU.Work.IsWeighed() }
	if counters != nil && slices.ContainsFunc(k.GPUs, weighed) {
		r.GPUs.WeighedBy = s.metrics[counters.Recorder.Weight()]
	}
	r.GPUs.Method, r.GPUs.BetweenKernelsJ, r.GPUs.Unrecorded = ByKernel, &rest, k.Log.Lost
	if k.Log.Guessed {
		r.GPUs.Method = ByLaunch
	}
	r.GPUs.Kernels, r.GPUs.Functions = s.list(), s.functions()
	known := k.Unknown == 0 && slices.ContainsFunc(k.GPUs, func(g measure.KernelsOfGPU) bool { return g.Parts != nil })
	r.GPUs.Ranges = s.rangesOf(k.Log.Ranges, known)
	r.GPUs.KernelRuns = s.runs(k, r.GPUs.Kernels)
}

type kernelKey struct{ domain, name, kind string }

type kernelSum struct {
	activitySum
	by      map[string]time.Duration
	counted []beside.Sum
}

// kernelSums adds activities up.
type kernelSums struct {
	sites     []checkpoint.Site
	metrics   []string // that were sampled
	ranges    map[*kernels.Range]*rangeSum
	kernels   map[kernelKey]*kernelSum
	self, all map[checkpoint.SiteID]*activitySum // 0: outside functions
}

func (s *kernelSums) add(g measure.KernelsOfGPU, a *kernels.Activity) {
	key := kernelKey{g.Domain, a.Name, a.Kind.String()}
	k := s.kernels[key]
	if k == nil {
		k = &kernelSum{by: map[string]time.Duration{}}
		s.kernels[key] = k
	}
	k.add(a, g.Parts)
	if k.counted == nil {
		k.counted = make([]beside.Sum, len(s.metrics))
	}
	for i, sum := range a.Counted {
		k.counted[i].Join(sum)
	}
	path := slices.DeleteFunc(slices.Clone(a.Path), func(id checkpoint.SiteID) bool { return s.site(id) == nil })
	innermost := checkpoint.SiteID(0)
	if len(path) > 0 {
		innermost = path[0]
	}
	k.by[s.name(innermost)] += a.Time
	for r := a.Range; r != nil; r = r.Around {
		if s.ranges[r] == nil {
			s.ranges[r] = &rangeSum{}
		}
		if s.ranges[r].all.add(a, g.Parts); r == a.Range {
			s.ranges[r].self.add(a, g.Parts)
		}
	}
	of(s.self, innermost).add(a, g.Parts)
	slices.Sort(path)
	for _, id := range slices.Compact(path) { // a recursive call once
		of(s.all, id).add(a, g.Parts)
	}
	if innermost == 0 {
		of(s.all, 0).add(a, g.Parts)
	}
}

func of(all map[checkpoint.SiteID]*activitySum, id checkpoint.SiteID) *activitySum {
	if all[id] == nil {
		all[id] = &activitySum{}
	}
	return all[id]
}

// runs are the longest activities of GPUs whose domain is known.
func (s *kernelSums) runs(k *measure.Kernels, list []GPUKernel) (runs []GPURun) {
	domains, index := map[*kernels.GPU]string{}, map[kernelKey]int{}
	for _, g := range k.GPUs {
		domains[g.GPU] = g.Domain
	}
	for i, one := range list {
		index[kernelKey{one.Domain, one.Name, one.Kind}] = i
	}
	for _, span := range k.Log.Longest {
		domain, known := domains[span.GPU]
		if !known {
			continue
		}
		run := GPURun{Kernel: index[kernelKey{domain, span.Activity.Name, span.Activity.Kind.String()}],
			StartedAtMonoNs: int64(span.From), EndedAtMonoNs: int64(span.To)}
		for _, id := range span.Activity.Path {
			if s.site(id) != nil {
				run.Site = uint32(id)
				break
			}
		}
		runs = append(runs, run)
	}
	return runs
}

// site is that of a number, nil for one that is no function's.
func (s *kernelSums) site(id checkpoint.SiteID) *checkpoint.Site {
	if id == 0 || int(id) > len(s.sites) || s.sites[id-1].Kind == checkpoint.Task {
		return nil
	}
	return &s.sites[id-1]
}

func (s *kernelSums) name(id checkpoint.SiteID) string {
	if site := s.site(id); site != nil {
		return site.Func
	}
	return OutsideFunctions
}

// list are the kernels by falling energy, or time where that is not known.
func (s *kernelSums) list() []GPUKernel {
	list := []GPUKernel{}
	for key, k := range s.kernels {
		one := GPUKernel{Domain: key.domain, Name: key.name, Kind: key.kind, Runs: k.runs, TimeS: k.time.Seconds(),
			Bytes: k.bytes, GPUUse: k.use()}
		if k.known && k.time > 0 {
			w := one.EnergyJ.Float() / one.TimeS
			one.AvgPowerW = &w
		}
		if len(s.metrics) > 0 {
			one.Metrics = metricsOf(s.metrics, k.counted)
		}
		for name := range k.by {
			one.LaunchedBy = append(one.LaunchedBy, name)
		}
		slices.SortFunc(one.LaunchedBy, func(a, b string) int {
			return cmp.Or(cmp.Compare(k.by[b], k.by[a]), cmp.Compare(a, b))
		})
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b GPUKernel) int {
		return cmp.Or(cmp.Compare(value(b.EnergyJ), value(a.EnergyJ)), cmp.Compare(b.TimeS, a.TimeS),
			cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// value orders energies that are not known behind those that are.
func value(j *Joules) float64 {
	if j == nil {
		return -1
	}
	return j.Float()
}

func (s *kernelSums) functions() []GPUFunction {
	list := []GPUFunction{}
	for id, all := range s.all {
		f := GPUFunction{Name: s.name(id), TimeS: all.time.Seconds(), Inclusive: all.use()}
		if site := s.site(id); site != nil {
			f.File, f.Line = site.File, site.Line
		}
		self := of(s.self, id)
		f.Launches, f.SelfTimeS, f.Self = self.runs, self.time.Seconds(), self.within(all)
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b GPUFunction) int {
		return cmp.Or(cmp.Compare(value(b.Self.EnergyJ), value(a.Self.EnergyJ)), cmp.Compare(b.SelfTimeS, a.SelfTimeS),
			cmp.Compare(b.TimeS, a.TimeS), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// warnOfKernels says why kernels are not known that were asked for, and what is missing.
func (r *Run) warnOfKernels(k *measure.Kernels) {
	if k == nil {
		return
	}
	if k.Log.NoCUPTI != "" {
		r.Warn("gpu-kernels-guessed", fmt.Sprintf("--gpu-kernels: CUPTI cannot be used (%s): what the program "+
			"launches and waits for is told instead (--gpu-launches). When a kernel ran is known from that within "+
			"bounds alone", k.Log.NoCUPTI))
	}
	var text []string
	switch told := r.GPUs != nil && r.GPUs.Kernels != nil; {
	case len(k.Log.Refused) > 0:
		text = append(text, strings.Join(k.Log.Refused, "; "))
	case k.Log.Told == 0:
		text = append(text, "no process of the program has started CUDA, or cg's library could not be "+
			"loaded into it")
	case k.Unknown > 0:
		text = append(text, fmt.Sprintf("%d GPUs ran kernels whose energy nothing measures (-s, cg info)", k.Unknown))
	case !told && len(k.GPUs) == 0:
		text = append(text, "the program has started CUDA, and nothing ran on a GPU")
	case !told:
		text = append(text, "the driver tells nothing of the GPU's processes, so that its energy cannot be divided")
	}
	if n := k.Log.Lost; n > 0 {
		text = append(text, fmt.Sprintf("%d kernels and copies have no record: what they used counts as that of "+
			"others which ran at the time", n))
	}
	if n := k.Log.Odd; n > 0 {
		text = append(text, fmt.Sprintf("%d messages of the program were not those of cg's library", n))
	}
	if len(text) > 0 {
		flag := "--gpu-kernels"
		if k.Log.Launches && k.Log.NoCUPTI == "" {
			flag = "--gpu-launches"
		}
		r.Warn("gpu-kernels-unknown", flag+": "+strings.Join(text, ". "))
	}
}

// kernels holds what kernels and functions used against what the program used on the GPUs.
func (c *check) kernels(g *GPUs) {
	if g.Kernels == nil {
		return
	}
	sums := map[string]Joules{}
	known := map[string]bool{}
	var whole, self Joules
	for i, run := range g.KernelRuns {
		field := fmt.Sprintf("gpus.kernel_runs[%d]", i)
		switch {
		case run.Kernel < 0 || run.Kernel >= len(g.Kernels):
			c.fault(field+".kernel", "%d is no kernel", run.Kernel)
		case run.EndedAtMonoNs < run.StartedAtMonoNs:
			c.fault(field+".ended_at_mono_ns", "%d is before its start, %d", run.EndedAtMonoNs, run.StartedAtMonoNs)
		}
	}
	for i, k := range g.Kernels {
		c.interval(fmt.Sprintf("gpus.kernels[%d].energy_j", i), k.EnergyLoJ, k.EnergyJ, k.EnergyHiJ)
		if k.EnergyJ != nil {
			known[k.Domain] = true
			sums[k.Domain] += *k.EnergyJ
			whole += *k.EnergyJ
		}
	}
	for i, f := range g.Functions {
		c.interval(fmt.Sprintf("gpus.functions[%d].self", i), f.Self.EnergyLoJ, f.Self.EnergyJ, f.Self.EnergyHiJ)
		c.interval(fmt.Sprintf("gpus.functions[%d].inclusive", i), f.Inclusive.EnergyLoJ, f.Inclusive.EnergyJ,
			f.Inclusive.EnergyHiJ)
		if f.Self.EnergyJ != nil {
			self += *f.Self.EnergyJ
		}
	}
	c.sum("gpus.functions", "the functions' self energies", whole, self)
	if g.BetweenKernelsJ == nil {
		return
	}
	var program, parts Joules
	for _, d := range g.Devices {
		if known[d.Domain] && d.ProgramEnergyJ != nil {
			program += *d.ProgramEnergyJ
			parts += sums[d.Domain]
		}
	}
	c.sum("gpus.devices", "kernels, and what is between them", program, parts+*g.BetweenKernelsJ)
}
