package track

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/tell"
	"cg/track/slurm"
)

// notOnNodes are flags of cg track that cg track start sets itself, or that have no sense there.
var notOnNodes = map[string]bool{"suffix": true, "id": true, "output-dir": true, "append": true, "until-pid": true,
	"pairs": true}

// patienceFlag says how long recorders may take to start, and to end.
func patienceFlag() cli.Flag {
	return &cli.StringFlag{Name: "within", Value: "60s", Usage: "give up after `TIME`"}
}

func startCommand(s flags.Settings, ofTrack []cli.Flag) *cli.Command {
	own := []cli.Flag{patienceFlag(), s.Flag(),
		&cli.StringFlag{Name: "id", Aliases: []string{"i"},
			Usage: "`ID` of the recording; default: that of the job, with a number from the second on"},
		&cli.StringFlag{Name: "output-dir", Aliases: []string{"o"}, Value: ".",
			Usage: "write to `DIR` on each node; made if it is not there"},
	}
	for _, f := range ofTrack {
		if !notOnNodes[f.Names()[0]] {
			own = append(own, f)
		}
	}
	return &cli.Command{
		Name:  "start",
		Usage: "record on each node of the job of Slurm that it is called in",
		Description: `Starts cg track on each node of the job, as a step of its own beside the job's others,
and waits until it records on all of them. Each node has files of its own, with the
suffix ID-NODE. What the recorders say is in DIR/cg-track-ID.txt. It prints the step.

Exit status: 0; 1 if a node does not record in time: then none does; 2 usage.`,
		Flags:        own,
		OnUsageError: flags.UsageError,
		Action: func(c *cli.Context) error {
			if err := s.Apply(c, "track"); err != nil {
				return err
			}
			return runStart(c)
		},
	}
}

func stopCommand() *cli.Command {
	return &cli.Command{
		Name:      "stop",
		Usage:     "end what cg track start has started",
		ArgsUsage: "[STEP]",
		Description: `Ends a step that cg track start has printed, the last by default, and waits until its
files are complete.

Exit status: 0; 1 if there is none, or it does not end in time; 2 usage.`,
		Flags:        []cli.Flag{&cli.BoolFlag{Name: "all", Usage: "end all of them"}, patienceFlag()},
		OnUsageError: flags.UsageError,
		Action:       runStop,
	}
}

func statusCommand() *cli.Command {
	return &cli.Command{
		Name:  "status",
		Usage: "list what cg track start has started and is not ended",
		Description: `Prints the step, the id, the time and the nodes of each.

Exit status: 0; 1 if Slurm does not tell; 2 usage.`,
		OnUsageError: flags.UsageError,
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return exit.Usage("track status: %q: it takes no arguments", c.Args().First())
			}
			job, err := currentJob()
			if err != nil {
				return err
			}
			steps, err := job.Steps(c.Context)
			if err != nil {
				return exit.Failure("track status: %w", explained(err))
			}
			for _, s := range steps {
				if err := tell.Put("%s  %s  %s  %s\n", s.ID, s.Run, s.Elapsed, s.Nodes); err != nil {
					return exit.Failure("writing: %w", err)
				}
			}
			return nil
		},
	}
}

func currentJob() (slurm.Job, error) {
	job, err := slurm.Current(os.Getenv)
	if err != nil {
		return job, exit.Failure("track: %w", err)
	}
	return job, nil
}

// explained says what a command that is not there means.
func explained(err error) error {
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%w: the commands of Slurm have to be in PATH on the node that calls them", err)
	}
	return err
}

func patience(c *cli.Context) (time.Duration, error) {
	d, err := flags.Duration(c.String("within"))
	if err != nil || d < time.Second {
		return 0, exit.Usage("--within: %q is not a time of 1 s or more", c.String("within"))
	}
	return d, nil
}

func runStart(c *cli.Context) error {
	if c.Args().Present() {
		return exit.Usage("track start: %q: it takes only flags (cg track start --help)", c.Args().First())
	}
	within, err := patience(c)
	if err != nil {
		return err
	}
	if id := c.String("id"); strings.ContainsAny(id, "/|\r\n \t") {
		return exit.Usage("-i: %q cannot be part of a file's name and of a step's", id)
	}
	dir, err := filepath.Abs(c.String("output-dir"))
	if err != nil {
		return exit.Failure("-o: %w", err)
	}
	job, err := currentJob()
	if err != nil {
		return err
	}
	if flags.Given(c, brokerPassword) { // arguments are visible to others; srun hands on the environment
		if err := os.Setenv(brokerPasswordVariable, c.String(brokerPassword)); err != nil {
			return exit.Failure("track start: --mqtt-password: %w", err)
		}
	}
	r := slurm.Recording{Dir: dir, ID: c.String("id"), Within: within}
	if r.Recorder, r.Names, err = onNodes(c); err != nil {
		return exit.Failure("%w", err)
	}
	ctx, stop := signal.NotifyContext(c.Context, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	step, said, err := job.Start(ctx, r)
	if err != nil {
		return exit.Failure("track start: %w", explained(err))
	}
	tell.Notef("track: step %s records on %s, with the id %s; what it says is in %s", step.ID, step.Nodes, step.Run,
		said)
	if err := tell.Put("%s\n", step.ID); err != nil {
		return exit.Failure("writing: %w", err)
	}
	return nil
}

// onNodes are the commands that the nodes run: cg track with the flags of the command line, and
// cg track filename with those of them that it has. Settings reach it as they reach this process.
func onNodes(c *cli.Context) (recorder, names []string, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	recorder, names = []string{self, "track"}, []string{self, "track", "filename"}
	ofNames := map[string]bool{"tracker": true, "format": true, "config": true}
	for _, f := range c.Command.Flags {
		name := f.Names()[0]
		if name == "within" || name == brokerPassword || notOnNodes[name] || !flags.Given(c, name) {
			continue
		}
		var values []string
		if name != "tracker" {
			values = []string{fmt.Sprint(c.Value(name))}
		} else {
			for _, t := range *c.Generic("tracker").(*trackers) {
				values = append(values, t.String())
			}
		}
		for _, value := range values {
			recorder = append(recorder, "--"+name+"="+value)
			if ofNames[name] {
				names = append(names, "--"+name+"="+value)
			}
		}
	}
	return recorder, names, nil
}

func runStop(c *cli.Context) error {
	within, err := patience(c)
	if err != nil {
		return err
	}
	if c.Args().Len() > 1 || c.Bool("all") && c.Args().Present() {
		return exit.Usage("track stop: name one step, or none for the last, or --all")
	}
	job, err := currentJob()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(c.Context, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	steps, err := job.Steps(ctx)
	if err != nil {
		return exit.Failure("track stop: %w", explained(err))
	}
	chosen := steps[max(0, len(steps)-1):]
	if name := c.Args().First(); c.Bool("all") {
		chosen = steps
	} else if name != "" {
		chosen = nil
		for _, s := range steps {
			if s.ID == name {
				chosen = append(chosen, s)
			}
		}
	}
	if len(chosen) == 0 {
		return exit.Failure("track stop: job %s has no step%s that records: cg track status lists those that do",
			job.ID, strings.TrimRight(" "+c.Args().First(), " "))
	}
	var errs []error
	for _, s := range chosen {
		if err := job.Stop(ctx, s, within); err != nil {
			errs = append(errs, fmt.Errorf("step %s: %w", s.ID, explained(err)))
			continue
		}
		tell.Notef("track: step %s has ended", s.ID)
	}
	if len(errs) > 0 {
		return exit.Failure("track stop: %w", errors.Join(errs...))
	}
	return nil
}
