package gate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"cg/long"
	"cg/statistics"
)

// history makes a repository of so many commits, each with its number in a file, and gives its folder and the
// commits, the first at 1.
func history(t *testing.T, commits int) (dir string, names []string) {
	dir = t.TempDir()
	sh(t, dir, fmt.Sprintf(`git init -q; for i in $(seq 1 %d); do echo $i >n; git add n; git commit -qm "change $i"; done`,
		commits))
	out := strings.Fields(sh(t, dir, "git rev-list --reverse HEAD"))
	return dir, append([]string{""}, out...)
}

func TestBisect(t *testing.T) {
	dir, names := history(t, 40)
	sh(t, dir, "echo mine >n; git bisect start -q; git bisect bad HEAD") // a bisection of the user's own
	before := sh(t, dir, "git status --porcelain; git bisect log; cat n")
	step := 7
	if long.Without(t, "every other first commit") {
		step = 14
	}
	for first := 2; first <= 40; first += step {
		for _, skipped := range []int{0, first - 1, first, first + 2} {
			r := found(t, dir)
			good, err := r.Resolve(ctx, names[1])
			if err != nil {
				t.Fatal(err)
			}
			bad, _ := r.Resolve(ctx, names[40])
			b, err := r.Bisect(ctx, filepath.Join(t.TempDir(), "bisect"), good, bad, false)
			if err != nil || b.Commits != 39 || b.Steps() != 7 {
				t.Fatalf("%v: %+v", err, b)
			}
			checked := map[string]int{}
			f, err := b.Run(ctx, 3, func(_ context.Context, v Revision, attempt int) (Trial, error) {
				if attempt != checked[v.Commit] {
					t.Errorf("attempt %d of %s after %d", attempt, v.Subject, checked[v.Commit])
				}
				checked[v.Commit]++
				var n int
				fmt.Sscanf(v.Subject, "change %d", &n)
				switch {
				case n == skipped && n != 40 && n%2 == 0:
					return Trial{}, &Untestable{errors.New("it cannot be built")}
				case n == skipped && n != 40:
					return Trial{Verdict: statistics.Inconclusive, Pairs: 30}, nil
				case n%5 == 0 && attempt == 0:
					return Trial{Verdict: statistics.Inconclusive}, nil // and clear when it is checked again
				case n < first:
					return Trial{Verdict: statistics.Pass}, nil
				}
				return Trial{Verdict: statistics.Regression}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			ambiguous := (skipped == first || skipped == first-1) && skipped > 1 && skipped != 40
			switch {
			case !ambiguous && (f.First == nil || f.First.Commit != names[first] || len(f.Candidates) != 0):
				t.Errorf("first %d, skipped %d: %+v", first, skipped, f)
			case ambiguous && (f.First != nil || len(f.Candidates) != 2):
				t.Errorf("first %d, skipped %d: %+v", first, skipped, f)
			case ambiguous:
				both := f.Candidates[0].Commit + f.Candidates[1].Commit
				if !strings.Contains(both, names[first]) || f.Candidates[0].Subject == "" {
					t.Errorf("first %d is not among %+v", first, f.Candidates)
				}
			}
			for _, trial := range f.Trials {
				if checked[trial.Commit] != trial.Attempts || trial.Attempts > 3 || trial.Why != "" && trial.Attempts != 1 {
					t.Errorf("%+v, checked %d times", trial, checked[trial.Commit])
				}
			}
			if f.Trials[0].Commit != names[40] {
				t.Errorf("bad is checked first, not %+v", f.Trials[0])
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if after := sh(t, dir, "git status --porcelain; git bisect log; cat n"); after != before {
		t.Errorf("the user's repository was\n%sand is\n%s", before, after)
	}
	if left := sh(t, dir, "git worktree list"); strings.Count(left, "\n") != 1 {
		t.Errorf("left: %s", left)
	}
}

func TestBisectRefuses(t *testing.T) {
	dir, names := history(t, 3)
	sh(t, dir, "git checkout -q -b side HEAD~1; git commit -q --allow-empty -m side")
	r := found(t, dir)
	of := func(name string) Revision {
		v, err := r.Resolve(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if _, err := r.Bisect(ctx, t.TempDir(), of("side"), of(names[3]), false); err == nil ||
		!strings.Contains(err.Error(), "side is no ancestor of "+names[3]) {
		t.Error(err)
	}
	if _, err := r.Bisect(ctx, t.TempDir(), of("side"), of("HEAD"), false); err == nil ||
		!strings.Contains(err.Error(), "are the same commit") {
		t.Error(err)
	}
	begin := func() *Bisection {
		b, err := r.Bisect(ctx, filepath.Join(t.TempDir(), "bisect"), of(names[1]), of(names[3]), true)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, verdict := range []Verdict{statistics.Pass, statistics.Inconclusive} { // of bad itself
		f, err := begin().Run(ctx, 2, func(context.Context, Revision, int) (Trial, error) {
			return Trial{Verdict: verdict}, nil
		})
		if err != nil || f.First != nil || len(f.Candidates) != 0 || len(f.Trials) != 1 || f.Trials[0].Verdict != verdict {
			t.Errorf("%v, %+v", err, f)
		}
	}
	broken := errors.New("broken")
	if _, err := begin().Run(ctx, 2, func(context.Context, Revision, int) (Trial, error) { return Trial{}, broken }); err != broken {
		t.Error(err)
	}
	stopped, cancel := context.WithCancel(ctx)
	_, err := begin().Run(stopped, 2, func(context.Context, Revision, int) (Trial, error) {
		cancel()
		return Trial{Verdict: statistics.Regression}, nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Of merges, first parents alone are followed where that is asked for.
func TestBisectMerges(t *testing.T) {
	dir, _ := history(t, 2)
	sh(t, dir, `main=$(git rev-parse --abbrev-ref HEAD); git checkout -q -b topic; for i in 1 2 3; do git commit -q --allow-empty -m "topic $i"; done
		git checkout -q $main; git commit -q --allow-empty -m "change 3"; git merge -q --no-edit -m merged topic; git commit -q --allow-empty -m "change 4"`)
	for firstParent, want := range map[bool]string{true: "merged", false: "topic 2"} {
		r := found(t, dir)
		good, _ := r.Resolve(ctx, "HEAD~3")
		bad, _ := r.Resolve(ctx, "HEAD")
		b, err := r.Bisect(ctx, filepath.Join(t.TempDir(), "bisect"), good, bad, firstParent)
		if err != nil {
			t.Fatal(err)
		}
		f, err := b.Run(ctx, 1, func(_ context.Context, v Revision, _ int) (Trial, error) {
			if strings.HasPrefix(v.Subject, "topic 1") || strings.HasPrefix(v.Subject, "change 2") || v.Subject == "change 3" {
				return Trial{Verdict: statistics.Pass}, nil
			}
			return Trial{Verdict: statistics.Regression}, nil
		})
		if err != nil || f.First == nil || f.First.Subject != want {
			t.Errorf("first parent %t: %v, %+v, want %s", firstParent, err, f, want)
		}
		r.Close()
	}
}
