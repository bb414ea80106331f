// Package habits finds how a GPU's readings follow its power, and remembers it for later runs.
//
// A load keeps the GPU busy and idle by turns, at moments that are known (the square load of Yang, Adamek and Armour,
// SC24, arXiv 2312.02741). Meanwhile Record reads the counter of energy and the powers that the driver tells. Fit takes
// both and gives a reading's habits: how often it is updated, over how long a time an update tells the mean power, and
// how long before the update that time ended. Memory keeps what was found in the user's cache, by GPU, its name and the
// driver's version. The package puts no load on anything, and opens no sensor.
package habits

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"
)

// Busy is a time in which the GPU computed, in ns of CLOCK_MONOTONIC.
type Busy struct{ From, To float64 }

// Point is what a reading told at a moment: it told another value before, at Before or later.
type Point struct {
	Before, At float64 // ns of CLOCK_MONOTONIC; Before is when it was last seen with the value before
	Value      float64 // joules of a counter, else watts
}

// Trace is what a reading told while the load ran: its first value, and each change.
type Trace struct {
	Name   string
	Counts bool // joules that add up
	Points []Point
}

// Fitted is what a load showed of a reading. Off are 95 % to either side.
type Fitted struct {
	Period              time.Duration // between two updates
	Window, WindowOff   time.Duration // an update tells the mean power over so long a time
	Delay, DelayOff     time.Duration // which ended so long before the update
	Explained           float64       // the part of the reading's changes that this explains, as R squared
	IdleWatts, RunWatts float64       // while the GPU was idle and busy
}

// What Fit cannot tell.
var (
	// ErrFew says that there were too few updates.
	ErrFew = errors.New("too few updates")
	// ErrUnlike says that the reading did not follow the load.
	ErrUnlike = errors.New("the reading did not follow the load")
)

// These bound what is looked for: a reading may tell the mean of two seconds, and half a second late.
const (
	longestWindow = 2 * time.Second
	longestDelay  = 500 * time.Millisecond
	fewest        = 30  // updates
	explained     = 0.8 // the least part of a reading's changes that is to be explained
	most          = 250 // updates that are looked at: more of them take time and tell little
	block         = float64(20 * time.Millisecond)
)

// update is a mean power over some updates of a reading.
type update struct {
	at    float64 // ns
	n     int     // updates that it is the mean of, each a period before the next
	watts float64
}

// Fit finds the habits of a reading by a load.
func Fit(load []Busy, t Trace) (Fitted, error) {
	period, ok := periodOf(t.Points)
	if !ok || len(load) < 4 {
		return Fitted{}, fmt.Errorf("%w: %d of %s", ErrFew, max(0, len(t.Points)-1), t.Name)
	}
	f := fit{period: period, load: newLoad(load)}
	f.updates = updatesOf(t, period, f.load)
	if len(f.updates) < fewest {
		return Fitted{}, fmt.Errorf("%w: %d of %s", ErrFew, len(f.updates), t.Name)
	}
	f.updates = thinned(f.updates)
	best := f.search()
	if total := f.total(); total <= 0 || best.slope <= 0 || best.squares > (1-explained)*total {
		return Fitted{}, fmt.Errorf("%w: %s", ErrUnlike, t.Name)
	}
	window, delay := f.bounds(best)
	return Fitted{Period: time.Duration(period), Window: time.Duration(best.window), WindowOff: time.Duration(window),
		Delay: time.Duration(best.delay), DelayOff: time.Duration(delay), Explained: 1 - best.squares/f.total(),
		IdleWatts: best.base, RunWatts: best.base + best.slope}, nil
}

// gaps are the times between changes.
func gaps(points []Point) []float64 {
	var all []float64
	for i := 2; i < len(points); i++ { // the first point is no change
		all = append(all, middle(points[i])-middle(points[i-1]))
	}
	return all
}

// middle is when a change most likely was.
func middle(p Point) float64 { return (p.Before + p.At) / 2 }

// periodOf is the time between two updates. A reading that happens to be the same after an update shows no change, so
// that changes are whole multiples of it apart.
func periodOf(points []Point) (float64, bool) {
	all := gaps(points)
	if len(all) < fewest {
		return 0, false
	}
	sorted := slices.Clone(all)
	slices.Sort(sorted)
	period := sorted[len(sorted)/4]
	for range 3 { // a long time tells the period better than a short one
		time, n := 0.0, 0.0
		for _, gap := range all {
			if k := math.Round(gap / period); k >= 1 && k <= 8 && math.Abs(gap-k*period) < 0.25*period {
				time, n = time+gap, n+k
			}
		}
		if n == 0 {
			return 0, false
		}
		period = time / n
	}
	return period, true
}

// updatesOf are the mean powers that a trace shows while the load ran. Changes whose moment is not known well are left
// out, and short periods are taken together.
func updatesOf(t Trace, period float64, l load) (all []update) {
	from := 1 // of the changes that are taken together
	for i := 2; i < len(t.Points); i++ {
		p := t.Points[i]
		if p.At-t.Points[from].At < block && period < block {
			continue
		}
		n := max(1, int(math.Round((middle(p)-middle(t.Points[from]))/period)))
		u := update{at: middle(p), n: n, watts: p.Value}
		if t.Counts {
			u.watts = (p.Value - t.Points[from].Value) / (float64(n) * period) * 1e9
		} else {
			u.n = 1
		}
		from = i
		if p.At-p.Before > max(float64(5*time.Millisecond), period/10) || n > 8 && period >= block ||
			u.at < l.first() || u.at > l.last() {
			continue
		}
		all = append(all, u)
	}
	return all
}

