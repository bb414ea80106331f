package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/report"
)

// noiseFlags say what is measured before a program, and the limits of a report's
// noise.
func noiseFlags() []cli.Flag {
	d := report.DefaultNoise
	return []cli.Flag{
		baselineFlag(),
		&cli.StringFlag{Name: "noise-quality", Value: "2,5,10",
			Usage: "the variations of the power from which on a task is good, moderate and high-noise (`PERCENTS`)"},
		&cli.Float64Flag{Name: "noise-cv", Value: d.WarnCVPercent,
			Usage: "warn of a task whose power varies by `PERCENT` or more"},
		&cli.Float64Flag{Name: "noise-drop", Value: d.WarnDropPercent,
			Usage: "warn of a task with `PERCENT` or more of its samples missing"},
	}
}

// noiseLimits are the limits that the flags say.
func noiseLimits(c *cli.Context) (*report.NoiseLimits, error) {
	l := &report.NoiseLimits{WarnCVPercent: c.Float64("noise-cv"), WarnDropPercent: c.Float64("noise-drop")}
	var err error
	if l.Quality, err = percents(c.String("noise-quality")); err != nil {
		return nil, exit.Usage("--noise-quality: %w", err)
	}
	for _, flag := range []string{"noise-cv", "noise-drop"} {
		if err := percent(c.Float64(flag)); err != nil {
			return nil, exit.Usage("--%s: %w", flag, err)
		}
	}
	return l, nil
}

// The time of --baseline.
const (
	leastBaseline = time.Second
	mostBaseline  = time.Hour
)

func baselineFlag() cli.Flag {
	return &cli.StringFlag{Name: "baseline",
		Usage: "measure the idle machine for `SECONDS` before the program starts, and use its power for the report's " +
			"line idle"}
}

// baselineTime reads the time of --baseline; "" is none.
func baselineTime(s string) (time.Duration, error) {
	d, err := flags.Duration(s)
	if err == nil && s != "" && (d < leastBaseline || d > mostBaseline) {
		err = fmt.Errorf("%v is out of range: use %v to %v", d, leastBaseline, mostBaseline)
	}
	return d, err
}

// percents reads the limits of the qualities.
func percents(s string) ([]float64, error) {
	l := report.NoiseLimits{}
	for _, part := range strings.Split(s, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no percentage: use three that rise, such as 2,5,10", part)
		}
		l.Quality = append(l.Quality, v)
	}
	return l.Quality, l.Valid()
}

func percent(v float64) error {
	if !(v > 0 && v <= 1e6) {
		return fmt.Errorf("%g is no limit: use a percentage above 0", v)
	}
	return nil
}

func checkPercent(s string) error {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return fmt.Errorf("%q is no percentage", s)
	}
	return percent(v)
}
