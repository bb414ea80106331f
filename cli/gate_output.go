package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/nemb/processor"
	"cg/report/trend"
	"cg/report/verdict"
	"cg/shown"
)

// openOutputs makes the files that flags name, by flag.
func (k *check) openOutputs() (map[string]*output, error) {
	files := []string{"output", "save", "export-markdown", "junit", "export-metrics"}
	if k.stored != nil { // a regression must not become the baseline
		if err := keeps(k.context, []string{k.base}, files...); err != nil {
			return nil, err
		}
	}
	outs, err := openFiles(k.context, files...)
	if err != nil {
		return nil, err
	}
	for _, o := range outs {
		if o.part != nil && o.part.Name() != o.name {
			k.parts = append(k.parts, o.part.Name())
		}
	}
	return outs, nil
}

// openHistory opens the file of --history, and refuses what is none.
func (k *check) openHistory() error {
	name := k.context.String("history")
	if name == "" {
		return nil
	}
	if err := differentOutputs(k.context, "history", "output", "save", "export-markdown", "junit",
		"export-metrics"); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = os.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o666)
		k.historyIsNew = err == nil
	}
	if err != nil {
		return fail(statusUsage, "--history: %w", err)
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return fail(statusUsage, "--history: %s is no regular file: lines are appended to it", name)
	}
	_, cut, err := trend.Read(f)
	if err == nil && cut {
		err = errors.New("its last line was cut off: remove what is behind the last line end")
	}
	if err != nil {
		f.Close()
		return fail(statusUsage, "--history: %s: %w", name, err)
	}
	k.history, k.parts = f, append(k.parts, f.Name())
	return nil
}

// closeHistory closes it, and removes one that is new and has got no line.
func (k *check) closeHistory() {
	if k.history == nil {
		return
	}
	if info, err := k.history.Stat(); k.historyIsNew && err == nil && info.Size() == 0 {
		os.Remove(k.history.Name())
	}
	k.history.Close()
}

// keep appends a check to the history, in one write. Another cg may append meanwhile.
func (k *check) keep(g *verdict.Check) error {
	if k.history == nil {
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
	if err := unix.Flock(int(k.history.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("%s: %w", k.history.Name(), err)
	}
	defer unix.Flock(int(k.history.Fd()), unix.LOCK_UN)
	last := make([]byte, 1)
	if size, err := k.history.Seek(0, io.SeekEnd); err == nil && size > 0 {
		// An editor left the end of the last line away.
		if _, err := k.history.ReadAt(last, size-1); err == nil && last[0] != '\n' {
			b = append([]byte{'\n'}, b...)
		}
	}
	_, err = k.history.Write(b)
	return err
}

// writeGate puts a check into files, and tells it.
func writeGate(c *cli.Context, outs map[string]*output, g *verdict.Check) error {
	texts, err := writtenFor(c, g, slices.Collect(maps.Keys(outs)))
	if err != nil {
		return err
	}
	laid, err := text(g, os.Stderr, false)
	if err != nil {
		return err
	}
	var failed []error
	for flag, o := range outs {
		if err := o.save(texts[flag]); err != nil {
			failed = append(failed, fmt.Errorf("--%s: %w", flag, err))
		}
	}
	if reportsTo(c.String("output")) {
		shown.Fprintf(os.Stderr, "%s", laid)
	}
	if os.Getenv("GITHUB_ACTIONS") == "true" {
		for _, line := range g.Annotations() {
			shown.Fprintf(os.Stderr, "%s\n", line)
		}
	}
	if jsonOnStdout(c) {
		_, err = os.Stdout.Write(texts["output"])
	}
	return errors.Join(append(failed, err)...)
}