// thinned are some of all updates.
func thinned(all []update) (some []update) {
	every := max(1, (len(all)+most-1)/most)
	for i := 0; i < len(all); i += every {
		some = append(some, all[i])
	}
	return some
}

// load is when the GPU was busy.
type load struct {
	busy []Busy
	sum  []float64 // busy time before each
}

func newLoad(busy []Busy) load {
	l := load{busy: slices.Clone(busy)}
	slices.SortFunc(l.busy, func(a, b Busy) int { return int(math.Copysign(1, a.From-b.From)) })
	sum := 0.0
	for _, b := range l.busy {
		l.sum = append(l.sum, sum)
		sum += max(0, b.To-b.From)
	}
	return l
}

func (l load) first() float64 { return l.busy[0].From }
func (l load) last() float64  { return l.busy[len(l.busy)-1].To }

// until is the busy time up to a moment.
func (l load) until(t float64) float64 {
	i := sort.Search(len(l.busy), func(i int) bool { return l.busy[i].From > t }) - 1
	if i < 0 {
		return 0
	}
	return l.sum[i] + min(t, l.busy[i].To) - l.busy[i].From
}

// fit is the search for one reading.
type fit struct {
	period  float64
	load    load
	updates []update
}

// found is a window and a delay with the powers that suit them best.
type found struct {
	window, delay, base, slope, squares float64 // ns, W, W^2
}

// total is the sum of squares of what updates differ from their mean.
func (f *fit) total() float64 {
	mean, squares := 0.0, 0.0
	for _, u := range f.updates {
		mean += u.watts / float64(len(f.updates))
	}
	for _, u := range f.updates {
		squares += (u.watts - mean) * (u.watts - mean)
	}
	return squares
}

// busy is the busy part of the time that an update tells of.
func (f *fit) busy(u update, window, delay float64) float64 {
	sum, points := 0.0, min(u.n, 4)
	for i := range points { // of many short periods four stand for all
		end := u.at - delay - f.period*float64(u.n)*float64(i)/float64(points)
		sum += (f.load.until(end) - f.load.until(end-window)) / window
	}
	return sum / float64(points)
}

// try finds the powers for a window and a delay by least squares.
func (f *fit) try(window, delay float64) found {
	n, x, y, xx, xy, yy := float64(len(f.updates)), 0.0, 0.0, 0.0, 0.0, 0.0
	for _, u := range f.updates {
		b := f.busy(u, window, delay)
		x, y, xx, xy, yy = x+b, y+u.watts, xx+b*b, xy+b*u.watts, yy+u.watts*u.watts
	}
	r := found{window: window, delay: delay, squares: math.Inf(1)}
	if spread := xx - x*x/n; spread > 1e-9*n {
		r.slope = (xy - x*y/n) / spread
		r.base = (y - r.slope*x) / n
		r.squares = max(0, yy-y*y/n-r.slope*(xy-x*y/n))
	}
	return r
}

// search finds the window and the delay that explain most.
func (f *fit) search() found {
	best := found{squares: math.Inf(1)}
	for window := float64(2 * time.Millisecond); window <= float64(longestWindow); window *= 1.15 {
		step := min(max(window/8, float64(2*time.Millisecond)), float64(20*time.Millisecond))
		for delay := 0.0; delay <= float64(longestDelay); delay += step {
			if r := f.try(window, delay); r.squares < best.squares {
				best = r
			}
		}
	}
	return f.refine(best)
}

// refine looks closer around what was found.
func (f *fit) refine(best found) found {
	w, d := best.window*0.15, min(max(best.window/8, float64(2*time.Millisecond)), float64(20*time.Millisecond))
	for range 12 {
		around := best
		for i := -3.0; i <= 3; i++ {
			for k := -3.0; k <= 3; k++ {
				window, delay := around.window+i*w/3, max(0, around.delay+k*d/3)
				if window < 1e5 {
					continue
				}
				if r := f.try(window, delay); r.squares < best.squares {
					best = r
				}
			}
		}
		w, d = w*0.6, d*0.6
	}
	return best
}

// bounds are by how much the window and the delay may be off: so far that the reading is explained worse than by
// chance (the F distribution, 95 %), and never less than what the readings' times are known to.
func (f *fit) bounds(best found) (window, delay float64) {
	n := float64(len(f.updates))
	least := float64(2*time.Millisecond) + 0.02*best.window
	// Powers are told in mW, and no GPU draws the same power all the time.
	limit := max(best.squares, 1e-6*n*best.slope*best.slope) * (1 + 2*3.1/max(1, n-4))
	far := func(of func(off float64) found) float64 {
		off := least
		for ; off < float64(longestWindow); off *= 1.2 {
			if of(off).squares > limit {
				break
			}
		}
		return off
	}
	// The other one follows: a longer window that ends later has the same middle.
	return max(far(func(off float64) found { return f.near(best, best.window+off, best.delay) }),
			far(func(off float64) found { return f.near(best, max(1e5, best.window-off), best.delay) })),
		max(far(func(off float64) found { return f.try(best.window, best.delay+off) }),
			far(func(off float64) found { return f.try(best.window, best.delay-off) }),
			far(func(off float64) found { return f.near(best, max(1e5, best.window-2*off), best.delay+off) }))
}

// near is the best delay for a window close to the one that was found.
func (f *fit) near(best found, window, delay float64) found {
	r := found{squares: math.Inf(1)}
	shift := (best.window - window) / 2
	for k := -4.0; k <= 4; k++ {
		if t := f.try(window, delay+shift*(1+k/4)); t.squares < r.squares {
			r = t
		}
	}
	return r
}
