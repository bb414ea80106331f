package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/tell"
	"cg/config"
	"cg/shown"
)

func configCommand() *cli.Command {
	return &cli.Command{
		Name:      "config",
		Usage:     "show, edit, reset or check the settings",
		ArgsUsage: "[FILE]",
		Description: `Most flags can be set in files: in a table with the command's name, or for all
commands that have the flag before the first table.

  precision = "high"
  [measure]
  granularity = "fine"
  timeout = "90s"
  [track]
  tracker = ["0.1,rapl", "1,hwmon"]

A flag on the command line is the strongest, then the environment (CG_PRECISION
for --precision), then ` + flags.ProjectFile + ` in the current folder or the nearest above it, then
cg/config.toml in your configuration ($XDG_CONFIG_HOME, else ~/.config). --config
FILE of a command replaces both files. Unknown keys and wrong values are errors.

Exit status: 0; 1 if a file is wrong or cannot be changed; 2 usage.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "show", Usage: "print every setting, its value and where it comes from (the default)"},
			&cli.BoolFlag{Name: "edit", Usage: "open your file in $VISUAL or $EDITOR, and check it"},
			&cli.BoolFlag{Name: "reset", Usage: "rename your file to config.toml.old"},
			&cli.BoolFlag{Name: "validate", Usage: "check FILE, or the files that are in use"},
		},
		Action: runConfig,
	}
}

func runConfig(c *cli.Context) error {
	ways := 0
	for _, name := range []string{"show", "edit", "reset", "validate"} {
		if c.Bool(name) {
			ways++
		}
	}
	if ways > 1 || c.NArg() > 1 || c.Args().Present() && !c.Bool("validate") {
		return exit.Usage("config: use one of --show, --edit, --reset, --validate [FILE]")
	}
	files, refused, err := settingsFiles(cmp.Or(c.Args().First(), os.Getenv("CG_CONFIG")))
	if err != nil {
		return exit.Failure("%w", err)
	}
	warnRefused(refused)
	user, err := userFile()
	if err != nil && !c.Bool("validate") {
		return exit.Failure("no place for settings: %w", err)
	}
	all := commands()
	switch {
	case c.Bool("edit"):
		return editSettings(user, keys(all))
	case c.Bool("reset"):
		if err := os.Rename(user, user+".old"); err != nil {
			return exit.Failure("%w", err)
		}
		tell.Notef("%s is %s.old now", user, user)
		return nil
	case c.Bool("validate"):
		if len(files) == 0 {
			tell.Notef("there is no file of settings: %s, %s", flags.ProjectFile, user)
		}
		var errs []error
		for _, file := range files {
			if _, err := layers([]string{file}, keys(all)); err != nil {
				errs = append(errs, err)
				continue
			}
			tell.Put("%s: ok\n", file)
		}
		if err := errors.Join(errs...); err != nil {
			return exit.Failure("%w", err)
		}
		return nil
	}
	settings, err := layers(files, keys(all))
	if err != nil {
		return exit.Failure("%w", err)
	}
	showSettings(all, settings)
	return nil
}

// showSettings prints every setting, its value and where that comes from.
func showSettings(all []*cli.Command, settings []config.Settings) {
	for _, command := range all {
		heading := "\n[" + command.Name + "]\n"
		for _, f := range command.Flags {
			if !isSetting(command, f) || ofGrid(flags.NameOf(f)) != "" {
				continue
			}
			tell.Put("%s", shown.Safe(heading))
			heading = ""
			if v, origin, ok := setting(command.Name, f, settings); ok {
				tell.Put("%s = %s  # %s\n", flags.NameOf(f), written(typeOf(f), v.Texts), origin)
			} else {
				tell.Put("# %s = %s\n", flags.NameOf(f), byDefault(f))
			}
		}
	}
	tell.Put("\n[%s]\n", gridTable)
	for _, name := range gridFlags {
		f := &cli.StringFlag{Name: name}
		if v, origin, ok := setting("", f, settings); ok {
			tell.Put("%s = %s  # %s\n", ofGrid(name), written(config.Text, v.Texts), origin)
		} else {
			tell.Put("# %s = %s\n", ofGrid(name), byDefault(f))
		}
	}
	for _, table := range []string{"budget", "threshold"} {
		heading := "\n[" + table + "]\n"
		byName := ofTable(table, settings)
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			v := byName[name]
			tell.Put("%s%q = %q  # %s\n", shown.Safe(heading), name, v.Texts[0], v.Origin())
			heading = ""
		}
	}
}

// written is a value as a file has it.
func written(t config.Type, texts []string) string {
	var quoted []string
	for _, s := range texts {
		quoted = append(quoted, strconv.Quote(s))
	}
	switch {
	case t == config.Texts:
		return "[" + strings.Join(quoted, ", ") + "]"
	case t == config.Text || t == config.Time:
		return strings.Join(quoted, "")
	}
	return strings.Join(texts, "")
}

// editSettings opens the user's file, made with every key as a comment.
func editSettings(path string, keys []config.Key) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		text := "# Settings of cg. A key without a # in front is set; cg config --show tells the\n# values in use.\n"
		section := ""
		for _, k := range slices.SortedStableFunc(slices.Values(keys),
			func(a, b config.Key) int { return strings.Compare(a.Section, b.Section) }) {
			if k.Section != section {
				section = k.Section
				text += "\n[" + section + "]\n"
			}
			if k.Name == config.Any {
				text += fmt.Sprintf("# \"NAME\" = ... %s, for the function NAME\n", k.Type)
				continue
			}
			text += fmt.Sprintf("# %s = ... %s\n", k.Name, k.Type)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return exit.Failure("%w", err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return exit.Failure("%w", err)
		}
	}
	editor := os.Getenv("VISUAL")
	if editor == "" {
		editor = os.Getenv("EDITOR")
	}
	if editor == "" {
		editor = "vi"
	}
	cmd := exec.Command("sh", "-c", editor+` "$1"`, "sh", path) // an editor may have arguments
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return exit.Failure("%s: %w (set EDITOR to another)", editor, err)
	}
	if _, err := layers([]string{path}, keys); err != nil {
		return exit.Failure("%w", err)
	}
	tell.Notef("%s: ok", path)
	return nil
}
