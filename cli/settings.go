package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/gate"
	"cg/cli/machine"
	"cg/cli/monitor"
	"cg/cli/tell"
	"cg/cli/track"
	"cg/config"
	"cg/footprint"
	"cg/instrument"
	"cg/monitor/jsonl"
	"cg/near"
	"cg/nemb"
	"cg/nemb/sensor/meter"
)

// notSettings lists what has no setting: commands whose flags say what to do now, and
// flags that are of one run.
var notSettings = struct{ commands, flags []string }{
	[]string{"config", "calibrate", "load", "measurer", "compiler", "info", "doctor", "init-sensors", "validate",
		"report", "verify", "compare", "sdk", "version", "help", "completion", "man"},
	[]string{"help", "config", "sysroot", "stdin", "instrumented", "id", "append", "until-pid", "pid", "pairs",
		"save-instrumented", "analyze.output-dir",
		"command", "prepare", "validate", "export-csv", "export-markdown", "budget", "export-plot", "benchfmt", "per",
		"events", "project", "head", "save", "ranks", "seed", "allow-different", "junit", "export-metrics",
		"monitor.duration", "monitor.output", "socket"},
}

// isSetting reports whether a flag of a command is a setting, too.
func isSetting(c *cli.Command, f cli.Flag) bool {
	name := flags.NameOf(f)
	switch c.Name {
	case "report": // which has those of rates alone
		return slices.Contains(rateFlags(), name)
	case "info", "doctor": // those of the machine
		return ofTheUser(f)
	}
	return !slices.Contains(notSettings.commands, c.Name) && !slices.Contains(notSettings.flags, name) &&
		!slices.Contains(notSettings.flags, c.Name+"."+name)
}

// checks tell what is wrong with a value, by the name of a flag or of a command
// and a flag. What is not here the command itself refuses.
var checks = map[string]func(string) error{
	"precision":           func(s string) error { _, err := flags.Precision(s); return err },
	"overhead":            func(s string) error { _, err := overhead(s); return err },
	"granularity":         func(s string) error { _, err := instrument.ParseGranularity(s); return err },
	"timeout":             checkTime,
	"duration":            checkTime,
	"flush":               checkTime,
	"cores":               func(s string) error { _, err := processorList(s); return err },
	"pty":                 flags.OneOf("auto", "always", "never"),
	"sensors":             checkSensors,
	"noise-quality":       func(s string) error { _, err := percents(s); return err },
	"baseline":            func(s string) error { _, err := baselineTime(s); return err },
	"noise-cv":            checkPercent,
	"noise-drop":          checkPercent,
	"tracker":             track.CheckTracker,
	"track.format":        func(s string) error { _, err := track.Layout(s); return err },
	"benchmark.intensity": between(1, 100),
	"monitor.interval":    func(s string) error { _, err := monitor.Interval(s); return err },
	"rotate":              func(s string) error { _, err := jsonl.ParseRotation(s); return err },
	"gate.metric":         flags.CheckMetric,
	"gate.threshold":      func(s string) error { _, err := gate.PerCent(s); return err },
	"gate.inconclusive":   flags.OneOf("fail", "warn", "pass"),
	"gate.batch":          func(s string) error { _, err := gate.Batch(s); return err },
	"max-time":            checkTime,
	"cool-down":           func(s string) error { _, err := coolDownOf(s); return err },
	meter.Name:            func(s string) error { return new(flags.Meters).Set(s) },
	"log-level":           func(s string) error { _, err := flags.ParseLevel(s); return err },
	"grid-zone":           checkRate(func(s *footprint.Settings, text string) { s.Zone = text }),
	"grid-intensity":      checkRate(func(s *footprint.Settings, text string) { s.Intensity = text }),
	"pue":                 checkRate(func(s *footprint.Settings, text string) { s.PUE = text }),
	"embodied":            checkRate(func(s *footprint.Settings, text string) { s.Embodied = text }),
	"price":               checkRate(func(s *footprint.Settings, text string) { s.Price = text }),
}

func checkTime(s string) error { _, err := flags.Duration(s); return err }

func checkSensors(s string) error {
	for name := range strings.SplitSeq(s, ",") {
		if name != "auto" && !slices.ContainsFunc(nemb.Sources(), func(o nemb.Source) bool { return o.Name == name }) {
			return fmt.Errorf("there are no sensors %q; %s", name,
				near.Or(name, strings.Split(machine.SensorNames(), ", "), "known are auto, "+machine.SensorNames()))
		}
	}
	return nil
}

func between(least, most int) func(string) error {
	return func(s string) error {
		if v, err := strconv.Atoi(strings.ReplaceAll(s, "_", "")); err != nil || v < least || v > most {
			return fmt.Errorf("%s: use %d to %d", s, least, most)
		}
		return nil
	}
}

// gridTable is the table of the flags that tell of the electricity, for all commands that have them.
const gridTable = "grid"

