package text

import (
	"fmt"
	"strings"

	"cg/report"
	"cg/report/figures"
)

// kernels shows what ran on GPUs, and which functions launched it.
func (p *printer) kernels(r *report.Run) {
	if r.GPUs == nil || len(r.GPUs.Kernels) == 0 {
		return
	}
	mark := r.Mark()
	table(p, "kernel", r.GPUs.Kernels, func(k report.GPUKernel) string { return k.Name }, []column[report.GPUKernel]{
		{"runs", 0, func(k report.GPUKernel) string { return figures.Count(k.Runs) }},
		{"energy", 0, func(k report.GPUKernel) string { return mark + figures.Energy(k.EnergyJ) }},
		{"interval", 104, func(k report.GPUKernel) string { return figures.Interval(k.EnergyLoJ, k.EnergyHiJ) }},
		{"power", 72, func(k report.GPUKernel) string { return figures.Watts(k.AvgPowerW) }},
		{"time", 60, func(k report.GPUKernel) string { return figures.Seconds(k.TimeS) }},
		{"gpu", 120, func(k report.GPUKernel) string { return k.Domain }},
		{"launched by", 88, func(k report.GPUKernel) string {
			if n := len(k.LaunchedBy) - 1; n > 0 {
				return fmt.Sprintf("%s and %d more", k.LaunchedBy[0], n)
			}
			return k.LaunchedBy[0]
		}},
	})
	table(p, "on GPUs, by function", r.GPUs.Functions, func(f report.GPUFunction) string { return f.Name },
		[]column[report.GPUFunction]{
			{"launches", 72, func(f report.GPUFunction) string { return figures.Count(f.Launches) }},
			{"self", 0, func(f report.GPUFunction) string { return mark + figures.Energy(f.Self.EnergyJ) }},
			{"interval", 104, func(f report.GPUFunction) string { return figures.Interval(f.Self.EnergyLoJ, f.Self.EnergyHiJ) }},
			{"incl", 0, func(f report.GPUFunction) string { return mark + figures.Energy(f.Inclusive.EnergyJ) }},
			{"time", 60, func(f report.GPUFunction) string { return figures.Seconds(f.SelfTimeS) }},
		})
}

// ranges shows what was launched in the ranges that the program names.
func (p *printer) ranges(r *report.Run) {
	if r.GPUs == nil {
		return
	}
	mark := r.Mark()
	table(p, "on GPUs, by range", r.GPUs.Ranges, func(g report.GPURange) string { return g.Name },
		[]column[report.GPURange]{
			{"runs", 72, func(g report.GPURange) string { return figures.Count(g.Runs) }},
			{"self", 0, func(g report.GPURange) string { return mark + figures.Energy(g.Self.EnergyJ) }},
			{"incl", 0, func(g report.GPURange) string { return mark + figures.Energy(g.Inclusive.EnergyJ) }},
			{"interval", 104, func(g report.GPURange) string {
				return figures.Interval(g.Inclusive.EnergyLoJ, g.Inclusive.EnergyHiJ)
			}},
			{"gpu time", 60, func(g report.GPURange) string { return figures.Seconds(g.GPUTimeS) }},
			{"time", 0, func(g report.GPURange) string { return figures.Seconds(g.TimeS) }},
		})
}

// counted is a metric of a GPU, or of a kernel on it.
type counted struct {
	report.GPUMetric
	of string
}

// gpuMetrics shows the counters of GPUs over the run, and by kernel where kernels are known.
func (p *printer) gpuMetrics(r *report.Run) {
	if r.GPUMetrics == nil {
		return
	}
	var all, kernels []counted
	for i := range r.GPUMetrics.Devices {
		g := &r.GPUMetrics.Devices[i]
		for _, m := range g.Metrics {
			all = append(all, counted{m, g.Title()})
		}
	}
	table(p, "counter, each "+r.GPUMetrics.Interval(), all, func(c counted) string { return c.Name }, []column[counted]{
		{"mean", 0, func(c counted) string { return figures.Number(c.Mean) }},
		{"min", 72, func(c counted) string { return figures.Number(c.Min) }},
		{"max", 72, func(c counted) string { return figures.Number(c.Max) }},
		{"gpu", 0, func(c counted) string { return c.of }},
	})
	if r.GPUs != nil {
		for _, k := range r.GPUs.Kernels {
			for _, m := range k.Metrics {
				kernels = append(kernels, counted{m, k.Name})
			}
		}
	}
	table(p, "counter, by kernel", kernels, func(c counted) string { return c.of }, []column[counted]{
		{"mean", 0, func(c counted) string { return figures.Number(c.Mean) }},
		{"over", 72, func(c counted) string { return figures.Seconds(c.OverS) }},
		{"counter", 0, func(c counted) string { return c.Name }},
	})
}

// taskGPUs shows whose the energy of GPUs was in the tasks of a session.
func (p *printer) taskGPUs(r *report.Run, energy func(*report.Joules) string) {
	table(p, "on GPUs, by task", r.TaskGPUs(), func(g report.GPUOfTask) string {
		return strings.Repeat("  ", g.Depth) + g.Task
	}, []column[report.GPUOfTask]{
		{"gpu", 0, func(g report.GPUOfTask) string { return g.Domain }},
		{"gpu method", 0, func(g report.GPUOfTask) string { return g.Method }},
		{"program", 0, func(g report.GPUOfTask) string { return energy(g.ProgramEnergyJ) }},
		{"interval", 104, func(g report.GPUOfTask) string { return figures.Interval(g.ProgramEnergyLoJ, g.ProgramEnergyHiJ) }},
		{"others", 72, func(g report.GPUOfTask) string { return energy(&g.OtherJ) }},
		{"idle", 72, func(g report.GPUOfTask) string { return energy(&g.IdleJ) }},
		{"nobody's", 80, func(g report.GPUOfTask) string { return energy(&g.UnattributedJ) }},
	})
}
