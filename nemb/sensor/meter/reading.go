package meter

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/patience"
	"cg/work"
)

// reading is one figure of a meter.
type reading struct {
	value float64 // watts or joules
	step  float64 // the last place of its text
	whole int     // digits in front of its point
}

// display is what a meter shows, however that is had.
type display interface {
	// read tells the figure of now. One that is older than the meter's period allows is an error.
	read() (reading, error)
	close()
}

// mostWatts is more than any machine draws, and mostJoules more than any meter has counted.
const (
	mostWatts  = 1e6
	mostJoules = 1e15
)

// figure takes the figure out of what a meter shows.
type figure struct {
	meter nemb.Meter
	take  *work.Pattern // nil for a number alone
}

func newFigure(m nemb.Meter) (figure, error) {
	f := figure{meter: m}
	if m.Take == "" {
		return f, nil
	}
	p, err := work.Parse(m.Take)
	f.take = &p
	return f, err
}

// of reads a text: a number, which its unit may follow, or what the meter's pattern takes.
func (f figure) of(text []byte) (reading, error) {
	number := strings.TrimSpace(string(text))
	if f.take != nil {
		var err error
		if number, err = f.take.Value(strings.NewReader(number)); err != nil {
			return reading{}, err
		}
	}
	number = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(number), f.meter.Unit))
	v, err := strconv.ParseFloat(number, 64)
	most := mostWatts
	if f.meter.Energy {
		most = mostJoules
	}
	v *= f.meter.Factor
	if err != nil || !(v >= 0 && v <= most) {
		return reading{}, fmt.Errorf("it shows %.60q: want a number in %s", number, f.meter.Unit)
	}
	return reading{v, lastPlace(number) * f.meter.Factor, wholeDigits(number)}, nil
}

// steps are the last places of a meter's texts. One that leaves zeros at the end out shows a finer place in some texts
// than in others, and one that shows a fixed number of digits shows a coarser place the more it has counted. So its
// step is the finest place of the texts that have as many digits in front of the point as the last one.
type steps struct {
	whole  int
	finest float64 // 0 before the first text
}

func (s *steps) add(r reading) {
	if s.finest == 0 || r.whole != s.whole {
		s.whole, s.finest = r.whole, r.step
	}
	s.finest = min(s.finest, r.step)
}

// wholeDigits is how many digits a number has in front of its point, written without an exponent.
func wholeDigits(number string) int {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	power, _ := strconv.Atoi(exponent)
	digits, _, _ := strings.Cut(strings.TrimLeft(mantissa, "+0"), ".")
	return max(0, len(digits)+power)
}

// lastPlace is what the last digit of a number stands for: 0.01 in 12.34.
func lastPlace(number string) float64 {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	power, _ := strconv.Atoi(exponent)
	if _, places, is := strings.Cut(mantissa, "."); is {
		power -= len(places)
	}
	return math.Pow10(power)
}

// A reading that others send may be as old as three periods, and this at least.
const (
	freshFor     = 2 * time.Second
	freshPeriods = 3
)

func fresh(period time.Duration) time.Duration { return max(freshFor, freshPeriods*period) }

// latest is the last of the readings that come by themselves.
type latest struct {
	figure figure
	now    func() checkpoint.Instant

	mu    sync.Mutex
	at    checkpoint.Instant // when it came
	begun checkpoint.Instant
	shown reading
	err   error // why there is none
	first chan struct{}
}

func newLatest(f figure) *latest {
	return &latest{figure: f, now: checkpoint.Monotime, begun: checkpoint.Monotime(), first: make(chan struct{})}
}

// set takes a reading that came now.
func (l *latest) set(text []byte) {
	shown, err := l.figure.of(text)
	l.put(shown, err)
}

// fail says why there is no reading from now on.
func (l *latest) fail(err error) { l.put(reading{}, err) }

func (l *latest) put(shown reading, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at == 0 {
		close(l.first)
	}
	l.shown, l.err, l.at = shown, err, l.now()
}

// wait waits for the first reading, so long at most.
func (l *latest) wait(limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-l.first:
	case <-timer.C:
	}
}

// errSilent is the error of a meter that has shown nothing yet.
var errSilent = errors.New("it has shown nothing yet")

func (l *latest) read() (reading, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if l.at == 0 { // it may come: the energy is not known up to then
		return reading{}, &patience.Hung{What: errSilent.Error(), After: time.Duration(now - l.begun)}
	}
	if age := time.Duration(now - l.at); l.err == nil && age > fresh(l.figure.meter.Period) {
		return reading{}, fmt.Errorf("its last reading is %v old: it is stale", age.Round(time.Second))
	}
	return l.shown, l.err
}
