package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"cg/report"
	"cg/report/format"
)

// formatsWith are the formats of runs that have something.
func formatsWith(has func(format.Format) bool) []format.Format {
	return slices.DeleteFunc(format.Of((*report.Run)(nil)), func(f format.Format) bool { return !has(f) })
}

// folderFormats are the formats that write a kind of document as a folder.
func folderFormats(d format.Document) []format.Format {
	return formatsWith(func(f format.Format) bool { return f.IsFolder(d) })
}

// choosing are the formats that leave something to choose by a flag.
func choosing(flag string) []format.Format {
	return formatsWith(func(f format.Format) bool {
		return slices.ContainsFunc(f.Choices, func(c format.Choice) bool { return c.Flag == flag })
	})
}

// choices are what the formats leave to choose, each once.
func choices() (all []format.Choice) {
	for _, f := range formatsWith(func(f format.Format) bool { return true }) {
		for _, c := range f.Choices {
			if !slices.ContainsFunc(all, func(o format.Choice) bool { return o.Flag == c.Flag }) {
				all = append(all, c)
			}
		}
	}
	return all
}

// choiceFlags are the flags for what formats leave to choose.
func choiceFlags() (flags []cli.Flag) {
	for _, c := range choices() {
		flags = append(flags, &cli.StringFlag{Name: c.Flag, Usage: "of " + format.Names(choosing(c.Flag), "and") +
			": " + c.Usage + ", " + alternatives(c.Values)})
	}
	return flags
}

// slicesByDefault says how many stretches of calls formats show.
func slicesByDefault() string {
	text := fmt.Sprint(format.DefaultSlices)
	for _, f := range formatsWith(func(f format.Format) bool { return f.Slices > 0 }) {
		text += fmt.Sprintf(", of %s %d", f.Name, f.Slices)
	}
	return text
}

func alternatives(names []string) string {
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1] + " (default: " + names[0] + ")"
}

// chosenFormat is the format for d that -f names, else that of the file's ending, of the page that is opened, or text.
func chosenFormat(c *cli.Context, d format.Document) (format.Format, error) {
	switch file := c.String("output"); {
	case c.IsSet("format"):
		return format.Named(c.String("format"), d)
	case file != "" && file != "-":
		return format.For(file, d)
	case c.Bool("open"):
		return format.Named(openedFormat, d)
	}
	return format.Named(format.Default, d)
}

// reportFormat is the format that was asked for. A flag that another format has
// is refused.
func reportFormat(c *cli.Context, d format.Document) (f format.Format, err error) {
	switch {
	case c.Bool("lsp") && (c.IsSet("format") || c.Bool("advice")):
		return f, errors.New("--lsp is -f lsp: it goes with no other format, and not with --advice")
	case c.Bool("lsp"):
		f, err = format.Named("lsp", d)
	default:
		f, err = chosenFormat(c, d)
	}
	if err != nil {
		return f, err
	}
	for _, flag := range []string{"energy", "ranks", "records"} {
		if c.IsSet(flag) {
			return f, fmt.Errorf("--%s is for a trace: cg report --from recorder DIR", flag)
		}
	}
	flags := map[string][]format.Format{"with-source": formatsWith(func(f format.Format) bool { return f.Text })}
	for _, choice := range choices() {
		flags[choice.Flag] = choosing(choice.Flag)
	}
	for name, only := range flags {
		if c.IsSet(name) && !slices.ContainsFunc(only, func(o format.Format) bool { return o.Name == f.Name }) {
			return f, fmt.Errorf("--%s is for %s, and the format is %s", name, format.Names(only, "and"), f.Name)
		}
	}
	switch {
	case c.IsSet("slices") && !f.Time:
		return f, fmt.Errorf("--slices is for formats that show calls over time, and the format is %s", f.Name)
	case c.IsSet("slices") && c.Int("slices") < 1:
		return f, fmt.Errorf("--slices: %d is no number of slices: use 1 or more", c.Int("slices"))
	case c.Bool("open") && !f.Picture:
		return f, fmt.Errorf("--open is for pictures, and the format is %s", f.Name)
	case c.Bool("open") && c.String("output") == "-":
		return f, errors.New("--open needs a file, and -o - is standard output")
	}
	return f, nil
}
