// Package laboratory measures real programs on counters of which the truth is known.
//
// It takes cases: what a program does, in which language, on which machine. It writes the program, runs cg measure on
// it, and returns what each function used and what cg said of it. The power of a simulated counter is a function of
// what the program does: each function adds the energy that it used, by the clock of its own thread, to a page of
// memory, and the counters show the sum. So the truth is exact whatever else the machine does, and what is measured is
// all of cg: checkpoints, channel, sampler, account, attribution. It takes root (ErrNotPermitted).
package laboratory

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"cg/nemb/simulate"
	"cg/report"
)

// Case is what is measured, and how.
type Case struct {
	Name     string
	Language string
	Program  Program
	Machine  Machine
	Every    time.Duration // between samples
	Estimate bool          // without counters: functions are told by their part of the program
	Sampled  bool          // by stack samples, without checkpoints (cg measure --sample)
	Baseline time.Duration // for which the idle machine is measured before
	// Waiting lets the program wait for a processor as any other, where the machine has more work than processors.
	// Else it comes before all ordinary programs (nice -20), where that is permitted.
	Waiting bool
	// Quota is for how many processors cg and its program may use time together, 0 for no limit: as in a container.
	Quota float64
	// Unknown says what is not known where the intervals are wider than the energies, "" where they should not be.
	Unknown string
}

// Value is what one function used, itself or with what it called.
type Value struct {
	Function  string
	Inclusive bool
	Truth     float64 // joules; of an estimate, the part of the functions' processor time
	// Figure and its interval, in the same unit. Lo and Hi are equal to 0 and +Inf where cg told none.
	Figure, Lo, Hi float64
	Told           bool   // cg told a figure with an interval
	Unresolved     string // why the function is not resolvable, "" where it is
	Method         string
}

// Holds reports whether the interval has the truth. Truth and figure are known to a step of the counter.
func (v Value) Holds() bool {
	return v.Told && v.Lo-simulate.UnitIntel <= v.Truth && v.Truth <= v.Hi+simulate.UnitIntel
}

// Outcome is what one run of a case showed.
type Outcome struct {
	Values  []Value
	Program Value // the whole program's energy, in joules
	// Untold says why cg told no interval of any function, "" where it told one: what cg says of the run's energy, or
	// else the functions' reasons.
	Untold string
}

// Lab runs cases.
type Lab struct {
	Cg  string   // the command cg
	Dir string   // an empty folder, for files
	Env []string // of cg; nil for that of this process

	runs int
	nice int
}

// Run measures a case once. Cases of other seeds call other functions for other times.
func (l *Lab) Run(ctx context.Context, c Case, seed uint64) (out Outcome, err error) {
	l.runs++
	dir := filepath.Join(l.Dir, strconv.Itoa(l.runs))
	root := filepath.Join(dir, "machine")
	if err := os.MkdirAll(root, 0o700); err != nil {
		return out, fmt.Errorf("laboratory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// The program is the same each time, so it is instrumented and compiled once; its seed is an argument.
	text, name, err := c.Program.source(c.Language)
	if err != nil {
		return out, err
	}
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return out, fmt.Errorf("laboratory: %w", err)
	}
	cells := filepath.Join(dir, "page")
	p, err := newPage(cells, c.Program.Functions, c.Program.workers())
	if err != nil {
		return out, err
	}
	defer p.close()
	var of *stat
	stop := func() {} // what looks at the page
	args := []string{"measure", "-o", filepath.Join(dir, "run.json"), "-p", c.Every.String()}
	if c.Estimate {
		args = append(args, "-s", "estimate")
	} else {
		b := newBoard(p, c.Machine, seed)
		tree, err := newTree(root, b.zones(seed))
		if err != nil {
			return out, err
		}
		defer tree.close()
		if of, err = newStat(b, tree, filepath.Join(dir, "stat")); err != nil {
			return out, err
		}
		stop = b.start(tree.show, of.show)
		defer stop()
		defer setUrgent()()
		args = append(args, "--sysroot", root)
		if c.Baseline > 0 {
			args = append(args, "--baseline", strconv.FormatFloat(c.Baseline.Seconds(), 'g', -1, 64))
		}
	}
	if !c.Waiting {
		defer func(nice int) { l.nice = nice }(l.nice)
		l.nice = -20
	}
	var in *group
	if c.Quota > 0 {
		var g group
		if g, err = newGroup("/sys/fs/cgroup", c.Quota); err != nil {
			return out, err
		}
		defer func() { err = errors.Join(err, g.remove()) }()
		in = &g
	}
	command, err := c.command(ctx, file)
	if err != nil {
		return out, err
	}
	args = append(append(args, command...), cells, strconv.FormatUint(seed, 10))
	r, err := l.measure(ctx, dir, machine{of, in}, args)
	if err != nil {
		return out, err
	}
	stop()
	out.Values, out.Program = c.values(r, p), c.program(r, p)
	out.Untold = untold(r, out.Values)
	return out, nil
}

// command is how cg measure is told of the program in a file: with checkpoints, or as it runs without.
func (c Case) command(ctx context.Context, file string) ([]string, error) {
	if !c.Sampled {
		return []string{"-g", "fine", c.Language, file}, nil
	}
	of := targets[c.Language]
	switch {
	case c.Language == "python":
		return []string{"--sample", of.needs, file}, nil
	case of.flags == nil:
		return nil, fmt.Errorf("laboratory: no stack samples of %s: there are those of c, cpp and python", c.Language)
	}
	program := strings.TrimSuffix(file, filepath.Ext(file))
	args := append([]string{"-o", program, file}, of.flags...)
	said, err := exec.CommandContext(ctx, of.needs, args...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("laboratory: %s: %w\n%s", of.needs, err, said)
	}
	return []string{"--sample", program}, nil
}

// machine is what cg runs on: with a /proc/stat of its own, and in a control group; nil for that of this process.
type machine struct {
	stat  *stat
	group *group
}

// measure runs cg, and reads its report.
func (l *Lab) measure(ctx context.Context, dir string, on machine, args []string) (*report.Run, error) {
	of := on.stat
	cmd := exec.CommandContext(ctx, l.Cg, args...)
	cmd.Dir, cmd.Env = dir, l.Env
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if on.group != nil {
		on.group.hold(cmd)
	}
	file := ""
	if of != nil {
		file = filepath.Join(dir, "stat")
	}
	err := startOrdinary(cmd, l.nice, file)
	if err == nil {
		if of != nil {
			of.board.follow(cmd.Process.Pid)
		}
		err = cmd.Wait()
	}
	if err != nil {
		return nil, fmt.Errorf("laboratory: cg %s: %w\n%s", strings.Join(args, " "), err, said.String())
	}
	b, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err != nil {
		return nil, fmt.Errorf("laboratory: %w", err)
	}
	r, err := report.Read(b)
	if err != nil {
		return nil, fmt.Errorf("laboratory: %w", err)
	}
	return r, nil
}
