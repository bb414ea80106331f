package kernels

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"cg/checkpoint"
	"cg/nemb/attribute/gpus"
	"cg/pmsampling/beside"
	"cg/pmsampling/cupti"
)

// Kinds of records (runtimes/native/kernels.c).
const (
	recordText = iota + 1
	recordDevice
	recordName
	recordPath
	recordActivity
	recordLost
	recordRange
	recordRanged
	recordLaunches
)

// magic is the begin of a datagram.
const magic = "CGK1"

// Limits of what is kept, whatever programs send. The library has those of devices, names and paths for each process.
// Beyond them activities are lost.
const (
	mostActivities = 1 << 17
	mostInRanges   = mostActivities / 2 // beyond it the range of a new one is not told
	mostRefused    = 8
	mostSites      = 512
	mostProcesses  = 1 << 10
	mostDevices    = 64 // and GPUs
	mostNames      = 1 << 14
	mostPaths      = 1 << 16
	mostBytes      = 1 << 26 // of the names and paths of all processes together
	mostRanges     = 1 << 12
	mostSpans      = 1 << 16 // of all ranges together: beyond it one has none
)

// state is what has been read.
type state struct {
	gpus      []*GPU
	byUUID    map[string]*GPU
	processes map[uint32]*process
	paths     map[string][]checkpoint.SiteID // by their bytes: those of several processes are one
	keys      map[key]*Activity
	ranges    []*Range
	byRange   map[rangeKey]*Range
	spans     int
	longest   []Stretch // and some more
	told      int
	bytes     int // of names and paths
	refused   []string
	lost, odd uint64
	guessed   bool // times are those of launches

	counting Counting // nil for none
	waiting  []ran    // of which the counters are not known yet
}

// ran is one run of an activity.
type ran struct {
	gpu      *GPU
	of       *Activity
	from, to checkpoint.Instant
}

// mostWaiting bounds the memory of runs that wait: beyond it the first goes without what is not known yet.
const mostWaiting = 1 << 18

// process is what the numbers of a process mean.
type process struct {
	devices map[uint32]*GPU
	names   map[uint32]string
	paths   map[uint32]string
	ranges  map[uint32]*Range
}

type rangeKey struct {
	around *Range
	name   string
}

type key struct {
	gpu  *GPU
	name string
	kind Kind
	path string
	of   *Range
}

// take reads a datagram. What does not make sense ends it.
func (s *state) take(d []byte) {
	if len(d) < 8 || string(d[:4]) != magic {
		s.odd++
		return
	}
	if s.processes == nil {
		s.processes, s.byUUID = map[uint32]*process{}, map[string]*GPU{}
		s.paths, s.keys = map[string][]checkpoint.SiteID{"": nil}, map[key]*Activity{}
		s.byRange = map[rangeKey]*Range{}
	}
	pid := number(d[4:])
	p := s.processes[pid]
	if p == nil && len(s.processes) >= mostProcesses {
		p = &process{} // in which nothing is known
	} else if p == nil {
		p = &process{map[uint32]*GPU{}, map[uint32]string{}, map[uint32]string{0: ""}, map[uint32]*Range{}}
		s.processes[pid] = p
	}
	for d = d[8:]; len(d) > 0; {
		if len(d) < 8 || int(number(d[4:])) > len(d)-8 {
			s.odd++
			return
		}
		kind, n := number(d), int(number(d[4:]))
		if !s.record(p, kind, d[8:8+n]) {
			s.odd++
			return
		}
		d = d[8+n:]
	}
	s.count(false)
}

// count adds what the counters say of the runs that wait: of the first ones, up to one of which it is not known yet;
// of all at the end.
func (s *state) count(end bool) {
	if s.counting == nil {
		return
	}
	done := 0
	for _, r := range s.waiting {
		sums, known := s.counting.Within(r.gpu.UUID, r.from, r.to)
		if !known && !end && len(s.waiting)-done < mostWaiting {
			break
		}
		done++
		r.add(sums, s.counting.Weight())
	}
	if s.waiting = s.waiting[done:]; len(s.waiting) == 0 {
		s.waiting = nil
	}
}

