package attribute

import (
	"testing"

	"cg/nemb"
	"cg/nemb/attribute/paths"
	"cg/nemb/attribute/regression"
	"cg/nemb/attribute/windows"
)

// A fit that tells no function apart from the noise divides no energy, and still says why a function is not resolved.
func TestNoiseIsTheReason(t *testing.T) {
	tree := paths.NewTree()
	tree.Path(paths.Root, 1, 0)
	contexts := newContexts(tree)
	k := contexts.function(1)
	for _, of := range []struct {
		fit  *regression.Fit
		want Reason
	}{
		{nil, TooLittle}, {&regression.Fit{}, TooLittle},
		{&regression.Fit{Columns: map[regression.Column]*regression.Estimate{k: {Reason: Noisy}}}, Noisy},
	} {
		x := &explanation{windows: windows.New([]nemb.Domain{{Method: nemb.Measured}}, 1, tree), tree: tree, contexts: contexts,
			fits: make([]*regression.Fit, 1), noisy: []*regression.Fit{of.fit}}
		c := &Cost{Site: 1, Self: Value{Energy: 10, Lo: 1, Hi: 30}}
		if x.verdict(c); c.Reason != of.want || c.Method != TimeShare {
			t.Errorf("%+v: %q by %s, want %q", of.fit, c.Reason, c.Method, of.want)
		}
	}
}
