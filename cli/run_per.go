package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"cg/cli/exit"
	"cg/launcher"
	"cg/report"
	"cg/report/repeated"
	"cg/work"
)

// units are what is counted of each command.
func (s *series) units() (units []repeated.Unit) {
	for _, p := range s.per {
		units = append(units, repeated.Unit{Name: p.Name, Pattern: p.Text})
	}
	return units
}

// printed is the file with what the last run wrote to standard output, where that is counted. Standard error
// goes to s.log.
func (s *series) printed() string { return filepath.Join(filepath.Dir(s.log), "stdout") }

// keepOutput keeps what a command writes, where work is counted in it. What the user sees stays as it is.
func (s *series) keepOutput(command *launcher.Cmd) (closed func(), err error) {
	if len(s.per) == 0 {
		return func() {}, nil
	}
	out, err := os.Create(s.printed())
	if err != nil {
		return nil, err
	}
	if !s.showOutput {
		command.Stdout = out
		return func() { out.Close() }, nil
	}
	log, err := os.Create(s.log)
	if err != nil {
		out.Close()
		return nil, err
	}
	var mu sync.Mutex
	command.Stdout, command.Stderr = out, log
	command.Lines = &launcher.Lines{Change: func(line []byte, _ bool) []byte {
		mu.Lock()
		defer mu.Unlock()
		os.Stderr.Write(line)
		return line
	}}
	return func() { out.Close(); log.Close() }, nil
}

// counts are the units of work of the last run of a command, none where it failed or cg is asked to end.
func (s *series) counts(ctx context.Context, argv []string, run *report.Run) (map[string]float64, error) {
	if len(s.per) == 0 || ctx.Err() != nil || run.Process.ExitStatus != 0 {
		return nil, nil
	}
	out, err := os.Open(s.printed())
	if err != nil {
		return nil, exit.Self("%w", err)
	}
	defer out.Close()
	log, err := os.Open(s.log)
	if err != nil {
		return nil, exit.Self("%w", err)
	}
	defer log.Close()
	counts, err := work.Counts(ctx, s.per, out, log)
	var missing *work.MissingError
	if ctx.Err() != nil {
		return nil, nil
	} else if errors.As(err, &missing) {
		return nil, exit.Failure("--per: %w (of %s)", err, strings.Join(argv, " "))
	} else if err != nil {
		return nil, exit.Self("%w", err)
	}
	return counts, nil
}
