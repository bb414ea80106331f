package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/machine"
	"cg/cli/tell"
	"cg/nemb"
	"cg/nemb/doctor"
	"cg/shown"
)

func infoCommand() *cli.Command {
	return &cli.Command{
		Name:      "info",
		Usage:     "show what this machine can measure energy with, or what a trace holds",
		ArgsUsage: "[DIR]",
		Description: `Lists every sensor with its state (present, spare, absent, denied, broken,
failed: it does not answer, not_asked), the domains that are read and which of them make up the total, the
clock, what this process may do, and the machine.

DIR is the folder of a trace that Recorder wrote (2.3 to 2.5, 3.x): its version,
ranks, records and clock are shown instead (docs/recorder.md).

Exit status: 0; 1 if DIR is no trace or cannot be read; 2 usage.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print it as JSON"},
			&cli.StringSliceFlag{Name: "sensors", Aliases: []string{"s"}, Usage: "only these `SENSORS` (" +
				machine.SensorNames() + ")"},
			flags.Sysroot(),
		},
		Action: runInfo,
	}
}

func runInfo(c *cli.Context) error {
	if c.Args().Present() {
		return traceInfo(c)
	}
	survey, _, err := survey(c)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return tell.PutJSON(survey)
	}
	printSurvey(os.Stdout, survey)
	return nil
}

// survey looks at the machine of a command's --sysroot and --sensors.
func survey(c *cli.Context) (*doctor.Survey, nemb.Root, error) {
	if c.Args().Present() {
		return nil, nemb.Root{}, exit.Usage("%s takes no arguments: %q", c.Command.Name, c.Args().First())
	}
	root, err := machine.Root(c)
	if err != nil {
		return nil, root, err
	}
	s, err := doctor.Look(root, c.StringSlice("sensors"))
	if errors.Is(err, nemb.ErrUnknownSource) {
		err = exit.Usage("-s: %w", err)
	}
	return s, root, err
}

func printSurvey(out io.Writer, s *doctor.Survey) {
	m := s.Machine
	cpu := shown.OrUnknown(m.CPU)
	if m.March != "" {
		cpu += fmt.Sprintf(" (%s, %d)", m.March, m.Year)
	}
	cpu += fmt.Sprintf(", %d socket%s, %d processor%s", m.Sockets, plural(m.Sockets), m.Processors,
		plural(m.Processors))
	if m.Virtual {
		cpu += ", a virtual machine"
		if m.Hypervisor != "" {
			cpu += " of " + m.Hypervisor
		}
	}
	if m.Container != "" {
		cpu += ", in a container (" + m.Container + ")"
	}
	invariant := "not invariant"
	if s.Clock.Invariant {
		invariant = "invariant"
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	shown.Fprintf(w, "cpu\t%s\n", cpu)
	shown.Fprintf(w, "kernel\t%s\n", shown.OrUnknown(m.Kernel))
	shown.Fprintf(w, "clock\t%s, %s; checkpoints read the %s\n", shown.OrUnknown(s.Clock.Kernel), invariant,
		s.Clock.Channel)
	rights := fmt.Sprintf("uid %d", s.Permissions.UID)
	if len(s.Permissions.Capabilities) > 0 {
		rights += ", " + strings.Join(s.Permissions.Capabilities, ", ")
	}
	if s.Permissions.Paranoid != nil {
		rights += fmt.Sprintf("; perf_event_paranoid %d", *s.Permissions.Paranoid)
	}
	if s.Permissions.Realtime {
		rights += "; real-time sampler"
	}
	shown.Fprintf(w, "rights\t%s\n", rights)
	shown.Fprintf(w, "energy\t%s\n", s.Energy)
	w.Flush()

	shown.Fprintf(out, "\n")
	for _, sensor := range s.Sensors {
		line := strings.Join(sensor.Domains, " ")
		if sensor.State == nemb.Absent && len(sensor.Reasons) > 0 {
			line, sensor.Reasons = sensor.Reasons[0].Text, sensor.Reasons[1:]
		}
		if sensor.State == nemb.Unasked {
			line = "it is opened when it is named: --sensors " + sensor.Name
		}
		shown.Fprintf(out, "%s\n",
			strings.TrimRight(shown.Sprintf("%-10s %-10s %s", sensor.Name, sensor.State, line), " "))
		for _, r := range sensor.Reasons {
			shown.Fprintf(out, "%21s %s\n", "", r.Text)
			if r.Fix != "" {
				shown.Fprintf(out, "%21s to fix it: %s\n", "", r.Fix)
			}
		}
		for _, text := range sensor.Notes {
			shown.Fprintf(out, "%21s %s\n", "", text)
		}
		for _, text := range sensor.Doubts {
			shown.Fprintf(out, "%21s doubtful: %s\n", "", text)
		}
	}

	shown.Fprintf(out, "\n")
	w = tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	shown.Fprintf(w, "domain\tkind\tin total\tmethod\tsource\n")
	for _, d := range s.Domains {
		in := "-"
		if d.InTotal {
			in = "yes"
		} else if d.Parent != "" {
			in = "in " + d.Parent
		}
		shown.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", d.ID, d.Kind, in, d.Method, d.Source)
	}
	w.Flush()
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
