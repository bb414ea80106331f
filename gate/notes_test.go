package gate

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestNotes(t *testing.T) {
	dir, names := history(t, 5)
	t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null") // nobody has a name, as in CI
	t.Setenv("GIT_CONFIG_SYSTEM", "/dev/null")
	r, scratch := found(t, dir), t.TempDir()
	if _, _, err := r.Notes(ctx, "cg"); err == nil || !strings.Contains(err.Error(), "has no notes cg: cg gate --history note:cg makes them") {
		t.Error(err)
	}
	for _, bad := range []string{"", "a b", "..", "x~1"} {
		if err := r.AddToNote(ctx, bad, names[1], []byte("{}\n"), scratch); err == nil {
			t.Errorf("%q is a name", bad)
		}
	}
	add := func(commit, line, scratch string) {
		if err := r.AddToNote(ctx, "cg", commit, []byte(line+"\n"), scratch); err != nil {
			t.Error(err)
		}
	}
	for _, i := range []int{4, 2, 5, 2} {
		add(names[i], fmt.Sprintf(`{"n": %d}`, i), scratch)
	}
	var all sync.WaitGroup
	for i := range 4 { // at a time
		own := t.TempDir()
		all.Go(func() { add(names[3], fmt.Sprint(i), own) })
	}
	all.Wait()
	sh(t, dir, "git checkout -q -b gone; git commit -q --allow-empty -m gone; git notes --ref cg add -m lost; git checkout -q -; git branch -qD gone")
	notes, lost, err := r.Notes(ctx, "cg")
	if err != nil || lost != 1 || len(notes) != 4 {
		t.Fatalf("%v, %d lost: %+v", err, lost, notes)
	}
	for k, want := range []string{names[2], names[3], names[4], names[5]} {
		if notes[k].Commit != want {
			t.Errorf("note %d is of %s", k, notes[k].Commit)
		}
	}
	if notes[0].Text != "{\"n\": 2}\n{\"n\": 2}\n" || len(strings.Fields(notes[1].Text)) != 4 {
		t.Errorf("%+v", notes)
	}
	if status := sh(t, dir, "git status --porcelain"); status != "" {
		t.Error(status)
	}
}
