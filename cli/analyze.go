package cli

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/language"
	"cg/cli/tell"
	"cg/instrument"
	"cg/languages"
	"cg/shown"
)

func analyzeCommand() *cli.Command {
	var built []*languages.Language // whose sites depend on how the target is built
	for _, l := range languages.All() {
		if l.PlanTarget != nil {
			built = append(built, l)
		}
	}
	return &cli.Command{
		Name:      "analyze",
		Usage:     "show where checkpoints go, without running anything",
		ArgsUsage: "[LANG] TARGET",
		Description: `TARGET is a source file, or a directory with source files below it.

With --save-instrumented the rewritten source (` + titles((*languages.Language).RunsAlone) + `) is written to
--output-dir, or to the folder NAME_instrumented for a target NAME. It runs without cg and prints what its checkpoints saw at exit;
cg measure --instrumented takes that into its report.

Exit status: 0; 1 if a file could not be analyzed; 2 usage.`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "granularity", Aliases: []string{"g"}, Value: "fine",
				Usage: "give checkpoints to `WHICH`: coarse (the program and its entry point) or fine (every " +
					"function), for " + titles(hasPlaces) + " block (also each loop and branch) or line"},
			&cli.StringSliceFlag{Name: "lines",
				Usage: "with -g line or block, only in these functions (`WHICH`): all (the default); FILE.json, an " +
					"earlier report, for those that use 90 % of the energy there; or NAME,NAME, qualified names " +
					"with * and ?"},
			&cli.BoolFlag{Name: "json", Usage: "print the points as JSON"},
			&cli.BoolFlag{Name: "verbose", Usage: "list every point, not only every site"},
			&cli.StringSliceFlag{Name: "include", Usage: "only functions of that qualified name (`GLOB`)"},
			&cli.StringSliceFlag{Name: "exclude", Usage: "leave out files or functions (`GLOB`)"},
			&cli.BoolFlag{Name: "save-instrumented", Usage: "write the rewritten source"},
			&cli.StringFlag{Name: "output-dir",
				Usage: "`DIR` for --save-instrumented in place of NAME_instrumented; made if it is not there"},
		}, language.Flags(built)...),
		Action: runAnalyze,
	}
}

func runAnalyze(c *cli.Context) error {
	lang, target, err := language.Of(c)
	if err != nil {
		return err
	}
	granularity, err := instrument.ParseGranularity(c.String("granularity"))
	if err != nil {
		return exit.Usage("-g: %w", err)
	}
	if granularity.HasPlaces() && !hasPlaces(lang) {
		return exit.Usage("-g %s is for %s: use -g fine for %s", granularity, titles(hasPlaces), lang.Title)
	}
	lines, err := linesOf(c, granularity)
	if err != nil {
		return err
	}
	if lines.auto {
		return exit.Usage("--lines auto runs the program, and cg analyze runs none: use --lines with the .json " +
			"of a run with -g fine")
	}
	if !c.Bool("save-instrumented") && c.String("output-dir") != "" {
		return exit.Usage("--output-dir is where --save-instrumented writes: it was not given")
	}
	files, err := lang.Files(target)
	if err != nil {
		return exit.Refused(err)
	}
	if len(target.Args) != 1 && lang.PlanTarget == nil {
		return exit.Usage("analyze takes one target: cg analyze [LANG] TARGET")
	}
	save := c.Bool("save-instrumented")
	tree := &instrument.Tree{
		Planner: lang.Plan, PlannerFor: lang.PlanFor, FindPlaces: lang.FindPlaces, Modules: lang.Modules,
		Decode: lang.Decode,
		Options: instrument.Options{
			Granularity: granularity, Include: c.StringSlice("include"), Exclude: c.StringSlice("exclude"), Entry: true,
			PlacesOf: placesIn(files, lines.of), Alone: save,
		},
	}
	if !save {
		tree.Outline = lang.Outline // which is no help to Render
	}
	if lang.PlanTarget != nil {
		planned, err := lang.PlanTarget(target, files, tree.Options)
		if err != nil {
			return exit.Refused(err)
		}
		tree.PlannerFor, tree.ReadFile = planned.Planner, planned.Read
	}
	tree.ModuleIsFile = lang.Rewrite != nil
	progress := tell.NewProgress()
	tree.Progress = func(done, of int) { progress.Say("reading file %d of %d", done+1, of) }
	tree.Read(files)
	progress.End()
	if err := linesThere(tree, lines); err != nil {
		return err
	}
	if save {
		dir := c.String("output-dir")
		if dir == "" {
			if dir, err = instrumentedFolder(target); err != nil {
				return err
			}
		}
		written, err := saveInstrumented(lang, target, tree, dir)
		if err != nil {
			return err
		}
		for _, name := range written {
			tell.Notef("wrote %s", name)
		}
	}
	if err := printPlan(c, tree); err != nil {
		return err
	}
	if len(tree.Skipped) > 0 {
		return exit.Of(exit.StatusFailure)
	}
	return nil
}

