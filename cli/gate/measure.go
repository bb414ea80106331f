package gate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cg/cli/exit"
	"cg/cli/folders"
	"cg/cli/language"
	"cg/cli/tell"
	"cg/experiment"
	"cg/gate"
	"cg/instrument"
	"cg/languages"
	"cg/launcher"
	"cg/report"
	"cg/report/repeated"
)

// once measures a side by the metric.
func (k *check) once(ctx context.Context, side gate.Side, runs int) (gate.Sample, error) {
	if k.plan.Metric != gate.Instructions {
		return k.plain(ctx, side, runs)
	}
	args := k.args(side)
	env := (*gate.Callgrind)(nil).Environment(os.Environ())
	if k.callgrind != nil {
		args = k.callgrind.Args(args)
	}
	run, err := k.run(ctx, side, args, env)
	if err != nil {
		return gate.Sample{}, err
	}
	s := gate.Sample{EnergyJ: math.NaN(), Seconds: seconds(run)}
	if k.counter != nil {
		defer k.counter.Close()
		s.Value, err = k.counter.Count()
		s.EnergyJ = energyOf(run)
		return s, err
	}
	s.Value, err = k.callgrind.Count()
	return s, err
}

// batched runs a command so many times, until one fails.
const batched = `n=$1; shift; while [ "$n" -gt 0 ]; do "$@" </dev/null || exit; n=$((n-1)); done`

// plain measures runs of a side as they are, or with checkpoints.
func (k *check) plain(ctx context.Context, side gate.Side, runs int) (gate.Sample, error) {
	args := k.args(side)
	var run *report.Run
	var err error
	if k.functions {
		run, err = k.instrumented(ctx, side, args)
	} else {
		if runs > 1 {
			args = append([]string{"sh", "-c", batched, "sh", strconv.Itoa(runs)}, args...)
		}
		run, err = k.run(ctx, side, args, nil)
	}
	if err != nil {
		return gate.Sample{}, err
	}
	s := gate.Sample{EnergyJ: energyOf(run), Seconds: seconds(run)}
	whole, unit := k.plan.Metric.Of()
	switch whole {
	case gate.Energy:
		s.Value = known(run, run.Totals.EnergyJ)
	case gate.CPUEnergy:
		s.Value = s.EnergyJ
	case gate.CPUTime:
		s.Value = run.Process.UserS + run.Process.SystemS
	}
	if unit != "" {
		n, err := k.count(ctx, side)
		if err != nil {
			return s, err
		}
		s.Value /= n
	}
	if why := run.WhyNotKnown(); math.IsNaN(s.Value) && why != "" {
		return s, exit.Self("%s: the energy is not known, so nothing can be compared: %s", k.named(side), why)
	}
	if k.functions {
		s.Functions = map[string]gate.Cost{}
		for _, f := range run.Functions {
			c := gate.Cost{Self: known(run, f.SelfEnergyJ), Inclusive: known(run, f.InclusiveEnergyJ),
				EnergyJ: known(run, f.InclusiveEnergyJ), Calls: f.Calls}
			if k.plan.Metric == gate.CPUTime {
				c.Self, c.Inclusive = f.CPUTimeS, math.NaN()
			}
			if before, twice := s.Functions[f.Name]; twice { // of one name in several files
				c.Self, c.EnergyJ, c.Calls = c.Self+before.Self, c.EnergyJ+before.EnergyJ, c.Calls+before.Calls
			}
			s.Functions[f.Name] = c
		}
	}
	return s, nil
}

func energyOf(run *report.Run) float64 { return known(run, run.Totals.ProgramEnergyJ) }

// known is an energy of a run; NaN where it is not known, or only how much was used
// at least.
func known(run *report.Run, j *report.Joules) float64 {
	if j == nil || !run.Whole() {
		return math.NaN()
	}
	return j.Float()
}

// seconds is from the program's start to its end.
func seconds(run *report.Run) float64 { return repeated.Measured(run, 0, false).DurationS }

