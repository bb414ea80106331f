package python

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cg/checkpoint"
	"cg/instrument"
	"cg/languages"
	"cg/long"
)

// TestSaved rewrites every fixture as text, also with the events of lines and blocks, and runs it without cg: it
// prints what the original prints, and one result block at exit.
func TestSaved(t *testing.T) {
	python := byDefault(t)
	some := long.Without(t, "three of four programs, and of three granularities two")
	granularities := []instrument.Granularity{instrument.Fine, instrument.Lines, instrument.Blocks}
	for i, f := range append(fixtures(t), encodings()...) {
		if f.notSaved || f.needs > minor(python) || some && i%4 != 0 {
			continue
		}
		these := granularities
		if some {
			these = these[i/4%len(these):][:1]
		}
		for _, g := range these {
			t.Run(f.name+"/"+string(g), func(t *testing.T) { saveAndRun(t, f, g, python) })
		}
	}
}

// saveAndRun runs a fixture as it is and saved.
func saveAndRun(t *testing.T, f fixture, g instrument.Granularity, python string) {
	language := languages.Named("python")
	for _, kv := range f.env {
		name, value, _ := strings.Cut(kv, "=")
		t.Setenv(name, value)
	}
	source, dir := t.TempDir(), t.TempDir()
	f.place(t, source)
	want := plainly(t, source, python, f.args...)
	if strings.Contains(want.Stderr, "SyntaxError") || strings.Contains(want.Stderr, "IndentationError") || strings.Contains(want.Stderr, "TabError") {
		return // no Python
	}
	f.place(t, source) // what the first run removed
	var names []string
	filepath.WalkDir(source, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".py" {
			names = append(names, path)
		}
		return err
	})
	tree := &instrument.Tree{Planner: language.Plan, Decode: language.Decode, FindPlaces: language.FindPlaces,
		Options: instrument.Options{Granularity: g, Entry: true}}
	tree.Read(names)
	if f.skipped && len(tree.Skipped) > 0 {
		return
	}
	for _, s := range tree.Skipped {
		t.Errorf("skipped %s: %s", s.File, s.Reason)
	}
	beside, err := language.SaveFile.SupportFiles()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Save(source, dir, language.SaveFile.Render, beside); err != nil {
		t.Fatal(err)
	}
	f.place(t, source)
	if err := overwrite(source, dir); err != nil {
		t.Fatal(err)
	}
	got := plainly(t, source, python, f.args...)
	stdout, blocks := unblock(t, got.Stdout)
	if stdout != want.Stdout {
		t.Errorf("stdout:\n%s\nwant:\n%s\nstderr:\n%s", stdout, want.Stdout, got.Stderr)
	}
	if got.Status != want.Status {
		t.Errorf("status %d, want %d", got.Status, want.Status)
	}
	if len(blocks) != 1 {
		t.Fatalf("%d result blocks, want 1; stderr:\n%s", len(blocks), got.Stderr)
	}
	if n := len(blocks[0]); n < 2 {
		t.Errorf("%d measurements", n)
	}
	open := map[string]int{}
	for _, m := range blocks[0] {
		id, _ := m["checkpoint_id"].(string)
		what, rest, ok := strings.Cut(id, ":")
		name, _, numbered := strings.Cut(rest, "#inv_")
		if !ok || !numbered {
			t.Fatalf("checkpoint_id %q", id)
		}
		switch what {
		case "enter":
			open[name]++
		case "exit", "close":
			open[name]--
		}
	}
	for name, n := range open {
		if n < 0 {
			t.Errorf("%s: %d exits too many", name, -n)
		}
	}
	if !f.notAlike {
		f.place(t, source)
		woven := measured(t, source, python, f.args)
		if why := alike(eventsByThread(woven), blockByThread(blocks[0]), f.closedLate); why != "" {
			t.Errorf("events as saved text:\n%s", why)
		}
	}
	if t.Failed() && os.Getenv("CG_DEBUG") != "" {
		text, _ := os.ReadFile(filepath.Join(dir, f.script))
		t.Logf("%s", text)
	}
}

// unblock takes the result blocks out of an output.
func unblock(t *testing.T, output string) (rest string, blocks [][]map[string]any) {
	const begin, end = "--- CODEGREEN_RESULT_START ---\n", "\n--- CODEGREEN_RESULT_END ---\n"
	for {
		before, after, found := strings.Cut(output, begin)
		if !found {
			return output, blocks
		}
		block, behind, found := strings.Cut(after, end)
		if !found {
			t.Fatal("a result block does not end")
		}
		var result struct {
			Measurements []map[string]any
		}
		if err := json.Unmarshal([]byte(block), &result); err != nil {
			t.Fatalf("a result block is no JSON: %v", err)
		}
		blocks = append(blocks, result.Measurements)
		output = before + behind
	}
}

// overwrite copies the files of a tree over those of another.
func overwrite(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		return os.WriteFile(filepath.Join(to, rel), text, 0o644)
	})
}

// thread are the events of one. supplied are exits that the saved program's
// runtime added at its end, for calls that were left open.
type thread struct{ events, supplied []string }

func isModuleExit(what, name string) bool {
	return what == "exit" && strings.HasSuffix(name, ".<module>")
}