// linesThere refuses names of --lines that no function has.
func linesThere(tree *instrument.Tree, lines linesWish) error {
	if lines.chosen == nil || lines.chosen.Chosen != "names" { // a report may tell of files that are not analyzed
		return nil
	}
	unfound := tree.Unfound(lines.of)
	if len(unfound) == 0 {
		return nil
	}
	return exit.Usage("--lines: no function with checkpoints is called %s: cg analyze without --lines lists "+
		"those that there are", strings.Join(unfound, ", "))
}

// placesIn are functions whose places are told, each also with its file as it is called among those that are analyzed.
func placesIn(files []string, of []instrument.FunctionIn) []instrument.FunctionIn {
	called := map[string]string{}
	for _, file := range files {
		if full, err := filepath.Abs(file); err == nil {
			called[full] = file
		}
	}
	all := slices.Clone(of)
	for _, f := range of {
		if file := called[f.File]; file != "" && file != f.File {
			all = append(all, instrument.FunctionIn{File: file, Name: f.Name})
		}
	}
	return all
}

// instrumentedFolder is where the rewritten source of a target goes that was given no
// folder: one of the working folder that is called after the target, and that nobody
// but cg has written to.
func instrumentedFolder(target languages.Target) (string, error) {
	full, err := filepath.Abs(target.Args[len(target.Args)-1])
	if err != nil {
		return "", exit.Failure("%w", err)
	}
	base := filepath.Base(full)
	dir := strings.TrimSuffix(base, filepath.Ext(base)) + "_instrumented"
	there, err := filepath.Abs(dir)
	if err != nil {
		return "", exit.Failure("%w", err)
	}
	if info, err := os.Stat(full); err == nil && info.IsDir() && filepath.Dir(there) == full {
		return "", exit.Usage("--save-instrumented: %s would be a folder of the source: name another with "+
			"--output-dir DIR", dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return "", exit.Failure("--save-instrumented: %w", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, instrument.SavedMarker)); err != nil && len(entries) > 0 {
		return "", exit.Failure("--save-instrumented: %s: has files that cg did not write: name another folder "+
			"with --output-dir DIR", dir)
	}
	return dir, nil
}

// saveInstrumented writes the rewritten source of a tree to dir, and returns the
// names of the files that it wrote.
func saveInstrumented(lang *languages.Language, target languages.Target, tree *instrument.Tree, dir string) (
	written []string, err error) {
	switch {
	case !lang.RunsAlone():
		return nil, exit.Usage("--save-instrumented: rewritten %s does not run without cg", lang.Title)
	case lang.SaveTarget != nil:
		written, err = lang.SaveTarget(target, tree.Options, dir)
		if errors.As(err, new(*languages.Error)) {
			return nil, exit.Refused(err)
		}
		if err != nil {
			return nil, exit.Failure("%w", err)
		}
		return written, nil
	}
	support, err := lang.SaveFile.SupportFiles()
	if err != nil {
		return nil, exit.Failure("%w", err)
	}
	base := target.Args[0]
	if info, err := os.Stat(base); err == nil && !info.IsDir() {
		base = filepath.Dir(base)
	}
	written, err = tree.Save(base, dir, lang.SaveFile.Render, support)
	if err != nil {
		return nil, exit.Failure("%w", err)
	}
	return written, nil
}

// printPlan prints where checkpoints would go, and says which files and functions
// get none.
func printPlan(c *cli.Context, tree *instrument.Tree) error {
	if c.Bool("json") {
		b, err := json.MarshalIndent(tree.Points(), "", "  ")
		if err != nil {
			return err
		}
		tell.Put("%s\n", shown.Safe(shown.JSON(b)))
	} else {
		tell.Put("%s", shown.Safe(tree.Text(c.Bool("verbose"))))
	}
	for _, s := range slices.Concat(tree.LeftAlone, tree.Skipped) {
		tell.Warnf("%s: %s", s.File, shown.Safe(s.Reason))
	}
	return nil
}
