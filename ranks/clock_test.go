package ranks

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Two nodes whose clocks differ: the offset lies in every bound, however long each of them
// takes to look.
func TestClocks(t *testing.T) {
	for _, c := range []struct {
		what   string
		offset int64 // the reference's clock less the node's, ns
		pause  int64 // between two steps of the node
	}{
		{"equal", 0, 1e6}, {"an hour ahead", 3600e9, 1e6}, {"behind", -7e9, 1e6}, {"slow looks", 5e9, 300e6},
	} {
		dir := t.TempDir()
		a, err := NewExchange(dir, "a", "a-1")
		if err != nil {
			t.Fatal(err)
		}
		b, err := NewExchange(dir, "b", "b-2")
		if err != nil {
			t.Fatal(err)
		}
		at := int64(1e18) // the node's clock
		a.ntp = func() (int64, bool) { return 0, false }
		mine := Clocks{Wall: func() int64 { at += 1000; return at }, Steady: func() int64 { return at - 1e18 }}
		theirs := Clocks{Wall: func() int64 { at += 1000; return at + c.offset }, Steady: mine.Steady}
		for range 200 {
			b.Step(mine)
			at += c.pause / 2
			a.Step(theirs)
			at += c.pause / 2
		}
		if got := a.Offsets(); len(got) != 0 {
			t.Errorf("%s: the reference has offsets: %+v", c.what, got)
		}
		all := b.Offsets()
		if len(all) == 0 {
			t.Fatalf("%s: no offsets", c.what)
		}
		for _, o := range all {
			if o.Method != ByPing || o.Reference != "a" || *o.LoNs > c.offset || *o.HiNs < c.offset ||
				*o.HiNs-*o.LoNs > 2*int64(slow)+2*c.pause {
				t.Errorf("%s: %s, %d to %d ns, want %d in it", c.what, o.Method, *o.LoNs, *o.HiNs, c.offset)
			}
		}
		b.Close()
		if left, _ := filepath.Glob(filepath.Join(dir, "*.p?ng")); len(left) > 0 {
			t.Errorf("%s: left: %q", c.what, left)
		}
	}
}

// Where nobody answers, the kernel's own bound counts, and where it has none, nothing
// bounds the clock.
func TestClocksAlone(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "reference"), []byte(`"a-1"`), 0o644); err != nil {
		t.Fatal(err)
	}
	b, err := NewExchange(dir, "b", "b-2")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(0, 1e18).UnixNano()
	for range 100 {
		b.Step(Clocks{Wall: func() int64 { return at }, Steady: func() int64 { at += 100e6; return at - 1e18 }})
	}
	b.ntp = func() (int64, bool) { return 16000, true }
	if o := b.Offsets(); len(o) != 1 || o[0].Method != ByNTP || o[0].Reference != "UTC" || *o[0].LoNs != -16000 ||
		*o[0].HiNs != 16000 {
		t.Errorf("got %+v", o)
	}
	b.ntp = func() (int64, bool) { return 0, false }
	if o := b.Offsets(); len(o) != 1 || o[0].Method != ByNobody || o[0].LoNs != nil || o[0].HiNs != nil {
		t.Errorf("got %+v", o)
	}
}

