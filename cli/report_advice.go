package cli

import (
	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/report"
	"cg/report/advice"
	"cg/report/format"
	"cg/version"
)

// shownKind is a document of the kind that is shown: of what files hold, or advice on it.
func shownKind(c *cli.Context, names []string) format.Document {
	if c.Bool("advice") {
		return (*advice.Document)(nil)
	}
	return kindOf(names)
}

// advised is what a run shows that could save energy, where that was asked for.
func advised(c *cli.Context, d format.Document) (format.Document, error) {
	if !c.Bool("advice") {
		return d, nil
	}
	r, is := d.(*report.Run)
	if several, are := d.(report.Several); are && len(several) == 1 {
		r, is = several[0], true
	}
	if !is {
		return nil, exit.Failure("--advice is for one run of cg measure, and this is %s", d.Kind())
	}
	a, err := advice.Of(r, version.Cg)
	if err != nil {
		return nil, exit.Failure("--advice: %w", err)
	}
	return a, nil
}
