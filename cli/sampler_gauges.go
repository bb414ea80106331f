package cli

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/machine"
	"cg/near"
	"cg/nemb"
	"cg/nemb/sampler"
	"cg/runtimes/sdk/spec"
)

// gaugeNames lists what --gauges takes besides all.
func gaugeNames() (names []string) {
	for _, m := range nemb.Metrics() {
		names = append(names, m.Name)
	}
	return names
}

// sampleGauges reads gauges until over is closed.
func sampleGauges(c *cli.Context, over <-chan struct{}) error {
	for _, name := range []string{"sensors", "buffer"} {
		if flags.Given(c, name) {
			return exit.Usage("--%s is for energies: leave it out with --gauges", name)
		}
	}
	period := time.Duration(spec.GaugePeriodNs)
	if flags.Given(c, "precision") {
		var err error
		if period, err = flags.Precision(c.String("precision")); err != nil {
			return exit.Usage("-p: %w", err)
		}
	}
	if period < sampler.MinGaugePeriod || period > sampler.MaxGaugePeriod {
		return exit.Usage("-p: gauges cannot be read each %v: use 100ms to 1m", period)
	}
	root, err := machine.Root(c)
	if err != nil {
		return err
	}
	gauges, without, err := openGauges(root, strings.Split(c.String("gauges"), ","))
	if err != nil {
		return err
	}
	defer func() {
		for _, g := range gauges {
			g.Close()
		}
	}()
	rows, err := sampler.ShareGauges(gauges, period)
	if err != nil {
		return exit.Self("sampler: %w", err)
	}
	defer rows.Close()
	rows.Read()
	if err = greet(samplerLine{Ring: rows.Path(), Without: without}, period, root); err != nil {
		if errors.Is(err, unix.EPIPE) {
			return nil
		}
		return exit.Self("sampler: %w", err)
	}
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return nil
		case <-tick.C:
			rows.Read()
		}
	}
}

// openGauges opens metrics by name, or for "all" those that the machine has. without tells what cannot be read.
func openGauges(root nemb.Root, names []string) (gauges []sampler.NamedGauge, without []string, err error) {
	known := gaugeNames()
	all := slices.Contains(names, "all")
	if all {
		names = known
	}
	seen := map[string]bool{}
	for _, name := range names {
		if name = strings.ToLower(strings.TrimSpace(name)); seen[name] {
			continue
		}
		seen[name] = true
		if !slices.Contains(known, name) {
			return nil, nil, exit.Usage("--gauges: no metric %q; %s", name,
				near.Or(name, known, "known are all, "+strings.Join(known, ", ")))
		}
		g, err := nemb.OpenMetric(root, name)
		if g != nil {
			gauges = append(gauges, sampler.NamedGauge{Metric: name, Gauge: g})
		}
		// What a machine does not have is no fault where everything is asked for.
		if err != nil && !(errors.Is(err, fs.ErrNotExist) && (all || g != nil)) {
			without = append(without, strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	}
	if len(gauges) == 0 {
		why := ""
		if len(without) > 0 {
			why = ": " + strings.Join(without, "; ")
		}
		return nil, nil, exit.Failure("--gauges: none can be read here%s", why)
	}
	return gauges, without, nil
}
