package runtimes

import (
	"encoding/binary"
	"maps"
	"testing"
)

// TestGoExitAllocatesNothing: what ends a call is made once, whoever calls.
func TestGoExitAllocatesNothing(t *testing.T) {
	goEach(t, func(t *testing.T, k goKind) {
		o := goRun(t, k, nil, "allocs")
		o.quiet(t, "0\n", 0)
		if got := o.calls(2); got != 11*177 {
			t.Errorf("%d calls", got)
		}
	})
}

// TestGoExitFolded: calls that share a node, because recursion is folded, leave no record of another
// call's time. Those around them leave their own.
func TestGoExitFolded(t *testing.T) {
	f := newGoTrees(t, 1<<12, 16)
	binary.NativeEndian.PutUint64(f.channel[328:], 1<<20)
	s := f.run(t, goKinds[0], nil, "refold", "5")
	if s.calls(4) != 5*71 || s.events != 2*(5*71+1) || s.lost != 0 {
		t.Errorf("%d calls, %d events, %d lost", s.calls(4), s.events, s.lost)
	}
	begun := map[uint64]bool{}
	for _, l := range s.long {
		if l.site == 4 && begun[l.enter] {
			t.Errorf("two calls begin at %d", l.enter)
		}
		begun[l.enter] = true
		if l.exit-l.enter < 1<<20 || l.exit < l.enter {
			t.Errorf("%+v", l)
		}
	}
	if s.longs == 0 || s.longs > 5*66+1 {
		t.Errorf("%d long calls", s.longs)
	}
}

// TestGoExitWords: where a channel has no trees, words say of which site each call was.
func TestGoExitWords(t *testing.T) {
	f := newGoTrees(t, 1<<12, 1)
	binary.NativeEndian.PutUint32(f.channel[320:], 0)
	if s := f.run(t, goKinds[0], nil, "counts"); s.out != "-497890\n" || s.lost != 0 || s.trees != 0 {
		t.Errorf("%+v", s)
	}
	got := f.words()
	want := map[[2]int]int{{0, 1}: 1, {1, 1}: 1, {0, 2}: 1973, {1, 2}: 1973, {0, 3}: 1000, {1, 3}: 1000}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
