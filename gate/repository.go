package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"cg/scratch"
	"cg/tool"
)

// Repository is the git repository that a folder is in. Its working tree and its
// index are read and never written; trees of revisions are made elsewhere.
type Repository struct {
	Top    string // the working tree
	Prefix string // the folder within it, "" for the top
	made   []string
}

// Revision is a state of the repository: a commit, or the working tree as it is.
type Revision struct {
	Name    string `json:"name"`    // as it was asked for
	Commit  string `json:"commit"`  // the working tree's is what it was changed from
	Subject string `json:"subject"` // the first line of the commit's message
	// Changed are files of the working tree that differ from the commit, relative
	// to the top; none for a commit.
	Changed []string `json:"changed"`
	// WorkingTree says that the files are those of the working tree.
	WorkingTree bool `json:"working_tree"`
}

// ErrNoRepository says that a folder is in no git repository.
var ErrNoRepository = errors.New("not in a git repository with a working tree")

// FindRepository finds the repository of a folder.
func FindRepository(ctx context.Context, dir string) (*Repository, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return nil, errors.New("git is not installed: apt-get install git")
	}
	out, err := git(ctx, dir, nil, "rev-parse", "--show-toplevel", "--show-prefix")
	if err != nil {
		if strings.Contains(err.Error(), "dubious ownership") {
			return nil, err
		}
		return nil, fmt.Errorf("%s: %w", dir, ErrNoRepository)
	}
	lines := strings.Split(string(out), "\n")
	if len(lines) < 2 || lines[0] == "" {
		return nil, fmt.Errorf("%s: %w", dir, ErrNoRepository)
	}
	return &Repository{Top: lines[0], Prefix: strings.TrimSuffix(lines[1], "/")}, nil
}

// Resolve finds the commit that a name stands for.
func (r *Repository) Resolve(ctx context.Context, name string) (Revision, error) {
	out, err := git(ctx, r.Top, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if err != nil {
		return Revision{}, fmt.Errorf("%s: no such revision in %s%s", name, r.Top, r.fetchAdvice(ctx, name))
	}
	v := Revision{Name: name, Commit: strings.TrimSpace(string(out)), Changed: []string{}}
	if out, err := git(ctx, r.Top, nil, "log", "-1", "--format=%s", v.Commit); err == nil {
		v.Subject = strings.TrimSpace(string(out))
	}
	return v, nil
}

// WorkingTree is the working tree as it is. It works with a copy of the index in the
// folder scratch: git diff refreshes the one that it reads. Files of except do
// not count as changed.
func (r *Repository) WorkingTree(ctx context.Context, scratch string, except ...string) (Revision, error) {
	v, err := r.Resolve(ctx, "HEAD")
	if err != nil {
		return v, err
	}
	index, err := r.index(ctx, scratch)
	if err != nil {
		return v, err
	}
	defer os.Remove(index)
	env := []string{"GIT_INDEX_FILE=" + index}
	v.Name, v.WorkingTree = "working tree", true
	// What differs from the commit, staged or not, and what is new and not ignored.
	for _, args := range [][]string{
		{"diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=none", "HEAD", "--"},
		{"ls-files", "-z", "--others", "--exclude-standard"},
	} {
		out, err := git(ctx, r.Top, env, args...)
		if err != nil {
			return v, err
		}
		v.Changed = append(v.Changed, zeros(out)...)
	}
	slices.Sort(v.Changed)
	v.Changed = slices.DeleteFunc(slices.Compact(v.Changed), func(name string) bool {
		info, err := os.Lstat(filepath.Join(r.Top, name))
		return err == nil && slices.ContainsFunc(except, func(file string) bool {
			other, err := os.Lstat(file)
			return err == nil && os.SameFile(info, other)
		})
	})
	return v, nil
}

// index copies the index into a folder, with its times, by which git knows what it
// has to look at. Where there is none, the copy is a name only.
func (r *Repository) index(ctx context.Context, dir string) (string, error) {
	out, err := git(ctx, r.Top, nil, "rev-parse", "--git-path", "index")
	if err != nil {
		return "", err
	}
	path, to := r.path(out), filepath.Join(dir, "index")
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return to, nil
	}
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(to, b, 0o600); err != nil {
		return "", err
	}
	return to, os.Chtimes(to, info.ModTime(), info.ModTime())
}

// path is one that git tells, relative to the top or not.
func (r *Repository) path(out []byte) string {
	path := strings.TrimSuffix(string(out), "\n")
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.Top, path)
	}
	return path
}

// CheckOut puts the files of a revision into a new folder, which becomes a
// worktree of the repository until Close. Files that git ignores are not there.
func (r *Repository) CheckOut(ctx context.Context, v Revision, dir string) error {
	r.made = append(r.made, dir)
	if _, err := git(ctx, r.Top, nil, "worktree", "add", "--quiet", "--detach", dir, v.Commit); err != nil {
		return fmt.Errorf("%s: %w", v.Name, err)
	}
	if err := submodules(ctx, r.Top, v.Commit, dir); err != nil {
		return fmt.Errorf("%s: %w", v.Name, err)
	}
	for _, name := range v.Changed {
		if err := bring(ctx, filepath.Join(r.Top, name), filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("%s: %w", v.Name, err)
		}
	}
	return nil
}

// Close takes the worktrees away that CheckOut made, and no others: git worktree
// prune would take those whose disk is not mounted.
func (r *Repository) Close() error {
	var errs []error
	for _, dir := range r.made {
		errs = append(errs, r.remove(dir))
	}
	r.made = nil
	return errors.Join(errs...)
}

