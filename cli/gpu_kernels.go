package cli

import (
	"os"

	"github.com/urfave/cli/v2"

	"cg/pmsampling"
	"cg/pmsampling/beside"
	"cg/pmsampling/cupti"
)

// gpuFlags are those of cg measure for NVIDIA GPUs.
func gpuFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "gpu-kernels",
			Usage: "tell which kernels ran on NVIDIA GPUs, what each used, and which functions launched them: " +
				"CUPTI is loaded into the program for that (docs/gpu.md)"},
		&cli.StringFlag{Name: "gpu-metrics",
			Usage: "sample performance counters of NVIDIA GPUs beside the program: `A,B,...` (cg gpu metrics lists " +
				"them); with --gpu-kernels also by kernel"},
		&cli.StringFlag{Name: "gpu-interval", Value: "100us",
			Usage: "one sample of --gpu-metrics each `TIME`; with cycles, such as 20000cycles, on GPUs that have no " +
				"samples by time (Turing, A100)"},
	}
}

// gpuWishes is what of GPUs is asked for besides their energy.
type gpuWishes struct {
	kernels  string                           // CUPTI, for --gpu-kernels, else ""
	counters func() (*beside.Recorder, error) // begins --gpu-metrics; nil without
}

func gpuWishesOf(c *cli.Context) (w gpuWishes, err error) {
	if c.Bool("gpu-kernels") {
		if w.kernels, err = kernelLibrary(c); err != nil {
			return w, err
		}
	}
	if c.IsSet("gpu-metrics") {
		w.counters, err = gpuCounters(c)
	} else if given(c, "gpu-interval") {
		err = fail(statusUsage, "--gpu-interval is for --gpu-metrics")
	}
	return w, err
}

// gpuCounters begins to sample what --gpu-metrics names, when it is called.
func gpuCounters(c *cli.Context) (func() (*beside.Recorder, error), error) {
	config := pmsampling.Config{Trigger: pmsampling.GPUTimeInterval}
	if config.Metrics = metricNames(c.String("gpu-metrics")); len(config.Metrics) == 0 {
		return nil, fail(statusUsage, "--gpu-metrics: name what is sampled: A,B (cg gpu metrics lists them)")
	}
	if err := gpuInterval("gpu-interval", c.String("gpu-interval"), &config); err != nil {
		return nil, err
	}
	root, err := sysroot(c)
	if err != nil {
		return nil, err
	}
	l, err := cupti.Open(root.Dir)
	if err != nil {
		return nil, fail(statusSelf, "--gpu-metrics: %w", err)
	}
	return func() (*beside.Recorder, error) {
		r, err := beside.Begin(l, config)
		if err != nil {
			return nil, fail(statusSelf, "--gpu-metrics: %w", err)
		}
		return r, nil
	}, nil
}

// otherInjection is the library of another tool that is loaded into programs, the variable that names it, and what
// loads it; "" for none.
func otherInjection() (variable, library, by string) {
	for _, by = range []string{"CUDA", "NVTX"} {
		variable = by + "_INJECTION64_PATH"
		if library = os.Getenv(variable); library != "" {
			break
		}
	}
	return variable, library, by
}

// kernelLibrary finds CUPTI for --gpu-kernels. One tool at a time can be in a program.
func kernelLibrary(c *cli.Context) (string, error) {
	if name, other, by := otherInjection(); other != "" {
		return "", fail(statusSelf, "--gpu-kernels: %s is set (%s): another tool wants to be loaded into the "+
			"program, and %s loads one; unset it, or leave out --gpu-kernels", name, other, by)
	}
	root, err := sysroot(c)
	if err != nil {
		return "", err
	}
	file, err := cupti.File(root.Dir)
	if err != nil {
		return "", fail(statusSelf, "--gpu-kernels: %w", err)
	}
	return file, nil
}
