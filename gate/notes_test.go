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

// A note that cannot be read stays as it is: it is not taken for none.
func TestUnreadableNoteStays(t *testing.T) {
	dir, names := history(t, 2)
	r, scratch := found(t, dir), t.TempDir()
	add := func(line string) error { return r.AddToNote(ctx, "cg", names[1], []byte(line+"\n"), scratch) }
	if text, err := r.Note(ctx, "cg", names[1]); err != nil || text != nil {
		t.Fatalf("%q, %v; want none", text, err)
	}
	if err := add("1"); err != nil {
		t.Fatal(err)
	}
	blob := strings.TrimSpace(sh(t, dir, "git notes --ref cg list "+names[1]))
	before := sh(t, dir, "git rev-parse refs/notes/cg")
	object := ".git/objects/" + blob[:2] + "/" + blob[2:]
	sh(t, dir, "mv "+object+" kept")
	if err := add("2"); err == nil || sh(t, dir, "git rev-parse refs/notes/cg") != before {
		t.Errorf("%v: the note was written over", err)
	}
	sh(t, dir, "mv kept "+object)
	sh(t, dir, "printf 3 | git hash-object -w --stdin | xargs -I{} git notes --ref cg add -f -C {} "+names[1])
	if err := add("4"); err != nil {
		t.Error(err)
	}
	if text, err := r.Note(ctx, "cg", names[1]); err != nil || string(text) != "3\n4\n" {
		t.Errorf("%q, %v", text, err)
	}
}
