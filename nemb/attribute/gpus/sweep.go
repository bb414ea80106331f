package gpus

import (
	"maps"
	"math"
	"slices"
)

// sweep goes through the slots of a Work in their order, and knows which keys may have run in each. It is to be asked
// about one time after the other: one that begins earlier is looked for from the beginning.
type sweep struct {
	work  *Work
	slots []int64     // that have portions, ascending
	next  int         // of slots, the first whose steps are not in cover
	cover map[int]int // by key, the flights that cover the slot before next from end to end; none is 0
}

func (w *Work) sweep() *sweep {
	return &sweep{work: w, slots: slices.Sorted(maps.Keys(w.slots)), cover: map[int]int{}}
}

// between is for how long each key ran between two moments: in proportion where a slot lies in it in part; nil where
// none did.
func (s *sweep) between(from, to float64) (sums map[int]portion) {
	if len(s.slots) == 0 || to <= from {
		return nil
	}
	width := float64(s.work.width)
	slot, past := int64(from/width), int64(math.Ceil(to/width))
	if s.next > 0 && s.slots[s.next-1] > slot {
		s.next = 0
		clear(s.cover)
	}
	s.forward(slot)
	sums = map[int]portion{}
	for slot < past {
		end := slot + 1 // slots from slot on that are alike
		own := s.next > 0 && s.slots[s.next-1] == slot
		if !own {
			if end = past; s.next < len(s.slots) {
				end = min(end, s.slots[s.next])
			}
		}
		inside := min(to, float64(end)*width) - max(from, float64(slot)*width)
		if own {
			s.addPortions(sums, s.work.slots[slot], inside/width)
		} else {
			for key := range s.cover {
				add(sums, portion{key: key, could: width}, inside/width)
			}
		}
		slot = end
		s.forward(slot)
	}
	if len(sums) == 0 {
		return nil
	}
	return sums
}

// forward takes the steps up to a slot, that one included.
func (s *sweep) forward(slot int64) {
	for ; s.next < len(s.slots) && s.slots[s.next] <= slot; s.next++ {
		for _, p := range s.work.slots[s.slots[s.next]] {
			if s.cover[p.key] += p.step; s.cover[p.key] == 0 {
				delete(s.cover, p.key)
			}
		}
	}
}

// addPortions adds a part of a slot that has portions of its own.
func (s *sweep) addPortions(sums map[int]portion, portions []portion, part float64) {
	width := float64(s.work.width)
	own := make(map[int]bool, len(portions))
	for _, p := range portions {
		own[p.key] = true
		p.could += float64(s.cover[p.key]) * width
		p.limit(width)
		if p.ns > 0 || p.could > 0 { // else it is the end of flights alone
			add(sums, p, part)
		}
	}
	for key := range s.cover {
		if !own[key] {
			add(sums, portion{key: key, could: width}, part)
		}
	}
}

func add(sums map[int]portion, p portion, part float64) {
	all := sums[p.key]
	all.add(p, part)
	sums[p.key] = all
}
