package gpus

import (
	"maps"
	"math"
	"slices"

	"cg/checkpoint"
	"cg/nemb"
)

// Work is when what ran on a GPU: for each key how long in each slot of time, and how busy it kept the GPU where that
// is known. The keys are the caller's: a kernel that was launched in a call path. The zero Work is empty.
type Work struct {
	slots   map[int64][]portion
	weighed map[int]portion // of each key with a weight, over the whole time
	width   checkpoint.Instant
	n       int // portions
	keys    int // one more than the largest key
	Longest int // portions from which on slots become wider; 0: mostPortions
}

// portion is for how long a key ran in a slot.
type portion struct {
	key    int
	ns     float64
	could  float64 // how long it may have run, but for the flights that cover the slot: ns where that is known
	known  float64 // of ns, where its weight is known
	weight float64 // times known
	step   int     // how many more flights cover this slot from end to end, and those after it, than the slot before
}

func (p *portion) add(o portion, part float64) {
	p.ns, p.known, p.weight = p.ns+o.ns*part, p.known+o.known*part, p.weight+o.weight*part
	p.could += o.could * part
	p.step += o.step
}

// limit bounds for how long it may have run by the length of its slot, or by how long it ran: several may have run at
// once.
func (p *portion) limit(width float64) {
	if p.could > p.ns {
		p.could = max(p.ns, min(p.could, width))
	}
}

// Flight is when a key is thought to have run, within the time in which it may have: From and To lie between Since and
// Done.
type Flight struct{ From, To, Since, Done checkpoint.Instant }

// AddWithin adds a time in which a key is thought to have run. What it takes does not depend on how long the time is in
// which it may have.
func (w *Work) AddWithin(key int, f Flight) {
	w.add(key, f.From, f.To, func(ns float64) portion { return portion{key: key, ns: ns} })
	if w.slots == nil || f.Done <= f.Since {
		return
	}
	could := func(ns float64) portion { return portion{key: key, could: ns} }
	first := int64((f.Since + w.width - 1) / w.width) // the slots that it covers from end to end
	end := int64(f.Done / w.width)
	if end <= first {
		w.add(key, f.Since, f.Done, could)
		return
	}
	since, done := checkpoint.Instant(first)*w.width, checkpoint.Instant(end)*w.width
	w.put(first, portion{key: key, step: 1})
	w.put(end, portion{key: key, step: -1})
	w.add(key, f.Since, since, could)
	w.add(key, done, f.Done, could)
	w.fit()
}

// Slots are of this width at first: a small part of the time between two updates of a counter.
const firstWidth = 10_000_000 // ns

// mostPortions bounds the memory of a Work: beyond it slots become twice as wide.
const mostPortions = 1 << 21

// Add adds a time in which a key ran.
func (w *Work) Add(key int, from, to checkpoint.Instant) { w.AddWeighed(key, from, to, math.NaN()) }

// AddWeighed adds a time in which a key ran and kept the GPU busy by a weight, NaN where that is not known. Weights are
// compared with each other alone.
func (w *Work) AddWeighed(key int, from, to checkpoint.Instant, weight float64) {
	known := 1.0
	if math.IsNaN(weight) || math.IsInf(weight, 0) || weight < 0 {
		known, weight = 0, 0
	} else if w.weighed == nil {
		w.weighed = map[int]portion{}
	}
	of := func(ns float64) portion {
		return portion{key: key, ns: ns, could: ns, known: ns * known, weight: ns * weight}
	}
	if known > 0 && to > from {
		all := w.weighed[key]
		all.add(of(float64(to-from)), 1)
		w.weighed[key] = all
	}
	w.add(key, from, to, of)
}

func (w *Work) add(key int, from, to checkpoint.Instant, of func(ns float64) portion) {
	if w.slots == nil {
		w.slots, w.width = map[int64][]portion{}, firstWidth
	}
	w.keys = max(w.keys, key+1)
	for from < to {
		slot := int64(from / w.width)
		end := min(to, checkpoint.Instant(slot+1)*w.width)
		w.put(slot, of(float64(end-from)))
		from = end
		w.fit()
	}
}

