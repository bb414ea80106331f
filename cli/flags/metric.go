package flags

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/gate"
	"cg/near"
)

// Metric is that of --metric, "" for none.
func Metric(c *cli.Context) (gate.Metric, error) {
	metric := gate.Metric(c.String("metric"))
	whole, unit := metric.Of()
	switch {
	case metric != "" && !slices.Contains(gate.Metrics(), string(whole)):
		return "", exit.Usage("--metric: %q is not known: %s", string(metric),
			near.Or(string(whole), gate.Metrics(), "use "+strings.Join(gate.Metrics(), ", ")))
	case unit == "" && strings.HasSuffix(string(metric), "/"), unit != "" && !whole.IsEnergy():
		return "", exit.Usage("--metric: %q is not known: for a unit of work use energy/NAME or cpu-energy/NAME",
			string(metric))
	}
	return metric, nil
}

// CheckMetric refuses what is no metric.
func CheckMetric(s string) error {
	if whole, _ := gate.Metric(s).Of(); whole.IsEnergy() {
		s = string(whole)
	}
	return OneOf(gate.Metrics()...)(s)
}