// add adds a run to the work of its GPU, with what was counted in it. What is no kernel has no weight: it runs beside
// the processors that counters tell of.
func (r ran) add(sums []beside.Sum, weight int) {
	w := math.NaN()
	if weight >= 0 && weight < len(sums) && sums[weight].Over > 0 && r.of.Kind == Kernel {
		w = sums[weight].Mean
	}
	r.gpu.Work.AddWeighed(r.of.key, r.from, r.to, w)
	if more := len(sums) - len(r.of.Counted); more > 0 {
		r.of.Counted = append(r.of.Counted, make([]beside.Sum, more)...)
	}
	for i, sum := range sums {
		r.of.Counted[i].Join(sum)
	}
}

func number(b []byte) uint32 { return binary.NativeEndian.Uint32(b) }
func long(b []byte) uint64   { return binary.NativeEndian.Uint64(b) }

// record takes one record, and reports whether it is one.
func (s *state) record(p *process, kind uint32, b []byte) bool {
	switch {
	case kind == recordText:
		if len(b) == 0 {
			s.told++
		} else if text := string(b); len(s.refused) < mostRefused && !slices.Contains(s.refused, text) {
			s.refused = append(s.refused, text)
		}
	case kind == recordDevice && len(b) == 20:
		if g := s.gpu(cupti.UUID(b[4:])); g != nil && room(p.devices, number(b), mostDevices) {
			p.devices[number(b)] = g
		}
	case kind == recordName && len(b) > 4:
		if room(p.names, number(b), mostNames) && s.keep(len(b)) {
			p.names[number(b)] = name(string(b[4:]))
		}
	case kind == recordPath && len(b) >= 4 && len(b)%4 == 0 && len(b) <= 4+4*mostSites:
		s.path(p, number(b), b[4:])
	case kind == recordRange && len(b) == 12:
		s.rangeOf(p, number(b), p.ranges[number(b[4:])], p.names[number(b[8:])])
	case kind == recordRanged && len(b) == 24:
		s.ranged(p.ranges[number(b[16:])], checkpoint.Instant(long(b)), checkpoint.Instant(long(b[8:])))
	case kind == recordActivity && len(b) == 48:
		s.activity(p, b, nil)
	case kind == recordLaunches && len(b) == 64:
		since, done := checkpoint.Instant(long(b[48:])), checkpoint.Instant(long(b[56:]))
		s.activity(p, b[:48], &flight{number(b[44:]), since, done})
	case kind == recordLost && len(b) == 8:
		s.lost += long(b)
	default:
		return false
	}
	return true
}

// rangeOf gives a range of a process its meaning.
func (s *state) rangeOf(p *process, n uint32, around *Range, name string) {
	if name == "" || !room(p.ranges, n, mostRanges) {
		return
	}
	k := rangeKey{around, name}
	r := s.byRange[k]
	if r == nil {
		if len(s.ranges) >= mostRanges {
			return
		}
		r = &Range{Name: name, Around: around}
		s.byRange[k] = r
		s.ranges = append(s.ranges, r)
	}
	p.ranges[n] = r
}

// ranged takes a time in which a range ran. Of one whose name did not come nothing is known.
func (s *state) ranged(r *Range, from, to checkpoint.Instant) {
	if r == nil {
		s.lost++
		return
	}
	if from <= 0 || to < from {
		s.odd++
		return
	}
	full := r.Count > 0 && r.Spans == nil
	r.Count++
	r.Time += time.Duration(to - from)
	if full {
		return
	}
	if s.spans >= mostSpans {
		s.spans -= len(r.Spans)
		r.Spans = nil
		return
	}
	s.spans++
	r.Spans = append(r.Spans, Span{from, to})
}

// room reports whether a number may be given a meaning.
func room[T any](of map[uint32]T, n uint32, most int) bool {
	_, again := of[n]
	return of != nil && (again || len(of) < most)
}

// keep reports whether so many bytes more are kept.
func (s *state) keep(bytes int) bool {
	if s.bytes+bytes > mostBytes {
		return false
	}
	s.bytes += bytes
	return true
}

