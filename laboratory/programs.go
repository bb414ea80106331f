package laboratory

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"
	"time"
)

// Program is what a program does. Its functions f0, f1 and so on are called at random; a call computes for 0.5 to
// 1.5 times Mean by the clock of its own thread, and adds what it used to the page.
type Program struct {
	Functions int
	Mean      time.Duration // processor time of a call
	Length    time.Duration // processor time of a worker, before it ends
	Nested    bool          // the first half of the functions call the second half
	Callers   []float64     // W that the last function draws for each of the others, which do little but call it
	Waits     time.Duration // for which a call of f0 sleeps; it computes for a tenth of the others' time
	Strict    bool          // functions follow each other in one order
	Threads   int           // that do the same, in each process; 0 is 1
	Processes int           // 0 is 1; C and Python alone fork
	Noise     float64       // of a call's power, as a part of it (one standard deviation)
	Drift     float64       // the part by which all power has grown at the end
	Computes  bool          // C and C++: it reads its clock seldom, so that a stack sample is in a function and not there
}

// Watts are the powers of f0, f1 and so on; they repeat.
var Watts = []float64{20, 5, 12, 35, 8}

//go:embed programs/*.tmpl
var sources embed.FS

// target is how the program of a language is written and named to cg measure, and the command that it needs: the
// compiler, where flags are not nil.
type target struct {
	source, file, needs string
	flags               []string
}

var targets = map[string]target{
	"python":     {"python.tmpl", "lab.py", "python3", nil},
	"c":          {"c.tmpl", "lab.c", "cc", []string{"-O1", "-g", "-pthread"}},
	"cpp":        {"cpp.tmpl", "lab.cc", "c++", []string{"-O1", "-g", "-pthread"}},
	"go":         {"go.tmpl", "main.go", "go", nil},
	"java":       {"java.tmpl", "Main.java", "javac", nil},
	"javascript": {"javascript.tmpl", "lab.js", "node", nil},
}

// Needs is the command that must be installed for the program of a case.
func (c Case) Needs() string { return targets[c.Language].needs }

// Languages are those that the laboratory has programs of.
func Languages() []string { return slices.Sorted(maps.Keys(targets)) }

// limits says what of a program a language's source cannot do, "" for nothing: Node has no memory that is mapped, and
// Go, Java and Node do not fork.
func (p Program) limits(language string) string {
	switch {
	case p.Threads > 1 && language == "javascript":
		return "threads"
	case p.Processes > 1 && language != "c" && language != "python":
		return "processes"
	}
	return ""
}

// function is one of a program's as its source has it. It does at most one of waiting, calling the shared last
// function, and calling one from Calls on.
type function struct {
	Index  int
	Watts  float64
	Waits  int64   // ns
	Shared float64 // W of the last function for this caller
	Calls  int
}

// workers is how many threads of all processes do the same.
func (p Program) workers() int { return max(1, p.Threads) * max(1, p.Processes) }

// source is the program in a language, and the name of its file.
func (p Program) source(language string) (text, file string, err error) {
	t, ok := targets[language]
	if !ok {
		return "", "", fmt.Errorf("laboratory: no programs of %q: there are %s", language,
			strings.Join(Languages(), ", "))
	}
	if what := p.limits(language); what != "" {
		return "", "", fmt.Errorf("laboratory: its programs of %s have no %s", language, what)
	}
	of, err := template.ParseFS(sources, "programs/"+t.source)
	if err != nil {
		return "", "", fmt.Errorf("laboratory: %w", err)
	}
	called := p.Functions
	if p.Callers != nil {
		called--
	}
	var functions []function
	for i := range p.Functions {
		f := function{Index: i, Watts: Watts[i%len(Watts)]}
		switch {
		case i == 0 && p.Waits > 0:
			f.Waits = p.Waits.Nanoseconds()
		case p.Callers != nil && i < called:
			f.Shared = p.Callers[i]
		case p.Nested && i < p.Functions/2:
			f.Calls = p.Functions / 2
		}
		functions = append(functions, f)
	}
	var b strings.Builder
	err = of.Execute(&b, map[string]any{
		"Functions": functions, "Called": called, "Last": p.Functions - 1, "Strict": p.Strict,
		"Mean": p.Mean.Nanoseconds(), "Length": p.Length.Nanoseconds(), "Noise": p.Noise, "Drift": p.Drift,
		"Threads": max(1, p.Threads), "Processes": max(1, p.Processes), "Computes": p.Computes,
	})
	if err != nil {
		return "", "", fmt.Errorf("laboratory: %w", err)
	}
	return b.String(), t.file, nil
}