// args is the command as a side runs it. A path that names a file of the user's
// tree, from the root, names that of the side's.
func (k *check) args(side gate.Side) []string {
	t := k.trees[side]
	if t.root == "" {
		return k.command
	}
	out := slices.Clone(k.command)
	top := k.repository.Top + "/"
	for i, a := range out {
		flag, path := "", a
		if name, value, is := strings.Cut(a, "="); is && strings.HasPrefix(value, top) {
			flag, path = name+"=", value
		}
		if rest, is := strings.CutPrefix(path, top); is {
			if there := filepath.Join(t.root, rest); exists(there) {
				out[i] = flag + there
			}
		}
	}
	return out
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// enter goes to where a side is run.
func (k *check) enter(side gate.Side) error {
	dir := k.trees[side].dir
	if err := os.Chdir(dir); err != nil {
		return exit.Self("%w", err)
	}
	os.Setenv("PWD", dir)
	return nil
}

// run measures a command in a side's folder. The environment is ours if there is
// no other.
func (k *check) run(ctx context.Context, side gate.Side, args, env []string) (*report.Run, error) {
	if err := k.enter(side); err != nil {
		return nil, err
	}
	command := launcher.Cmd{Args: args, Env: env, Pty: launcher.Never, Timeout: k.timeout}
	done, err := k.quiet(&command)
	if err != nil {
		return nil, err
	}
	defer done()
	if k.counter != nil && k.plan.Metric == gate.Instructions {
		command.Prefork = k.counter.Inherit
	}
	conditions, stop := k.machine.Conditions(k.interval)
	defer stop()
	conditions.Terminated = nil // there is no verdict then, and nothing to save
	r, err := experiment.Plain{Conditions: conditions, Command: command, Name: strings.Join(args, " ")}.Run()
	if err != nil {
		return nil, k.missing(side, err)
	}
	defer r.Close()
	return r.Run, k.ended(ctx, side, r.Run)
}

// instrumented measures a program with checkpoints in all its functions.
func (k *check) instrumented(ctx context.Context, side gate.Side, args []string) (*report.Run, error) {
	if err := k.enter(side); err != nil {
		return nil, err
	}
	lang, target, err := language.OfArguments(k.context, args)
	if err != nil {
		return nil, err
	}
	if err := lang.Check(target); err != nil {
		return nil, k.missing(side, err)
	}
	dir, err := os.MkdirTemp(k.dir, "run-")
	if err != nil {
		return nil, exit.Self("%w", err)
	}
	defer os.RemoveAll(dir)
	conditions, stop := k.machine.Conditions(k.interval)
	defer stop()
	conditions.Terminated = nil
	cache, refused := folders.Cache()
	x := experiment.Instrumented{
		Conditions: conditions, Language: lang, Target: target,
		Options: instrument.Options{Granularity: instrument.Fine},
		Dir:     dir, Cache: cache, Refused: refused, Command: launcher.Cmd{Pty: launcher.Never, Timeout: k.timeout},
		OpenStreams: k.quiet,
		Restarting:  tell.Note,
	}
	r, err := x.Run(ctx)
	if err != nil {
		return nil, k.missing(side, err)
	}
	defer r.Close()
	if err := k.ended(ctx, side, r.Run); err != nil {
		return nil, err
	}
	if r.Nothing == "" && len(r.Run.Sites) == 0 {
		r.Nothing = r.Run.WhyNothing("")
	}
	if r.Nothing != "" {
		return nil, exit.Self("%s: nothing was instrumented: %s", side, r.Nothing)
	}
	return r.Run, nil
}

// quiet gives a command no input, and keeps what it prints as errors.
func (k *check) quiet(command *launcher.Cmd) (done func(), err error) {
	in, err := os.Open(os.DevNull)
	if err != nil {
		return nil, exit.Self("%w", err)
	}
	null, err := k.printed()
	if err != nil {
		in.Close()
		return nil, exit.Self("%w", err)
	}
	log, err := os.Create(k.log())
	if err != nil {
		in.Close()
		null.Close()
		return nil, exit.Self("%w", err)
	}
	command.Stdin, command.Stdout, command.Stderr = in, null, log
	return func() {
		in.Close()
		null.Close()
		log.Close()
	}, nil
}

func (k *check) log() string { return filepath.Join(k.dir, "stderr") }

// named is a side for messages.
func (k *check) named(side gate.Side) string {
	if rev := k.trees[side].rev; rev != nil {
		return fmt.Sprintf("%s (%s)", side, rev.Name)
	}
	return side.String()
}

// missing is the error of a command that could not be started.
func (k *check) missing(side gate.Side, err error) error {
	status := exit.StatusSelf
	var l *launcher.Error
	var e *languages.Error
	switch {
	case errors.As(err, &l):
		status = l.Status
	case errors.As(err, &e):
		status = e.Status
	}
	advice := ""
	if k.repository != nil {
		for _, a := range k.command {
			mine := filepath.Join(k.repository.Top, k.repository.Prefix, a)
			if strings.Contains(a, "/") || status == 127 && a != k.command[0] {
				if !filepath.IsAbs(a) && exists(mine) && !exists(filepath.Join(k.trees[side].dir, a)) {
					advice = fmt.Sprintf("; %s is in your folder and not in that revision, or git ignores it: make "+
						"it with --build, or name it from the root of the disk", a)
					break
				}
			}
		}
	}
	return exit.With(status, "%s: %w%s", k.named(side), err, advice)
}

// ended takes what is known from a run, or is the error of one that failed.
func (k *check) ended(ctx context.Context, side gate.Side, run *report.Run) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p := run.Process
	if p.ExitStatus != 0 || p.TimedOut {
		what, status := fmt.Sprintf("status %d", p.ExitStatus), exit.StatusSelf
		switch {
		case p.TimedOut:
			what, status = "it took longer than --timeout", p.ExitStatus
		case p.Signal != nil:
			what = "signal " + *p.Signal
		}
		tail := gate.Tail(k.log(), 5)
		if tail != "" {
			tail = "\n" + tail
		}
		return exit.With(status, "%s failed in %s: %s%s", strings.Join(k.command, " "), k.named(side), what, tail)
	}
	first := k.last == nil
	warnings := run.Warnings
	if w, changed := run.ChangedSince(k.state); changed {
		warnings = append(slices.Clone(warnings), w)
	}
	if k.state == nil {
		k.state = run.MachineState
	}
	if side == gate.Head || first {
		k.last = run
	}
	if first && k.stored != nil {
		if err := k.comparable(); err != nil {
			return err
		}
	}
	for _, w := range warnings {
		if k.concerns(w) && !slices.ContainsFunc(k.warnings, func(o report.Warning) bool { return o.Slug == w.Slug }) {
			k.warnings = append(k.warnings, w)
		}
	}
	return nil
}

// concerns tells whether a warning of a run is about what is judged: two are about energies alone.
func (k *check) concerns(w report.Warning) bool {
	if len(k.plan.Budgets) > 0 || k.plan.Metric != gate.CPUTime && k.plan.Metric != gate.Instructions {
		return true
	}
	return w.Slug != "estimated" && w.Slug != "noise"
}
