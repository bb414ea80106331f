package cli

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/language"
	"cg/cli/machine"
	"cg/cli/output"
	"cg/cli/tell"
	"cg/docs"
	"cg/gate"
	"cg/languages"
	"cg/load"
	"cg/manual"
	"cg/near"
	"cg/report/format"
	"cg/shown"
	"cg/version"
)

// groups are the titles of flags in help and man pages, in their order, with the flags below each.
// Flags of languages stand below the language's title, and others below the last.
var groups = []struct{ title, flags string }{
	{"what is run", "base head good bad first-parent build command parameter-list parameter-scan draw sample prepare " +
		"repeat warmup include-warmup shell stdin timeout cores cool-down pty ranks instrumented ignore-failure " +
		"show-output max-pairs attempts max-time batch seed duration until-pid within pairs pid cgroup unit " +
		"container intensity threads from program runs row tries phase"},
	{"what is measured", "granularity lines inner include exclude max-depth overhead metric per functions tracker " +
		"timeseries metrics gpu gpu-kernels gpu-launches gpu-metrics set"},
	{"sampling", "precision sampler sensors interval gpu-interval baseline noise-quality noise-cv noise-drop sysroot " +
		"bmc-url bmc-token-file bmc-ca meter buffer gauges hardware-buffer"},
	{"verdict", "threshold budget inconclusive validate allow-different fail-on-regression"},
	{"carbon and cost", "carbon cost grid-zone grid-intensity pue embodied price"},
	{"output", "output json format benchfmt events export-plot export-csv export-markdown export-metrics junit save " +
		"history report verbose save-instrumented output-dir suffix id append freq-write flush jsonl rotate top " +
		"table value plot slices with-source keep-source advice lsp live open watch records energy rate " +
		"quiet log-level"},
	{"other programs", "serve textfile otlp otlp-listen otlp-history socket socket-group max-labels mqtt " +
		"mqtt-prefix mqtt-qos mqtt-broker mqtt-port mqtt-username mqtt-password mqtt-topic-prefix"},
}

// The titles of a command with few flags, and of flags that no group has.
const (
	allFlags   = "flags"
	otherFlags = "other flags"
	fewFlags   = 9
)

// groupOf is the title of a flag's group, and whether it is that of the languages that have the flag.
func groupOf(name string) (title string, ofLanguages bool) {
	var titles []string
	for _, l := range languages.All() {
		own := language.Flags([]*languages.Language{l})
		if slices.ContainsFunc(own, func(f cli.Flag) bool { return f.Names()[0] == name }) {
			titles = append(titles, l.Title)
		}
	}
	if len(titles) > 0 {
		return strings.Join(titles, ", "), true
	}
	for _, g := range groups {
		if slices.Contains(strings.Fields(g.flags), name) {
			return g.title, false
		}
	}
	return otherFlags, false
}

// titlesInOrder are the titles of all groups that some flags are in.
func titlesInOrder(flags []cli.Flag) (all []string) {
	for _, g := range groups {
		all = append(all, g.title)
	}
	for _, f := range flags {
		if title, is := groupOf(f.Names()[0]); is && !slices.Contains(all, title) {
			all = append(all, title)
		}
	}
	return append(all, otherFlags)
}

// wordsOf is what the value of a flag can be, by its name, or by a command's and its name.
var wordsOf = map[string]func() []string{
	"granularity":  func() []string { return []string{"coarse", "fine", "block", "line"} },
	"lines":        func() []string { return []string{"all", "auto"} },
	"precision":    func() []string { return []string{"low", "medium", "high"} },
	"pty":          func() []string { return []string{"auto", "always", "never"} },
	"shell":        func() []string { return []string{"sh", "none"} },
	"method":       func() []string { return []string{"group", "setcap"} },
	"metric":       gate.Metrics,
	"inconclusive": func() []string { return []string{"fail", "warn", "pass"} },
	"log-level":    func() []string { return flags.LevelNames },
	"sensors":      func() []string { return append([]string{"auto"}, strings.Split(machine.SensorNames(), ", ")...) },
	"format": func() (all []string) {
		for _, f := range format.All() {
			all = append(all, f.Name)
		}
		return all
	},
	"gpu sample.append": func() []string { return []string{"oldest", "latest"} },
	"track.format":      func() []string { return []string{"csv", "jsonl", "wattameter"} },
	"report.from":       func() []string { return []string{"json", "hespas", fromTrace} },
	"verify.from":       func() []string { return []string{"json", "hespas"} },
}

