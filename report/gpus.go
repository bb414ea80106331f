package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"cg/checkpoint"
	"cg/measure"
	"cg/nemb/attribute/gpus"
	"cg/report/figures"
)

// GPUs says whose the energy of the GPUs is, and how that was found.
type GPUs struct {
	// Method says how the program's part is told apart by function: "cupti_activity", by the kernels that they
	// launched, "launch_intervals", by when the program launched and waited for something, or "process", not at all.
	Method  string `json:"gpu_method"`
	Devices []GPU  `json:"devices"` // as far as drivers were asked
	// What ran on the GPUs, and which functions launched it, where the program was made to tell (--gpu-kernels).
	Kernels   []GPUKernel   `json:"kernels,omitempty"`
	Functions []GPUFunction `json:"functions,omitempty"`
	Ranges    []GPURange    `json:"ranges,omitempty"` // that the program names by NVTX
	// KernelRuns are the longest of what Kernels sum up, kernels.MostStretches at most, in the order of their
	// beginnings.
	KernelRuns []GPURun `json:"kernel_runs,omitempty"`
	// BetweenKernelsJ is what the program used on these GPUs while nothing of it ran, or nothing is recorded.
	BetweenKernelsJ *Joules `json:"between_kernels_j,omitempty"`
	Unrecorded      uint64  `json:"unrecorded,omitempty"` // kernels and copies without a record
	// WeighedBy is the metric by which kernels shared energy between two updates of the counter; "" for time alone.
	WeighedBy string `json:"weighed_by,omitempty"`
}

// GPU is whose the energy of one is. The program's, others', idle and unattributed energy add
// up to that of its domain.
type GPU struct {
	Domain string `json:"domain"`
	// Method is nvml_process_utilization, amdsmi_processes, dcgm_instance_activity, gpm_instance_activity, mig_slices,
	// nvml_accounting or unattributed.
	Method string `json:"gpu_method"`
	// Reason says why there is unattributed energy; "" where there is next to none.
	Reason string `json:"reason"`
	// UsedByProgram tells whether the program held a context on it; nil: not known.
	UsedByProgram *bool `json:"used_by_program"`
	// SideBySide is set where kernels of several processes ran at once (MPS).
	SideBySide bool `json:"side_by_side"`
	// The program's energy is nil where it is not known, and 0 where the program held no context. Others' is nil
	// where nothing tells whose the GPU's is.
	ProgramEnergyJ   *Joules `json:"program_energy_j"`
	ProgramEnergyLoJ *Joules `json:"program_energy_lo_j"`
	ProgramEnergyHiJ *Joules `json:"program_energy_hi_j"`
	OtherJ           *Joules `json:"other_processes_j"`
	IdleJ            Joules  `json:"idle_j"`
	UnattributedJ    Joules  `json:"unattributed_j"`
	// Counter is how its counter follows its power; nil where that is not known.
	Counter *GPUCounter `json:"counter,omitempty"`
}

// gpus says how the energy of each GPU was divided.
func (r *Run) gpus(e energies) {
	g := &GPUs{Method: gpus.ByProcess}
	for d, division := range e.result.GPUs {
		if division == nil || division.Reason == gpus.NotAsked {
			continue
		}
		l := e.result.Domains[d]
		one := GPU{Domain: e.domains[d].ID, Method: division.Method, Reason: string(division.Reason),
			SideBySide: division.AtOnce, Counter: counterHabits(e.domains[d].Habits),
			IdleJ: Joules(l.Idle), UnattributedJ: Joules(l.Unattributed)}
		switch used := !division.Unused; {
		case division.Unused, isDivided(division) && l.GPU > 0:
			one.UsedByProgram = &used
		}
		if isDivided(division) {
			one.ProgramEnergyJ = joules(l.GPU)
			one.ProgramEnergyLoJ, one.ProgramEnergyHiJ = joules(l.ProgramLo), joules(l.ProgramHi)
		}
		if division.Method != gpus.Unattributed {
			one.OtherJ = joules(l.Other)
		}
		g.Devices = append(g.Devices, one)
	}
	if len(g.Devices) > 0 {
		r.GPUs = g
	}
}

// gpus holds the parts of each GPU's energy against the whole, and against the ledger.
func (c *check) gpus(r *Run) {
	if r.GPUs == nil {
		return
	}
	c.kernels(r.GPUs)
	for i, g := range r.GPUs.Devices {
		field := fmt.Sprintf("gpus.devices[%d] (%s).", i, g.Domain)
		c.interval(field+"program_energy_j", g.ProgramEnergyLoJ, g.ProgramEnergyJ, g.ProgramEnergyHiJ)
		parts := map[string]Joules{LineIdle: g.IdleJ, LineUnattributed: g.UnattributedJ}
		for _, part := range []struct {
			line   string
			energy *Joules
		}{{LineGPU, g.ProgramEnergyJ}, {LineOther, g.OtherJ}} {
			if part.energy != nil {
				parts[part.line] = *part.energy
			} else if g.Method != gpus.Unattributed {
				c.fault(field+"program_energy_j", "it is not known, but was found by %s", g.Method)
			}
		}
		var sum Joules
		for _, e := range parts {
			sum += e
		}
		c.sum("totals.domains."+g.Domain, "the parts of "+field[:len(field)-1], r.Totals.Domains[g.Domain], sum)
		for _, l := range r.Ledger {
			if e, ok := parts[l.Name]; ok {
				c.sum(fmt.Sprintf("ledger (%s).domains.%s", l.Name, g.Domain), field[:len(field)-1],
					l.Domains[g.Domain], e)
			}
		}
	}
}

