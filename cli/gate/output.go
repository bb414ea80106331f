package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/history"
	"cg/cli/output"
	"cg/cli/tell"
	"cg/gate"
	"cg/nemb/processor"
	"cg/report/trend"
	"cg/report/verdict"
	"cg/shown"
)

// openOutputs makes the files that flags name, by flag.
func (k *check) openOutputs() (map[string]*output.File, error) {
	files := []string{"output", "save", "export-markdown", "junit", "export-metrics"}
	if k.stored != nil { // a regression must not become the baseline
		if err := output.Keeps(k.context, []string{k.base}, files...); err != nil {
			return nil, err
		}
	}
	outs, err := output.OpenFiles(k.context, files...)
	if err != nil {
		return nil, err
	}
	for _, o := range outs {
		if o.Part != nil && o.Part.Name() != o.Name {
			k.parts = append(k.parts, o.Part.Name())
		}
	}
	return outs, nil
}

// openHistory opens the file of --history, and refuses what is none.
func (k *check) openHistory() (err error) {
	name := k.context.String("history")
	if name == "" {
		return nil
	}
	if err := output.Different(k.context, "history", "output", "save", "export-markdown", "junit",
		"export-metrics"); err != nil {
		return err
	}
	repository, notes, err := history.Notes(k.context.Context, name)
	if err != nil {
		return exit.Usage("--history: %w", err)
	}
	if repository != nil {
		k.notes = notes
		return nil
	}
	if k.history, err = history.Open(name); err != nil {
		return exit.Usage("--history: %w", err)
	}
	k.parts = append(k.parts, name)
	return nil
}

// checkNote refuses to append to a note that is no history, before anything is measured.
func (k *check) checkNote(ctx context.Context) error {
	if k.notes == "" {
		return nil
	}
	commit := k.trees[gate.Head].rev.Commit
	text, err := k.repository.Note(ctx, k.notes, commit)
	if err != nil {
		return exit.Usage("--history: note %s of %.10s: %w", k.notes, commit, err)
	}
	_, cut, err := trend.Read(bytes.NewReader(text))
	if err == nil && cut {
		err = errors.New("its last line was cut off")
	}
	if err != nil {
		return exit.Usage("--history: note %s of %.10s: %w (use another name, such as note:cg)", k.notes,
			commit, err)
	}
	return nil
}

// keep appends a check to the history.
func (k *check) keep(g *verdict.Check) error {
	if k.history == nil && k.notes == "" {
		return nil
	}
	l, err := trend.LineOf(g, processor.Online())
	if err != nil {
		return err
	}
	b, err := l.JSON()
	if err != nil {
		return err
	}
	if k.notes != "" {
		return k.repository.AddToNote(k.context.Context, k.notes, l.Commit, b, k.dir)
	}
	return k.history.Append(b)
}

// writeCheck puts a check into files, and tells it.
func writeCheck(c *cli.Context, outs map[string]*output.File, g *verdict.Check) error {
	texts, err := output.Written(c, g, slices.Collect(maps.Keys(outs)))
	if err != nil {
		return err
	}
	laid, err := output.Text(g, os.Stderr, false)
	if err != nil {
		return err
	}
	var failed []error
	for flag, o := range outs {
		if err := o.Save(texts[flag]); err != nil {
			failed = append(failed, fmt.Errorf("--%s: %w", flag, err))
		}
	}
	at := c.String("output")
	if output.OnStdout(c) {
		at = "-"
	}
	if tell.ReportsTo(at) {
		shown.Fprintf(os.Stderr, "%s", laid)
	}
	if os.Getenv("GITHUB_ACTIONS") == "true" {
		for _, line := range g.Annotations() {
			shown.Fprintf(os.Stderr, "%s\n", line)
		}
	}
	if output.OnStdout(c) {
		_, err = os.Stdout.Write(texts["output"])
	}
	return errors.Join(append(failed, err)...)
}
