package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/cli/exit"
	"cg/cli/output"
	"cg/cli/tell"
	"cg/ranks"
	"cg/report/cluster"
	"cg/report/format"
	"cg/report/saved"
)

func mergeCommand() *cli.Command {
	return &cli.Command{
		Name:      "merge",
		Usage:     "make one report of the ranks of a run",
		ArgsUsage: "FOLDER",
		Description: `FOLDER is what cg measure --ranks FOLDER wrote on all nodes (docs/cluster.md). The
report is by rank, by node, and by function over ranks; cg report and cg verify
read it, and read the folder, too. Ranks that were killed and nodes that vanished
are holes that it names.

Exit status: 0; 1 if the folder cannot be read or is of several versions of cg, or
the report cannot be written; 2 usage.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"},
				Usage: "write the report as JSON to `FILE` (-, the default, is standard output)"},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Len() != 1 {
				return exit.Usage("cg merge FOLDER -o FILE: one folder, as cg measure --ranks FOLDER makes it")
			}
			to := &output.File{Flag: "-o", Name: c.String("output")}
			if err := to.Open(); err != nil {
				return err
			}
			defer to.Abandon()
			ctx, release := signal.NotifyContext(c.Context, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
			defer release()
			progress := tell.NewProgress()
			defer progress.End()
			var b []byte
			err := exit.Interruptible(ctx, func() error {
				d, err := merged(c.Args().First(), progress)
				if err == nil {
					b, err = d.JSON()
				}
				return err
			})
			if err != nil {
				return err
			}
			if to.Part == nil {
				_, err = os.Stdout.Write(b)
				return err
			}
			if err := to.Save(b); err != nil {
				return exit.Failure("-o: %w", err)
			}
			return nil
		},
	}
}

// merged reads the folder of a run of many ranks.
func merged(dir string, progress *tell.Progress) (*cluster.Run, error) {
	d, err := cluster.Merge(dir, func(n int) { progress.Say("reading rank reports: %d", n) })
	if err != nil {
		return nil, exit.Failure("%w", err)
	}
	askAgain(d)
	return d, nil
}

// askAgain asks Slurm once more for the energy of a step that its first rank was not told: the step
// still ran, the accounting lagged behind or did not answer, or the rank was killed. Where there is no
// sacct, what that rank was told stays.
func askAgain(d *cluster.Run) {
	s := d.Meta.Slurm
	if s == nil || s.ConsumedEnergyJ != nil || len(d.Ranks) == 0 {
		return
	}
	id := ranks.Identity{Launcher: ranks.Slurm, Job: s.JobID, Step: s.StepID}
	again := ranks.AskSlurm(context.Background(), id, time.Unix(0, d.Ranks[0].StartedUnixNs))
	if again != nil && again.Source != ranks.NoSacct {
		s.ConsumedEnergyJ, s.Source = again.ConsumedEnergyJ, again.Source
	}
}

// ofRanks reports whether a name is of a run of many ranks: its folder, or what cg merge
// saved.
func ofRanks(name string) bool {
	if name == "-" {
		return false
	}
	if ranks.Is(name) {
		return true
	}
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	return cluster.IsSaved(f)
}

// readRanks reads a run of many ranks.
func readRanks(name string, from format.Format, progress *tell.Progress) (format.Document, error) {
	if ranks.Is(name) {
		return merged(name, progress)
	}
	f, done, err := openSaved(name)
	if err != nil {
		return nil, exit.Failure("%s: %w", name, err)
	}
	defer done()
	d, err := from.Read(f)
	if err != nil {
		return nil, exit.Failure("%s: %w", name, err)
	}
	return d, nil
}

// savedRanks reads a run of many ranks to compare it.
func savedRanks(name string) (saved.Document, error) {
	from, err := format.Reader("json")
	if err != nil {
		return saved.Document{}, err
	}
	progress := tell.NewProgress()
	defer progress.End()
	d, err := readRanks(name, from, progress)
	if err != nil {
		return saved.Document{}, err
	}
	return saved.Document{Run: d.(*cluster.Run).Functional()}, nil
}

// verifiedRanks tells what differs in a run of many ranks: in a folder also in the reports
// of the ranks.
func verifiedRanks(name string) ([]string, error) {
	if !ranks.Is(name) {
		f, done, err := openSaved(name)
		if err != nil {
			return nil, exit.Failure("%s: %w", name, err)
		}
		defer done()
		d, err := cluster.Read(f)
		if err != nil {
			return nil, exit.Failure("%s: %w", name, err)
		}
		return verifiedDocument(d, f), nil
	}
	progress := tell.NewProgress()
	d, err := merged(name, progress)
	progress.End()
	if err != nil {
		return nil, err
	}
	b, err := d.JSON()
	if err != nil {
		return nil, err
	}
	faults := verifiedDocument(d, bytes.NewReader(b))
	for _, w := range d.Warnings {
		if w.Slug == cluster.Differs {
			faults = append(faults, w.Message)
		}
	}
	for _, r := range d.Ranks {
		full, err := d.Report(r)
		if err != nil {
			faults = append(faults, err.Error())
		} else if full != nil {
			for _, fault := range full.Check() {
				faults = append(faults, ranks.RunFile(r.Rank)+": "+fault)
			}
		}
	}
	return faults, nil
}

func verifiedDocument(d *cluster.Run, f io.ReadSeeker) []string {
	faults := d.Check()
	if err := cluster.Validate(f); err != nil {
		faults = append([]string{err.Error()}, faults...)
	}
	return faults
}

// severalOfRanks refuses runs of many ranks side by side.
func severalOfRanks(names []string) error {
	for _, name := range names {
		if len(names) > 1 && ofRanks(name) {
			return exit.Usage("%s is a run of many ranks, which is shown alone: name one", name)
		}
	}
	return nil
}
