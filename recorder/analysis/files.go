package analysis

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// File is what was done with a file, over all ranks.
type File struct {
	Name string `json:"name"`
	Data
	ReadMB  float64 `json:"read_mib_per_s"`
	WriteMB float64 `json:"write_mib_per_s"`
	Reads   uint64  `json:"reads"`
	Writes  uint64  `json:"writes"`
	Ranks   int     `json:"ranks"`
	// Overlaps are null where there were too many accesses to compare.
	Overlaps *Overlaps `json:"overlaps"`
	// Points are some of its accesses, evenly chosen; all of them if Every is 1.
	Points []Point `json:"points"`
	Every  uint64  `json:"points_every"`
	Energy *Energy `json:"energy"`

	sum   joule
	seen  uint64
	last  int32 // rank that was counted
	count bool  // it has data
}

// Overlaps count accesses that overlap the next one by offset, by what the later one of
// the two does (read after write, ...), of the same rank and of different ranks.
type Overlaps struct {
	RARSame  uint64 `json:"rar_same_rank"`
	RAWSame  uint64 `json:"raw_same_rank"`
	WAWSame  uint64 `json:"waw_same_rank"`
	WARSame  uint64 `json:"war_same_rank"`
	RAROther uint64 `json:"rar_different_rank"`
	RAWOther uint64 `json:"raw_different_rank"`
	WAWOther uint64 `json:"waw_different_rank"`
	WAROther uint64 `json:"war_different_rank"`
}

// Point is an access: who, when in seconds, and which bytes.
type Point struct {
	Rank   int     `json:"rank"`
	From   float64 `json:"from_s"`
	To     float64 `json:"to_s"`
	Offset int64   `json:"offset"`
	Count  int64   `json:"count"`
	Read   bool    `json:"read"`
}

// Patterns are how accesses follow each other in a file: where the one before ended
// (consecutive), behind it (sequential), or before (random).
type Patterns struct {
	// Files are of all accesses of a file by their beginnings, whatever their rank, as
	// recorder-viz has it; null where there were too many.
	Files *Pattern `json:"by_file"`
	// Ranks are of the accesses of each rank by itself.
	Ranks Pattern `json:"by_rank"`
	// OverlapsOf is what overlaps are counted of: accesses, or runs of consecutive ones.
	OverlapsOf string `json:"overlaps_of"`
}

// Pattern counts pairs of accesses.
type Pattern struct {
	Consecutive uint64 `json:"consecutive"`
	Sequential  uint64 `json:"sequential"`
	Random      uint64 `json:"random"`
}

func (p *Pattern) add(ended, begins int64) {
	switch {
	case ended == begins:
		p.Consecutive++
	case ended < begins:
		p.Sequential++
	default:
		p.Random++
	}
}

// Size is how many accesses have a size.
type Size struct {
	Bytes int64  `json:"bytes"`
	Count uint64 `json:"count"`
}

// access is one of a rank to a file. Times are ticks.
type access struct {
	file, rank     int32
	from, to       int64
	offset, length int64
	read           bool
}

// place is where a rank is in a file.
type place struct {
	stamp   int32
	named   int32 // the last rank that opened or closed it
	at, end int64
	ended   int64 // of the last access
	any     bool
	run     [2]int // last run of consecutive reads and writes, -1 for none
}

// files collects what is done with files.
type files struct {
	ids    map[string]int32
	all    []*File
	places []place
	stamp  int32
	named  []int32 // files that the rank opens or closes
	// exact are all accesses, and runs those where consecutive ones are one; nil beyond the
	// limit.
	exact, runs           []access
	manyExact, manyRuns   bool
	byRank                Pattern
	sizes                 [2]map[int64]*uint64
	points                int
	leftSizes, leftPoints uint64
}

func newFiles() files {
	return files{ids: map[string]int32{}, sizes: [2]map[int64]*uint64{{}, {}}}
}

