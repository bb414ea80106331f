package gate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"cg/pattern"
	"cg/statistics"
)

// Bisection is a search for the first commit with a regression, by git bisect in a worktree of its own: the
// user's working tree, and a git bisect that is under way there, stay as they are.
type Bisection struct {
	Good, Bad Revision
	// Commits is how many there are behind good up to bad.
	Commits    int
	repository *Repository
	dir        string
	found      *Found
}

// Trial is what came of the checks of a commit.
type Trial struct {
	Commit  string  `json:"commit"`
	Subject string  `json:"subject"`
	Verdict Verdict `json:"verdict"` // inconclusive where it could not be checked, too
	// Attempts is how often it was checked: again where that was inconclusive.
	Attempts int      `json:"attempts"`
	Pairs    int      `json:"pairs"` // of the last check
	Change   *float64 `json:"change"`
	Lo       *float64 `json:"change_lo"`
	Hi       *float64 `json:"change_hi"`
	// Why is why it could not be checked: its build or the command failed.
	Why string `json:"why,omitempty"`
}

// Found is what a bisection came to.
type Found struct {
	// First is the first commit with the regression, nil where it is not known.
	First *Revision `json:"first_bad"`
	// Candidates are the commits that can be it where checks were inconclusive, none where it is known.
	Candidates []Revision `json:"candidates"`
	Trials     []Trial    `json:"trials"`
}

// Untestable is the error of a check of a commit that cannot be built, or in which the command fails: git bisect
// skips it.
type Untestable struct{ Err error }

func (e *Untestable) Error() string { return e.Err.Error() }
func (e *Untestable) Unwrap() error { return e.Err }

// Bisect begins a search in a new folder. Good has to be an ancestor of bad. firstParent follows only the first
// parents of merges.
func (r *Repository) Bisect(ctx context.Context, dir string, good, bad Revision, firstParent bool) (*Bisection, error) {
	if good.Commit == bad.Commit {
		return nil, fmt.Errorf("good and bad are the same commit, %.10s: there is nothing between them", good.Commit)
	}
	if _, err := git(ctx, r.Top, nil, "merge-base", "--is-ancestor", good.Commit, bad.Commit); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%s is no ancestor of %s, so no commit between them can be the first: name a commit "+
			"that %[2]s has in its history (git merge-base %[1]s %[2]s)", good.Name, bad.Name)
	}
	b := &Bisection{Good: good, Bad: bad, repository: r, dir: dir}
	count := []string{"rev-list", "--count", good.Commit + ".." + bad.Commit}
	start := []string{"bisect", "start", "--no-checkout"}
	if firstParent {
		count, start = append(count, "--first-parent"), append(start, "--first-parent")
	}
	out, err := git(ctx, r.Top, nil, count...)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Sscan(string(out), &b.Commits); err != nil {
		return nil, fmt.Errorf("git rev-list --count: %q", out)
	}
	r.made = append(r.made, dir)
	if _, err := git(ctx, r.Top, nil, "worktree", "add", "--quiet", "--no-checkout", "--detach", dir,
		bad.Commit); err != nil {
		return nil, err
	}
	return b, b.mark(ctx, append(start, bad.Commit, good.Commit)...)
}

// Steps is how many commits are checked at most, where none is skipped, bad among them.
func (b *Bisection) Steps() int { return 1 + int(math.Ceil(math.Log2(float64(b.Commits)))) }

// firstBad and anyOf are what git bisect says at the end (git-bisect(1)).
var (
	firstBad = pattern.Later(`(?m)^([0-9a-f]{40,64}) is the first bad commit$`)
	anyOf    = pattern.Later(`(?m)^[0-9a-f]{40,64}$`)
)

const skippedOnly = "There are only 'skip'ped commits left to test."

// mark runs git bisect, and finds out whether that ends the search.
func (b *Bisection) mark(ctx context.Context, args ...string) error {
	out, err := git(ctx, b.dir, nil, args...)
	var failed *gitError
	if errors.As(err, &failed) {
		out = failed.out // git bisect ends with 2 where only skipped commits are left
	}
	text := string(out)
	switch at := firstBad().FindStringSubmatch(text); {
	case at != nil:
		first, err := b.repository.Resolve(ctx, at[1])
		if err != nil {
			return err
		}
		b.found = &Found{First: &first}
	case strings.Contains(text, skippedOnly):
		b.found = &Found{}
		for _, commit := range anyOf().FindAllString(text, -1) {
			c, err := b.repository.Resolve(ctx, commit)
			if err != nil {
				return err
			}
			b.found.Candidates = append(b.found.Candidates, c)
		}
	default:
		return err
	}
	return nil
}

// Run checks commits until the first bad one is known, or none is left that can be checked. A check that is
// inconclusive is made again, attempts times in all; then the commit is skipped. attempt counts from 0. Bad is
// checked first: where it is no regression itself, the result has no commit, and its trial says so.
func (b *Bisection) Run(ctx context.Context, attempts int,
	check func(ctx context.Context, v Revision, attempt int) (Trial, error)) (*Found, error) {
	var trials []Trial
	try := func(v Revision) (Trial, error) {
		var t Trial
		for attempt := range attempts {
			var err error
			t, err = check(ctx, v, attempt)
			t.Commit, t.Subject, t.Attempts = v.Commit, v.Subject, attempt+1
			var cannot *Untestable
			if errors.As(err, &cannot) {
				t.Verdict, t.Why = statistics.Inconclusive, cannot.Error()
				break
			}
			if err != nil {
				return t, err
			}
			if t.Verdict != statistics.Inconclusive {
				break
			}
		}
		trials = append(trials, t)
		return t, nil
	}
	t, err := try(b.Bad)
	if err != nil {
		return nil, err
	}
	if t.Verdict != statistics.Regression {
		return &Found{Candidates: []Revision{}, Trials: trials}, nil
	}
	for b.found == nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out, err := git(ctx, b.dir, nil, "rev-parse", "--verify", "BISECT_HEAD")
		if err != nil {
			return nil, err
		}
		v, err := b.repository.Resolve(ctx, strings.TrimSpace(string(out)))
		if err != nil {
			return nil, err
		}
		v.Name = fmt.Sprintf("%.10s", v.Commit)
		if t, err = try(v); err != nil {
			return nil, err
		}
		word := map[Verdict]string{statistics.Pass: "good", statistics.Regression: "bad",
			statistics.Inconclusive: "skip"}[t.Verdict]
		if err := b.mark(ctx, "bisect", word, v.Commit); err != nil {
			return nil, err
		}
	}
	b.found.Trials = trials
	if b.found.Candidates == nil {
		b.found.Candidates = []Revision{}
	}
	return b.found, nil
}