// argumentsOf is what the first argument of a command can be besides a file.
var argumentsOf = map[string]func() []string{
	"measure":    language.Names,
	"analyze":    language.Names,
	"sdk":        sdkLanguages,
	"benchmark":  func() []string { return append(load.Kinds(), load.GPU) },
	"track":      func() []string { return []string{"bench"} },
	"completion": manual.Shells,
	"help":       topicNames, // and commands
}

// withoutFiles are commands of which no argument is a file.
var withoutFiles = []string{"", "help", "man", "completion", "version", "doctor", "init-sensors", "calibrate",
	"benchmark", "sampler", "validate", "monitor", "gpu list", "gpu metrics"}

// manualOf is the table of cg's commands for help, man pages and completion.
func manualOf(app *cli.App) manual.Command {
	m := manual.Command{Path: app.Name, Usage: app.Usage, NoFiles: true, Description: "cg help COMMAND shows a " +
		"command, cg help TOPIC one of: " + strings.Join(topicNames()[:fixedTopics], ", ") +
		", or the name of a warning."}
	m.Groups = groupsOf("", globalFlags(app))
	for _, c := range app.Commands {
		m.Commands = append(m.Commands, manualOfCommand(m.Path, "", c))
	}
	var names []string
	for _, c := range app.Commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	for i, c := range m.Commands {
		if name := c.Name(); name == "help" || name == "man" {
			m.Commands[i].Words = append(slices.Clone(names), c.Words...)
		}
	}
	return m
}

func manualOfCommand(parent, name string, c *cli.Command) manual.Command {
	name = strings.TrimSpace(name + " " + c.Name)
	m := manual.Command{Path: parent + " " + c.Name, Usage: c.Usage, Arguments: c.ArgsUsage, Description: c.Description,
		Hidden: c.Hidden, NoFiles: slices.Contains(withoutFiles, name)}
	if words := argumentsOf[name]; words != nil {
		m.Words = words()
	}
	flags := c.Flags
	if !slices.ContainsFunc(flags, func(f cli.Flag) bool { return f.Names()[0] == "help" }) {
		flags = append(slices.Clone(flags), cli.HelpFlag)
	}
	m.Groups = groupsOf(name, flags)
	for _, s := range c.Subcommands {
		if s.Name == "help" { // the library's, of a command that has others
			continue
		}
		m.Commands = append(m.Commands, manualOfCommand(m.Path, name, s))
	}
	return m
}

// groupsOf puts the flags of a command into their groups.
func groupsOf(command string, every []cli.Flag) []manual.Group {
	own := len(every)
	for _, f := range every {
		if flags.IsLoudness(flags.Dashed(f.Names()[0])) { // which every command has
			own--
		}
	}
	if own <= fewFlags {
		all := manual.Group{Title: allFlags}
		for _, f := range every {
			all.Flags = append(all.Flags, manualOfFlag(command, f))
		}
		return []manual.Group{all}
	}
	var out []manual.Group
	for _, title := range titlesInOrder(every) {
		g := manual.Group{Title: title}
		for _, f := range every {
			if own, _ := groupOf(f.Names()[0]); own == title {
				g.Flags = append(g.Flags, manualOfFlag(command, f))
			}
		}
		if len(g.Flags) > 0 {
			out = append(out, g)
		}
	}
	return out
}