// Remove takes one of these worktrees away, so that its folder is free for another.
func (r *Repository) Remove(dir string) error {
	r.made = slices.DeleteFunc(r.made, func(other string) bool { return other == dir })
	return r.remove(dir)
}

func (r *Repository) remove(dir string) error {
	var left error
	if _, err := git(context.Background(), r.Top, nil, "worktree", "remove", "--force", "--force", dir); err != nil {
		left = r.forget(dir)
	}
	return errors.Join(left, scratch.RemoveAll(dir))
}

// RemoveKilled takes the entries of worktrees out of the repository that were made
// in the folder of a cg which was killed, and are gone with it.
func (r *Repository) RemoveKilled() error {
	return r.forgetThose(func(dir string) bool { return scratch.Abandoned(dir) })
}

// forget takes the entry of a worktree out of the repository, also one that git left
// half made.
func (r *Repository) forget(dir string) error {
	if parent, err := filepath.EvalSymlinks(filepath.Dir(dir)); err == nil {
		dir = filepath.Join(parent, filepath.Base(dir))
	}
	return r.forgetThose(func(other string) bool { return other == dir })
}

// forgetThose takes entries of worktrees out of the repository, by the folders that
// they are of (git-worktree(1), "DETAILS").
func (r *Repository) forgetThose(which func(dir string) bool) error {
	out, err := git(context.Background(), r.Top, nil, "rev-parse", "--git-common-dir")
	if err != nil {
		return err
	}
	all := filepath.Join(r.path(out), "worktrees")
	entries, err := os.ReadDir(all)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range entries {
		entry := filepath.Join(all, e.Name())
		b, err := os.ReadFile(filepath.Join(entry, "gitdir"))
		if err != nil {
			continue
		}
		path := strings.TrimSpace(string(b))
		if !filepath.IsAbs(path) {
			path = filepath.Join(entry, path)
		}
		if filepath.Base(path) == ".git" && which(filepath.Dir(path)) {
			errs = append(errs, os.RemoveAll(entry))
		}
	}
	os.Remove(all) // which git leaves only where there are some
	return errors.Join(errs...)
}

// submodules fills those of a commit from the user's own clones of them. One that
// the user has not got stays empty, as it is there.
func submodules(ctx context.Context, from, commit, dir string) error {
	out, err := git(ctx, from, nil, "ls-tree", "-r", "-z", commit)
	if err != nil {
		return err
	}
	for _, line := range zeros(out) {
		what, path, _ := strings.Cut(line, "\t")
		fields := strings.Fields(what)
		if len(fields) < 3 || fields[0] != "160000" {
			continue
		}
		clone, to := filepath.Join(from, path), filepath.Join(dir, path)
		if _, err := os.Lstat(filepath.Join(clone, ".git")); err != nil {
			continue
		}
		index := dir + ".index"
		defer os.Remove(index)
		env := []string{"GIT_INDEX_FILE=" + index}
		if _, err := git(ctx, clone, env, "read-tree", fields[2]); err != nil {
			return fmt.Errorf("submodule %s has not got commit %.10s: git submodule update --init %s", path, fields[2],
				path)
		}
		_, err = git(ctx, clone, env, "checkout-index", "--all", "--quiet", "--force", "--prefix="+to+"/")
		if err != nil {
			return fmt.Errorf("submodule %s: %w", path, err)
		}
		os.Remove(index)
		if err := submodules(ctx, clone, fields[2], to); err != nil {
			return err
		}
	}
	return nil
}

// bring makes to what from is: a file, a link, a repository of its own, or
// nothing.
func bring(ctx context.Context, from, to string) error {
	info, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return os.RemoveAll(to)
	}
	if err != nil {
		return err
	}
	if info.IsDir() { // a submodule, or a repository within this one
		if err := os.RemoveAll(to); err != nil {
			return err
		}
		out, err := git(ctx, from, nil, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
		if err != nil {
			return err
		}
		for _, name := range zeros(out) {
			if err := bring(ctx, filepath.Join(from, name), filepath.Join(to, name)); err != nil {
				return err
			}
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	if !info.Mode().IsRegular() { // a socket or a pipe is nothing of the source
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// git runs git in a folder, whatever repository the environment names. It asks
// nothing, runs no hooks and leaves the user's index as it is.
func git(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	all := append([]string{"-C", dir, "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0",
		"-c", "core.splitIndex=false", "-c", "maintenance.auto=false", "-c", "advice.detachedHead=false"}, args...)
	cmd := exec.CommandContext(ctx, "git", all...)
	cmd.Env = append(append(Environment(), "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"), env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := tool.Run(cmd); err != nil { // in a group of its own: Ctrl-C must not stop the tidying up
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		words := strings.TrimSpace(said.String())
		if i := strings.LastIndexByte(words, '\n'); i >= 0 && !strings.Contains(words, "dubious") {
			words = words[i+1:]
		}
		if words == "" {
			words = err.Error()
		}
		return nil, &gitError{fmt.Sprintf("git %s: %s", args[0], words), out.Bytes()}
	}
	return out.Bytes(), nil
}

// gitError is the error of a git that failed, with what it wrote before.
type gitError struct {
	words string
	out   []byte
}

func (e *gitError) Error() string { return e.words }

// GitVariables are the variables that tie git to a repository (git rev-parse
// --local-env-vars), which hooks have.
var GitVariables = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
	"GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_IMPLICIT_WORK_TREE", "GIT_GRAFT_FILE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_SHALLOW_FILE",
	"GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE",
}

// Environment is ours without GitVariables.
func Environment() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(GitVariables, name)
	})
}

func zeros(b []byte) []string {
	return strings.FieldsFunc(string(b), func(r rune) bool { return r == 0 })
}
