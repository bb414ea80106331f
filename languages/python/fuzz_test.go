package python

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"cg/instrument"
	"cg/languages"
)

const randomDir = "../../testdata/programs/python/random"

// batch is how many random programs one process imports.
const batch = 12

// TestRandomPrograms compares random programs with and without checkpoints.
// CG_FUZZ=n tries n more, with seeds of the moment; CG_SEED=s that one alone,
// and CG_REDUCE leaves out what a difference does not need.
func TestRandomPrograms(t *testing.T) {
	type round struct {
		seeds  []uint64
		script bool
		mode   int
	}
	var rounds []round
	add := func(first uint64, n int, script bool) {
		r := round{script: script, mode: len(rounds)}
		for i := range n {
			r.seeds = append(r.seeds, first+uint64(i))
		}
		rounds = append(rounds, r)
	}
	if s := os.Getenv("CG_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			add(seed, 1, true)
		}
	} else {
		for i := range uint64(3) {
			add(50+i*batch, batch, false)
			add(1000+i, 1, true)
		}
		more, _ := strconv.Atoi(os.Getenv("CG_FUZZ"))
		for ; more > 0; more -= batch + 1 {
			first := rand.Uint64N(1 << 40)
			add(first, batch, false)
			add(first+batch, 1, true)
		}
	}
	for _, python := range interpreters(t) {
		t.Run(version(python), func(t *testing.T) {
			for _, r := range rounds {
				f := random(t, r.seeds, minor(python), r.script)
				what := f.differs(t, python, r.mode)
				if what == "" {
					continue
				}
				// Which one is it?
				for _, seed := range r.seeds {
					one := random(t, []uint64{seed}, minor(python), true)
					if why := one.differs(t, python, r.mode); why != "" {
						what, f = why, one
						if os.Getenv("CG_REDUCE") != "" {
							f.reduce(t, python, r.mode)
						}
						t.Errorf("CG_SEED=%d:\n%s\n%s", seed, f.files[f.script], f.differs(t, python, r.mode))
						break
					}
				}
				if len(f.args) > 1 {
					t.Errorf("seeds from %d, only together:\n%s", r.seeds[0], what)
				}
			}
		})
	}
}

// random are the programs of some seeds: one script, or modules that one
// script imports.
func random(t *testing.T, seeds []uint64, minor int, script bool) *fixture {
	helpers, err := os.ReadFile(filepath.Join(randomDir, "helpers.py"))
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{files: map[string]string{"helpers.py": string(helpers)}, script: "program.py"}
	if script {
		f.files[f.script] = program(seeds[0], minor, true)
		f.args = []string{f.script}
		return f
	}
	modules, err := os.ReadFile(filepath.Join(randomDir, "modules.py"))
	if err != nil {
		t.Fatal(err)
	}
	f.script, f.files["modules.py"] = "modules.py", string(modules)
	f.args = []string{f.script}
	for _, s := range seeds {
		name := fmt.Sprintf("m%d", s)
		f.files[name+".py"] = program(s, minor, false)
		f.args = append(f.args, name)
	}
	return f
}

// differs runs a program as it is and with checkpoints, woven anew and from the
// cache; every third one without the native module or as rendered text, too.
// It says what is not the same, "" for nothing.
func (f *fixture) differs(t *testing.T, python string, mode int) string {
	dir := t.TempDir()
	f.place(t, dir)
	want := plainly(t, dir, python, f.args...)
	for _, e := range []string{"SyntaxError", "IndentationError", "TabError"} {
		if strings.Contains(want.Stderr, e) {
			return "no Python: " + want.Stderr[max(0, strings.Index(want.Stderr, e)-800):]
		}
	}
	compare := func(how string, got ran) string {
		var b strings.Builder
		for _, part := range []struct{ name, want, got string }{
			{"stdout", want.Stdout, got.Stdout}, {"stderr", want.Stderr, got.Stderr}, {"status", fmt.Sprint(want.Status), fmt.Sprint(got.Status)},
		} {
			if part.want != part.got {
				fmt.Fprintf(&b, "%s: %s:\n%s", how, part.name, unlike(part.want, part.got))
			}
		}
		if b.Len() > 0 && len(f.args) >= 1 {
			again := plainly(t, dir, python, f.args...)
			if again.Stdout != want.Stdout || again.Stderr != want.Stderr {
				fmt.Fprintf(&b, "(the program itself differs from run to run)\n")
			}
		}
		return b.String()
	}
	var woven ran
	modes := []string{"cold", "warm"}
	if mode%3 == 1 {
		modes = append(modes, "pure")
	}
	for _, m := range modes {
		var options []option
		if m == "pure" {
			options = append(options, pure)
		}
		got := measured(t, dir, python, f.args, options...)
		if m == "pure" {
			got.Stderr = want.Stderr
		}
		woven = got
		if what := compare(m, got); what != "" {
			return what
		}
		if got.Lost > 0 {
			return fmt.Sprintf("%s: %d events lost", m, got.Lost)
		}
		for _, s := range got.Skipped {
			return fmt.Sprintf("%s: skipped %s: %s", m, s.File, s.Reason)
		}
		if problems := balance(got, false); len(problems) > 0 {
			return m + ": events do not balance:\n" + strings.Join(problems, "\n")
		}
	}
	if mode%3 == 2 {
		return f.saved(t, dir, python, want, compare, woven)
	}
	return ""
}

