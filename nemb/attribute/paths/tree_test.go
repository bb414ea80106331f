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

// chain makes a path of sites below a node.
func chain(tree *Tree, n int32, sites ...checkpoint.SiteID) int32 {
	for _, site := range sites {
		n = tree.Path(n, site, 0)
	}
	return n
}

// Recursion on deep paths takes a path for each cycle. A function that is in no
// cycle stays on the path.
func TestFold(t *testing.T) {
	tree := NewTree()
	n, once := Root, Root
	for i := range 10_000 {
		n = chain(tree, n, 1, 2)
		if i == 1000 {
			once = tree.Path(n, 3, 0)
			n = once
		}
	}
	if tree.Len() > 2*deepest+10 {
		t.Errorf("%d paths of recursion", tree.Len())
	}
	for n != Root && n != once {
		n = tree.Parent(n)
	}
	if n != once || tree.Truncated != 0 {
		t.Errorf("a function that calls all the others is not above them; %d truncated", tree.Truncated)
	}
}

// full is a tree of which all but the last eighth is taken by paths below site 1,
// which calls 2 from the path that it gives.
func full(t *testing.T) (tree *Tree, deep int32) {
	t.Helper()
	tree = NewTree()
	top := chain(tree, Root, 1, 5, 6, 7, 8)
	for site := checkpoint.SiteID(100); tree.Len() < Max/8*7; site++ {
		deep = tree.Path(top, site, 0)
	}
	return tree, deep
}

// Beyond the limit a call stays below its outermost callers, and what is called from
// these has paths of its own.
func TestJoin(t *testing.T) {
	tree, deep := full(t)
	if tree.Truncated != 0 {
		t.Fatalf("%d calls are truncated", tree.Truncated)
	}
	joined := tree.Path(deep, 2, 0)
	if tree.Parent(joined) != chain(tree, Root, 1) || tree.Site(joined) != 2 || tree.Truncated != 1 {
		t.Errorf("2 lies below %d, %d truncated", tree.Parent(joined), tree.Truncated)
	}
	if again := tree.Path(deep, 2, 0); again != joined || tree.Truncated != 2 {
		t.Errorf("2 is at %d, and then at %d", joined, again)
	}
	late := chain(tree, Root, 1, 3)
	burn := tree.Path(late, 2, 0)
	if tree.Parent(burn) != late || tree.Truncated != 2 {
		t.Errorf("a path near the root is joined: %d below %d", burn, tree.Parent(burn))
	}
	nearest := chain(tree, Root, 1, 5, 4)
	if n := tree.Path(deep, 4, 0); n != nearest {
		t.Errorf("4 goes to %d, and the nearest is %d", n, nearest)
	}
	for site := checkpoint.SiteID(2 * Max); tree.Len() < Max; site++ {
		tree.Path(Root, site, 0)
	}
	if n := tree.Path(deep, 9, 0); n != deep || tree.Len() != Max {
		t.Errorf("without any room 9 goes to %d, not to its caller's %d; %d paths", n, deep, tree.Len())
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
