package ranks

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"cg/tool"
)

// component finds the part of a heterogeneous step that a task is of: srun tells the nodes of
// each part, and no variable tells the part itself. "" where several parts have the node.
func component(getenv func(string) string) (part string) {
	parts, _ := strconv.Atoi(getenv("SLURM_HET_SIZE"))
	for i := range min(parts, mostParts) {
		for _, name := range []string{"HET", "PACK"} { // as newer and older releases call it
			nodes := getenv(fmt.Sprintf("SLURM_JOB_NODELIST_%s_GROUP_%d", name, i))
			if nodes == "" || !names(nodes, getenv("SLURMD_NODENAME")) {
				continue
			}
			if part != "" && part != strconv.Itoa(i) {
				return ""
			}
			part = strconv.Itoa(i)
		}
	}
	return part
}

// mostParts is how many parts a heterogeneous job has at most (MAX_HET_JOB_COMPS in slurm.h).
const mostParts = 128

// names reports whether a list of nodes as Slurm writes it, such as n[0-3,07],login, has a node.
func names(list, node string) bool {
	for list != "" {
		end := strings.IndexByte(list, ',')
		if from := strings.IndexByte(list, '['); from >= 0 && (end < 0 || from < end) {
			to := strings.IndexByte(list, ']')
			if to < from {
				return false
			}
			end = to + 1
			number, is := strings.CutPrefix(node, list[:from])
			if is && within(list[from+1:to], number) {
				return true
			}
		} else if end < 0 {
			end = len(list)
		}
		if list[:end] == node {
			return true
		}
		list = strings.TrimPrefix(list[end:], ",")
	}
	return false
}

// within reports whether numbers such as 0-3,07 have one, which has as many digits.
func within(numbers, number string) bool {
	n, err := strconv.Atoi(number)
	if err != nil {
		return false
	}
	for span := range strings.SplitSeq(numbers, ",") {
		from, to, several := strings.Cut(span, "-")
		if !several {
			to = from
		}
		first, err := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		padded := strings.HasPrefix(from, "0") && len(from) > 1
		if err == nil && err2 == nil && first <= n && n <= last && (!padded || len(number) == len(from)) {
			return true
		}
	}
	return false
}

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
