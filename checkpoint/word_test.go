package checkpoint

import "testing"

const era = Tick(1) << 40 // after so many ticks the low bits are the same again

func TestWord(t *testing.T) {
	for _, c := range []struct {
		at   Tick
		kind Kind
		site SiteID
	}{{1, Enter, 1}, {era - 1, Exit, SiteLimit - 1}, {1<<63 + 12345, Unwind, 77}, {5, Fork, 0}} {
		w := Pack(c.at, c.kind, c.site)
		if w == 0 || w.Low() != c.at%era || w.Kind() != c.kind || w.Site() != c.site {
			t.Errorf("%+v: %x -> %d %v %d", c, w, w.Low(), w.Kind(), w.Site())
		}
	}
}

func FuzzWord(f *testing.F) {
	f.Add(uint64(1), uint8(0), uint32(1))
	f.Fuzz(func(t *testing.T, at uint64, kind uint8, site uint32) {
		k, s := Kind(kind&kindMask), SiteID(site)%SiteLimit
		w := Pack(Tick(at), k, s)
		if w.Low() != Tick(at)%era || w.Kind() != k || w.Site() != s {
			t.Errorf("%d %v %d", w.Low(), w.Kind(), w.Site())
		}
		if got := w.Tick(Tick(at)); got != Tick(at) {
			t.Errorf("the tick at %d is %d", at, got)
		}
		if got, next := w.TickAfter(Tick(at), Tick(at).Era()); got != Tick(at) || next != Tick(at).Era() {
			t.Errorf("the tick at %d is %d, the era behind it %d", at, got, next)
		}
	})
}

func TestWordTick(t *testing.T) {
	for _, c := range []struct{ low, now, want Tick }{
		{5, 7, 5},
		{5, 5, 5},
		{5, era + 7, era + 5},
		{era - 1, era + 7, era - 1},
		{8, era + 7, 8},
	} {
		if got := Pack(c.low, Enter, 1).Tick(c.now); got != c.want {
			t.Errorf("%d at %d is %d, want %d", c.low, c.now, got, c.want)
		}
	}
}

func TestWordTickAfter(t *testing.T) {
	for _, c := range []struct {
		name                     string
		low, last, era, at, next Tick
	}{
		{"later", 9, 7, 0, 9, 0},
		{"at the same tick", 7, 7, 0, 7, 0},
		{"a clock that ran backwards", 5, 7, 0, 5, 0},
		{"half an era backwards", 5, 5 + era/2, 0, 5, 0},
		{"the low bits have wrapped", 5, era - 2, 0, era + 5, era},
		{"again", 5, 3*era - 2, 2 * era, 3*era + 5, 3 * era},
		{"last is of a later era than the first word", 7, era + 5, 0, era + 7, era},
		{"last is of an earlier era", 7, era - 5, era, era + 7, era},
	} {
		at, next := Pack(c.low, Enter, 1).TickAfter(c.last, c.era)
		if at != c.at || next != c.next {
			t.Errorf("%s: %d, then %d; want %d, then %d", c.name, at, next, c.at, c.next)
		}
	}
}

func TestStrandID(t *testing.T) {
	rest := Pack(3, Strand, Wide)
	for _, c := range []struct {
		w    Word
		wide bool
		want uint64
	}{
		{Pack(9, Strand, 0), false, 0},
		{Pack(9, Strand, 5), false, 5},
		{Pack(9, Strand, Wide-1), false, 1<<20 - 1},
		{Pack(9, Strand, Wide|5), true, 3<<20 | 5},
		{Pack(9, Enter, Wide|5), false, 1<<20 | 5}, // of no strand
	} {
		if got := c.w.StrandID(rest); got != c.want || c.w.IsWide() != c.wide {
			t.Errorf("%x: %d, wide %v; want %d, %v", c.w, got, c.w.IsWide(), c.want, c.wide)
		}
	}
}

// The first half of a wide strand word waits for the second.
func TestWhole(t *testing.T) {
	wide, plain := Pack(1, Strand, Wide|5), Pack(1, Enter, 1)
	for _, c := range []struct {
		words []Word
		want  int
	}{
		{nil, 0}, {[]Word{plain}, 1}, {[]Word{plain, wide}, 1}, {[]Word{plain, wide, wide}, 3},
		{[]Word{wide, wide, wide}, 2}, {[]Word{wide, plain}, 2},
	} {
		if got := Whole(c.words); got != c.want {
			t.Errorf("%v: %d, want %d", c.words, got, c.want)
		}
	}
}