func manualOfFlag(command string, f cli.Flag) manual.Flag {
	names := slices.Clone(f.Names())
	m := manual.Flag{}
	slices.SortStableFunc(names, func(a, b string) int { return min(len(a), 2) - min(len(b), 2) }) // short ones first
	for _, n := range names {
		m.Names = append(m.Names, flags.Dashed(n))
	}
	described, _ := f.(cli.DocGenerationFlag)
	before, rest, _ := strings.Cut(described.GetUsage(), "`")
	value, after, found := strings.Cut(rest, "`")
	m.Usage = before + value + strings.ReplaceAll(after, "`", "")
	for _, name := range described.GetEnvVars() {
		m.Usage += " [$" + name + "]"
	}
	if described.TakesValue() {
		if m.Value = value; !found {
			m.Value = "VALUE"
		}
		d := strings.Trim(byDefault(f), `"`)
		if d != "" && d != "0" && d != "[]" && !strings.Contains(m.Usage, "default:") {
			m.Default = d
		}
	}
	switch f.(type) {
	case *cli.StringSliceFlag, *cli.GenericFlag:
		m.Again = !strings.Contains(m.Usage, "given")
	}
	words := wordsOf[command+"."+f.Names()[0]]
	if words == nil {
		words = wordsOf[f.Names()[0]]
	}
	if words != nil && m.Value != "" {
		m.Words = words()
	}
	for _, choice := range choices() {
		if choice.Flag == f.Names()[0] && command == "report" {
			m.Words = choice.Values
		}
	}
	return m
}

// printHelp is what the library prints help with: to is standard output.
func printHelp(to io.Writer, _ string, what any) {
	switch c := what.(type) {
	case *cli.App:
		shown.Fprintf(to, "%s", shown.Safe(manualOf(c).Help(columns())))
	case *cli.Command:
		parent, name, _ := strings.Cut(strings.TrimSuffix(c.HelpName, " "+c.Name), " ")
		m := manualOfCommand(strings.TrimSpace(parent+" "+name), name, c)
		shown.Fprintf(to, "%s", shown.Safe(m.Help(columns())))
	}
}

// columns are those of the terminal on standard output, 80 where there is none.
func columns() int {
	if t := output.Terminal(os.Stdout, false); t.Width != output.NoWidth {
		return t.Width
	}
	return 80
}

// find is the command whose words follow the program's name.
func find(m manual.Command, words []string) (manual.Command, error) {
	for i, w := range words {
		k := slices.IndexFunc(m.Commands, func(s manual.Command) bool { return s.Name() == w })
		if k < 0 {
			var names []string
			for _, s := range m.Commands {
				names = append(names, s.Name())
			}
			if i == 0 {
				names = append(names, topicNames()...)
			}
			return m, exit.Usage("help: there is nothing about %q%s", strings.Join(words, " "),
				strings.TrimSuffix(": "+near.Or(w, names, "cg --help lists the commands"), ": "))
		}
		m = m.Commands[k]
	}
	return m, nil
}

func helpCommand() *cli.Command {
	return &cli.Command{
		Name:      "help",
		Usage:     "show the help of a command, or of a topic",
		ArgsUsage: "[COMMAND | TOPIC]",
		Description: `Topics are status (what exit statuses mean), environment (variables that cg reads),
and the name of each warning (cg help energy-unknown).

Exit status: 0; 2 usage.`,
		Action: func(c *cli.Context) error {
			words := c.Args().Slice()
			if len(words) == 1 {
				if text := topic(words[0]); text != "" {
					return tell.Put("%s", shown.Safe(text))
				}
			}
			m, err := find(manualOf(c.App), words)
			if err != nil {
				return err
			}
			return tell.Put("%s", shown.Safe(m.Help(columns())))
		},
	}
}

// fixedTopics are those that are no warning; they stand first.
const fixedTopics = 2

func topicNames() []string { return append([]string{"status", "environment"}, docs.Warnings()...) }

// topic is the text about something that is no command, "" for nothing.
func topic(name string) string {
	switch name {
	case "status":
		text := ""
		for _, row := range docs.Statuses() {
			for i, meaning := range byCommand(row[1]) {
				text += manual.Entry([]string{row[0], ""}[min(i, 1)], meaning, columns())
			}
		}
		return text
	case "environment":
		text := ""
		for _, v := range variables {
			text += manual.Entry(v[0], v[1], columns())
		}
		return text
	}
	if text := docs.Advice(name); text != "" {
		return manual.Entry(name, text, columns())
	}
	return ""
}

// byCommand divides what a status means into that of each command ("gate: a regression; run: ..."), a line each.
func byCommand(text string) (meanings []string) {
	for _, part := range strings.Split(text, "; ") {
		command, _, found := strings.Cut(part, ": ")
		begins := found && strings.Trim(command, "abcdefghijklmnopqrstuvwxyz- ") == "" &&
			strings.Count(command, " ") < 2
		if begins || len(meanings) == 0 {
			meanings = append(meanings, part)
		} else {
			meanings[len(meanings)-1] += "; " + part
		}
	}
	return meanings
}

