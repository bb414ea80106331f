package languages

import (
	"context"
	"os/exec"
	"strings"
	"sync"
	"time"

	"cg/tool"
)

// Installed is what runs or builds the programs of a language on this machine.
type Installed struct {
	Language string `json:"language"` // as on the command line
	Title    string `json:"title"`
	Path     string `json:"path"`    // of the program, "" where none is found
	Version  string `json:"version"` // its own words, one line; "" where it gives none
	Missing  string `json:"missing"` // what was looked for, where nothing is found
}

// versionTime is how long a program may take to tell its version.
const versionTime = 5 * time.Second

// Here asks what runs or builds the programs of each language, all at the same time.
func Here(ctx context.Context) []Installed {
	out := make([]Installed, 0, len(all))
	for _, l := range all {
		if l.Interpreter != nil && len(l.Interpreter.Versions) > 0 {
			out = append(out, Installed{Language: l.Name, Title: l.Title})
		}
	}
	var wait sync.WaitGroup
	for i := range out {
		wait.Go(func() { out[i].find(ctx, Named(out[i].Language).Interpreter.Versions) })
	}
	wait.Wait()
	return out
}

// find takes the first of some commands whose program is there.
func (i *Installed) find(ctx context.Context, commands [][]string) {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	var names []string
	for _, c := range commands {
		path, err := exec.LookPath(c[0])
		if err != nil {
			names = append(names, c[0])
			continue
		}
		i.Path = path
		text, err := tool.CombinedOutput(exec.CommandContext(ctx, path, c[1:]...))
		if err == nil {
			i.Version, _, _ = strings.Cut(strings.TrimSpace(string(text)), "\n")
		}
		return
	}
	i.Missing = strings.Join(names, ", ")
}
