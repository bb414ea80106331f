// Package series chooses which processes and control groups of a monitor have a series of
// their own, for whoever keeps series of cumulative energies: so many of each at most.
//
// It takes snapshots (Kept.Update) and gives, for each that has a series, its energy, its
// labels, and since when the energy is counted. All others are in one more, the rest. The sum
// of all series is, at any moment, the line of processes in the machine's ledger. An energy
// never goes back while its series Lasts.
package series

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"cg/monitor"
	"cg/nemb"
	"cg/nemb/population"
)

// Value is what a series shows.
type Value struct {
	Joules float64
	Since  int64 // when the energy was 0, ns since 1970
	// Labels are those of Processes or Groups; nil is the rest.
	Labels []string
}

// Kept is the series of a run. It is used from one goroutine at a time.
type Kept struct {
	processes bounded[population.ID]
	groups    bounded[groupKey]
}

// groupKey is a control group, apart from others that have had its path.
type groupKey struct {
	path   string
	serial int
}

// New keeps so many series of processes, and of control groups, at most. A new series stays
// at 0 for a time: Begins where others ask when they like, 0 where each value reaches them.
func New(most int, begins time.Duration) *Kept {
	return &Kept{newBounded[population.ID](most, begins), newBounded[groupKey](most, begins)}
}

// SetMost changes how many series of each there are at most. Those that are there stay.
func (k *Kept) SetMost(most int) { k.processes.most, k.groups.most = most, most }

// Update takes the next snapshot.
func (k *Kept) Update(s *monitor.Snapshot) {
	for i := range s.Processes {
		p := &s.Processes[i]
		k.processes.update(p.ID, &p.Share, s.AtUnix)
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		k.groups.update(groupKey{g.Path, g.Serial}, &g.Share, s.AtUnix)
	}
}

// Processes calls put for each series of the last snapshot's processes, and for the rest.
// The labels are number, start in ticks, name and control group.
func (k *Kept) Processes(s *monitor.Snapshot, put func(Value)) {
	var fresh []fresher[population.ID]
	for i := range s.Processes {
		r := &s.Processes[i]
		if !k.processes.mayAdd(r.ID, &r.Share) {
			continue
		}
		fresh = append(fresh, fresher[population.ID]{r.ID, &r.Share,
			[]string{strconv.Itoa(r.PID), strconv.FormatUint(r.Start, 10), r.Name, r.Group}})
	}
	k.processes.show(fresh, groupsEnergy(s), s, put)
}

// Groups calls put for each series of the last snapshot's control groups, and for the rest.
// The labels are path, unit of systemd and id of the container, "" where there is none.
func (k *Kept) Groups(s *monitor.Snapshot, put func(Value)) {
	var fresh []fresher[groupKey]
	for i := range s.Groups {
		r := &s.Groups[i]
		if !k.groups.mayAdd(groupKey{r.Path, r.Serial}, &r.Share) {
			continue
		}
		container := ""
		if c, ok := population.ContainerOf(r.Path); ok {
			container = c.ID
		}
		fresh = append(fresh, fresher[groupKey]{groupKey{r.Path, r.Serial}, &r.Share,
			[]string{r.Path, population.UnitOf(r.Path), container}})
	}
	k.groups.show(fresh, groupsEnergy(s), s, put)
}

// groupsEnergy is the ledger's line of processes.
func groupsEnergy(s *monitor.Snapshot) nemb.Energy {
	for _, l := range s.Ledger() {
		if l.Name == monitor.LineGroups {
			return l.Energy
		}
	}
	return 0
}

// Targets leaves out targets whose labels another has: names of other bytes that are no
// UTF-8.
func Targets(all []monitor.TargetState) (out []monitor.TargetState) {
	taken := map[string]bool{}
	for _, t := range all {
		if labels := string(t.Kind) + "\x00" + Valid(t.Name); !taken[labels] {
			taken[labels] = true
			out = append(out, t)
		}
	}
	return out
}

// Methods are those of the machine's energy and of shares of it, for good: a label that
// changed with a failed reading would make another series.
func Methods(s *monitor.Snapshot) (whole, share string) {
	method := nemb.Measured
	for _, d := range s.Domains {
		if d.Domain.InTotal && d.Domain.Method.Weaker(method) {
			method = d.Domain.Method
		}
	}
	if method == nemb.Measured {
		return string(method), string(nemb.Derived)
	}
	return string(method), string(method)
}

// quiet is after how long without energy a series gives its place to another, when there is
// no place left.
const quiet = 10 * time.Minute

// Lasts is how long a series that ended is shown with its last value, and leaves after how
// long of that it gives its place to another, when there is no place left. Whoever asks at
// least that often sees the last value.
const (
	Lasts  = 5 * time.Minute
	leaves = time.Minute
)

