package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"cg/nemb"
	"cg/nemb/account"
)

// GPUs tells what stands in the way of measuring GPUs: their driver, how often each counter moves, and what
// the driver tells of processes. It watches the counters for window, two seconds say.
func GPUs(root nemb.Root, window time.Duration) *Diagnosis {
	d := &Diagnosis{}
	var sensors []nemb.Sensor
	var absent []Finding
	sources := slices.DeleteFunc(nemb.Sources(), func(s nemb.Source) bool { return !s.Occupied })
	slices.SortFunc(sources, func(a, b nemb.Source) int { return cmp.Compare(a.Rank, b.Rank) })
	for _, source := range sources {
		opened, err := nemb.OpenSource(root, source.Name)
		sensors = append(sensors, opened...)
		for _, err := range flat(err) {
			if errors.Is(err, fs.ErrNotExist) {
				absent = append(absent, Finding{Check: "driver", Level: Failure, Fix: source.Driver,
					Text: fmt.Sprintf("%v: nothing tells the energy of a GPU", err)})
			} else {
				d.add("driver", Failure, "", "%v", err)
			}
		}
	}
	if len(sensors) == 0 { // else the machine has GPUs of the other maker
		d.Findings = append(absent, d.Findings...)
	}
	for _, s := range sensors {
		defer s.Close()
	}
	d.Measures = len(sensors) > 0
	updates := make([][]time.Duration, len(sensors))
	watch(sensors, window, updates)
	for i, s := range sensors {
		d.counterOfGPU(s.Domains()[0], updates[i], window)
		if o, ok := s.(nemb.Occupied); ok {
			d.processesOfGPU(s.Domains()[0].ID, o.Occupants())
		}
	}
	if len(sensors) > 0 && account.Nested() {
		d.add("container", Remark, "", "cg is in a PID namespace: what processes outside of it use of a GPU is told "+
			"as nobody's; run cg outside of the container to know it")
	}
	return d
}

// flat are the errors that were joined.
func flat(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// lookPause is the time between two looks at a counter: a small part of the periods that GPUs have.
const lookPause = time.Millisecond

// watch notes when the counter of each sensor changed, since the begin.
func watch(sensors []nemb.Sensor, window time.Duration, updates [][]time.Duration) {
	begin := time.Now()
	last := make([]nemb.Energy, len(sensors))
	for first := true; time.Since(begin) < window && len(sensors) > 0; first = false {
		for i, s := range sensors {
			var now [1]nemb.Energy
			if s.Read(now[:]) == nil && now[0] != last[i] {
				if last[i] = now[0]; !first {
					updates[i] = append(updates[i], time.Since(begin))
				}
			}
		}
		time.Sleep(lookPause)
	}
}

// counterOfGPU tells how often the counter of a GPU moves.
func (d *Diagnosis) counterOfGPU(domain nemb.Domain, at []time.Duration, window time.Duration) {
	if domain.Method == nemb.Derived {
		d.add("counter", Remark, "", "%s: it has no counter of energy, so its power is read and integrated: what "+
			"changes between two readings is missed", domain.ID)
		return
	}
	if len(at) < 3 {
		d.add("counter", Warning, "", "%s: its counter moved %d times in %v: nothing shorter than some of its steps "+
			"can be measured", domain.ID, len(at), window)
		return
	}
	var steps []time.Duration
	for i := 1; i < len(at); i++ {
		steps = append(steps, at[i]-at[i-1])
	}
	slices.Sort(steps)
	tenth := func(k int) time.Duration { return steps[k*(len(steps)-1)/10].Round(100 * time.Microsecond) }
	d.add("counter", Fine, "", "%s (%s): its counter moves each %v (%v to %v, nine tenths of %d): phases of ten times "+
		"that are told apart", domain.ID, domain.Source, tenth(5), tenth(0), tenth(9), len(steps))
}

// refusals say what mends that the driver tells nothing of processes.
var refusals = map[nemb.Refusal]struct{ text, fix string }{
	nemb.RefusedUnsupported: {"the driver or the GPU does not sample what processes use",
		"sudo nvidia-smi --accounting-mode=1"},
	nemb.RefusedDenied: {"this user may not ask what processes use",
		"sudo cg doctor --gpu (to see whether root may)"},
	nemb.RefusedPartitioned: {"it is divided into MIG instances, and the driver does not list them",
		"sudo nvidia-smi mig -lgi"},
	nemb.RefusedFailed: {"the driver fails when it is asked for its processes", ""},
}

// processesOfGPU tells whether the energy of a GPU can be divided among processes.
func (d *Diagnosis) processesOfGPU(id string, o nemb.Occupancy) {
	contexts := "it does not tell which processes hold it"
	if o.KnowsContexts {
		contexts = fmt.Sprintf("%d hold it now", len(o.Contexts))
	}
	switch {
	case o.KnowsUses && o.Method == nemb.SliceInstances:
		d.add("processes", Warning, "sudo systemctl start nvidia-dcgm", "%s: it is divided into MIG instances, and "+
			"nothing tells how active each is (%v): their processes share its energy by the size of instances, in "+
			"wide bounds; %s", id, o.Err, contexts)
	case o.KnowsUses && o.Method == nemb.DCGMInstances:
		d.add("processes", Fine, "", "%s: DCGM tells how active each of its MIG instances is; %s", id, contexts)
	case o.KnowsUses && o.Method == nemb.GPMInstances:
		d.add("processes", Fine, "", "%s: the driver (GPM) tells how active each of its MIG instances is; %s", id,
			contexts)
	case o.KnowsUses:
		d.add("processes", Fine, "", "%s: the driver samples what processes use of it; %s", id, contexts)
	case o.KnowsLifetimes:
		d.add("processes", Fine, "", "%s: the driver accounts for processes, so a whole run is divided at once; %s", id,
			contexts)
	default:
		why := refusals[o.Refused]
		if o.Method == nemb.AMDSMIProcesses && o.Refused == nemb.RefusedUnsupported {
			why.text, why.fix = "AMD SMI does not tell which of several processes uses it", "install ROCm 7 or later"
		}
		d.add("processes", Warning, why.fix, "%s: %s: its energy is nobody's; %s", id, why.text, contexts)
	}
	if o.AtOnce {
		d.add("processes", Remark, "", "%s: MPS runs kernels of several processes side by side: who of them used what "+
			"is only known in wide bounds", id)
	}
}
