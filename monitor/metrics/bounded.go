package metrics

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"cg/monitor"
	"cg/nemb"
)

// other is the label of what has no series of its own.
const other = "other"

// quiet is after how long without energy a series gives its place to another, when there is
// no place left.
const quiet = 10 * time.Minute

// lasts is how long a series that ended is shown with its last value, and leaves after how
// long of that it gives its place to another, when there is no place left. Whoever asks at
// least that often sees the last value.
const (
	lasts  = 5 * time.Minute
	leaves = time.Minute
)

// begins is how long a new series stays at 0: whoever asks at least that often sees it
// begin. What is used meanwhile is in the rest.
const begins = time.Minute

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
}

// value is what a series shows.
func (s *series) value() nemb.Energy { return s.before + s.energy - s.since }

// fresher is who may get a series.
type fresher[K comparable] struct {
	key    K
	share  *monitor.Share
	labels []string
}

func newBounded[K comparable](most int) bounded[K] {
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

// show calls put for each series, and for the rest, with nil. whole is what all together
// have. Places that are free go to those that draw most.
func (b *bounded[K]) show(all []fresher[K], whole nemb.Energy, now int64, put func(joules float64, labels []string)) {
	taken := map[string]K{}
	for key, s := range b.series {
		// One that never left 0 has no last value.
		if s.endedAt != 0 && (now-s.endedAt > int64(lasts) || s.value() == 0) {
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
			f.labels[i] = valid(f.labels[i])
		}
		if b.series[f.key] != nil || f.share.Ended || f.share.Joules <= 0 {
			continue
		}
		labels := strings.Join(f.labels, "\x00")
		e := energy(f.share)
		next := &series{labels: f.labels, since: e, energy: e, moved: now}
		if key, same := taken[labels]; same {
			old := b.series[key]
			if old == nil || old.endedAt == 0 {
				continue
			}
			// It goes on with the series of the one that ended.
			next.before, next.seen = old.value(), true
			delete(b.series, key)
		} else if len(b.series) >= b.most && !b.evict(now) {
			break
		}
		b.series[f.key], taken[labels] = next, f.key
	}
	rest := whole - b.dropped
	for _, s := range b.series {
		rest -= s.value()
		put(s.value().Joules(), s.labels)
	}
	put(rest.Joules(), nil)
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

// valid is a label's value: UTF-8.
func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