// path takes a call path. Calls that cg's own code makes are not the program's.
func (s *state) path(p *process, n uint32, b []byte) {
	if !room(p.paths, n, mostPaths) || !s.keep(len(b)) {
		return
	}
	var sites []checkpoint.SiteID
	for ; len(b) > 0; b = b[4:] {
		if site := checkpoint.SiteID(number(b)); site > 0 && site < checkpoint.OwnSite {
			sites = append(sites, site)
		}
	}
	var text []byte
	for _, site := range sites {
		text = binary.NativeEndian.AppendUint32(text, uint32(site))
	}
	s.paths[string(text)] = sites
	p.paths[n] = string(text)
}

// gpu is the one of an UUID; nil where there are too many.
func (s *state) gpu(uuid string) *GPU {
	g := s.byUUID[uuid]
	if g == nil && len(s.gpus) < mostDevices {
		g = &GPU{UUID: uuid}
		s.byUUID[uuid] = g
		s.gpus = append(s.gpus, g)
	}
	return g
}

// flight is what is known of launches without CUPTI: how many they are, since when they could run, and when all were
// over.
type flight struct {
	count       uint32
	since, done checkpoint.Instant
}

// isOdd reports whether what is said to have run did so outside of what was possible.
func (f *flight) isOdd(from, to checkpoint.Instant) bool {
	return f != nil && (f.count == 0 || f.since <= 0 || f.since > from || f.done < to ||
		f.done-f.since > checkpoint.Instant(24*time.Hour))
}

// activity takes an activity: u64 start, end; u32 path, name, device, kind; u64 bytes; u32 range, and 0 or the number
// of launches. within is what is known where CUPTI did not tell it, else nil.
func (s *state) activity(p *process, b []byte, within *flight) {
	from, to := checkpoint.Instant(long(b)), checkpoint.Instant(long(b[8:]))
	g, known := p.devices[number(b[24:])]
	kind := Kind(number(b[28:]))
	if to < from || from <= 0 || to-from > checkpoint.Instant(24*time.Hour) || kind > Fill ||
		within.isOdd(from, to) {
		s.odd++
		return
	}
	count := uint64(1)
	if within != nil {
		count = uint64(within.count)
		s.guessed = true
	}
	path, defined := p.paths[number(b[16:])]
	if !known || !defined { // it was defined in a datagram that did not come, or beyond a limit
		s.lost += count
		return
	}
	name := p.names[number(b[20:])]
	if name == "" {
		name = "?"
	}
	k := key{g, name, kind, path, p.ranges[number(b[40:])]}
	a := s.keys[k]
	if a == nil && k.of != nil && len(s.keys) >= mostInRanges {
		k.of = nil
		a = s.keys[k]
	}
	if a == nil {
		if len(s.keys) >= mostActivities {
			s.lost += count
			return
		}
		a = &Activity{Name: name, Kind: kind, Path: s.paths[k.path], Range: k.of, key: len(g.Activities)}
		s.keys[k] = a
		g.Activities = append(g.Activities, a)
	}
	a.Count += count
	a.Time += time.Duration(to - from)
	a.Bytes += long(b[32:])
	if s.longest = append(s.longest, Stretch{g, a, from, to}); len(s.longest) >= 2*MostStretches {
		s.longest = longestOf(s.longest)
	}
	if within != nil {
		g.Work.AddWithin(a.key, gpus.Flight{From: from, To: to, Since: within.since, Done: within.done})
		return
	}
	if s.counting == nil {
		g.Work.Add(a.key, from, to)
		return
	}
	s.waiting = append(s.waiting, ran{g, a, from, to})
}

// longestOf are those that lasted longest, MostStretches at most.
func longestOf(all []Stretch) []Stretch {
	slices.SortStableFunc(all, func(a, b Stretch) int { return cmp.Compare(b.To-b.From, a.To-a.From) })
	return all[:min(len(all), MostStretches)]
}

func (s *state) log() *Log {
	s.count(true)
	longest := longestOf(s.longest)
	slices.SortStableFunc(longest, func(a, b Stretch) int { return cmp.Compare(a.From, b.From) })
	return &Log{GPUs: s.gpus, Longest: longest, Ranges: s.ranges, Told: s.told, Refused: s.refused, Lost: s.lost,
		Odd: s.odd, Guessed: s.guessed}
}
