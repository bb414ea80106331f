package attribute

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"cg/long"
)

// looked are the table of docs/attribution.md for programs that are looked at from outside.
var looked = []truth{
	{name: "two, 50 us, random", functions: 2, mean: 50 * time.Microsecond},
	{name: "two, 500 us, alternating", functions: 2, strict: true, mean: 500 * time.Microsecond},
	{name: "two, 5 ms, random", functions: 2, mean: 5 * time.Millisecond},
	{name: "five, 500 us, noise 10 %", functions: 5, mean: 500 * time.Microsecond, noise: 0.1},
	{name: "five, 5 ms, noise 10 %", functions: 5, mean: 5 * time.Millisecond, noise: 0.1},
	{name: "ten, 20 ms, random", functions: 10, mean: 20 * time.Millisecond},
	{name: "six, 200 us, call trees", functions: 6, nested: true, mean: 200 * time.Microsecond},
	{name: "six, 5 ms, four threads", functions: 6, mean: 5 * time.Millisecond, threads: 4},
	{name: "three, 100 ms, noise 10 %", functions: 3, mean: 100 * time.Millisecond, noise: 0.1},
	{name: "two, 1 s", functions: 2, strict: true, mean: time.Second},
}

// Of a program that is looked at each millisecond, the energies are within their intervals.
func TestLooksTruth(t *testing.T) {
	seeds := uint64(long.Rounds(t, 1, int(*truthSeeds)))
	var lines []string
	told, held := 0, 0
	for _, p := range looked {
		p.threads, p.length, p.looks = cmp.Or(p.threads, 1), cmp.Or(p.length, 20*time.Second), time.Millisecond
		s := score{}
		for seed := range seeds {
			p.seed = seed + 1
			s.add(t, p.play())
		}
		told, held = told+s.n, held+s.held
		n := float64(s.n)
		lines = append(lines, fmt.Sprintf("| %s | %d | %+.1f | %.1f | %.0f | %d | %.1f |", p.name, s.n, 100*s.bias/n, 100*s.worst,
			100*s.wide/n, s.unresolved, 100*float64(s.held)/n))
	}
	t.Logf("in percent\n| program | values | mean error | worst error | half interval | not resolved | intervals that hold |\n%s\n%d of %d "+
		"intervals hold the truth", strings.Join(lines, "\n"), held, told)
	if float64(held) < 0.95*float64(told) {
		t.Errorf("%d of %d intervals hold the truth", held, told)
	}
}
