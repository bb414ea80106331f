package gate

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"cg/tool"
)

// BuildError is a build that failed.
type BuildError struct {
	Side Side
	Rev  string
	Err  error
	End  string // of what it printed
}

func (e *BuildError) Error() string {
	text := fmt.Sprintf("the build of %s (%s) failed: %v", e.Side, e.Rev, e.Err)
	if e.End != "" {
		text += "\n" + e.End
	}
	return text
}

// Unwrap returns how it ended.
func (e *BuildError) Unwrap() error { return e.Err }

// logLines is how much of a log is told.
const logLines = 20

// Build runs a command line with sh in a folder. What it prints goes to the file
// log.
func Build(ctx context.Context, side Side, rev, line, dir, log string) error {
	out, err := os.Create(log)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir, cmd.Env = dir, append(Environment(), "PWD="+dir)
	cmd.Stdout, cmd.Stderr = out, out
	err = tool.Run(cmd)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return &BuildError{side, rev, err, Tail(log, logLines)}
	}
	return nil
}

// Tail gives the last lines of a file.
func Tail(file string, lines int) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	all := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