func (w *Work) put(slot int64, p portion) {
	all := w.slots[slot]
	if i := slices.IndexFunc(all, func(o portion) bool { return o.key == p.key }); i >= 0 {
		all[i].add(p, 1)
		all[i].limit(float64(w.width))
		return
	}
	w.slots[slot] = append(all, p)
	w.n++
}

// fit makes slots wider until there are no more portions than there may be.
func (w *Work) fit() {
	most := w.Longest
	if most == 0 {
		most = mostPortions
	}
	for w.n > most && w.width < 1<<40 {
		w.widen()
	}
}

// widen makes a slot of each two. Flights that cover only one of two from end to end do not cover the wider one: their
// time is put into that one of the two first.
func (w *Work) widen() {
	for slot, all := range maps.Clone(w.slots) {
		for _, p := range all {
			alone := slot
			if p.step < 0 {
				alone--
			}
			if slot&1 != 0 && p.step != 0 {
				w.put(alone, portion{key: p.key, could: float64(w.width) * math.Abs(float64(p.step))})
			}
		}
	}
	old := w.slots
	w.slots, w.n, w.width = map[int64][]portion{}, 0, 2*w.width
	for slot, all := range old {
		for _, p := range all {
			if slot&1 != 0 && p.step > 0 {
				w.put(slot/2+1, portion{key: p.key, step: p.step})
				p.step = 0
			}
			w.put(slot/2, p)
		}
	}
}

// IsWeighed tells whether a weight of something is known.
func (w *Work) IsWeighed() bool { return len(w.weighed) > 0 }

// Part is what a key used, with bounds, in microjoules.
type Part struct {
	Energy nemb.Energy
	Lo, Hi float64
}

// ByWork divides the program's part of the energy of a GPU among what of it ran there, by the time for which it ran
// between two updates of the counter, times its weight where that is known. rest is what was used while nothing of it
// ran. Bounds are those of the division, of what ran in the same time drawing different powers, none of them more than
// the highest that was seen, and of the counter's updates.
func (d *Division) ByWork(c Curve, w *Work) (parts []Part, rest nemb.Energy) {
	numbers := func() []float64 { return make([]float64, w.keys) }
	v := byWork{division: d, curve: c, work: w, swept: w.sweep(), energy: numbers(), lo: numbers(), hi: numbers(),
		squares: numbers()}
	v.windows()
	for _, of := range v.all {
		if of.busy >= of.length/2 {
			v.step = max(v.step, of.energy/of.busy)
			if !of.isGuessed() {
				v.most = max(v.most, of.energy/of.busy)
			}
		}
	}
	before := map[int]float64{}
	for _, of := range v.all {
		before = v.divide(of, before)
	}
	shares := nemb.Split(d.Program, append([]float64{v.rest}, v.energy...))
	loss, gain := 1.0, 1.0
	if d.Program > 0 {
		loss, gain = d.ProgramLo/float64(d.Program), d.ProgramHi/float64(d.Program)
	}
	for k, e := range shares[1:] {
		off := math.Sqrt(v.squares[k])
		parts = append(parts, Part{e, max(0, min(float64(e), v.lo[k]*loss-off)), max(float64(e), v.hi[k]*gain+off)})
	}
	return parts, d.Program - sum(parts)
}

func sum(parts []Part) (e nemb.Energy) {
	for _, p := range parts {
		e += p.Energy
	}
	return e
}

// byWork is a division under way.
type byWork struct {
	division *Division
	curve    Curve
	work     *Work
	swept    *sweep
	all      []workWindow
	most     float64 // the highest power that was seen while something ran for a known time, uJ/ns
	step     float64 // the highest one, also of guessed times

	energy, lo, hi, squares []float64 // by key
	rest                    float64
}

