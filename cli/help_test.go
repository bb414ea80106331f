package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"cg/cli/flags"
	_ "cg/languages/all"
	"cg/manual"
)

// table is the table of cg's commands as Main has it.
func table() manual.Command {
	app := &cli.App{Name: "cg", Usage: "u", Commands: commands(), Flags: []cli.Flag{flags.Sysroot(), cli.HelpFlag}}
	for _, c := range app.Commands {
		configure(c)
	}
	return manualOf(app)
}

// Each flag stands in one group, and each group's flags are flags of a command.
func TestFlagsHaveGroups(t *testing.T) {
	seen := map[string]bool{"from": true, "allow-different": true} // of commands with few flags, too
	for _, c := range table().All() {
		for _, g := range c.Groups {
			for _, f := range g.Flags {
				name := strings.TrimLeft(f.Names[len(f.Names)-1], "-")
				seen[name] = true
				if g.Title == otherFlags && !slices.Contains([]string{"no-cleanup", "config", "help"}, name) {
					t.Errorf("%s: --%s is in no group of cli/help.go", c.Path, name)
				}
				if f.Usage == "" || strings.Contains(f.Usage, "`") || strings.Contains(f.Default, "false") {
					t.Errorf("%s: %+v", c.Path, f)
				}
			}
		}
	}
	for _, g := range groups {
		for _, name := range strings.Fields(g.flags) {
			if !seen[name] {
				t.Errorf("group %q: no command has --%s", g.title, name)
			}
		}
	}
}

// What completion offers for a value is taken by the check of settings.
func TestOfferedValuesAreTaken(t *testing.T) {
	checked := 0
	for _, c := range table().Commands {
		for _, g := range c.Groups {
			for _, f := range g.Flags {
				name := strings.TrimLeft(f.Names[len(f.Names)-1], "-")
				check := checks[c.Name()+"."+name]
				if check == nil {
					check = checks[name]
				}
				for _, w := range f.Words {
					if check == nil {
						continue
					}
					if checked++; check(w) != nil {
						t.Errorf("%s %s: %v", c.Path, f.Names[0], check(w))
					}
				}
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d values", checked)
	}
}
