package gpu

import (
	"cmp"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/machine"
	"cg/nemb/node"
	"cg/pmsampling"
	"cg/pmsampling/beside"
	"cg/pmsampling/cupti"
)

// Flags are those of cg measure for NVIDIA GPUs.
func Flags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "gpu-kernels",
			Usage: "tell which kernels ran on NVIDIA GPUs, what each used, and which functions launched them: " +
				"CUPTI is loaded into the program for that, or where it is not there what --gpu-launches has " +
				"(docs/gpu.md)"},
		&cli.BoolFlag{Name: "gpu-launches",
			Usage: "the same without CUPTI, by what the program launches and waits for: when a kernel ran is known " +
				"less exactly"},
		&cli.StringFlag{Name: "gpu-metrics",
			Usage: "sample performance counters of NVIDIA GPUs beside the program: `A,B,...` (cg gpu metrics lists " +
				"them); with --gpu-kernels also by kernel"},
		&cli.StringFlag{Name: "gpu-interval", Value: "100us",
			Usage: "one sample of --gpu-metrics each `TIME`; with cycles, such as 20000cycles, on GPUs that have no " +
				"samples by time (Turing, A100)"},
	}
}

// Wishes is what of GPUs is asked for besides their energy.
type Wishes struct {
	Kernels  string                                       // CUPTI, for --gpu-kernels, else ""
	Launches bool                                         // --gpu-launches, or --gpu-kernels without CUPTI
	NoCUPTI  string                                       // why
	counters func(beside.Claim) (*beside.Recorder, error) // begins --gpu-metrics; nil without
}

// CountersOf begins --gpu-metrics for a rank, nil for a program that is none. CUPTI lets one process sample a GPU: of
// the ranks of a node the first to come has it.
func (w Wishes) CountersOf(rank *node.Member) func() (*beside.Recorder, error) {
	if w.counters == nil {
		return nil
	}
	var claim beside.Claim
	if rank != nil {
		claim = func(d cupti.Device) (release func(), err error) {
			what := "gpu-" + cmp.Or(d.UUID, d.Bus)
			have, err := rank.Claim(what)
			switch {
			case err != nil:
				return nil, fmt.Errorf("GPU %d: %w", d.Index, err)
			case have != rank.Rank():
				return nil, fmt.Errorf("rank %d of this node samples GPU %d (%s): %w", have, d.Index, d.Bus,
					beside.ErrElsewhere)
			}
			return func() { rank.Release(what) }, nil
		}
	}
	return func() (*beside.Recorder, error) { return w.counters(claim) }
}

// WishesOf is what flags ask for.
func WishesOf(c *cli.Context) (w Wishes, err error) {
	if w.Launches = c.Bool("gpu-launches"); w.Launches && c.Bool("gpu-kernels") {
		return w, exit.Usage("--gpu-kernels and --gpu-launches tell the same: leave one out")
	}
	if w.Launches {
		if other := os.Getenv(NVTXInjection); other != "" {
			return w, exit.Self("--gpu-launches: %s is set (%s): another tool wants to be loaded into the "+
				"program, and NVTX loads one; unset it, or leave out --gpu-launches", NVTXInjection, other)
		}
	}
	if c.Bool("gpu-kernels") {
		if w.Kernels, w.NoCUPTI, err = kernelLibrary(c); err != nil {
			return w, err
		}
		w.Launches = w.Kernels == ""
	}
	if c.IsSet("gpu-metrics") {
		w.counters, err = counters(c)
	} else if flags.Given(c, "gpu-interval") {
		err = exit.Usage("--gpu-interval is for --gpu-metrics")
	}
	return w, err
}

// counters begins to sample what --gpu-metrics names, when it is called.
func counters(c *cli.Context) (func(beside.Claim) (*beside.Recorder, error), error) {
	config := pmsampling.Config{Trigger: pmsampling.GPUTimeInterval}
	if config.Metrics = metricNames(c.String("gpu-metrics")); len(config.Metrics) == 0 {
		return nil, exit.Usage("--gpu-metrics: name what is sampled: A,B (cg gpu metrics lists them)")
	}
	if err := readInterval("gpu-interval", c.String("gpu-interval"), &config); err != nil {
		return nil, err
	}
	root, err := machine.Root(c)
	if err != nil {
		return nil, err
	}
	l, err := cupti.Open(root.Dir)
	if err != nil {
		return nil, exit.Self("--gpu-metrics: %w", err)
	}
	return func(claim beside.Claim) (*beside.Recorder, error) {
		r, err := beside.Begin(l, config, claim)
		if err != nil {
			return nil, exit.Self("--gpu-metrics: %w", err)
		}
		return r, nil
	}, nil
}

// NVTXInjection is the variable that names what NVTX loads.
const NVTXInjection = "NVTX_INJECTION64_PATH"

// OtherInjection is the library of another tool that is loaded into programs, the variable that names it, and what
// loads it; "" for none.
func OtherInjection() (variable, library, by string) {
	for _, by = range []string{"CUDA", "NVTX"} {
		variable = by + "_INJECTION64_PATH"
		if library = os.Getenv(variable); library != "" {
			break
		}
	}
	return variable, library, by
}

// kernelLibrary finds CUPTI for --gpu-kernels, or says why it goes without. One tool at a time can be in a program.
func kernelLibrary(c *cli.Context) (path, why string, err error) {
	if other := os.Getenv(NVTXInjection); other != "" {
		return "", "", exit.Self("--gpu-kernels: %s is set (%s): another tool wants to be loaded into the "+
			"program, and NVTX loads one; unset it, or leave out --gpu-kernels", NVTXInjection, other)
	}
	if name, other, _ := OtherInjection(); other != "" {
		return "", name + " is set (" + other + "): another tool wants to be loaded into the program", nil
	}
	root, err := machine.Root(c)
	if err != nil {
		return "", "", err
	}
	file, err := cupti.File(root.Dir)
	if err != nil {
		return "", err.Error(), nil
	}
	return file, "", nil
}