// workWindow is a time between two updates of the counter, within a span of the division.
type workWindow struct {
	length, energy float64 // ns, uJ of the program
	busy, could    float64 // ns of all keys: for which they ran, and may have run
	ran            map[int]portion
}

// isGuessed reports whether it is not known for how long the keys ran in it.
func (w workWindow) isGuessed() bool { return w.could > 1.05*w.busy }

// windows divides what the program had in each span among the windows in it, by the energy above idle power.
func (v *byWork) windows() {
	idle := v.division.IdlePower.Power * 1e-3 // uJ/ns
	for _, p := range v.division.parts {
		edges := []float64{float64(p.from)}
		for _, k := range v.knotsIn(p) {
			edges = append(edges, k.At)
		}
		edges = append(edges, float64(p.to))
		weights, sum := make([]float64, len(edges)-1), 0.0
		for i := range weights {
			length := edges[i+1] - edges[i]
			weights[i] = max(0, (v.curve.at(edges[i+1])-v.curve.at(edges[i]))*1e6-idle*length)
			sum += weights[i]
		}
		for i, weight := range weights {
			of := workWindow{length: edges[i+1] - edges[i], ran: v.swept.between(edges[i], edges[i+1])}
			if of.energy = p.program * of.length / float64(p.to-p.from); sum > 0 {
				of.energy = p.program * weight / sum
			}
			for _, ran := range of.ran {
				of.busy += ran.ns
				of.could += ran.could
			}
			v.all = append(v.all, of)
		}
	}
}

// knotsIn are the updates of the counter inside a span.
func (v *byWork) knotsIn(p part) []nemb.Knot {
	k := v.curve.Knots
	at := func(t checkpoint.Instant) int {
		i, _ := slices.BinarySearchFunc(k, float64(t), func(k nemb.Knot, t float64) int {
			if k.At < t {
				return -1
			}
			return 1
		})
		return i
	}
	from, to := at(p.from+1), at(p.to)
	if to <= from {
		return nil
	}
	return k[from:to]
}

// divide divides the energy of a window. before is what part of the window before each key had.
func (v *byWork) divide(of workWindow, before map[int]float64) (part map[int]float64) {
	part = map[int]float64{}
	if of.busy <= 0 {
		v.rest += of.energy
		for k := range of.ran { // which may have run here
			v.hi[k] += of.energy
		}
	} else {
		most := max(v.most, of.energy/of.busy)
		part = v.parts(of)
		for k, ran := range of.ran {
			own := of.energy * part[k] // by its weight it may be beyond what is known of all together
			v.energy[k] += own
			lo, hi := of.energy-most*(of.could-ran.could), most*ran.could
			if of.isGuessed() { // what ran may have drawn more than is seen, for a shorter time
				if lo, hi = 0, of.energy; of.could-ran.could <= 0 {
					lo = of.energy
				}
			}
			v.lo[k] += min(own, max(0, lo))
			v.hi[k] += max(own, min(of.energy, hi))
		}
	}
	step := func(k int) {
		off := (part[k] - before[k]) * v.step * float64(v.curve.Period)
		v.squares[k] += off * off
	}
	for k := range part {
		step(k)
	}
	for k := range before {
		if _, both := part[k]; !both {
			step(k)
		}
	}
	return part
}

// parts are the keys' parts of a window: by time, and among those whose weight is known by weight and time.
func (v *byWork) parts(of workWindow) map[int]float64 {
	part, weights := map[int]float64{}, map[int]float64{}
	time, sum := 0.0, 0.0
	for k, ran := range of.ran {
		part[k] = ran.ns / of.busy
		all := v.work.weighed[k]
		if ran.known >= ran.ns/2 { // of the time itself; else of the key at other times
			all = ran
		}
		if all.known > 0 {
			weights[k] = ran.ns * all.weight / all.known
			time += ran.ns
			sum += weights[k]
		}
	}
	for k, w := range weights {
		if sum > 0 {
			part[k] = time / of.busy * w / sum
		}
	}
	return part
}
