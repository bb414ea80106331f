package gate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/output"
	"cg/cli/tell"
	"cg/gate"
	"cg/report"
	"cg/report/bisection"
	"cg/shown"
	"cg/statistics"
)

// ofBisect are the flags of cg gate that a bisection has, too.
var ofBisect = []string{"build", "metric", "per", "threshold", "max-pairs", "max-time", "warmup", "batch", "seed",
	"functions", "timeout", "output", "json", "precision", "sensors", "sysroot"}

// mostAttempts bounds --attempts: each doubles the pairs.
const mostAttempts = 6

func bisectCommand(s flags.Settings, ofGate []cli.Flag) *cli.Command {
	var own []cli.Flag
	for _, f := range ofGate {
		if slices.Contains(ofBisect, f.Names()[0]) {
			own = append(own, f)
		}
	}
	return &cli.Command{
		Name:      "bisect",
		Usage:     "find the first commit with which a command costs more",
		ArgsUsage: "CMD [ARGS...]",
		Description: `Drives git bisect from the revision --good, which costs what it should, to --bad,
which costs more. Each commit that git bisect asks for is built (--build) and
checked against --good, as cg gate does: a pass is good, a regression is bad. An
inconclusive check is made again with twice as many pairs, --attempts times in all;
then the commit is skipped, as is one that cannot be built or in which CMD fails.
--bad is checked first.

All of it runs in worktrees that are removed at the end. Your files, your index,
and a git bisect of your own that is under way stay as they are.

All checks share the limit of 5 % for false regressions, so each needs more pairs
than a check of cg gate. The limit holds in a history without merges where no
commit is skipped. --max-time is the limit of each check.

Exit status: 0 the commit is found; 1 --bad does not cost more than --good; 3 it can
be one of several commits, or nothing could be told; 2 usage; 124 CMD took longer
than --timeout in --good or --bad; 125 the build or CMD failed there; 126, 127 CMD
cannot be run, or is not found; 128+n signal n ended cg.`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "good", Usage: "the revision that costs what it should (`REV`)"},
			&cli.StringFlag{Name: "bad", Value: "HEAD", Usage: "the revision that costs more (`REV`)"},
			&cli.IntFlag{Name: "attempts", Value: 3,
				Usage: "check a commit `N` times at most, while that is inconclusive"},
			&cli.BoolFlag{Name: "first-parent", Usage: "follow only the first parent of merges"},
		}, own...),
		Action: func(c *cli.Context) error { return runBisect(c, s) },
	}
}

// sideFlags are the flags that name the revisions of a check, by their side.
func sideFlags(c *cli.Context) [2]string {
	if c.Command.Name == "bisect" {
		return [2]string{"--good", "--bad"}
	}
	return [2]string{"--base", "--head"}
}

func runBisect(c *cli.Context, s flags.Settings) error {
	good, bad, attempts := c.String("good"), c.String("bad"), c.Int("attempts")
	switch {
	case good == "":
		return exit.Usage("--good is missing: name a revision that costs what it should: cg gate bisect " +
			"--good REV -- CMD [ARGS...]")
	case attempts < 1 || attempts > mostAttempts:
		return exit.Usage("--attempts: %d is no number of checks: use 1 to %d", attempts, mostAttempts)
	}
	k, err := checkOptions(c, s, good, bad)
	if err != nil {
		return err
	}
	if k.stored != nil {
		return exit.Usage("--good: a bisection is between commits: name a revision")
	}
	outs, err := output.OpenFiles(c, "output")
	if err != nil {
		return err
	}
	defer outs["output"].Abandon()
	return k.onMachine(c, "the commit is not known", func(ctx context.Context, home string) error {
		r, err := k.bisect(ctx, attempts, c.Bool("first-parent"))
		if err != nil {
			return k.refused(err)
		}
		if err := os.Chdir(home); err != nil { // names of files are relative to it
			return exit.Self("%w", err)
		}
		return putBisection(c, outs["output"], r)
	})
}