// The last exchange sees how far a clock has drifted since the first; one that was made just
// now is enough; and who has no reference any more does not wait for it.
func TestLastExchange(t *testing.T) {
	dir := t.TempDir()
	a, err := NewExchange(dir, "a", "a-1")
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewExchange(dir, "b", "b-2")
	if err != nil {
		t.Fatal(err)
	}
	at, offset := int64(1e18), int64(5e6)
	mine := Clocks{Wall: func() int64 { at += 1000; return at }, Steady: func() int64 { return at - 1e18 }}
	theirs := Clocks{Wall: func() int64 { at += 1000; return at + offset }, Steady: mine.Steady}
	both := func() { at += 1e6; b.Step(mine); a.Step(theirs) }
	for range 200 {
		both()
	}
	began := at
	b.Finish(mine, func() { t.Error("an exchange was made just now") })
	if len(b.Offsets()) != 1 || at-began > 1e6 {
		t.Errorf("%d offsets, %d ns later", len(b.Offsets()), at-began)
	}
	at, offset = at+5e9, 9e6
	b.Finish(mine, func() { at += 1e6; a.Step(theirs) })
	all := b.Offsets()
	if len(all) != 2 || *all[0].LoNs > 5e6 || *all[0].HiNs < 5e6 || *all[1].LoNs > 9e6 || *all[1].HiNs < 9e6 {
		t.Fatalf("%+v", all)
	}
	began = at
	a.Finish(theirs, func() { at += 1e6 }) // b has not left
	if took := at - began; took < int64(lingering) || took > int64(lingering)+1e7 {
		t.Errorf("the reference lingers for %d ns", took)
	}
	ended := filepath.Join(dir, endedName)
	if _, err := os.Stat(ended); err == nil {
		t.Error("the reference has ended, and may go on")
	}
	a.Close()
	if again, err := NewExchange(dir, "a", "a-1"); err != nil || !again.mine { // of another measurer
		t.Fatal(again, err)
	}
	if _, err := os.Stat(ended); err == nil {
		t.Error("the reference has ended, and goes on")
	}
	a.Close()
	at += 5e9
	began = at
	b.Finish(mine, func() { t.Error("nobody answers") })
	if at-began > 1e6 {
		t.Errorf("waited for %d ns", at-began)
	}
	b.Close()
	began = at
	a.Finish(theirs, func() { t.Error("nobody is left") })
	if at-began > 1e6 {
		t.Errorf("the reference lingers for %d ns", at-began)
	}
}

// A clock that is set meanwhile makes nobody wait longer, and both of its offsets are bounded.
func TestClockThatIsSet(t *testing.T) {
	for _, by := range []int64{-3600e9, 3600e9} {
		dir := t.TempDir()
		a, err := NewExchange(dir, "a", "a-1")
		if err != nil {
			t.Fatal(err)
		}
		b, err := NewExchange(dir, "b", "b-2")
		if err != nil {
			t.Fatal(err)
		}
		at, set := int64(0), int64(0)
		steady := func() int64 { return at }
		mine := Clocks{Wall: func() int64 { at += 1000; return 1e18 + at + set }, Steady: steady}
		theirs := Clocks{Wall: func() int64 { at += 1000; return 1e18 + at + set }, Steady: steady}
		for range 200 {
			at += 1e6
			b.Step(mine)
			a.Step(theirs)
		}
		theirs.Wall = func() int64 { at += 1000; return 1e18 + at }
		set = by
		for range 11_000 { // 11 s: another exchange
			at += 1e6
			b.Step(mine)
			a.Step(theirs)
		}
		all := b.Offsets()
		if len(all) != 2 || *all[0].LoNs > 0 || *all[0].HiNs < 0 || *all[1].LoNs > -by || *all[1].HiNs < -by {
			t.Errorf("set by %d ns: %+v", by, all)
		}
		at, set = at+5e9, set-by
		began := at
		b.Finish(mine, func() { at += 1e6; set += by / 100 }) // nobody answers
		if took := at - began; took > int64(lastWait)+2e7 {
			t.Errorf("set by %d ns: the last exchange took %d ns", by, took)
		}
		began = at
		a.Finish(theirs, func() { at += 1e6; set += by / 100 })
		if took := at - began; took > int64(lingering)+2e7 {
			t.Errorf("set by %d ns: the reference lingers for %d ns", by, took)
		}
	}
}

// The reference tells what its kernel knows, so that nodes that it never answered can be held
// against it.
func TestClockOfTheReference(t *testing.T) {
	a, err := NewExchange(t.TempDir(), "a", "a-1")
	if err != nil {
		t.Fatal(err)
	}
	a.ntp = func() (int64, bool) { return 7000, true }
	if o := a.Offsets(); len(o) != 1 || o[0].Method != ByNTP || *o[0].HiNs != 7000 {
		t.Errorf("%+v", o)
	}
	a.ntp = func() (int64, bool) { return 0, false }
	if o := a.Offsets(); len(o) != 0 {
		t.Errorf("%+v", o)
	}
}
