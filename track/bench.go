package track

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"time"

	"cg/nemb"
)

// Update tells how often a counter shows something new.
type Update struct {
	Name               string
	Seen               int           // updates
	Median, Min, Max   time.Duration // between them; 0 where fewer than two were seen
	Reads              int
	ReadMedian, Read99 time.Duration // what a reading of its metric takes
}

// Updates polls the metrics one after the other, each until every counter of it
// was seen to change trials times, or for limit. warn gets what
// cannot be read.
func Updates(root nemb.Root, metrics []string, trials int, limit time.Duration, warn func(string)) ([]Update, error) {
	var all []Update
	for i, name := range metrics {
		if slices.Contains(metrics[:i], name) {
			continue
		}
		if strings.HasPrefix(name, PMPrefix) {
			warn(name + ": counters of GPUs are sampled by the GPU, and have no updates to look for")
			continue
		}
		readers, err := open(root, name)
		if err != nil {
			warn(fmt.Sprintf("%s: %v", name, err))
		}
		for _, r := range readers {
			all = append(all, poll(r, trials, limit)...)
			if err := r.close(); err != nil {
				return nil, err
			}
		}
	}
	if len(all) == 0 {
		return nil, ErrNothing
	}
	return all, nil
}

func poll(r reader, trials int, limit time.Duration) []Update {
	n := len(r.columns)
	values, before := make([]float64, n), make([]float64, n)
	changed := make([][]int64, n) // when
	var cost histogram
	r.read(before)
	begin := monotonic()
	least := 0
	for now := begin; least <= trials && now-begin < int64(limit); {
		r.read(values)
		then := now
		now = monotonic()
		cost.add(now - then)
		least = math.MaxInt
		for i, v := range values {
			if v != before[i] && !math.IsNaN(v) {
				changed[i] = append(changed[i], now)
				before[i] = v
			}
			least = min(least, len(changed[i]))
		}
	}
	var all []Update
	for i, c := range r.columns {
		u := Update{Name: c.name, Seen: len(changed[i]), Reads: cost.total, ReadMedian: cost.at(0.5),
			Read99: cost.at(0.99)}
		var gaps []int64
		for k := 1; k < len(changed[i]); k++ {
			gaps = append(gaps, changed[i][k]-changed[i][k-1])
		}
		if slices.Sort(gaps); len(gaps) > 0 {
			u.Median, u.Min, u.Max = time.Duration(gaps[len(gaps)/2]), time.Duration(gaps[0]),
				time.Duration(gaps[len(gaps)-1])
		}
		all = append(all, u)
	}
	return all
}

// Slowdown is what tracking costs a workload: pairs of runs, one with and one
// without, in random order.
type Slowdown struct {
	Pairs int
	Wall  Change
	CPU   Change // processor time of the workload itself
}

// Change is with over without, less one: the median of the pairs, and the
// bounds that hold the median of all such pairs in 95 of 100 experiments.
type Change struct{ Median, Lo, Hi float64 }

// Compare runs a workload pairs times with and without tracking.
func Compare(c Config, command []string, pairs int) (Slowdown, error) {
	s := Slowdown{Pairs: pairs}
	var wall, cpu []float64
	run := func(tracked bool) (w, p time.Duration, err error) {
		if tracked {
			session, err := Start(c)
			if err != nil {
				return 0, 0, err
			}
			defer session.Stop()
		}
		cmd := exec.Command(command[0], command[1:]...)
		begin := time.Now()
		err = cmd.Run()
		w = time.Since(begin)
		if err != nil {
			return 0, 0, fmt.Errorf("%s: %w", command[0], err)
		}
		return w, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
	}
	if _, _, err := run(false); err != nil { // warm
		return s, err
	}
	for range pairs {
		var w, p [2]time.Duration
		first := rand.IntN(2)
		for _, which := range []int{first, 1 - first} {
			var err error
			if w[which], p[which], err = run(which == 1); err != nil {
				return s, err
			}
		}
		wall = append(wall, float64(w[1])/float64(w[0])-1)
		cpu = append(cpu, float64(p[1])/max(1, float64(p[0]))-1)
	}
	s.Wall, s.CPU = change(wall), change(cpu)
	return s, nil
}

// change takes the bounds of the median from the order of the values, by the
// binomial distribution; with fewer than six they are the extremes.
func change(values []float64) Change {
	slices.Sort(values)
	n := len(values)
	at, tail, p := 0, 0.0, math.Pow(0.5, float64(n))
	for k := range n / 2 {
		if tail += p; tail > 0.025 {
			break
		}
		at = k
		p *= float64(n-k) / float64(k+1)
	}
	return Change{Median: (values[(n-1)/2] + values[n/2]) / 2, Lo: values[at], Hi: values[n-1-at]}
}
