package ranks

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
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

// What SlurmStep.Source says where another rank or who merges is to ask, and where nobody here can.
const (
	AskedByFirst = "asked by rank 0"
	StillRan     = "sacct: the step still ran, and Slurm tells its energy at its end"
	NoSacct      = "sacct is not installed"
)

// AskSlurm asks Slurm's accounting what the step of a rank used: sacct's ConsumedEnergyRaw,
// in joules (acct_gather_energy). nil for a rank that is in no job of Slurm; AskedByFirst for one that
// is not the first of its step, which asks for all. Slurm knows the energy of a step when it has
// ended. at is a moment at which it ran: another job may have the number, on another cluster or
// long ago.
func AskSlurm(ctx context.Context, id Identity, at time.Time) *SlurmStep {
	if id.Launcher == Nobody || id.Step == "" {
		return nil
	}
	s := &SlurmStep{JobID: id.Job, StepID: id.Step}
	if id.Rank != 0 {
		s.Source = AskedByFirst
		return s
	}
	path, err := exec.LookPath("sacct")
	if err != nil {
		s.Source = NoSacct
		return s
	}
	ctx, cancel := context.WithTimeout(ctx, sacctPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--noheader", "--parsable2", "--jobs", id.Job+"."+id.Step, "--format",
		"JobID,JobIDRaw,Start,End,ConsumedEnergyRaw")
	cmd.Env = append(os.Environ(), "SLURM_TIME_FORMAT=%s")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := tool.Run(cmd); err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(errs.String()), "\n")
		s.Source = strings.TrimSpace("sacct: " + err.Error() + " " + line)
		return s
	}
	s.ConsumedEnergyJ, s.Source = parseSacct(out.String(), id.Job, id.Step, at)
	return s
}

// noEnergy is what Slurm says where it gathers none (NO_VAL64 in slurm.h).
const noEnergy = "18446744073709551614"

// apart is by how much the clocks of nodes and Slurm's may differ.
const apart = time.Minute

// parseSacct reads lines "JobID|JobIDRaw|Start|End|ConsumedEnergyRaw", times in seconds since 1970,
// for a step: "7.0", in an array job "5_2.0" with the raw id, and of a heterogeneous job a line for
// each part, "7+1.0", which are added up. A sum that lacks a part is not given.
func parseSacct(text, job, step string, at time.Time) (joules *float64, source string) {
	parts, without, total := 0, 0, 0.0
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 5 {
			continue
		}
		part, of, _ := strings.Cut(f[0], ".")
		if f[1] != job+"."+step && (!strings.HasPrefix(part, job+"+") || of != step) {
			continue
		}
		begin, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil || time.Unix(begin, 0).After(at.Add(apart)) {
			return nil, fmt.Sprintf("sacct: the step %s.%s that it knows is another one, of a later time", job, step)
		}
		end, err := strconv.ParseInt(f[3], 10, 64)
		if err != nil { // Unknown
			return nil, StillRan
		}
		if time.Unix(end, 0).Before(at.Add(-apart)) {
			return nil, fmt.Sprintf("sacct: the step %s.%s that it knows is another one, which had ended", job, step)
		}
		parts++
		if f[4] == "" || f[4] == noEnergy {
			without++
			continue
		}
		j, err := strconv.ParseFloat(f[4], 64)
		if err != nil || !(j >= 0) || math.IsInf(j, 0) {
			return nil, "sacct: ConsumedEnergyRaw " + strconv.Quote(f[4]) + " is no energy"
		}
		if j == 0 { // the nodes of a part gather none
			without++
		}
		total += j
	}
	switch {
	case parts == 0:
		return nil, "sacct knows nothing of the step " + job + "." + step
	case without == parts:
		return nil, "sacct: Slurm gathers no energy here (AcctGatherEnergyType)"
	case without > 0:
		return nil, "sacct: Slurm gathers no energy of a part of the step"
	}
	return &total, "sacct ConsumedEnergyRaw"
}
