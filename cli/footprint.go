package cli

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/config"
	"cg/footprint"
	"cg/report"
	"cg/report/cluster"
	"cg/report/format"
	"cg/report/repeated"
)

// footprintSettings are the flags that have the rates of emissions and cost, by the name of
// footprint.Error.
var footprintSettings = map[string]string{
	"zone": "grid-zone", "intensity": "grid-intensity", "pue": "pue", "embodied": "embodied", "price": "price",
}

// footprintFlags ask for what the machine's energy comes to.
func footprintFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "carbon", Usage: "show what the machine's energy emits, in grams of CO2 equivalents"},
		&cli.BoolFlag{Name: "cost", Usage: "show what the machine's energy costs"},
		&cli.StringFlag{Name: "grid-zone", Usage: "emissions are those of electricity in `ZONE`: a country's code " +
			"(DE), EU or World; mean of a year, by Ember"},
		&cli.StringFlag{Name: "grid-intensity", Usage: "emissions for each kWh in place of the zone's: `GRAMS` " +
			"(340, or 300..380), or a file or address of a table of times and g_per_kwh"},
		&cli.StringFlag{Name: "pue", Usage: "the data centre uses `TIMES` what its machines do (1.3, or 1.2..1.5; " +
			"default: 1)"},
		&cli.StringFlag{Name: "embodied", Usage: "add `GRAMS` of making the machine for each hour, and their source: " +
			"\"15 g/h, SOURCE\""},
		&cli.StringFlag{Name: "price", Usage: "a kWh costs `PRICE` (\"0.30 EUR\", or \"0.25..0.35 EUR\")"},
	}
}

// rateFlags are the flags of rates.
func rateFlags() []string { return slices.Collect(maps.Values(footprintSettings)) }

// rateOf are the flags that a rate is for.
func rateOf(name string) []string {
	switch name {
	case "pue":
		return []string{"carbon", "cost"}
	case "price":
		return []string{"cost"}
	}
	return []string{"carbon"}
}

// footprintRates are the rates that the flags name, nil where nothing is asked for.
func footprintRates(c *cli.Context) (*footprint.Rates, error) {
	if c.String("ranks") != "" { // whose reports share the node's energy
		for _, name := range []string{"carbon", "cost"} {
			if flags.Given(c, name) {
				return nil, exit.Usage("--%s is for one machine's run and not for a rank: leave it out", name)
			}
		}
		return nil, nil
	}
	for _, name := range slices.Sorted(maps.Values(footprintSettings)) {
		if of := rateOf(name); flags.Given(c, name) && !slices.ContainsFunc(of, c.Bool) {
			return nil, exit.Usage("--%s is for --%s: add that, or leave it out", name,
				strings.Join(of, " or --"))
		}
	}
	if !c.Bool("carbon") && !c.Bool("cost") {
		return nil, nil
	}
	rates, err := footprint.New(footprint.Settings{
		Carbon: c.Bool("carbon"), Cost: c.Bool("cost"), Zone: c.String("grid-zone"),
		Intensity: c.String("grid-intensity"), PUE: c.String("pue"), Price: c.String("price"),
		Embodied: c.String("embodied"),
	}, footprint.Open)
	var setting *footprint.Error
	if errors.As(err, &setting) {
		return nil, exit.Usage("--%s: %w", footprintSettings[setting.Setting], setting.Err)
	}
	return rates, err
}

// accountDocument fills in what the energy of a saved document comes to.
func accountDocument(d format.Document, f format.Format, rates *footprint.Rates) error {
	if rates == nil {
		return nil
	}
	if !slices.Contains([]string{"text", "markdown", "json", "html"}, f.Name) {
		return exit.Usage("--carbon and --cost are for -f text, markdown, json and html, and not for %s", f.Name)
	}
	switch d := d.(type) {
	case *report.Run:
		d.Account(rates)
	case report.Several:
		return exit.Usage("--carbon and --cost are for one file, and these are %d: report each alone", len(d))
	case *repeated.Result:
		d.Account(rates)
	case *cluster.Run:
		d.Account(rates)
	default:
		return exit.Usage("--carbon and --cost are for runs, and this is %s", d.Kind())
	}
	return nil
}

// intensityOf is an intensity as the file of settings means it that sets it: a relative file is relative to that
// file's folder. A project's own file may not make cg ask an address; one that the user chose (--config) may.
func intensityOf(v config.Value, text string, chosen bool) (string, error) {
	if v.File == "" { // the environment
		return text, nil
	}
	if footprint.IsAddress(text) && !chosen && filepath.Base(v.File) == flags.ProjectFile {
		return "", errors.New("a project cannot make cg ask an address: set it in your own file (cg config --edit), " +
			"or with --grid-intensity")
	}
	if name, ok := footprint.FileOf(text); ok && !filepath.IsAbs(name) {
		return filepath.Join(filepath.Dir(v.File), name), nil
	}
	return text, nil
}

// checkRate is the check of a setting of footprint: what cannot be used is an error.
func checkRate(set func(*footprint.Settings, string)) func(string) error {
	return func(text string) error {
		var s footprint.Settings
		set(&s, text)
		_, err := footprint.New(s, nil) // which asks for nothing, and so reads nothing
		var setting *footprint.Error
		if errors.As(err, &setting) {
			return setting.Err
		}
		return err
	}
}
