package paths

import (
	"math/rand/v2"
	"testing"

	"cg/checkpoint"
)

// A path is found again, a recursive call is not outermost, and the first moment
// of a site is the earliest, in whatever order threads tell of it.
func TestPath(t *testing.T) {
	tree := NewTree()
	one := tree.Path(Root, 1, 50)
	two := tree.Path(one, 2, 60)
	again := tree.Path(two, 1, 40)
	if one == two || tree.Path(Root, 1, 70) != one || tree.Path(one, 2, 70) != two || tree.Path(Root, 2, 70) == two {
		t.Errorf("1 is %d, 2 in 1 is %d", one, two)
	}
	if tree.Site(again) != 1 || tree.Parent(again) != two || tree.Parent(Root) >= 0 || tree.Len() != 5 {
		t.Errorf("%+v", tree)
	}
	if !tree.IsOutermost(one) || !tree.IsOutermost(two) || tree.IsOutermost(again) {
		t.Errorf("outermost: %v", tree.outermost)
	}
	if tree.First(1) != 40 || tree.First(2) != 60 {
		t.Errorf("first: %v", tree.first)
	}
	hidden := tree.Add(Root, 9, 0)
	if tree.Path(Root, 9, 0) == hidden {
		t.Error("what was added by itself is found")
	}
}

// Beyond the limit a site has one path more.
func TestTruncation(t *testing.T) {
	tree := NewTree()
	parent := Root
	for tree.Len() < Max {
		parent = tree.Path(Root, checkpoint.SiteID(tree.Len()), 0)
	}
	if tree.Truncated != 0 {
		t.Fatalf("%d calls are truncated", tree.Truncated)
	}
	const site = 2 * Max
	other := tree.Path(parent, site, 0)
	if other != tree.Path(Root, site, 0) || other != tree.Other(site, 0) || tree.Parent(other) != Root {
		t.Errorf("%d below %d", other, tree.Parent(other))
	}
	if tree.Len() != Max+1 || tree.Truncated != 2 {
		t.Errorf("%d nodes, %d truncated", tree.Len(), tree.Truncated)
	}
}

// The table finds what was put into it and nothing else.
func TestTable(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var edges table
	want := map[[2]int32]int32{}
	for n := int32(1); n < 20_000; n++ {
		k := [2]int32{random.Int32N(300) - 1, random.Int32N(300)}
		got, ok := edges.find(k[0], checkpoint.SiteID(k[1]))
		if w, there := want[k]; ok != there || got != w {
			t.Fatalf("%v: %d, %v, want %d, %v", k, got, ok, w, there)
		}
		if !ok {
			want[k] = n
			edges.put(k[0], checkpoint.SiteID(k[1]), n)
		}
	}
}
