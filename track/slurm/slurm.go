// Package slurm runs a recorder on each node of a job of Slurm, as a step of its own beside
// those of the job, and ends it.
//
// It takes what a job's environment says and the commands srun, squeue and scancel, and keeps
// nothing itself: Slurm knows the steps. It knows nothing of what the recorder records.
package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// prefix begins the names of the steps; the id of the recording follows.
const prefix = "cg-track-"

// pollEvery is how often Slurm is asked.
const pollEvery = 200 * time.Millisecond

// Job is the job that a process runs in.
type Job struct {
	ID    string // SLURM_JOB_ID
	Nodes int    // SLURM_JOB_NUM_NODES, 1 where it is not set
}

// ErrNoJob is the error of Current outside of a job.
var ErrNoJob = errors.New("this is no job of Slurm (SLURM_JOB_ID is not set): call it in a script of sbatch, or " +
	"behind salloc")

// Current is the job that the variables of srun and sbatch tell.
func Current(getenv func(string) string) (Job, error) {
	j := Job{ID: getenv("SLURM_JOB_ID"), Nodes: 1}
	if j.ID == "" {
		return j, ErrNoJob
	}
	if text := getenv("SLURM_JOB_NUM_NODES"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return j, fmt.Errorf("SLURM_JOB_NUM_NODES is %q: want a number of nodes", text)
		}
		j.Nodes = n
	}
	return j, nil
}

// Recording is what is to be started.
type Recording struct {
	Recorder []string // the command; it gets -o, -i and -s
	Names    []string // the command that prints the names of the first files; it gets -o and -s
	Dir      string   // for the files, an absolute path; made if it is not there
	ID       string   // "" is that of the job, with a number if there are files of it
	Within   time.Duration
}

// Step is a step of a job that records.
type Step struct {
	ID      string // as scancel takes it: 12.3
	Run     string // id of the recording
	Nodes   string // as Slurm writes them: n[0-1]
	Elapsed string
}

// onNode runs a command with the suffix of its node: $1 is the id of the recording.
const onNode = `id=$1; shift; exec "$@" -s "$id-${SLURMD_NODENAME:-$(hostname -s)}"`

// ready waits for the files that the command behind $2 names: $1 is the number of tries, ten a second.
const ready = `id=$1 tries=$2; shift 2
names=$("$@" -s "$id-${SLURMD_NODENAME:-$(hostname -s)}") || exit
IFS='
'
for name in $names; do
	until [ -e "$name" ]; do
		tries=$((tries - 1)); [ $tries -gt 0 ] || { echo "$name is not there" >&2; exit 1; }
		sleep 0.1
	done
done`

// srun is a command that runs on each node of the job, whatever else runs there. It takes
// nothing from the other steps. It has the environment of this process, also in a job that takes none
// from where it was submitted (sbatch --export=NONE): settings and passwords are in variables.
func (j Job) srun(ctx context.Context, name string, command ...string) *exec.Cmd {
	n := strconv.Itoa(j.Nodes)
	args := append([]string{"--jobid=" + j.ID, "--export=ALL", "--overlap", "--wait=0", "--nodes=" + n, "--ntasks=" + n,
		"--ntasks-per-node=1", "--input=none", "--label", "--job-name=" + name}, command...)
	cmd := exec.CommandContext(ctx, "srun", args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // which ends the step
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// Start starts a recorder on each node and waits until its files are there on all of them. The
// recorders go on when it returns. What they say is in the file said, DIR/cg-track-ID.txt. Where
// one does not start in time, all are ended, and the error has what they said last.
func (j Job) Start(ctx context.Context, r Recording) (step Step, said string, err error) {
	if err := os.MkdirAll(r.Dir, 0o777); err != nil {
		return step, "", err
	}
	if r.ID == "" {
		r.ID = freeID(r.Dir, j.ID)
	}
	said = filepath.Join(r.Dir, prefix+r.ID+".txt")
	log, err := os.OpenFile(said, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return step, said, fmt.Errorf("%s is there already: choose another id with -i", said)
	} else if err != nil {
		return step, said, err
	}
	defer log.Close()
	recorder := j.srun(context.Background(), prefix+r.ID,
		append([]string{"sh", "-c", onNode, "sh", r.ID}, append(r.Recorder, "-o", r.Dir, "-i", r.ID)...)...)
	recorder.Stdout, recorder.Stderr = log, log
	recorder.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C is not for it
	if err := recorder.Start(); err != nil {
		os.Remove(said)
		return step, said, err
	}
	ended := make(chan struct{})
	go func() {
		recorder.Wait()
		close(ended)
	}()
	if err = j.waitReady(ctx, r, ended); err == nil {
		step, err = j.stepOf(ctx, r, ended)
	}
	if err != nil {
		recorder.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(r.Within):
		}
		return step, said, fmt.Errorf("%w%s", err, lastLines(said))
	}
	return step, said, nil
}

// stepOf waits until Slurm lists the step of a recording.
func (j Job) stepOf(ctx context.Context, r Recording, ended <-chan struct{}) (Step, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Within)
	defer cancel()
	said := errors.New("squeue does not list it")
	for {
		steps, err := j.Steps(ctx)
		for _, s := range steps {
			if s.Run == r.ID {
				return s, nil
			}
		}
		if err != nil && ctx.Err() == nil {
			said = err
		}
		select {
		case <-ended:
			return Step{}, errors.New("the recorders have ended")
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return Step{}, fmt.Errorf("the step is not known within %v: %w", r.Within, said)
			}
			return Step{}, ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}

// waitReady waits for the files on all nodes.
func (j Job) waitReady(ctx context.Context, r Recording, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, r.Within)
	defer cancel()
	tries := strconv.Itoa(int(r.Within/time.Second) * 10)
	waiter := j.srun(ctx, "cg-ready-"+r.ID,
		append([]string{"sh", "-c", ready, "sh", r.ID, tries}, append(r.Names, "-o", r.Dir)...)...)
	var text bytes.Buffer
	waiter.Stderr = &text
	if err := waiter.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- waiter.Wait() }()
	select {
	case err := <-done:
		switch {
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			return fmt.Errorf("not all nodes record within %v: %s", r.Within, strings.TrimSpace(text.String()))
		case err != nil:
			return fmt.Errorf("not all nodes record: %w: %s", err, strings.TrimSpace(text.String()))
		}
		return nil
	case <-ended:
		cancel()
		<-done
		return errors.New("the recorders have ended")
	}
}

