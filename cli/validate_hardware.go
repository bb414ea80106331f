package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/signal"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/machine"
	"cg/cli/output"
	"cg/cli/tell"
	"cg/nemb/validate"
	"cg/report/figures"
	"cg/shown"
	"cg/version"
)

// The bounds of --phase: a counter that is read each second needs some, and nobody waits for an hour.
const leastPhase, mostPhase = time.Second, 10 * time.Minute

// reportHardware is cg validate --live --report.
func reportHardware(c *cli.Context) error {
	if !c.Bool("live") {
		return exit.Usage("--report is of --live: add it")
	}
	for _, flag := range []string{"tries", "sampler", "json"} {
		if c.IsSet(flag) {
			return exit.Usage("--%s does not go with --report, which writes a JSON file of its own: "+
				"leave it out", flag)
		}
	}
	phase, err := flags.Duration(c.String("phase"))
	if err != nil || phase < leastPhase || phase > mostPhase {
		return exit.Usage("--phase: %q: use a time from %v to %v", c.String("phase"), leastPhase, mostPhase)
	}
	root, err := machine.Root(c)
	if err != nil {
		return err
	}
	if c.String("report") == "" {
		return exit.Usage("--report: name a file")
	}
	file := &output.File{Flag: "--report", Name: c.String("report")}
	if err := file.Open(); err != nil {
		return err
	}
	defer file.Abandon()
	ctx, release := signal.NotifyContext(c.Context, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer release()
	tell.Notef("watching the sensors for %v as the machine is, and for %v with all processors busy", phase, phase)
	h, err := validate.LookAtHardware(ctx, root, phase, time.Millisecond)
	switch {
	case ctx.Err() != nil:
		return exit.With(128+int(exit.Interrupted(ctx)), "--report: interrupted: nothing was written")
	case err != nil:
		return exit.Failure("--report: %w", err)
	}
	h.Version = version.Cg
	text, err := json.MarshalIndent(h, "", "  ")
	if err != nil {
		return exit.Failure("--report: %w", err)
	}
	if err := file.Save(append(text, '\n')); err != nil {
		return exit.Failure("--report: %w", err)
	}
	var laid bytes.Buffer
	printHardware(&laid, h)
	shown.Fprintf(os.Stderr, "%s", shown.Safe(laid.String()))
	status := 0
	if fault := h.Fault(); fault != nil {
		status = exit.StatusFailure
		tell.Notef("%s", strings.ReplaceAll(fault.Error(), "\n", "; "))
	}
	tell.Notef("written to %s: read it before you send it", file.Name)
	return exit.Of(status)
}

// printHardware shows the report as tables.
func printHardware(out io.Writer, h *validate.Hardware) {
	if len(h.Domains) == 0 {
		return
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	shown.Fprintf(w, "domain\tclaims\tmoves each\tby at least\tat rest\tbusy\tvaries\n")
	for _, d := range h.Domains {
		moves, least := "?", "?"
		if m := d.Moves; m != nil {
			moves, least = shown.Sprintf("%.3g ms", m.MedianMs), shown.Sprintf("%d µJ", m.LeastUJ)
		}
		line := shown.Sprintf("%s/%s\t%.3g ms\t%s\t%s", d.Source, d.ID, d.PeriodMs, moves, least)
		varies := "?"
		for _, p := range d.Power {
			if p == nil {
				line += "\t?"
				continue
			}
			line += "\t" + figures.Watts(&p.Watts)
			if varies == "?" {
				varies = shown.Sprintf("%.2g %%", p.Percent)
			}
		}
		shown.Fprintf(w, "%s\t%s\n", shown.Safe(line), varies)
	}
	w.Flush()
	for _, p := range h.Pairs {
		verdict := ""
		if p.Agree != nil {
			verdict = ": they do not agree"
			if *p.Agree {
				verdict = ": they agree"
			}
		}
		var ratios []string
		for _, r := range p.RatioPercent {
			if r == nil {
				ratios = append(ratios, "?")
				continue
			}
			ratios = append(ratios, shown.Sprintf("%.1f %%", *r))
		}
		shown.Fprintf(out, "%s is %s of %s%s\n", p.First, strings.Join(ratios, " and "), strings.Join(p.Second, " + "),
			verdict)
	}
}
