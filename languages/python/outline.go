package python

import (
	"bytes"
	"context"
	"os/exec"
	"time"

	"cg/instrument"
	"cg/instrument/syntax"
	"cg/runtimes"
	"cg/tool"
)

// outline lets the interpreter that the user's shell would run parse a
// text, and plans it by the tree.
func outline(source []byte, o instrument.Options) (*instrument.Plan, error) {
	p, err := findInterpreter("", runtimes.Cache{})
	if err != nil {
		return nil, err
	}
	planner, err := runtimes.Files.ReadFile("python/in-program/outline.py")
	if err != nil {
		return nil, err
	}
	const main = "\nimport sys\n" +
		"sys.stdout.buffer.write(outline(sys.stdin.buffer.read().decode()).encode('utf-8', 'surrogatepass'))\n"
	ctx, cancel := context.WithTimeout(context.Background(), syntax.Deadline+20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Path, "-I", "-S", "-W", "ignore", "-c", string(planner)+main)
	cmd.Stdin = bytes.NewReader(source)
	lines, err := tool.Output(cmd)
	if err != nil {
		return nil, err
	}
	plan, err := instrument.DecodeOutline(string(lines))
	if err != nil {
		return nil, err
	}
	plan.Language = "python"
	for i := range plan.Sites {
		plan.Sites[i].Language = "python"
	}
	starts := []int{0, 0} // of lines from 1
	for i, b := range source {
		if b == '\n' || b == '\r' && (i+1 == len(source) || source[i+1] != '\n') {
			starts = append(starts, i+1)
		}
	}
	for i := range plan.Points {
		q := &plan.Points[i]
		if q.Role == instrument.Module {
			q.End = len(source)
			continue
		}
		q.Start, q.End = starts[q.Line]+q.Col-1, starts[q.EndLine]+q.EndCol-1
	}
	return o.Choose(plan), nil
}
