package checkpoint

// Bits of a word: tick[39:0] | kind[2:0] | site[20:0].
const (
	tickShift = 24
	kindShift = 21
	siteMask  = uint64(SiteLimit) - 1
	kindMask  = 7
	// Fork is the kind of the control word (site 0) that a thread writes
	// immediately before fork(2).
	Fork Kind = 7
	// Strand is the kind of the control word that tells whose stack the
	// thread's next words belong to. Its site is the strand's number, or with
	// Wide its low 20 bits: then the next word holds the others above the kind.
	Strand Kind = 6
	// Wide is the bit of a strand word's site that says that another follows.
	Wide SiteID = 1 << 20
)

// Word packs an event. Only the low 40 bits of the tick are kept.
func Word(at Tick, kind Kind, site SiteID) uint64 {
	return uint64(at)<<tickShift | uint64(kind&kindMask)<<kindShift | uint64(site)&siteMask
}

// Unpack splits a word; low holds the low 40 bits of the tick.
func Unpack(w uint64) (low uint64, kind Kind, site SiteID) {
	return w >> tickShift, Kind(w >> kindShift & kindMask), SiteID(w & siteMask)
}

// Extend completes the low 40 bits of a tick to the latest full tick that is
// not after now. It is exact while words are read within 2^40 ticks (7 minutes
// at 2.5 GHz) of being written.
func Extend(low uint64, now Tick) Tick {
	t := uint64(now)&^(1<<40-1) | low
	if t > uint64(now) {
		t -= 1 << 40
	}
	return Tick(t)
}
