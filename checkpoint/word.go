package checkpoint

// A Word is one event as a thread writes it into its chunk. 0 is no word: it
// has not been written yet.
//
//	63                                   24 23   21 20                   0
//	+--------------------------------------+-------+---------------------+
//	|  tick, its low 40 bits               | kind  |  site               |
//	+--------------------------------------+-------+---------------------+
type Word uint64

const (
	tickShift = 24
	kindShift = 21
	siteMask  = Word(SiteLimit) - 1
	kindMask  = 7
	lowTicks  = Tick(1)<<40 - 1 // what a word keeps of its tick
	lowStrand = 20              // bits of a strand's number in a wide strand word
)

const (
	// Fork is the kind of the control word (site 0) that a thread writes
	// immediately before fork(2).
	Fork Kind = 7
	// Strand is the kind of the control word that tells whose stack the
	// thread's next words belong to. Its site is the strand's number, or with
	// Wide its low 20 bits: then the next word holds the others above the kind.
	Strand Kind = 6
	// Wide is the bit of a strand word's site that says that another follows.
	Wide SiteID = 1 << lowStrand
)

// Pack makes the word of an event. Only the low 40 bits of the tick are kept.
func Pack(at Tick, kind Kind, site SiteID) Word {
	return Word(at)<<tickShift | Word(kind&kindMask)<<kindShift | Word(site)&siteMask
}

// Low is what the word has of its event's tick: the low 40 bits.
func (w Word) Low() Tick { return Tick(w >> tickShift) }

// Kind is the kind of the word's event.
func (w Word) Kind() Kind { return Kind(w >> kindShift & kindMask) }

// Site is the site of the word's event.
func (w Word) Site() SiteID { return SiteID(w & siteMask) }

// Tick completes the word's tick to the latest full tick that is not after now.
// It is exact while words are read within 2^40 ticks (7 minutes at 2.5 GHz) of
// being written.
func (w Word) Tick(now Tick) Tick {
	t := now.Era() | w.Low()
	if t > now {
		t -= lowTicks + 1
	}
	return t
}

// TickAfter completes the tick of a word whose thread wrote an event at last
// before it. era is that of the thread's first word; each call gives the era
// for the next word. at is before last where the clock ran backwards.
func (w Word) TickAfter(last, era Tick) (at, next Tick) {
	at = era | w.Low()
	if at < last && last-at > lowTicks/2+1 {
		era += lowTicks + 1
		at += lowTicks + 1
	}
	return at, era
}

// Low is the part of a full tick that words keep.
func (t Tick) Low() Tick { return t & lowTicks }

// Era is the part of a full tick that words do not keep.
func (t Tick) Era() Tick { return t &^ lowTicks }

// IsWide reports whether the number of a strand word goes on in the next word,
// which is none of its own.
func (w Word) IsWide() bool { return w.Kind() == Strand && w.Site()&Wide != 0 }

// Whole is how many of some words are there with their other halves: the second half
// of a wide strand word may not be written yet.
func Whole(words []Word) int {
	wide := 0
	for wide < len(words) && words[len(words)-1-wide].IsWide() {
		wide++
	}
	return len(words) - wide%2
}

// StrandID is the number of the strand of a strand word. rest is the next word,
// which counts only if the word is wide.
func (w Word) StrandID(rest Word) uint64 {
	if !w.IsWide() {
		return uint64(w.Site())
	}
	return WideStrand(uint64(w.Site()), rest)
}

// WideStrand is the number of a strand by the site of a wide strand word and
// the word behind it.
func WideStrand(site uint64, rest Word) uint64 {
	return site&^uint64(Wide) | uint64(rest.Low())<<lowStrand
}