// others is the file that stands for those beyond the limit.
const others = "other files"

// file is the number of a file.
func (a *reader) file(name string) int32 {
	f := &a.files
	if id, known := f.ids[name]; known {
		return id
	}
	if len(f.all) >= maxFiles || !a.room(name) {
		a.left["files"]++
		name = others
		if id, known := f.ids[name]; known {
			return id
		}
	}
	name = strings.Clone(name) // without the table that it is of
	id := int32(len(f.all))
	f.ids[name] = id
	f.all = append(f.all, &File{Name: name, Points: []Point{}, Every: 1, last: -1})
	f.places = append(f.places, place{})
	return id
}

// begin begins a rank.
func (f *files) begin() {
	f.stamp++
	f.named = f.named[:0]
}

// name notes that the rank opens or closes a file.
func (f *files) name(id int32) {
	if p := &f.places[id]; p.named != f.stamp {
		p.named = f.stamp
		f.named = append(f.named, id)
	}
}

// call takes in a call on a file.
func (f *files) call(x access, o *op, seconds float64) {
	file, p := f.all[x.file], &f.places[x.file]
	if p.stamp != f.stamp {
		*p = place{stamp: f.stamp, named: p.named, run: [2]int{-1, -1}}
	}
	switch o.kind {
	case opening:
		file.MetaS += seconds
		if p.at = 0; o.end {
			p.at = p.end
		}
		return
	case closing:
		file.MetaS += seconds
		return
	case seeking:
		file.MetaS += seconds
		switch o.whence {
		case 0:
			p.at = o.count
		case 1:
			p.at += o.count
		case 2:
			p.at = p.end + o.count
		}
		return
	}
	x.offset, x.length, x.read = p.at, o.count, o.kind == reading
	if o.at {
		x.offset = o.offset + o.slope*int64(x.rank)
	} else {
		p.at += o.count
	}
	p.end = max(p.end, x.offset+x.length)
	f.access(file, p, x, o, seconds)
}

// access takes in an access to a file.
func (f *files) access(file *File, p *place, x access, o *op, seconds float64) {
	which := 0
	if x.read {
		file.ReadBytes, file.ReadS, file.Reads = file.ReadBytes+x.length, file.ReadS+seconds, file.Reads+1
	} else {
		file.WrittenBytes, file.WriteS, file.Writes = file.WrittenBytes+x.length, file.WriteS+seconds, file.Writes+1
		which = 1
	}
	file.count = true
	if file.last != x.rank {
		file.last = x.rank
		file.Ranks++
	}
	if o.size == nil {
		o.size = f.size(which, x.length)
	}
	*o.size++
	if p.any {
		f.byRank.add(p.ended, x.offset)
	}
	p.any, p.ended = true, x.offset+x.length
	if !f.manyExact {
		if f.exact = append(f.exact, x); len(f.exact) > maxIntervals {
			f.exact, f.manyExact = nil, true
		}
	}
	if !f.manyRuns {
		at := p.run[which]
		if at >= 0 && f.runs[at].offset+f.runs[at].length == x.offset {
			f.runs[at].length += x.length
			f.runs[at].to = x.to
		} else {
			p.run[which] = len(f.runs)
			if f.runs = append(f.runs, x); len(f.runs) > maxIntervals {
				f.runs, f.manyRuns = nil, true
			}
		}
	}
	f.point(file, x)
}

// size is where the reads or writes of a size are counted; those beyond the limit have one place.
func (f *files) size(which int, length int64) *uint64 {
	sizes := f.sizes[which]
	if n := sizes[length]; n != nil {
		return n
	}
	if len(sizes) >= maxSizes {
		return &f.leftSizes
	}
	sizes[length] = new(uint64)
	return sizes[length]
}