// eventsByThread lists the events of the program's first process, thread by
// thread, the first one first. The exit of a module is left out: saved text has
// it at its end only.
func eventsByThread(r ran) []thread {
	var all []thread
	at := map[checkpoint.Thread]int{}
	for _, e := range r.Runs {
		if e.Thread.PID != r.Runs[0].Thread.PID {
			continue
		}
		k, known := at[e.Thread]
		if !known {
			k = len(all)
			at[e.Thread], all = k, append(all, thread{})
		}
		for i, kind := range e.Kinds {
			if e.Sites[i] > 0 && e.Sites[i] != checkpoint.OwnSite && !isModuleExit(kind.String(), e.Names[i]) {
				all[k].events = append(all[k].events, kind.String()+" "+e.Names[i])
			}
		}
	}
	return all
}

// blockByThread does the same for a result block.
func blockByThread(block []map[string]any) []thread {
	var all []thread
	at := map[string]int{}
	last := len(block)
	for last > 0 && strings.HasPrefix(fmt.Sprint(block[last-1]["checkpoint_id"]), "exit:") {
		last--
	}
	for i, m := range block {
		what, rest, _ := strings.Cut(fmt.Sprint(m["checkpoint_id"]), ":")
		name, call, _ := strings.Cut(rest, "#inv_")
		name = name[:strings.LastIndexByte(name, ':')]
		_, key, _ := strings.Cut(call, "_t")
		k, known := at[key]
		if !known {
			k = len(all)
			at[key], all = k, append(all, thread{})
		}
		switch event := what + " " + name; {
		case isModuleExit(what, name):
		case i >= last:
			all[k].supplied = append(all[k].supplied, event)
		default:
			all[k].events = append(all[k].events, event)
		}
	}
	return all
}

// withoutIdle leaves out the unwinds that end no call: at the start of which blocks they stand is
// for each weaver to choose.
func withoutIdle(events []string) []string {
	var kept, stack []string
	for _, e := range events {
		kind, name, _ := strings.Cut(e, " ")
		top := len(stack) - 1
		at := top
		for at >= 0 && stack[at] != name {
			at--
		}
		switch kind {
		case "enter", "resume":
			stack = append(stack, name)
		case "exit", "suspend":
			if at >= 0 {
				stack = stack[:at]
			}
		case "unwind":
			if at >= 0 && at == top {
				continue
			}
			stack = stack[:at+1]
		}
		kept = append(kept, e)
	}
	return kept
}

// alike says in what the events of two runs differ, "" for nothing. Threads
// but the first begin in any order; late says that more of the program may come
// after the saved one has reported its events.
func alike(want, got []thread, late bool) string {
	for _, threads := range [][]thread{want, got} {
		for i := range threads {
			threads[i].events = withoutIdle(threads[i].events)
		}
	}
	for _, threads := range [][]thread{want, got} {
		slices.SortFunc(threads[1:], func(a, b thread) int { return slices.Compare(a.events, b.events) })
	}
	if len(want) != len(got) {
		return fmt.Sprintf("%d threads, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		n := len(g.events)
		if n > len(w.events) || !slices.Equal(w.events[:n], g.events) {
			return unlike(strings.Join(w.events, "\n"), strings.Join(g.events, "\n"))
		}
		// The last exits may be the program's own, in their order.
		k := 0
		for _, e := range g.supplied {
			if n+k < len(w.events) && w.events[n+k] == e {
				k++
			}
		}
		if n+k < len(w.events) && !late {
			return unlike(strings.Join(w.events, "\n"), strings.Join(append(g.events, g.supplied...), "\n"))
		}
	}
	return ""
}

// TestSavedPlaces: a saved program's calls come to each place as often as those of the same program under cg.
func TestSavedPlaces(t *testing.T) {
	language, python := languages.Named("python"), byDefault(t)
	for _, g := range []instrument.Granularity{instrument.Lines, instrument.Blocks} {
		dir, saved := write(t, map[string]string{"main.py": placesProgram}), t.TempDir()
		tree := &instrument.Tree{Planner: language.Plan, Decode: language.Decode, FindPlaces: language.FindPlaces,
			Options: instrument.Options{Granularity: g, Entry: true, Alone: true}}
		tree.Read([]string{filepath.Join(dir, "main.py")})
		beside, err := language.SaveFile.SupportFiles()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tree.Save(dir, saved, language.SaveFile.Render, beside); err != nil {
			t.Fatal(err)
		}
		_, block, _ := strings.Cut(plainly(t, saved, python, "main.py").Stdout, "START ---\n")
		block, _, _ = strings.Cut(block, "\n---")
		var told struct {
			Places []struct {
				Function, Kind, File string
				Line                 int
				EndLine              int `json:"end_line"`
				Count                uint64
				TimeNs               int64 `json:"time_ns"`
			}
		}
		if err := json.Unmarshal([]byte(block), &told); err != nil {
			t.Fatal(err, block)
		}
		got := map[string]uint64{}
		for _, p := range told.Places {
			if p.Count > 0 {
				got[fmt.Sprintf("%s %d-%d", p.Kind, p.Line, p.EndLine)] += p.Count
			}
			if p.File != filepath.Join(dir, "main.py") || p.TimeNs < 0 || p.Count == 0 && p.TimeNs > 0 {
				t.Errorf("%+v", p)
			}
		}
		want := measured(t, dir, python, []string{"main.py"}, placing(g), adding).Places
		for place, n := range want {
			if n != got[place] && !strings.HasPrefix(place, "rest") {
				t.Errorf("%s: %d, want %d", place, got[place], n)
			}
		}
		for place, n := range got {
			if want[place] == 0 && !strings.HasPrefix(place, "rest") {
				t.Errorf("%s: %d, want none", place, n)
			}
		}
		if len(want) < 5 {
			t.Errorf("%d places", len(want))
		}
	}
}
