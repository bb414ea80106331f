package cli

import (
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/tell"
	"cg/shown"
	"cg/version"
)

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "show which cg this is, and which versions of files it writes and reads",
		Description: `Shows the commit that was built and its time (? where the build did not see a
repository), the version of Go, the runtimes that ride in programs, tree-sitter
with its grammars, and the versions of what cg writes and reads. docs/versions.md
has the rules for all of them.

Exit status: 0; 1 if the build recorded no modules for --sbom; 2 usage.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print it as JSON"},
			&cli.BoolFlag{Name: "sbom", Usage: "print the modules that cg was built from, as CycloneDX JSON"},
		},
		Action: runVersion,
	}
}

func runVersion(c *cli.Context) error {
	if c.Args().Present() {
		return exit.Usage("version takes no arguments: %q", c.Args().First())
	}
	if c.Bool("sbom") {
		if c.Bool("json") {
			return exit.Usage("--json and --sbom are two things to print: use one")
		}
		b, err := version.Materials()
		if err != nil {
			return exit.Failure("--sbom: %w", err)
		}
		return tell.PutJSON(b)
	}
	v, err := version.Of()
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return tell.PutJSON(v)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	line := func(what, text string) { shown.Fprintf(w, "%s\t%s\n", what, text) }
	line("cg", v.Version)
	line("commit", v.Built())
	line("built with", v.Go+", "+v.Platform)
	for _, folder := range slices.Sorted(maps.Keys(v.Runtimes)) {
		line("runtime "+folder, v.Runtimes[folder])
	}
	line("tree-sitter", v.Grammars())
	for _, l := range v.Languages {
		line("plans of "+l.Name, l.PlanVersion[:min(16, len(l.PlanVersion))])
	}
	for _, f := range v.Formats {
		line(f.Name, f.Writes+" (reads "+strings.Join(f.Reads, ", ")+")")
	}
	return w.Flush()
}