// point keeps every n-th access of a file for its picture.
func (f *files) point(file *File, x access) {
	n := file.seen
	file.seen++
	if n%file.Every != 0 {
		return
	}
	if f.points >= maxPoints {
		f.leftPoints++
		return
	}
	if len(file.Points) == maxFilePoint {
		kept := file.Points[:0]
		for i := 0; i < maxFilePoint; i += 2 {
			kept = append(kept, file.Points[i])
		}
		f.points -= maxFilePoint - len(kept)
		file.Points = kept
		if file.Every *= 2; n%file.Every != 0 {
			return
		}
	}
	f.points++
	file.Points = append(file.Points, Point{Rank: int(x.rank), From: float64(x.from), To: float64(x.to),
		Offset: x.offset,
		Count:  x.length, Read: x.read})
}

// finish makes the sections that are of files.
func (f *files) finish(a *reader) {
	out := a.out
	out.Patterns = Patterns{Ranks: f.byRank, OverlapsOf: "accesses"}
	all := f.exact
	if f.manyExact {
		all, out.Patterns.OverlapsOf = f.runs, "runs"
	}
	slices.SortStableFunc(all, func(x, y access) int {
		return cmp.Or(cmp.Compare(x.file, y.file), cmp.Compare(x.from, y.from))
	})
	if !f.manyExact {
		out.Patterns.Files = &Pattern{}
		for i := 1; i < len(all); i++ {
			if x, y := all[i-1], all[i]; x.file == y.file {
				out.Patterns.Files.add(x.offset+x.length, y.offset)
			}
		}
	}
	if !f.manyExact || !f.manyRuns {
		slices.SortStableFunc(all, func(x, y access) int {
			return cmp.Or(cmp.Compare(x.file, y.file), cmp.Compare(x.offset, y.offset))
		})
		for _, file := range f.all {
			file.Overlaps = &Overlaps{}
		}
		for i := 1; i < len(all); i++ {
			if x, y := all[i-1], all[i]; x.file == y.file && x.offset+x.length > y.offset {
				f.all[x.file].Overlaps.add(x, y)
			}
		}
	} else {
		out.Patterns.OverlapsOf = ""
	}
	if f.leftSizes > 0 {
		a.left["sizes"] = f.leftSizes
	}
	a.left["accesses drawn"] = f.leftPoints
	out.Files = []File{}
	for _, file := range f.all {
		if !file.count {
			continue
		}
		for i := range file.Points {
			p := &file.Points[i]
			p.From, p.To = a.trace.Seconds(int64(p.From)), a.trace.Seconds(int64(p.To))
		}
		file.ReadMB, file.WriteMB = file.ReadMBs(), file.WriteMBs()
		file.Energy = a.energy.of(file.sum)
		out.Files = append(out.Files, *file)
	}
	slices.SortStableFunc(out.Files, func(x, y File) int {
		return cmp.Or(cmp.Compare(y.ReadBytes+y.WrittenBytes, x.ReadBytes+x.WrittenBytes), cmp.Compare(x.Name, y.Name))
	})
	out.ReadSizes, out.WriteSizes = sizesOf(f.sizes[0]), sizesOf(f.sizes[1])
}

func sizesOf(m map[int64]*uint64) []Size {
	out := []Size{}
	for _, bytes := range slices.Sorted(maps.Keys(m)) {
		out = append(out, Size{bytes, *m[bytes]})
	}
	return out
}

// add counts two accesses that overlap.
func (o *Overlaps) add(x, y access) {
	if y.from < x.from {
		x, y = y, x
	}
	counts := map[[3]bool]*uint64{ // the earlier reads, the later reads, same rank
		{true, true, true}: &o.RARSame, {false, true, true}: &o.RAWSame, {false, false, true}: &o.WAWSame,
		{true, false, true}: &o.WARSame, {true, true, false}: &o.RAROther, {false, true, false}: &o.RAWOther,
		{false, false, false}: &o.WAWOther, {true, false, false}: &o.WAROther,
	}
	*counts[[3]bool{x.read, y.read, x.rank == y.rank}]++
}