// byFunction tells whether energies of functions are known where the program's is: not where
// all of it is on GPUs.
func (r *Run) byFunction() bool {
	has := func(name string) bool {
		return slices.ContainsFunc(r.Ledger, func(l Line) bool { return l.Name == name })
	}
	return has(LineFunctions) || !has(LineGPU)
}

// gpuWords say how the energy of a GPU was divided.
var gpuWords = map[string]string{
	gpus.Utilization:  "by the driver's samples of what processes use",
	gpus.Processes:    "by what AMD SMI tells of processes",
	gpus.Accounting:   "by the driver's accounting of processes",
	gpus.ByDCGM:       "by how active DCGM says each MIG instance was",
	gpus.ByGPM:        "by how active the driver says each MIG instance was",
	gpus.BySlices:     "by the size of the MIG instances that processes held",
	gpus.Unattributed: "on which it held no context",
}

// Line says what the program used of the GPUs, how that is known, and that functions have none
// of it; "" where it is not known.
func (g *GPUs) Line(mark string) string {
	if g == nil {
		return ""
	}
	var sum, lo, hi Joules
	var names, methods []string
	for _, d := range g.Devices {
		if d.ProgramEnergyJ == nil {
			continue
		}
		sum, lo, hi = sum+*d.ProgramEnergyJ, lo+*d.ProgramEnergyLoJ, hi+*d.ProgramEnergyHiJ
		names = append(names, d.Domain)
		if words := gpuWords[d.Method]; !slices.Contains(methods, words) {
			methods = append(methods, words)
		}
	}
	if len(names) == 0 {
		return ""
	}
	how := "not told apart by function"
	switch g.Method {
	case ByLaunch:
		how = "by kernel as launches and synchronisations tell"
	case ByKernel:
		how = "by kernel as CUPTI tells"
		if g.WeighedBy != "" {
			how += ", weighed by " + g.WeighedBy
		}
	}
	return fmt.Sprintf("%s%s [%s, %s] of the program on %s, %s; %s", mark, figures.Energy(&sum), figures.Energy(&lo),
		figures.Energy(&hi), strings.Join(names, ", "), strings.Join(methods, ", "), how)
}

// warnOfGPUs warns of energy of GPUs of which nothing tells whose it is.
func (r *Run) warnOfGPUs(o *measure.Outcome) {
	if r.Totals.EnergyJ == nil {
		return
	}
	var sum Joules
	var names, reasons []string
	for d, domain := range o.Domains {
		if !domain.InTotal || domain.FollowsProcessors() || drew(o, d) <= 0 {
			continue
		}
		division := divisionOf(o.Attributed.GPUs, d)
		if isDivided(division) && (division.Reason == gpus.Resolved || division.Unused) {
			continue
		}
		sum += Joules(o.Attributed.Domains[d].Unattributed)
		names = append(names, domain.ID)
		if division != nil && division.Reason.Why() != "" {
			reasons = append(reasons, domain.ID+": "+division.Reason.Why())
		}
	}
	if len(names) == 0 {
		return
	}
	text := fmt.Sprintf("%s used %s%s, and nothing tells whose that is: it is on the ledger's line unattributed, and "+
		"in no energy of the program, its functions or other processes", strings.Join(names, ", "), r.Mark(),
		figures.Energy(&sum))
	if r.Totals.ProgramEnergyJ == nil {
		text += "; as nothing else is measured, these are not known"
	}
	text += ". If nothing else uses the GPU, that is the program's"
	if len(reasons) > 0 {
		text += ". " + strings.Join(reasons, "; ")
	}
	r.Warn("gpu-unattributed", text)
}

// divisionOf is that of a domain, nil where there is none.
func divisionOf(all []*gpus.Division, d int) *gpus.Division {
	if d >= len(all) {
		return nil
	}
	return all[d]
}

// gpusInTasks adds the program's part of GPUs to the tasks within the program, of which each
// has what was used while it ran alone. What was used while it ran beside others may be its own,
// or none of it.
func (s *sharing) gpusInTasks(i int, divisions []*gpus.Division) {
	t := &s.tasks[i]
	if t.again || t.ProgramShare == nil {
		return
	}
	var sum, lo, hi float64
	known := false
	for d := range s.domains {
		division := divisionOf(divisions, d)
		if !isDivided(division) || !s.domains[d].InTotal {
			continue
		}
		known = true
		for _, ran := range t.ran() {
			e, least, most := division.ProgramBetween(checkpoint.Instant(ran.from), checkpoint.Instant(ran.to))
			if s.states[i].shared {
				e, least = 0, 0
			}
			sum, lo, hi = sum+e, lo+least*s.domains[d].Lo, hi+most*s.domains[d].Hi
		}
	}
	if !known {
		return
	}
	add := func(to **Joules, micro float64) {
		j := Joules(math.Round(micro))
		if *to != nil {
			j += **to
		}
		*to = &j
	}
	add(&t.ProgramEnergyJ, sum)
	add(&t.ProgramEnergyLoJ, math.Floor(lo))
	add(&t.ProgramEnergyHiJ, math.Ceil(hi))
}
