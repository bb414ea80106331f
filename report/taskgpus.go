package report

import "fmt"

// TaskGPU is whose the energy of a GPU was in a task of a session: the program's, others', idle and unattributed energy
// add up to EnergyJ.
type TaskGPU struct {
	Domain string `json:"domain"`
	// Method is process, by what the driver tells of processes, or unattributed.
	Method string `json:"gpu_method"`
	// Reason says why there is unattributed energy; "" where there is next to none.
	Reason string `json:"reason"`
	// UsedByProgram is false where the program held no context on it.
	UsedByProgram bool    `json:"used_by_program"`
	EnergyJ       *Joules `json:"energy_j"`
	// The program's energy is nil where it is not known. It is what the task has of the GPU.
	ProgramEnergyJ   *Joules `json:"program_energy_j"`
	ProgramEnergyLoJ *Joules `json:"program_energy_lo_j"`
	ProgramEnergyHiJ *Joules `json:"program_energy_hi_j"`
	OtherJ           Joules  `json:"other_processes_j"`
	IdleJ            Joules  `json:"idle_j"`
	UnattributedJ    Joules  `json:"unattributed_j"`
}

// GPUOfTask is a row of the table of what tasks have of GPUs.
type GPUOfTask struct {
	Task  string
	Depth int // of the task, 0 for one that is in no other
	TaskGPU
}

// TaskGPUs are whose the energies of GPUs were in the tasks of a session, in the order of tasks.
func (r *Run) TaskGPUs() (all []GPUOfTask) {
	for i := range r.Tasks {
		t := &r.Tasks[i]
		for _, g := range t.GPUs {
			all = append(all, GPUOfTask{Task: t.Name, Depth: max(0, t.Depth-1), TaskGPU: g})
		}
	}
	return all
}

// taskGPUs holds the parts of the energy of each GPU in a task against the whole, and against the task's domain.
func (c *check) taskGPUs(field string, t *Task) {
	for i, g := range t.GPUs {
		at := fmt.Sprintf("%sgpus[%d] (%s).", field, i, g.Domain)
		c.interval(at+"program_energy_j", g.ProgramEnergyLoJ, g.ProgramEnergyJ, g.ProgramEnergyHiJ)
		sum := g.OtherJ + g.IdleJ + g.UnattributedJ
		e, has := t.Domains[g.Domain]
		if g.ProgramEnergyJ != nil {
			sum += *g.ProgramEnergyJ
		}
		if g.EnergyJ != nil {
			c.sum(at+"energy_j", "its parts", *g.EnergyJ, sum)
		}
		if t.EnergyJ == nil {
			continue
		}
		if has != (g.ProgramEnergyJ != nil) {
			c.fault(field+"domains."+g.Domain, "it is there: %v; the program's energy is known: %v", has,
				g.ProgramEnergyJ != nil)
		} else if has {
			c.sum(field+"domains."+g.Domain, at[:len(at)-1], e, *g.ProgramEnergyJ)
		}
	}
}
