package gate

import (
	"context"
	"slices"
	"strings"

	"cg/pattern"
)

var (
	wholeDigest = pattern.Later(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	someDigest  = pattern.Later(`^[0-9a-f]{4,63}$`)
	bareWord    = pattern.Later(`^[A-Za-z0-9_@%=:,./+-]+$`)
)

// fetchAdvice is the git command that brings a revision into a shallow clone which
// lacks it, "" where the clone is whole. It asks nothing over the network, so it
// advises for a name that no repository knows, too.
func (r *Repository) fetchAdvice(ctx context.Context, name string) string {
	if out, err := git(ctx, r.Top, nil, "rev-parse", "--is-shallow-repository"); err != nil ||
		strings.TrimSpace(string(out)) != "true" {
		return ""
	}
	out, err := git(ctx, r.Top, nil, "remote")
	remotes := strings.Fields(string(out))
	if err != nil || len(remotes) == 0 {
		return "; the clone is shallow, and has no remote to fetch from"
	}
	remote := remotes[0]
	if slices.Contains(remotes, "origin") {
		remote = "origin"
	}
	_, err = git(ctx, r.Top, nil, "check-ref-format", "--allow-onelevel", name)
	ref := err == nil && !strings.HasPrefix(name, "-") && !strings.HasPrefix(name, "+")
	start, _, _ := strings.Cut(name, "~")
	start, _, _ = strings.Cut(start, "^")
	at, branch, _ := strings.Cut(name, "/")
	said := "; the clone is shallow: git fetch "
	switch {
	case wholeDigest().MatchString(name):
		return said + "--depth=1 " + remote + " " + name
	case ref && branch != "" && slices.Contains(remotes, at):
		return said + "--depth=1 " + at + " " + quoted("+refs/heads/"+branch+":refs/remotes/"+name)
	case ref && !someDigest().MatchString(name): // a tag or a branch
		return said + "--depth=1 " + remote + " " + quoted(name) + ", and name it FETCH_HEAD"
	case start != name && r.knows(ctx, start): // what is before a revision that is there
		return said + "--unshallow " + remote
	}
	return said + "--unshallow --tags " + remote + " " + quoted("+refs/heads/*:refs/remotes/"+remote+"/*")
}

func (r *Repository) knows(ctx context.Context, name string) bool {
	_, err := git(ctx, r.Top, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	return err == nil
}

// quoted is a word as a shell reads it.
func quoted(word string) string {
	if bareWord().MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