// freeID is the id of a job, with a number where there are files of it in a folder.
func freeID(dir, job string) string {
	id := job
	for n := 1; ; n++ {
		entries, _ := os.ReadDir(dir)
		taken := false
		for _, e := range entries {
			name := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name()))
			taken = taken || name == prefix+id || strings.Contains(name, "_"+id+"-")
		}
		if !taken {
			return id
		}
		id = fmt.Sprintf("%s-%d", job, n)
	}
}

// lastLines is the end of what was said, to stand behind an error.
func lastLines(name string) string {
	text, _ := os.ReadFile(name)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return ": " + strings.Join(lines[max(0, len(lines)-5):], "\n") + " (" + name + ")"
}

// Steps lists the job's steps that record, the one that began last at the end.
func (j Job) Steps(ctx context.Context) (steps []Step, err error) {
	out, err := output(exec.CommandContext(ctx, "squeue", "--steps", "--jobs="+j.ID, "--noheader",
		"--format=%i|%j|%N|%M"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 4 {
			continue
		}
		if run, is := strings.CutPrefix(f[1], prefix); is {
			s := Step{ID: f[0], Run: run, Nodes: f[2], Elapsed: f[3]}
			at := len(steps)
			for at > 0 && steps[at-1].number() > s.number() {
				at--
			}
			steps = append(steps[:at], append([]Step{s}, steps[at:]...)...)
		}
	}
	return steps, nil
}

// number is that of the step in its job.
func (s Step) number() int {
	_, text, _ := strings.Cut(s.ID, ".")
	n, _ := strconv.Atoi(text)
	return n
}

// Stop interrupts the recorders of a step, which then write everything, and waits until Slurm has
// ended it.
func (j Job) Stop(ctx context.Context, s Step, within time.Duration) error {
	if _, err := output(exec.CommandContext(ctx, "scancel", "--signal=INT", s.ID)); err != nil {
		return err
	}
	end := time.After(within)
	for {
		steps, err := j.Steps(ctx)
		there := false
		for _, o := range steps {
			there = there || o.ID == s.ID
		}
		if err == nil && !there {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end:
			return errors.Join(fmt.Errorf("step %s has not ended within %v: scancel %[1]s ends it at once", s.ID,
				within), err)
		case <-time.After(pollEvery):
		}
	}
}

// output is what a command of Slurm prints. The error has what it complains about.
func output(cmd *exec.Cmd) (string, error) {
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		if text := strings.TrimSpace(complaint.String()); text != "" {
			return "", fmt.Errorf("%s: %s", filepath.Base(cmd.Path), text)
		}
		return "", fmt.Errorf("%s: %w", filepath.Base(cmd.Path), err)
	}
	return out.String(), nil
}