// saved runs the rendered text of the program.
func (f *fixture) saved(t *testing.T, dir, python string, want ran, compare func(string, ran) string, woven ran) string {
	language := languages.Named("python")
	var names []string
	for name := range f.files {
		names = append(names, filepath.Join(dir, name))
	}
	tree := &instrument.Tree{Planner: language.Plan, Decode: language.Decode, Options: instrument.Options{Granularity: instrument.Fine, Entry: true}}
	tree.Read(names)
	for _, s := range tree.Skipped {
		return fmt.Sprintf("saved: skipped %s: %s", s.File, s.Reason)
	}
	beside, err := language.SaveFile.SupportFiles()
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if _, err := tree.Save(dir, out, language.SaveFile.Render, beside); err != nil {
		return "saved: " + err.Error()
	}
	got := plainly(t, out, python, f.args...)
	stdout, blocks := unblock(t, got.Stdout)
	stderr := got.Stderr
	got.Stdout, got.Stderr = stdout, want.Stderr
	if what := compare("saved", got); what != "" {
		return what + stderr[max(0, len(stderr)-1500):]
	}
	if len(blocks) != 1 {
		return fmt.Sprintf("saved: %d result blocks", len(blocks))
	}
	for _, text := range f.files {
		if shows.MatchString(text) {
			return "" // saved text has no checkpoints in there
		}
	}
	if why := alike(eventsByThread(woven), blockByThread(blocks[0]), true); why != "" {
		return "saved: events:\n" + why
	}
	return ""
}

// shows finds a string that shows the text of an expression.
var shows = regexp.MustCompile(`\)=(!s)?}`)

// unlike shows the first lines in which two texts differ.
func unlike(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	i := 0
	for i < len(w) && i < len(g) && w[i] == g[i] {
		i++
	}
	show := func(lines []string) string {
		return strings.Join(lines[max(0, min(i-4, len(lines))):min(i+10, len(lines))], "\n")
	}
	return show(g) + "\n---- want:\n" + show(w) + "\n----\n"
}

// reduce leaves out lines as long as the program differs in the same way.
func (f *fixture) reduce(t *testing.T, python string, mode int) {
	kind := func(what string) string {
		if strings.Contains(what, "run to run") {
			return "run to run"
		}
		head, _, _ := strings.Cut(what, "\n")
		return head
	}
	first := kind(f.differs(t, python, mode))
	if strings.HasPrefix(first, "no Python") {
		return
	}
	all := strings.Split(f.files[f.script], "\n")
	tries := 0
	for size := len(all) / 2; size >= 1; {
		smaller := false
		for i := 0; i+size <= len(all) && tries < 200; {
			shorter := append(append([]string{}, all[:i]...), all[i+size:]...)
			g := *f
			g.files = map[string]string{f.script: strings.Join(shorter, "\n"), "helpers.py": f.files["helpers.py"]}
			tries++
			if kind(g.differs(t, python, mode)) == first {
				all, smaller = shorter, true
				f.files = g.files
			} else {
				i += size
			}
		}
		if !smaller || size > 1 {
			size /= 2
		}
	}
}
