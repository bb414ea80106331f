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

// bounded keeps which of many have a series, and what each has shown. What has none is in
// the rest: the whole less all series, so that nothing is counted twice, whoever has a
// series when.
type bounded[K comparable] struct {
	most    int
	series  map[K]*series
	dropped nemb.Energy // of series that are gone
}

type series struct {
	labels []string
	since  nemb.Energy // that it had when it was shown first
	energy nemb.Energy
	moved  int64 // when it changed last, ns since 1970
	ended  bool
	shown  bool // with its last value
}

// fresher is who may get a series.
type fresher[K comparable] struct {
	key    K
	share  *monitor.Share
	labels []string
}

func newBounded[K comparable](most int) bounded[K] {
	return bounded[K]{most: most, series: map[K]*series{}}
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
	s.ended = share.Ended
}

// energy is that of a share, whole again: sums of fractions would now and then go back, and
// a counter that goes back has started over.
func energy(share *monitor.Share) nemb.Energy { return nemb.Energy(math.Round(share.Joules * 1e6)) }

// show calls put for each series, and for the rest, with nil. whole is what all together
// have. Places that are free go to those that draw most.
func (b *bounded[K]) show(all []fresher[K], whole nemb.Energy, now int64, put func(joules float64, labels []string)) {
	for key, s := range b.series {
		if s.ended && s.shown {
			b.drop(key)
		}
	}
	slices.SortFunc(all, func(x, y fresher[K]) int {
		return cmp.Or(cmp.Compare(y.share.Watts, x.share.Watts), cmp.Compare(y.share.Joules, x.share.Joules),
			slices.Compare(x.labels, y.labels))
	})
	taken := map[string]bool{}
	for _, s := range b.series {
		taken[strings.Join(s.labels, "\x00")] = true
	}
	for _, f := range all {
		if b.series[f.key] != nil || taken[strings.Join(f.labels, "\x00")] || f.share.Ended || f.share.Joules <= 0 {
			continue
		}
		if len(b.series) >= b.most && !b.evict(now) {
			break
		}
		e := energy(f.share)
		b.series[f.key] = &series{labels: f.labels, since: e, energy: e, moved: now}
		taken[strings.Join(f.labels, "\x00")] = true
	}
	rest := whole - b.dropped
	for _, s := range b.series {
		rest -= s.energy - s.since
		s.shown = s.ended
		put((s.energy - s.since).Joules(), s.labels)
	}
	put(rest.Joules(), nil)
}

// evict drops the series that has been quiet longest; false where none has been.
func (b *bounded[K]) evict(now int64) bool {
	var longest K
	found := false
	for key, s := range b.series {
		if now-s.moved >= int64(quiet) && (!found || s.moved < b.series[longest].moved) {
			longest, found = key, true
		}
	}
	if found {
		b.drop(longest)
	}
	return found
}

func (b *bounded[K]) drop(key K) {
	b.dropped += b.series[key].energy - b.series[key].since
	delete(b.series, key)
}

// valid is a label's value: UTF-8.
func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