// putBisection writes what was found, and gives its status.
func putBisection(c *cli.Context, out *output.File, r *bisection.Result) error {
	b, err := r.JSON()
	if err == nil {
		err = out.Save(b)
	}
	if err != nil {
		return exit.Self("--output: %w", err)
	}
	if output.OnStdout(c) {
		err = tell.Put("%s", shown.Safe(b))
	} else if tell.ReportsTo(c.String("output")) {
		var laid shown.Safe
		if laid, err = output.Text(r, os.Stdout, false); err == nil {
			err = tell.Put("%s", laid)
		}
	}
	if err != nil {
		return exit.Self("%w", err)
	}
	return exit.Of(r.Bisection.ExitStatus)
}

// bisect searches in the trees of good, which is base, and bad, which is head.
func (k *check) bisect(ctx context.Context, attempts int, firstParent bool) (*bisection.Result, error) {
	good, bad := *k.trees[gate.Base].rev, *k.trees[gate.Head].rev
	b, err := k.repository.Bisect(ctx, filepath.Join(k.dir, "bisect"), good, bad, firstParent)
	if err != nil {
		return nil, exit.Usage("--good, --bad: %w", err)
	}
	all := k.plan.Alpha
	k.plan.Alpha = all / float64(b.Steps()*attempts)
	k.searches = true
	plan, tree, checks := k.plan, bad.Commit, uint64(0)
	found, err := b.Run(ctx, attempts, func(ctx context.Context, v gate.Revision, attempt int) (gate.Trial, error) {
		t, err := gate.Trial{Verdict: statistics.Inconclusive}, error(nil)
		if tree != v.Commit {
			tree, err = v.Commit, k.replaceHead(ctx, v)
		}
		var r *gate.Result
		if err == nil {
			k.plan = plan
			k.plan.MaxPairs, k.plan.Seed = min(plan.MaxPairs<<attempt, 1000), plan.Seed+checks
			checks++
			r, err = k.compare(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return t, ctx.Err()
		case err != nil && v.Commit != bad.Commit: // what good and bad did, this commit does not
			err = &gate.Untestable{Err: err}
		case err == nil:
			t.Verdict, t.Pairs, t.Change, t.Lo, t.Hi = r.Verdict, r.Pairs, r.Program.Change, r.Program.Lo, r.Program.Hi
		}
		k.tellTrial(v, t, err)
		return t, err
	})
	k.tell("")
	if err != nil {
		return nil, err
	}
	g := k.about()
	r := &bisection.Result{Meta: g.Meta, Found: *found, Warnings: []report.Warning{}, Bisection: bisection.Search{
		Command: k.command, Build: k.build, Metric: g.Metric, Counter: g.Counter, Threshold: plan.Threshold, Good: good,
		Bad: bad, Commits: b.Commits, Alpha: all, CheckAlpha: plan.Alpha, Attempts: attempts}}
	r.Warnings = append(r.Warnings, k.warnings...)
	r.Conclude()
	return r, nil
}

// tellTrial tells what a check found.
func (k *check) tellTrial(v gate.Revision, t gate.Trial, err error) {
	k.tell("")
	change, interval := bisection.Change(t)
	what := bisection.Mark(t)
	switch {
	case err != nil:
		what = "skip: " + err.Error()
	case t.Verdict == statistics.Inconclusive:
		what = "inconclusive"
	}
	tell.Notef("%.10s %s: %s %s after %d pairs: %s", v.Commit, v.Subject, change, interval, t.Pairs, what)
}

// replaceHead puts another commit where head is, and builds it.
func (k *check) replaceHead(ctx context.Context, v gate.Revision) error {
	t := &k.trees[gate.Head]
	if err := os.Chdir(k.dir); err != nil { // out of the tree that goes
		return err
	}
	k.tell("checking out %s", v.Name)
	if err := k.repository.Remove(t.root); err != nil {
		return err
	}
	t.rev = &v
	if err := k.repository.CheckOut(ctx, v, t.root); err != nil {
		return err
	}
	if info, err := os.Stat(t.dir); err != nil || !info.IsDir() {
		return fmt.Errorf("it has no folder %s", k.repository.Prefix)
	}
	if k.build == "" {
		return nil
	}
	k.tell("building %s", v.Name)
	return gate.Build{Side: gate.Head, Rev: v.Name, Line: k.build, Dir: t.dir,
		Log: filepath.Join(k.dir, "build")}.Run(ctx)
}
