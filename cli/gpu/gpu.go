// Package gpu is the command cg gpu, which samples the performance counters of NVIDIA GPUs, and what cg measure asks
// of GPUs besides their energy.
package gpu

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/machine"
	"cg/cli/tell"
	"cg/near"
	"cg/pmsampling/cupti"
	"cg/shown"
)

// Command is cg gpu.
func Command() *cli.Command {
	return &cli.Command{
		Name:            "gpu",
		Usage:           "sample the performance counters of NVIDIA GPUs",
		HideHelpCommand: true,
		Subcommands: []*cli.Command{listCommand(), metricsCommand(), sampleCommand(), decodeCommand(),
			serveCommand()},
		Description: `NVIDIA's PM sampling tells what a GPU does every few microseconds: which part of it
is busy, how much memory it moves. cg finds CUPTI while it runs: in CG_CUPTI (a file
or a folder), below CUDA_HOME, among the packages of python3 (pip install
nvidia-cuda-cupti), where the dynamic linker looks, and in /usr/local/cuda. Counters
are for root, unless the driver gives them to every user. docs/gpu.md says more.

Exit status: 2 if no command is named.`,
		Action: func(c *cli.Context) error {
			if !c.Args().Present() {
				return exit.Usage("gpu: name what to do: list, metrics, sample or decode (see --help)")
			}
			return exit.Usage("gpu: %q is no command of it: %s", c.Args().First(),
				near.Or(c.Args().First(), []string{"list", "metrics", "sample", "decode"},
					"use list, metrics, sample or decode"))
		},
	}
}

// openCUPTI loads CUPTI, for a command that cannot do without.
func openCUPTI(c *cli.Context) (*cupti.Library, error) {
	root, err := machine.Root(c)
	if err != nil {
		return nil, err
	}
	l, err := cupti.Open(root.Dir)
	if err != nil {
		return nil, exit.Failure("%w", err)
	}
	return l, nil
}

func listCommand() *cli.Command {
	return &cli.Command{
		Name:  "list",
		Usage: "list GPUs, and whether their counters can be sampled",
		Description: `Shows the library that was found, and for each GPU its number, chip, name, place on
the bus, compute capability, and whether it can be sampled, or what prevents that.

Exit status: 0 one GPU at least can be sampled; 1 none; 2 usage.`,
		Flags:        []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print it as JSON"}, flags.Sysroot()},
		OnUsageError: flags.UsageError,
		Action:       runList,
	}
}

// Row is a GPU as cg gpu list shows it.
type Row struct {
	Index      int    `json:"index"`
	Chip       string `json:"chip"`
	Name       string `json:"name"`
	Bus        string `json:"bus"`
	Capability string `json:"compute_capability"`
	Samples    bool   `json:"samples"`
	Reason     string `json:"reason"` // why it cannot be sampled, "" for none
}

func runList(c *cli.Context) error {
	if c.Args().Present() {
		return exit.Usage("gpu list: %q: it takes no arguments", c.Args().First())
	}
	l, err := openCUPTI(c)
	if err != nil {
		return err
	}
	devices, err := l.Devices()
	if err != nil {
		return exit.Failure("%w", err)
	}
	rows := []Row{}
	for _, d := range devices {
		rows = append(rows, RowOf(l, d))
	}
	if c.Bool("json") {
		err = tell.PutJSON(struct {
			Library string `json:"library"`
			Version uint32 `json:"cupti_version"`
			GPUs    []Row  `json:"gpus"`
		}{l.Path, l.Version, rows})
	} else {
		tell.Put("CUPTI %d%s  %s\n", l.Version, inCUDA(l), l.Path)
		for _, r := range rows {
			state := "can be sampled"
			if !r.Samples {
				state = r.Reason
			}
			err = tell.Put("%d  %s  %s  %s  %s  %s\n", r.Index, shown.OrUnknown(r.Chip), r.Name, r.Bus, r.Capability, state)
		}
	}
	if err == nil && !slices.ContainsFunc(rows, func(r Row) bool { return r.Samples }) {
		return exit.Of(exit.StatusFailure)
	}
	return err
}

// inCUDA says which CUDA a library is of, where that is known.
func inCUDA(l *cupti.Library) string {
	if release := l.Release(); release != "" {
		return " (CUDA " + release + ")"
	}
	return ""
}

// RowOf asks a GPU whether its counters can be read, without sampling.
func RowOf(l *cupti.Library, d cupti.Device) Row {
	r := Row{Index: d.Index, Name: d.Name, Bus: d.Bus, Capability: fmt.Sprintf("%d.%d", d.Major, d.Minor)}
	err := l.Initialize(d.Index)
	if err == nil {
		r.Chip, err = l.Chip(d.Index)
	}
	switch {
	case err != nil:
	case !d.Samples():
		r.Reason = "PM sampling begins with compute capability 7.5 (Turing)"
	default:
		_, err = l.Availability(d.Index)
	}
	if err != nil {
		r.Reason = err.Error()
	}
	r.Samples = r.Reason == ""
	return r
}

