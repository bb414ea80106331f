package validate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/sampler"
	"cg/nemb/sensor/powercap"
	"cg/nemb/simulate"
)

// Timing is how well one mechanism kept an interval while it read one file a
// tick.
type Timing struct {
	Mechanism string
	Interval  time.Duration
	P50, P99  time.Duration // of the intervals
	Longest   time.Duration
	Missed    float64 // percent of the ticks that should have been
	CPU       float64 // percent of a processor, the whole process
}

// Ticker is the mechanism that the sampler is compared with.
const Ticker = "time.Ticker"

// Timings lets the sampler as it is permitted here, the sampler under the
// ordinary scheduler, and a time.Ticker keep an interval for a while, in turns,
// rounds times over, and gives the median of the rounds. It reads a file below
// dir, which it creates.
func Timings(dir string, interval, while time.Duration, rounds int) ([]Timing, error) {
	sensor, err := fileCounter(dir)
	if err != nil {
		return nil, err
	}
	defer sensor.Close()
	order := []func() (Timing, error){
		func() (Timing, error) { return timeSampler(sensor.Sensors, interval, while, false) },
		func() (Timing, error) { return timeSampler(sensor.Sensors, interval, while, true) },
		func() (Timing, error) { return timeTicker(dir, interval, while) },
	}
	seen := make([][]Timing, len(order))
	for range max(1, rounds) {
		for i, f := range order {
			t, err := f()
			if err != nil {
				return nil, err
			}
			seen[i] = append(seen[i], t)
		}
	}
	var all []Timing
	for _, s := range seen {
		t := s[0]
		t.P50 = median(s, func(t Timing) time.Duration { return t.P50 })
		t.P99 = median(s, func(t Timing) time.Duration { return t.P99 })
		t.Longest = median(s, func(t Timing) time.Duration { return t.Longest })
		t.Missed = median(s, func(t Timing) float64 { return t.Missed })
		t.CPU = median(s, func(t Timing) float64 { return t.CPU })
		if !slices.ContainsFunc(all, func(o Timing) bool { return o.Mechanism == t.Mechanism }) {
			all = append(all, t)
		}
	}
	return all, nil
}

func median[T time.Duration | float64](all []Timing, of func(Timing) T) T {
	var values []T
	for _, t := range all {
		values = append(values, of(t))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

const energyFile = "sys/class/powercap/intel-rapl:0/energy_uj"

// fileCounter opens a powercap zone that is made of files.
func fileCounter(dir string) (nemb.Found, error) {
	zone := filepath.Dir(filepath.Join(dir, energyFile))
	err := os.MkdirAll(zone, 0o755)
	for name, text := range map[string]string{"name": "package-0", "energy_uj": "123456789012",
		"max_energy_range_uj": "262143328850"} {
		err = errors.Join(err, os.WriteFile(filepath.Join(zone, name), []byte(text+"\n"), 0o644))
	}
	if err != nil {
		return nemb.Found{}, fmt.Errorf("validate: %w", err)
	}
	return nemb.Discover(nemb.Root{Dir: dir}, []string{powercap.Name})
}

func timeSampler(sensors []nemb.Sensor, interval, while time.Duration, ordinary bool) (Timing, error) {
	begin := used()
	s, err := sampler.Start(sensors, sampler.Config{Interval: interval, Clock: checkpoint.SystemClock(),
		Ordinary: ordinary})
	if err != nil {
		return Timing{}, err
	}
	time.Sleep(while)
	cpu := used() - begin
	var times []checkpoint.Instant
	for _, sample := range s.Poll() {
		times = append(times, sample.Time)
	}
	s.Stop()
	return timing(s.Stats().Mechanism(), interval, times, cpu), nil
}

func timeTicker(dir string, interval, while time.Duration) (Timing, error) {
	begin := used()
	fd, err := unix.Open(filepath.Join(dir, energyFile), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Timing{}, fmt.Errorf("validate: %w", err)
	}
	defer unix.Close(fd)
	times := make([]checkpoint.Instant, 0, while/interval+16)
	var text [32]byte
	end := checkpoint.Monotime() + checkpoint.Instant(while)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for now := checkpoint.Monotime(); now < end; {
		<-ticker.C
		if _, err := unix.Pread(fd, text[:], 0); err != nil {
			return Timing{}, fmt.Errorf("validate: %w", err)
		}
		now = checkpoint.Monotime()
		times = append(times, now)
	}
	return timing(Ticker, interval, times, used()-begin), nil
}

// used is the processor time of this process.
func used() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func timing(mechanism string, interval time.Duration, times []checkpoint.Instant, cpu time.Duration) Timing {
	t := Timing{Mechanism: mechanism, Interval: interval}
	if len(times) < 2 {
		t.Missed = 100
		return t
	}
	var gaps []time.Duration
	for i := 1; i < len(times); i++ {
		gaps = append(gaps, time.Duration(times[i]-times[i-1]))
	}
	slices.Sort(gaps)
	t.P50, t.P99, t.Longest = gaps[len(gaps)/2], gaps[len(gaps)*99/100], gaps[len(gaps)-1]
	span := time.Duration(times[len(times)-1] - times[0])
	due := math.Round(float64(span) / float64(interval))
	t.Missed = 100 * max(0, due-float64(len(gaps))) / due
	t.CPU = 100 * cpu.Seconds() / span.Seconds()
	return t
}

// Live measures seconds of a simulated package of known power, in real time
// and below dir, an empty folder, and gives the error of each in percent. It
// takes root and /dev/fuse: simulate.ErrNoFUSE. Where ctx ends before, its error is returned,
// and nothing is left mounted.
func Live(ctx context.Context, dir string, seconds int) (errs []float64, err error) {
	const watts = 40
	tree, err := simulate.Mount(dir, simulate.Machine{Zones: []simulate.Zone{{Dir: "intel-rapl:0", Name: "package-0",
		Counter: simulate.Counter{
			Power: simulate.Constant(watts), Unit: simulate.UnitIntel, Period: counterPeriod, Jitter: counterJitter,
			Range: 262143328850, Start: 262143328850 - watts*1500000, // it wraps after 1.5 s
		}}}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tree.Close()) }()
	found, err := nemb.Discover(nemb.Root{Dir: dir}, []string{powercap.Name})
	if err != nil {
		return nil, err
	}
	defer found.Close()
	s, err := sampler.Start(found.Sensors, sampler.Config{Interval: time.Millisecond, Clock: checkpoint.SystemClock()})
	if err != nil {
		return nil, err
	}
	begin := checkpoint.Monotime()
	const margin = 50 * time.Millisecond
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(seconds)*time.Second + 2*margin):
	}
	series := nemb.Series{Domains: s.Domains(), Samples: s.Stop()}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if f := s.Faults()[0]; f.Any() {
		return nil, fmt.Errorf("validate: the counter of a healthy machine: %+v", f)
	}
	for i := range seconds {
		from := begin + checkpoint.Instant(margin+time.Duration(i)*time.Second)
		span, ok := series.Between(0, from, from+checkpoint.Instant(time.Second))
		if !ok {
			return nil, fmt.Errorf("validate: second %d is not covered by samples", i)
		}
		errs = append(errs, 100*(span.Joules/watts-1))
	}
	return errs, nil
}