// Begins is how long a new series stays at 0 for those who ask when they like: whoever asks
// at least that often sees it begin. What is used meanwhile is in the rest.
const Begins = time.Minute

// bounded keeps which of many have a series, and what each has shown. What has none is in
// the rest: the whole less all series, so that nothing is counted twice, whoever has a
// series when. Who asks, and how many do, changes nothing but which are the first.
type bounded[K comparable] struct {
	most    int
	begins  time.Duration
	series  map[K]*series
	dropped nemb.Energy // of series that are gone
}

type series struct {
	labels  []string
	before  nemb.Energy // of others that had these labels
	since   nemb.Energy // that it had when it left 0
	energy  nemb.Energy
	moved   int64 // when it changed last, ns since 1970
	first   int64 // the first snapshot after it was shown first; 0 before
	seen    bool  // it has left 0
	endedAt int64 // 0 before
	made    int64 // the snapshot at which it got its place, ns since 1970
}

// value is what a series shows.
func (s *series) value() nemb.Energy { return s.before + s.energy - s.since }

// fresher is who may get a series.
type fresher[K comparable] struct {
	key    K
	share  *monitor.Share
	labels []string
}

func newBounded[K comparable](most int, begins time.Duration) bounded[K] {
	return bounded[K]{most: most, begins: begins, series: map[K]*series{}}
}

// update brings the series of a key up to date, if it has one.
func (b *bounded[K]) update(key K, share *monitor.Share, now int64) {
	s := b.series[key]
	if s == nil {
		return
	}
	if e := energy(share); e > s.energy {
		s.energy, s.moved = e, now
	}
	if s.first == 0 {
		s.first = now
	}
	if s.seen = s.seen || now-s.first > int64(b.begins); !s.seen {
		s.since = s.energy
	}
	if share.Ended && s.endedAt == 0 {
		s.endedAt = now
	}
}

// energy is that of a share, whole again: sums of fractions would now and then go back, and
// a counter that goes back has started over.
func energy(share *monitor.Share) nemb.Energy { return nemb.Energy(math.Round(share.Joules * 1e6)) }

// mayAdd reports whether a key has no series and may get one.
func (b *bounded[K]) mayAdd(key K, share *monitor.Share) bool {
	return !share.Ended && share.Joules > 0 && b.series[key] == nil
}

// show calls put for each series, and for the rest. all are those that mayAdd; whole is what
// all together have. Places that are free go to those that draw most.
func (b *bounded[K]) show(all []fresher[K], whole nemb.Energy, snapshot *monitor.Snapshot, put func(Value)) {
	now := snapshot.AtUnix
	taken := map[string]K{}
	for key, s := range b.series {
		// One that never left 0 has no last value.
		if s.endedAt != 0 && (now-s.endedAt > int64(Lasts) || s.value() == 0) {
			b.drop(key)
			continue
		}
		taken[strings.Join(s.labels, "\x00")] = key
	}
	slices.SortFunc(all, func(x, y fresher[K]) int {
		return cmp.Or(cmp.Compare(y.share.Watts, x.share.Watts), cmp.Compare(y.share.Joules, x.share.Joules),
			slices.Compare(x.labels, y.labels))
	})
	for _, f := range all {
		for i := range f.labels {
			f.labels[i] = Valid(f.labels[i])
		}
		labels := strings.Join(f.labels, "\x00")
		e := energy(f.share)
		next := &series{labels: f.labels, since: e, energy: e, moved: now, made: now}
		if key, same := taken[labels]; same {
			old := b.series[key]
			if old == nil || old.endedAt == 0 {
				continue
			}
			// It goes on with the series of the one that ended.
			next.before, next.seen, next.made = old.value(), true, old.made
			delete(b.series, key)
		} else if len(b.series) >= b.most && !b.evict(now) {
			break
		}
		b.series[f.key], taken[labels] = next, f.key
	}
	rest := whole - b.dropped
	for _, s := range b.series {
		rest -= s.value()
		put(Value{s.value().Joules(), s.made, s.labels})
	}
	put(Value{rest.Joules(), snapshot.BeganUnix, nil})
}

// evict drops the series that has been without energy longest, of those that ended or are
// quiet; false where none is.
func (b *bounded[K]) evict(now int64) bool {
	var longest K
	found := false
	for key, s := range b.series {
		free := now-s.moved >= int64(quiet) || s.endedAt != 0 && now-s.endedAt >= int64(leaves)
		if free && (!found || s.moved < b.series[longest].moved) {
			longest, found = key, true
		}
	}
	if found {
		b.drop(longest)
	}
	return found
}

func (b *bounded[K]) drop(key K) {
	b.dropped += b.series[key].value()
	delete(b.series, key)
}

// Valid is a label's value: UTF-8.
func Valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