// variables are those of the environment that cg reads besides settings.
var variables = [][2]string{
	{"CG_NAME", "the setting NAME, for any flag that cg config lists: CG_PRECISION for --precision"},
	{"CG_CONFIG", "file of settings in place of " + flags.ProjectFile + " and the user's"},
	{"CG_SYSROOT", "folder that stands for / when sensors are read"},
	{"CG_CUPTI", "file or folder of the libcupti.so that cg gpu uses"},
	{"CG_DCGM", "HOST[:PORT] or socket of the host engine of NVIDIA's DCGM, which tells how active MIG instances " +
		"are; off: it is not asked"},
	{"CG_RANK, CG_SIZE, CG_NODE, CG_NODE_DIR", "rank, number of ranks, node and the folder that a node's ranks " +
		"share, where the launcher does not tell them"},
	{"NO_COLOR", "not empty: no colours (no-color.org)"},
	{"TERM", "dumb: no colours"},
	{"BROWSER", "what cg report --open starts"},
	{"VISUAL, EDITOR", "what cg config --edit starts"},
	{"XDG_CONFIG_HOME", "where cg/config.toml and cg/calibration.json are; default: ~/.config"},
	{"XDG_CACHE_HOME", "where cg keeps runtimes and compiled code; default: ~/.cache"},
	{"TMPDIR", "where the files of a run are; default: /tmp"},
}

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print the script with which a shell completes commands, flags and their values",
		ArgsUsage: "SHELL",
		Description: `SHELL is ` + strings.Join(manual.Shells(), ", ") + `. Put one of these lines into the shell's
own file:

  source <(cg completion bash)     # ~/.bashrc
  source <(cg completion zsh)      # ~/.zshrc, after compinit
  cg completion fish | source      # ~/.config/fish/config.fish

Exit status: 0; 2 usage.`,
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return exit.Usage("completion: name one shell: %s", strings.Join(manual.Shells(), ", "))
			}
			script := manualOf(c.App).Completion(c.Args().First())
			if script == "" {
				return exit.Usage("completion: there is none for %q: %s", c.Args().First(),
					near.Or(c.Args().First(), manual.Shells(), "use "+strings.Join(manual.Shells(), ", ")))
			}
			return tell.Put("%s", shown.Safe(script))
		},
	}
}

func manCommand() *cli.Command {
	return &cli.Command{
		Name:      "man",
		Usage:     "print the man page of a command, or write all into a folder",
		ArgsUsage: "[COMMAND]",
		Description: `man -l <(cg man measure) shows a page. cg man -o DIR writes cg.1 and cg-COMMAND.1 of each
command; DIR/man1 in MANPATH makes man find them.

Exit status: 0; 1 if DIR cannot be written; 2 usage.`,
		Flags: []cli.Flag{&cli.StringFlag{Name: "output-dir", Aliases: []string{"o"},
			Usage: "write all pages into `DIR`, made if it is not there"}},
		Action: func(c *cli.Context) error {
			m := manualOf(c.App)
			dir := c.String("output-dir")
			if dir == "" {
				page, err := find(m, c.Args().Slice())
				if err != nil {
					return err
				}
				return tell.Put("%s", shown.Safe(page.Man("cg "+version.Cg, related(m, page))))
			}
			if c.Args().Present() {
				return exit.Usage("man: -o writes the pages of all commands: leave out %q", c.Args().First())
			}
			if err := os.MkdirAll(dir, 0o777); err != nil {
				return exit.Failure("man: %w", err)
			}
			for _, page := range m.All() {
				name := strings.ReplaceAll(page.Path, " ", "-") + ".1"
				text := page.Man("cg "+version.Cg, related(m, page))
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
					return exit.Failure("man: %w", err)
				}
			}
			return nil
		},
	}
}

// related are the pages that a page names: of the program all, of a command the program's.
func related(m, page manual.Command) (names []string) {
	if page.Path != m.Path {
		return []string{m.Path}
	}
	for _, c := range m.All()[1:] {
		names = append(names, strings.ReplaceAll(c.Path, " ", "-"))
	}
	return names
}
