package cli

import (
	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/output"
	"cg/experiment"
	"cg/report/format"
)

// results are the files to which a measured run is written.
type results struct {
	out     *output.File
	plot    *output.File
	picture format.Format
	log     *eventLog
}

// openResults opens the files that flags name, all or none.
func openResults(c *cli.Context) (*results, error) {
	out, err := output.OpenReport(c)
	if err != nil {
		return nil, err
	}
	plot, picture, err := output.OpenPlot(c)
	if err != nil {
		out.Abandon()
		return nil, err
	}
	log, err := openLog(c)
	if err != nil {
		out.Abandon()
		plot.Abandon()
		return nil, err
	}
	return &results{out, plot, picture, log}, nil
}

func (r *results) abandon() {
	r.out.Abandon()
	r.plot.Abandon()
	r.log.Abandon()
}

// write writes a run into its files and returns what cg ends with. A program that
// still runs is waited for behind that, and how it ended is written, too.
func (r *results) write(x *experiment.Result, verbose bool) error {
	outcome := x.Outcome
	r.log.end(x.Run, outcome)
	err := r.out.Write(x.Run, verbose)
	if drawn := r.plot.Export(r.picture, x.Run); err == nil {
		err = drawn
	}
	if outcome.Running {
		outcome.Result = outcome.Wait()
		x.Run.Ended(outcome.Result)
		if err == nil {
			err = r.out.Again(x.Run)
		}
	}
	if err != nil {
		return exit.Self("%w; the program's own status was %d", err, outcome.Result.Status)
	}
	return exit.Like(outcome.Result)
}
