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

// logLines is how many lines of a log an error shows.
const logLines = 20

// Build is the build of a revision: a command line that sh runs.
type Build struct {
	Side Side
	Rev  string // its name, for errors
	Line string
	Dir  string // where it runs
	Log  string // the file that gets what it prints
}

// Run builds. The error is a *BuildError if the command line failed.
func (b Build) Run(ctx context.Context) error {
	out, err := os.Create(b.Log)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.CommandContext(ctx, "sh", "-c", b.Line)
	cmd.Dir, cmd.Env = b.Dir, append(Environment(), "PWD="+b.Dir)
	cmd.Stdout, cmd.Stderr = out, out
	err = tool.Run(cmd)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return &BuildError{b.Side, b.Rev, err, Tail(b.Log, logLines)}
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
