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
		mine := func() int64 { at += 1000; return at }
		theirs := func() int64 { at += 1000; return at + c.offset }
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
		b.Step(func() int64 { at += 100e6; return at })
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
