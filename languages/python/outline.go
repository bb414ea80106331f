package python

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cg/instrument"
	"cg/instrument/syntax"
	"cg/runtimes"
	"cg/tool"
)

// outline lets the interpreter that the user's shell would run parse a
// text, and plans it by the tree.
func outline(source []byte, o instrument.Options) (*instrument.Plan, error) {
	const main = "sys.stdout.buffer.write(outline(sys.stdin.buffer.read().decode())" +
		".encode('utf-8', 'surrogatepass'))\n"
	lines, err := ask("outline.py", main, source)
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
	starts := lineStarts(source)
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

// ask gives what an interpreter, the one that the user's shell would run, prints of an input by a file of the runtime
// and statements behind it.
func ask(file, main string, input []byte) ([]byte, error) {
	p, err := findInterpreter("", runtimes.Cache{})
	if err != nil {
		return nil, err
	}
	text, err := runtimes.Files.ReadFile("python/in-program/" + file)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), syntax.Deadline+20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Path, "-I", "-S", "-W", "ignore", "-c", string(text)+"\nimport sys\n"+main)
	cmd.Stdin = bytes.NewReader(input)
	return tool.Output(cmd)
}

// findPlaces lets the interpreter find the places of the functions of a plan, as it does when it loads the text.
func findPlaces(source []byte, p *instrument.Plan, o instrument.Options) error {
	wanted, modules := *p, modulesOf(p.File)
	wanted.Points = slices.DeleteFunc(slices.Clone(p.Points), func(q instrument.Point) bool {
		return !o.PlacesWantedOf(modules, p.File, p.Sites[q.Site])
	})
	plan := instrument.Encode(&wanted)
	main := fmt.Sprintf("both = sys.stdin.buffer.read()\n"+
		"sys.stdout.buffer.write(find(both[%[1]d:].decode(), both[:%[1]d].decode(), %[2]q == 'line')"+
		".encode('utf-8', 'surrogatepass'))\n", len(plan), string(o.Granularity))
	lines, err := ask("places.py", main, append([]byte(plan), source...))
	if err != nil {
		return err
	}
	sites, events := string(lines), ""
	if i := strings.Index("\n"+sites, "\nE\t"); i >= 0 {
		sites, events = sites[:i], sites[i:]
	}
	found, err := instrument.DecodeOutline(sites)
	if err != nil {
		return err
	}
	for _, s := range found.Sites {
		s.Language = "python"
		p.Sites = append(p.Sites, s)
	}
	starts := lineStarts(source)
	for line := range strings.Lines(events) {
		var site, row, col, fromRow, fromCol int
		n, _ := fmt.Sscanf(line, "E\t%d\t%d\t%d\t%d\t%d", &site, &row, &col, &fromRow, &fromCol)
		m := instrument.Mark{Site: site - 1, Behind: instrument.NoPlace}
		if n < 3 || site < 1 || site > len(p.Sites) || max(row, fromRow) >= len(starts) {
			return fmt.Errorf("places: a line that is none of an event")
		}
		if m.At = starts[row] + col; n == 5 {
			m.Behind = starts[fromRow] + fromCol
		}
		p.Marks = append(p.Marks, m)
	}
	return nil
}

// modulesOf are the names of the modules as which a file may be loaded: which of them, its importer says.
func modulesOf(file string) []string {
	all := []string{"__main__"}
	if full, err := filepath.Abs(file); err == nil {
		file = full
	}
	path := strings.Split(strings.TrimSuffix(filepath.ToSlash(file), filepath.Ext(file)), "/")
	if n := len(path) - 1; n > 0 && path[n] == "__init__" {
		path = path[:n]
	}
	name := ""
	for _, part := range slices.Backward(path) {
		if part == "" {
			break
		}
		all = append(all, part+name)
		name = "." + part + name
	}
	return all
}

// lineStarts are the offsets of the lines of a text, from 1.
func lineStarts(source []byte) []int {
	starts := []int{0, 0}
	for i, b := range source {
		if b == '\n' || b == '\r' && (i+1 == len(source) || source[i+1] != '\n') {
			starts = append(starts, i+1)
		}
	}
	return starts
}
