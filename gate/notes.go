package gate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Note is what a commit has in a ref of notes (git-notes(1)).
type Note struct {
	Commit string
	Text   string
}

// CheckNotes refuses a name that no ref of notes can have.
func (r *Repository) CheckNotes(ctx context.Context, name string) error {
	if _, err := git(ctx, r.Top, nil, "check-ref-format", notesRef(name)); err != nil || name == "" {
		return fmt.Errorf("%q is no name for git notes: use letters, such as cg", name)
	}
	return nil
}

func notesRef(name string) string { return "refs/notes/" + name }

// Notes are those of a ref, in the order of the commits, ancestors first. Those of commits that no ref leads to are
// left out, and counted. A ref that there is not is an error.
func (r *Repository) Notes(ctx context.Context, name string) (notes []Note, lost int, err error) {
	if err := r.CheckNotes(ctx, name); err != nil {
		return nil, 0, err
	}
	if _, err := git(ctx, r.Top, nil, "rev-parse", "--verify", "--quiet", notesRef(name)); err != nil {
		return nil, 0, fmt.Errorf("%s has no notes %s: cg gate --history note:%s makes them; those of another "+
			"repository come with git fetch REMOTE %s:%[4]s", r.Top, name, name, notesRef(name))
	}
	out, err := git(ctx, r.Top, nil, "notes", "--ref="+notesRef(name), "list")
	if err != nil {
		return nil, 0, err
	}
	blobs := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) == 2 {
			blobs[fields[1]] = fields[0]
		}
	}
	if out, err = git(ctx, r.Top, nil, "rev-list", "--topo-order", "--reverse", "--all", "HEAD"); err != nil {
		return nil, 0, err
	}
	for commit := range strings.FieldsSeq(string(out)) {
		blob, is := blobs[commit]
		if !is {
			continue
		}
		text, err := git(ctx, r.Top, nil, "cat-file", "blob", blob)
		if err != nil {
			return nil, 0, err
		}
		notes = append(notes, Note{commit, string(text)})
		delete(blobs, commit)
	}
	return notes, len(blobs), nil
}

// Note is the text of the note of a commit, nil where it has none. That it cannot be read is an error, and not that
// there is none.
func (r *Repository) Note(ctx context.Context, name, commit string) ([]byte, error) {
	out, err := git(ctx, r.Top, nil, "notes", "--ref="+notesRef(name), "list", commit)
	var failed *gitError
	switch {
	case errors.As(err, &failed) && strings.Contains(failed.words, "no note found for object"):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return git(ctx, r.Top, nil, "cat-file", "blob", strings.TrimSpace(string(out)))
}

// AddToNote appends a line to the note of a commit. Others who do so wait: a note is written as a whole. scratch is a
// folder for the text.
func (r *Repository) AddToNote(ctx context.Context, name, commit string, line []byte, scratch string) error {
	if err := r.CheckNotes(ctx, name); err != nil {
		return err
	}
	out, err := git(ctx, r.Top, nil, "rev-parse", "--git-common-dir")
	if err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(r.path(out), "cg-notes.lock"), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("%s: %w", lock.Name(), err)
	}
	text, err := r.Note(ctx, name, commit)
	if err != nil {
		return err
	}
	if len(text) > 0 && text[len(text)-1] != '\n' { // git notes add -C takes a blob as it is
		text = append(text, '\n')
	}
	file := filepath.Join(scratch, "note")
	if err := os.WriteFile(file, slices.Concat(text, line), 0o600); err != nil {
		return err
	}
	defer os.Remove(file)
	_, err = git(ctx, r.Top, r.committer(ctx), "notes", "--ref="+notesRef(name), "add", "--force", "--file="+file,
		commit)
	return err
}

// committer are variables for who has told git no name, as in CI.
func (r *Repository) committer(ctx context.Context) (env []string) {
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		if _, err := git(ctx, r.Top, []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=user.useConfigOnly",
			"GIT_CONFIG_VALUE_0=true"}, "var", "GIT_"+who+"_IDENT"); err != nil {
			env = append(env, "GIT_"+who+"_NAME=cg", "GIT_"+who+"_EMAIL=cg@localhost")
		}
	}
	return env
}
