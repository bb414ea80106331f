package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cg/long"
)

// slurmJob is a job on two nodes that records itself: with the commands, with the functions that
// scripts source, and what goes wrong. $cg is the program, $lib the functions.
const slurmJob = `#!/bin/sh
set -u
CG=$cg
. "$lib"
say() { echo "$@" >>log; }
rows() {
	i=0
	for name in "$@"; do
		until [ "$(cat "$name" 2>/dev/null | wc -l)" -ge 4 ]; do
			i=$((i + 1)); [ $i -lt 300 ] || { say "no rows in $name"; exit 1; }
			sleep 0.1
		done
	done
}

step=$($CG track start -o out --tracker 0.05,rapl --tracker 0.1,rapl) || { say "start: $?"; exit 1; }
say "started $step"
$CG track status >status
rows out/cg_50ms_$SLURM_JOB_ID-n0.csv out/cg_50ms_$SLURM_JOB_ID-n1.csv
start_tracking -o out --tracker 0.05,rapl -i mine || say "second: $?"
start_wattameter -o wm --tracker 0.05,rapl || say "third: $?"
$CG track status >>status
srun --overlap -N2 -n2 sh -c 'echo $SLURMD_NODENAME' | sort >beside
rows wm/rapl_005_wattameter_$SLURM_JOB_ID-n0.log wm/rapl_005_wattameter_$SLURM_JOB_ID-n1.log
stop_wattameter || say "stop: $?"
stop_tracking || say "stop: $?"
stop_tracking 2>>complaints && say "stopped nothing"
$CG track status >>status
$CG track stop || say "stop: $?"
$CG track status >left
$CG track stop 2>>complaints; say "none: $?"
$CG track stop 9.9 2>>complaints; say "unknown: $?"
$CG track start -o out -i mine --tracker 0.05,rapl 2>>complaints; say "again: $?"
$CG track start -o bad --tracker 0.05,nvml-temp --within 20s 2>>complaints; say "nothing to read: $?"
step=$($CG track start -o out --tracker 0.05,rapl)
$CG track stop --all && say "all"
step=$(SLURM_EXPORT_ENV=NONE $CG track start -o none --tracker 0.05,rapl) || say "as sbatch --export=NONE: $?"
$CG track stop "$step" || say "stop: $?"
$CG track start -o end --tracker 0.05,rapl
say done
`

// TestTrackOfSlurm has the daemons of Slurm record a job on two virtual nodes.
func TestTrackOfSlurm(t *testing.T) {
	long.Skip(t, "it waits for Slurm's scheduler")
	env, _ := startSlurm(t, false)
	c := newCluster(t, 1)
	job := filepath.Join(c.dir, "job.sh")
	if err := os.WriteFile(job, []byte(slurmJob), 0o755); err != nil {
		t.Fatal(err)
	}
	env = append(env, "cg="+filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), "lib="+mustAbs(t, "deploy/slurm/track.sh"),
		"CG_SYSROOT="+filepath.Join(c.dir, "n0"))
	out, err := launch(c.dir, env, "sbatch", "--wait", "-N2", "-n2", "-o", filepath.Join(c.dir, "out.txt"), job)
	said := tail(filepath.Join(c.dir, "out.txt"), filepath.Join(c.dir, "complaints"), filepath.Join(c.dir, "log"))
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, out, said)
	}
	id := regexp.MustCompile(`[0-9]+`).FindString(out)
	read := func(name string) string {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(c.dir, name))
		if err != nil {
			t.Errorf("%v\n%s", err, said)
		}
		return strings.ReplaceAll(string(b), c.dir+"/", "")
	}
	log := strings.Split(strings.TrimSpace(read("log")), "\n")
	if want := []string{"none: 1", "unknown: 1", "again: 1", "nothing to read: 1", "all", "done"}; !strings.HasPrefix(log[0], "started "+id+".") || !slices.Equal(log[1:], want) {
		t.Errorf("%q, want %q\n%s", log, want, said)
	}
	if got := read("beside"); got != "n0\nn1\n" {
		t.Errorf("a step beside the recorders ran on %q", got)
	}
	status := regexp.MustCompile(`(?m)^`+id+`\.[0-9]+  (\S+)  [0-9:]+  n\[0-1\]$`).FindAllStringSubmatch(read("status"), -1)
	var runs []string
	for _, m := range status {
		runs = append(runs, m[1])
	}
	if want := []string{id, id, "mine", id, id}; !slices.Equal(runs, want) || read("left") != "" {
		t.Errorf("%q, want %q: %s; at the end %q", runs, want, read("status"), read("left"))
	}
	for dir, names := range map[string][]string{
		"out": {"cg_100ms_ID-n0.csv", "cg_100ms_ID-n1.csv", "cg_50ms_ID-1-n0.csv", "cg_50ms_ID-1-n1.csv", "cg_50ms_ID-n0.csv",
			"cg_50ms_ID-n1.csv", "cg_50ms_mine-n0.csv", "cg_50ms_mine-n1.csv", "cg-track-ID.txt", "cg-track-ID-1.txt", "cg-track-mine.txt"},
		"wm":   {"rapl_005_wattameter_ID-n0.log", "rapl_005_wattameter_ID-n1.log", "wattameter_ID-n0.log", "wattameter_ID-n1.log", "cg-track-ID.txt"},
		"bad":  {"cg-track-ID.txt"},
		"none": {"cg_50ms_ID-n0.csv", "cg_50ms_ID-n1.csv", "cg-track-ID.txt"},
		"end":  {"cg_50ms_ID-n0.csv", "cg_50ms_ID-n1.csv", "cg-track-ID.txt"},
	} {
		for i := range names {
			names[i] = strings.ReplaceAll(names[i], "ID", id)
		}
		slices.Sort(names)
		if got := list(t, filepath.Join(c.dir, dir)); !slices.Equal(got, names) {
			t.Errorf("%s: %q, want %q", dir, got, names)
		}
	}
	for _, node := range []string{"n0", "n1"} {
		lines := strings.Split(strings.TrimSpace(read(fmt.Sprintf("out/cg_50ms_%s-%s.csv", id, node))), "\n")
		if len(lines) < 4 || !strings.HasSuffix(lines[len(lines)-1], ","+id) || strings.Count(lines[1], ",") != 5 {
			t.Errorf("%s: %q", node, lines[len(lines)-1])
		}
		if log := read("wm/wattameter_" + id + "-" + node + ".log"); !strings.Contains(log, "run "+id) {
			t.Errorf("%s: %q", node, log)
		}
	}
	// What the recorders say at their end: they were interrupted, and have written everything.
	if text := read("out/cg-track-" + id + ".txt"); strings.Count(text, " rows in ") != 4 {
		t.Errorf("the recorders said %q", text)
	}
	// What still records when the job ends gets SIGTERM, and writes everything.
	if !soon(func() bool { return strings.Count(read("end/cg-track-"+id+".txt"), " rows in ") == 2 }) {
		t.Errorf("at the end of the job: %s", read("end/cg-track-"+id+".txt"))
	}
	complaints := read("complaints")
	for _, want := range []string{
		"stop_tracking: nothing was started\n",
		"cg: track stop: job " + id + " has no step that records: cg track status lists those that do\n",
		"cg: track stop: job " + id + " has no step 9.9 that records",
		"cg: track start: out/cg-track-mine.txt is there already: choose another id with -i\n",
		"cg: track start: the recorders have ended: ",
		"50ms,nvml-temp: nothing can be read",
	} {
		if !strings.Contains(complaints, want) {
			t.Errorf("no %q in %s", want, complaints)
		}
	}
}
