package ranks

import (
	"bytes"
	"context"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"cg/tool"
)

// sacctPatience bounds how long Slurm's accounting may take to answer.
const sacctPatience = 5 * time.Second

// AskSlurm asks Slurm's accounting what the step of a rank used: sacct's ConsumedEnergyRaw,
// in joules (acct_gather_energy). nil for a rank that is in no job of Slurm, or not the
// first of its step, which asks for all. What Slurm says of a step that has not ended is what it
// has gathered so far.
func AskSlurm(ctx context.Context, id Identity) *SlurmStep {
	if id.Launcher == Nobody || id.Step == "" {
		return nil
	}
	s := &SlurmStep{JobID: id.Job, StepID: id.Step}
	if id.Rank != 0 {
		s.Source = "asked by rank 0"
		return s
	}
	path, err := exec.LookPath("sacct")
	if err != nil {
		s.Source = "sacct is not installed"
		return s
	}
	ctx, cancel := context.WithTimeout(ctx, sacctPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--noheader", "--parsable2", "--jobs", id.Job+"."+id.Step, "--format",
		"JobID,ConsumedEnergyRaw")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := tool.Run(cmd); err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(errs.String()), "\n")
		s.Source = strings.TrimSpace("sacct: " + err.Error() + " " + line)
		return s
	}
	s.ConsumedEnergyJ, s.Source = parseSacct(out.String(), id.Job+"."+id.Step)
	return s
}

// noEnergy is what Slurm says where it gathers none (NO_VAL64 in slurm.h).
const noEnergy = "18446744073709551614"

// parseSacct reads lines "JobID|ConsumedEnergyRaw" for a step.
func parseSacct(text, step string) (joules *float64, source string) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "|")
		if name != step {
			continue
		}
		if value == "" || value == "0" || value == noEnergy {
			return nil, "sacct: Slurm gathers no energy here (AcctGatherEnergyType)"
		}
		j, err := strconv.ParseFloat(value, 64)
		if err != nil || j < 0 {
			return nil, "sacct: ConsumedEnergyRaw " + strconv.Quote(value) + " is no energy"
		}
		return &j, "sacct ConsumedEnergyRaw"
	}
	return nil, "sacct knows nothing of the step " + step
}