func metricsCommand() *cli.Command {
	return &cli.Command{
		Name:      "metrics",
		Usage:     "list what can be sampled on a chip",
		ArgsUsage: "[METRIC]",
		Description: `Lists the metrics of the GPU's chip, or of --chip NAME, which needs no GPU: name,
kind, unit of the hardware, unit of the value, description. A metric is sampled under a
name with a suffix, such as sm__cycles_active.avg: cg gpu metrics METRIC lists those of
one metric.

Exit status: 0; 1 if nothing can be listed, or nothing matches; 2 usage.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "chip", Usage: "of the chip `NAME` (GH100, AD102)"},
			numberFlag(),
			&cli.StringFlag{Name: "search", Usage: "only those with `TEXT` in their name or description"},
			&cli.BoolFlag{Name: "sets", Usage: "list the sets of metrics that fit into one pass"},
			&cli.BoolFlag{Name: "json", Usage: "print it as JSON"},
			flags.Sysroot(),
		},
		OnUsageError: flags.UsageError,
		Action:       runMetrics,
	}
}

// numberFlag is the number of a GPU.
func numberFlag() cli.Flag {
	return &cli.IntFlag{Name: "gpu", Usage: "of GPU `N`, as cg gpu list has it"}
}

// metricRow is a metric as cg gpu metrics shows it.
type metricRow struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"`
	Unit        string `json:"unit"`
	Dimension   string `json:"dimension"`
	Description string `json:"description"`
}

func runMetrics(c *cli.Context) error {
	if c.NArg() > 1 {
		return exit.Usage("gpu metrics: %q: name one metric at most", c.Args().Get(1))
	}
	if c.IsSet("chip") && c.IsSet("gpu") {
		return exit.Usage("gpu metrics: --chip and --gpu both say of what: leave one out")
	}
	l, err := openCUPTI(c)
	if err != nil {
		return err
	}
	chip := c.String("chip")
	if chip == "" {
		if err = l.Initialize(c.Int("gpu")); err == nil {
			chip, err = l.Chip(c.Int("gpu"))
		}
		if errors.Is(err, cupti.ErrAbsent) {
			return exit.Failure("%w; --chip NAME lists the metrics of a chip without one", err)
		} else if err != nil {
			return exit.Failure("%w", err)
		}
	}
	if c.Bool("sets") {
		return putNames(c, l.Sets, chip, "sets")
	}
	host, err := l.Host(chip, "", nil)
	if err != nil {
		if chips, e := l.Chips(); e == nil && !slices.Contains(chips, chip) {
			return exit.Failure("--chip: CUPTI %d%s knows no chip %s: %s", l.Version, inCUDA(l), chip,
				near.Or(chip, chips, "use "+strings.Join(chips, ", ")))
		}
		return exit.Failure("%w", err)
	}
	defer host.Close()
	if c.Args().Present() {
		return putNames(c, func(metric string) ([]string, error) { return suffixed(host, metric) }, c.Args().First(),
			"metrics")
	}
	return putMetrics(c, host)
}

// putNames prints names, one a line, or as JSON under a key.
func putNames(c *cli.Context, list func(string) ([]string, error), of, key string) error {
	names, err := list(of)
	if err != nil {
		return exit.Failure("%w", err)
	}
	if c.Bool("json") {
		return tell.PutJSON(map[string][]string{key: append([]string{}, names...)})
	}
	for _, name := range names {
		err = tell.Put("%s\n", name)
	}
	return err
}

// suffixed lists the full names of a metric.
func suffixed(host *cupti.Host, metric string) (all []string, err error) {
	var bases []string
	for _, kind := range cupti.Kinds {
		names, err := host.Base(kind)
		if err != nil {
			return nil, err
		}
		if bases = append(bases, names...); !slices.Contains(names, metric) {
			continue
		}
		suffixes, err := host.Suffixes(metric, kind)
		for _, s := range suffixes {
			all = append(all, metric+s)
		}
		return all, err
	}
	return nil, fmt.Errorf("chip %s has no metric %s: %s", host.Chip, metric,
		near.Or(metric, bases, "cg gpu metrics lists them"))
}

// putMetrics prints the metrics of a chip.
func putMetrics(c *cli.Context, host *cupti.Host) error {
	rows, search := []metricRow{}, strings.ToLower(c.String("search"))
	for _, kind := range cupti.Kinds {
		names, err := host.Base(kind)
		if err != nil {
			return exit.Failure("%w", err)
		}
		for _, name := range names {
			p, err := host.Properties(name, kind)
			if err != nil && !errors.Is(err, cupti.ErrMetric) { // it describes some of its names not
				return exit.Failure("%w", err)
			}
			if search == "" || strings.Contains(strings.ToLower(name+"\n"+p.Description), search) {
				rows = append(rows, metricRow{name, kind.String(), p.Unit, p.Dimension, p.Description})
			}
		}
	}
	var err error
	if c.Bool("json") {
		err = tell.PutJSON(struct {
			Chip    string      `json:"chip"`
			Metrics []metricRow `json:"metrics"`
		}{host.Chip, rows})
	} else {
		for _, r := range rows {
			err = tell.Put("%-64s %-10s %-10s %-12s %s\n", r.Name, r.Kind, shown.Safe(shown.OrUnknown(r.Unit)),
				shown.Safe(shown.OrUnknown(r.Dimension)), r.Description)
		}
	}
	if len(rows) == 0 {
		return exit.Failure("chip %s has no metric with %q", host.Chip, c.String("search"))
	}
	return err
}