var gridFlags = []string{"grid-zone", "grid-intensity"}

// ofGrid is the key of a flag in gridTable, "" for other flags.
func ofGrid(flag string) string {
	if slices.Contains(gridFlags, flag) {
		return strings.TrimPrefix(flag, gridTable+"-")
	}
	return ""
}

// keys are the settings: a table for each command, and before the tables what
// several commands have.
func keys(commands []*cli.Command) []config.Key {
	// Tables by names of functions (cg gate).
	all := []config.Key{
		{Section: "budget", Name: config.Any, Type: config.Text, Check: func(s string) error { _, err := gate.Joules(s); return err }},
		{Section: "threshold", Name: config.Any, Type: config.Text, Check: func(s string) error { _, err := gate.PerCent(s); return err }},
	}
	for _, name := range gridFlags {
		all = append(all, config.Key{Section: gridTable, Name: ofGrid(name), Type: config.Text, Check: checks[name]})
	}
	seen := map[string]config.Key{}
	for _, c := range commands {
		for _, f := range c.Flags {
			if !isSetting(c, f) {
				continue
			}
			name := flags.NameOf(f)
			if ofGrid(name) != "" {
				continue
			}
			k := config.Key{Section: c.Name, Name: name, Type: typeOf(f), Check: checks[name]}
			if check := checks[c.Name+"."+name]; check != nil {
				k.Check = check
			}
			all = append(all, k)
			if before, ok := seen[name]; ok && before.Section != "" && before.Type == k.Type {
				seen[name] = config.Key{}
				all = append(all, config.Key{Name: name, Type: k.Type, Check: checks[name]})
			} else if !ok {
				seen[name] = k
			}
		}
	}
	return all
}

func typeOf(f cli.Flag) config.Type {
	if slices.Contains([]string{"timeout", "duration", "flush", "baseline", "max-time"}, flags.NameOf(f)) {
		return config.Time
	}
	switch f.(type) {
	case *cli.BoolFlag:
		return config.Boolean
	case *cli.IntFlag:
		return config.Whole
	case *cli.Float64Flag:
		return config.Number
	case *cli.StringSliceFlag, *cli.GenericFlag:
		return config.Texts
	}
	return config.Text
}

// userFile is the user's own: cg/config.toml in $XDG_CONFIG_HOME, else
// ~/.config.
func userFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "cg", "config.toml"), nil
}

// settingsFiles are those that are there, the stronger first. A project's file
// that belongs to somebody else is left alone: it can name what is run. It is refused, "" for none.
func settingsFiles(chosen string) (files []string, refused string, err error) {
	if chosen != "" {
		return []string{chosen}, "", nil
	}
	if dir, err := os.Getwd(); err == nil {
		for {
			path := filepath.Join(dir, flags.ProjectFile)
			if info, err := os.Stat(path); err == nil && !info.IsDir() {
				if stat, ok := info.Sys().(*syscall.Stat_t); ok && !mine(int(stat.Uid)) {
					refused = path
				} else {
					files = append(files, path)
				}
				break
			}
			if filepath.Dir(dir) == dir {
				break
			}
			dir = filepath.Dir(dir)
		}
	}
	if user, err := userFile(); err == nil {
		if _, err := os.Stat(user); err == nil {
			files = append(files, user)
		} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return nil, "", err
		}
	}
	return files, refused, nil
}

// warnRefused tells of a file that settingsFiles has refused.
func warnRefused(path string) {
	if path != "" {
		tell.Warnf("%s belongs to another user and is not read", path)
	}
}

// mine tells whether a file's owner is the user, who may be root for a while.
func mine(owner int) bool {
	return owner == os.Getuid() || owner == 0 || os.Getuid() == 0 && os.Getenv("SUDO_UID") == strconv.Itoa(owner)
}

// layers reads files, the stronger first.
func layers(files []string, keys []config.Key) ([]config.Settings, error) {
	var all []config.Settings
	var errs []error
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		settings, err := config.Parse(file, text, keys)
		all, errs = append(all, settings), append(errs, err)
	}
	return all, errors.Join(errs...)
}

// setting is what a flag is set to outside of the command line: the environment
// first, then the files; in each the command's own table before what is for all.
func setting(command string, f cli.Flag, files []config.Settings) (v config.Value, origin string, ok bool) {
	name := flags.NameOf(f)
	variable := "CG_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	if text := os.Getenv(variable); text != "" {
		return config.Value{Texts: []string{text}}, variable, true
	}
	places := []string{command + "." + name, name}
	if key := ofGrid(name); key != "" {
		places = []string{gridTable + "." + key}
	}
	for _, s := range files {
		for _, key := range places {
			if v, ok := s[key]; ok {
				return v, v.Origin() + ": " + key, true
			}
		}
	}
	return v, "", false
}

