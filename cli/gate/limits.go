package gate

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/language"
	"cg/gate"
)

// limits takes the budgets and thresholds.
func (k *check) limits(c *cli.Context, s flags.Settings) error {
	k.plan.Budgets, k.plan.Thresholds = map[string]float64{}, map[string]float64{}
	budgets, err := s.Table(c, "budget")
	if err != nil {
		return exit.Usage("%w", err)
	}
	thresholds, err := s.Table(c, "threshold")
	if err != nil {
		return exit.Usage("%w", err)
	}
	for name, text := range budgets {
		if name == "total" {
			name = ""
		}
		if k.functions || name == "" {
			k.plan.Budgets[name], _ = Joules(text)
		} else {
			k.unchecked = true
		}
	}
	for name, text := range thresholds {
		if k.functions {
			k.plan.Thresholds[name], _ = PerCent(text)
		} else {
			k.unchecked = true
		}
	}
	if c.IsSet("budget") {
		b := c.Float64("budget")
		if !(b > 0) || math.IsInf(b, 1) {
			return exit.Usage("--budget: %g J is no budget: use joules above 0", b)
		}
		k.plan.Budgets[""] = b
	}
	return nil
}

// conflictingFlags refuses flags that do not go together.
func (k *check) conflictingFlags(c *cli.Context) error {
	if k.functions {
		switch {
		case k.plan.Metric == gate.Instructions:
			return exit.Usage(
				"--functions: instructions are counted for the whole command: use another --metric")
		case k.plan.Batch != 1:
			return exit.Usage("--functions: runs with checkpoints are not batched: leave out --batch")
		}
		return nil
	}
	if k.plan.Metric == gate.Instructions && k.plan.Batch != 1 {
		return exit.Usage("--batch: instructions are counted however few they are: leave it out")
	}
	for _, f := range language.AllFlags() {
		if flags.Given(c, f.Names()[0]) {
			return exit.Usage("--%s is for programs with checkpoints: use it with --functions", f.Names()[0])
		}
	}
	return nil
}

// PerCent reads a part in per cent: "5", "5%" or "0.5 %"; "" is 0.
func PerCent(s string) (float64, error) {
	if s == "" {
		return 0, nil
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(s), "%")), 64)
	if err != nil || !(v > 0 && v <= 1000) {
		return 0, fmt.Errorf("%q is no change in per cent: use such as 5, or 0.5%%", s)
	}
	return v / 100, nil
}

// Joules reads an energy: "10 J", "250 mJ", "1.5 kJ", "2 Wh".
func Joules(s string) (float64, error) {
	text := strings.TrimSpace(s)
	for _, unit := range []struct {
		name string
		j    float64
	}{{"kWh", 3.6e6}, {"Wh", 3600}, {"MJ", 1e6}, {"kJ", 1e3}, {"mJ", 1e-3}, {"uJ", 1e-6}, {"µJ", 1e-6}, {"J", 1}} {
		if figure, is := strings.CutSuffix(text, unit.name); is {
			if v, err := strconv.ParseFloat(strings.TrimSpace(figure), 64); err == nil && v > 0 && v < 1e12 {
				return v * unit.j, nil
			}
			break
		}
	}
	return 0, fmt.Errorf("%q is no energy: use such as 10 J, 250 mJ or 1.5 kJ", s)
}

// Batch reads a number of runs, 0 for auto.
func Batch(s string) (int, error) {
	if s == "auto" {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > gate.MaxBatch {
		return 0, fmt.Errorf("%q is no number of runs: use 1 to %d, or auto", s, gate.MaxBatch)
	}
	return n, nil
}
