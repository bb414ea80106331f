package markdown

import (
	"strings"

	"cg/report"
	"cg/report/figures"
	"cg/report/format"
)

// kernels shows what ran on GPUs, and which functions launched it.
func (m *page) kernels(r *report.Run, o format.Options, mark string) {
	if r.GPUs == nil || len(r.GPUs.Kernels) == 0 {
		return
	}
	m.head("kernel", "runs", "energy", "interval", "power", "time", "launched by")
	for _, k := range r.GPUs.Kernels[:o.Rows(len(r.GPUs.Kernels))] {
		m.row(name(k.Name), figures.Count(k.Runs), mark+figures.Energy(k.EnergyJ),
			figures.Interval(k.EnergyLoJ, k.EnergyHiJ), figures.Watts(k.AvgPowerW), figures.Seconds(k.TimeS),
			escape.Replace(strings.Join(k.LaunchedBy, ", ")))
	}
	m.more(len(r.GPUs.Kernels) - o.Rows(len(r.GPUs.Kernels)))
	m.head("function, on GPUs", "launches", "self", "interval", "inclusive", "time")
	for _, f := range r.GPUs.Functions[:o.Rows(len(r.GPUs.Functions))] {
		m.row(name(f.Name), figures.Count(f.Launches), mark+figures.Energy(f.Self.EnergyJ),
			figures.Interval(f.Self.EnergyLoJ, f.Self.EnergyHiJ), mark+figures.Energy(f.Inclusive.EnergyJ),
			figures.Seconds(f.SelfTimeS))
	}
	m.more(len(r.GPUs.Functions) - o.Rows(len(r.GPUs.Functions)))
	if len(r.GPUs.Ranges) == 0 {
		return
	}
	m.head("range, on GPUs", "runs", "self", "inclusive", "interval", "GPU time", "time")
	for _, g := range r.GPUs.Ranges[:o.Rows(len(r.GPUs.Ranges))] {
		m.row(name(g.Name), figures.Count(g.Runs), mark+figures.Energy(g.Self.EnergyJ),
			mark+figures.Energy(g.Inclusive.EnergyJ), figures.Interval(g.Inclusive.EnergyLoJ, g.Inclusive.EnergyHiJ),
			figures.Seconds(g.GPUTimeS), figures.Seconds(g.TimeS))
	}
	m.more(len(r.GPUs.Ranges) - o.Rows(len(r.GPUs.Ranges)))
}

// gpuMetrics shows the counters of GPUs over the run, and by kernel where kernels are known.
func (m *page) gpuMetrics(r *report.Run, o format.Options) {
	if r.GPUMetrics == nil {
		return
	}
	m.head("counter, each "+r.GPUMetrics.Interval(), "gpu", "mean", "min", "max")
	for i := range r.GPUMetrics.Devices {
		g := &r.GPUMetrics.Devices[i]
		for _, c := range g.Metrics {
			m.row(name(c.Name), escape.Replace(g.Title()), figures.Number(c.Mean), figures.Number(c.Min),
				figures.Number(c.Max))
		}
	}
	m.line("")
	if r.GPUs == nil || len(r.GPUs.Kernels) == 0 {
		return
	}
	m.head("kernel", "counter", "mean", "over")
	rows := o.Rows(len(r.GPUs.Kernels))
	for _, k := range r.GPUs.Kernels[:rows] {
		for _, c := range k.Metrics {
			m.row(name(k.Name), name(c.Name), figures.Number(c.Mean), figures.Seconds(c.OverS))
		}
	}
	m.more(len(r.GPUs.Kernels) - rows)
}

// taskGPUs writes whose the energy of GPUs was in the tasks of a session.
func (m *page) taskGPUs(r *report.Run, o format.Options, mark string) {
	all := r.TaskGPUs()
	if len(all) == 0 {
		return
	}
	energy := func(e *report.Joules) string {
		if e == nil {
			return "?"
		}
		return mark + figures.Energy(e)
	}
	rows := o.Rows(len(all))
	m.head("task, on GPUs", "GPU", "method", "program", "interval", "others", "idle", "nobody's", "reason")
	for _, g := range all[:rows] {
		m.row(name(g.Task), escape.Replace(g.Domain), escape.Replace(g.Method), energy(g.ProgramEnergyJ),
			figures.Interval(g.ProgramEnergyLoJ, g.ProgramEnergyHiJ), energy(&g.OtherJ), energy(&g.IdleJ),
			energy(&g.UnattributedJ), escape.Replace(g.Reason))
	}
	m.more(len(all) - rows)
}

// more ends a table of which n rows are not shown.
func (m *page) more(n int) {
	if n > 0 {
		m.line("\nand %d more", n)
	}
	m.line("")
}