// configure makes settings the defaults of a command's flags.
func configure(c *cli.Command) {
	if slices.Contains(notSettings.commands, c.Name) &&
		!slices.Contains([]string{"report", "info", "doctor"}, c.Name) {
		return
	}
	c.Flags = append(c.Flags, settings{}.Flag())
	action := c.Action
	c.Action = func(ctx *cli.Context) error {
		if c.Name == "report" && !ctx.Bool("carbon") && !ctx.Bool("cost") { // no setting is for it
			return action(ctx)
		}
		if err := (settings{}).Apply(ctx, c.Name); err != nil {
			return err
		}
		return action(ctx)
	}
}

// settings are those that files and the environment have.
type settings struct{}

func (settings) Flag() cli.Flag {
	return &cli.StringFlag{Name: "config", EnvVars: []string{"CG_CONFIG"},
		Usage: "take settings from `FILE` instead of " + flags.ProjectFile + " and your own (cg config)"}
}

func (settings) Apply(c *cli.Context, command string) error {
	files, refused, err := settingsFiles(c.String("config"))
	var all []config.Settings
	if err == nil && len(files) > 0 { // the keys need all commands
		all, err = layers(files, keys(commands()))
	}
	if err != nil {
		return exit.Usage("%w", err)
	}
	for _, f := range c.Command.Flags {
		name := flags.NameOf(f)
		if !isSetting(c.Command, f) {
			continue
		}
		v, origin, ok := setting(command, f, all)
		if !ok || c.IsSet(name) { // last: the library goes through all flags for it
			continue
		}
		if c.String("config") == "" && ofTheUser(f) && filepath.Base(v.File) == flags.ProjectFile {
			return exit.Usage("%s: a project cannot name %s: set it in your own file (cg config --edit), or "+
				"with --%s", origin, notOfAProject(name), name)
		}
		for _, text := range v.Texts {
			if name == "grid-intensity" {
				if text, err = intensityOf(v, text, c.String("config") != ""); err != nil {
					return exit.Usage("%s: %w", origin, err)
				}
			}
			err := c.Set(name, text)
			if t := typeOf(f); err != nil && t != config.Texts {
				err = fmt.Errorf("%q is not %s", text, t)
			}
			if check := checks[name]; err == nil && check != nil {
				err = check(text)
			}
			if err != nil {
				return exit.Usage("%s: %w", origin, err)
			}
		}
		flags.FromSettings(c, name)
	}
	if refused == "" {
		return nil
	}
	if err := setLoudness(c); err != nil { // how much is said is a setting, too
		return err
	}
	warnRefused(refused)
	return nil
}

func (settings) Read(c *cli.Context) (func(f cli.Flag) ([]string, bool), error) {
	all, err := readSettings(c)
	return func(f cli.Flag) ([]string, bool) {
		v, _, ok := setting(c.Command.Name, f, all)
		return v.Texts, ok
	}, err
}

func (settings) Table(c *cli.Context, name string) (map[string]string, error) {
	all, err := readSettings(c)
	texts := map[string]string{}
	for key, v := range ofTable(name, all) {
		texts[key] = v.Texts[0]
	}
	return texts, err
}

// readSettings reads the files for a command, the stronger first.
func readSettings(c *cli.Context) ([]config.Settings, error) {
	files, _, err := settingsFiles(c.String("config"))
	if err != nil {
		return nil, err
	}
	return layers(files, keys(commands()))
}

// notOfAProject is what a flag of the user's names.
func notOfAProject(flag string) string {
	if flag == meter.Name {
		return "a meter, which is a command that cg runs, a file or an address"
	}
	return "the BMC that gets your password"
}

// ofTheUser tells whether a project's file may not set a flag: those of the BMC and of meters belong to the
// machine. With an address of its own a project would be sent the user's password, and with a meter of its own it
// would run a command.
func ofTheUser(f cli.Flag) bool {
	return slices.ContainsFunc(flags.OfController(),
		func(o cli.Flag) bool { return flags.NameOf(o) == flags.NameOf(f) })
}

// ofTable are the values of a table whose names are free, those of the strongest
// file.
func ofTable(table string, files []config.Settings) map[string]config.Value {
	out := map[string]config.Value{}
	for _, settings := range files {
		for key, v := range settings {
			if name, is := strings.CutPrefix(key, table+"."); is {
				if _, stronger := out[name]; !stronger {
					out[name] = v
				}
			}
		}
	}
	return out
}

// byDefault is the value of a flag that nobody sets.
func byDefault(f cli.Flag) string {
	switch f := f.(type) {
	case *cli.StringFlag:
		return strconv.Quote(f.Value)
	case *cli.IntFlag:
		return strconv.Itoa(f.Value)
	case *cli.Float64Flag:
		return strconv.FormatFloat(f.Value, 'f', -1, 64)
	case *cli.BoolFlag:
		return strconv.FormatBool(f.Value)
	}
	return "[]"
}
