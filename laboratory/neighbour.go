package laboratory

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sort"
	"strings"
	"time"
)

// Neighbour is another program on the machine, which is simulated: it uses one processor in bursts, and none between
// them. The times of bursts and pauses are drawn at random, on average Busy and Quiet.
type Neighbour struct {
	Watts       float64
	Busy, Quiet time.Duration
	After       time.Duration // from the start on, until it runs first
}

// bursts are when a neighbour runs: ascending instants, at each of which a burst begins, and what it used before.
type bursts struct {
	from, to []time.Duration
	before   []time.Duration
}

// longest is for how long a run's neighbour is drawn.
const longest = 30 * time.Minute

func (n Neighbour) bursts(seed uint64) (b bursts) {
	if n.Watts <= 0 || n.Busy <= 0 {
		return b
	}
	random := rand.New(rand.NewPCG(seed, 17))
	draw := func(mean time.Duration) time.Duration {
		return time.Duration((0.2 + 0.8*random.ExpFloat64()) * float64(mean))
	}
	used := time.Duration(0)
	for at := n.After + draw(n.Quiet); at < longest; {
		d := draw(n.Busy)
		b.from, b.to, b.before = append(b.from, at), append(b.to, at+d), append(b.before, used)
		used += d
		at += d + draw(n.Quiet)
	}
	return b
}

// until is the processor time that was used by an instant.
func (b bursts) until(t time.Duration) time.Duration {
	i := sort.Search(len(b.from), func(i int) bool { return b.from[i] >= t }) - 1
	if i < 0 {
		return 0
	}
	return b.before[i] + min(t, b.to[i]) - b.from[i]
}

// tick is the unit of /proc/stat.
const tick = 10 * time.Millisecond

// stat is /proc/stat of the simulated machine: processors were in use for what cg, its program and the neighbour used.
// Without a neighbour it stands still.
type stat struct {
	board *board
	text  []byte // of the file: what it begins with is "cpu     ", and eight digits
	last  time.Duration
}

// newStat makes the file.
func newStat(b *board, t *tree, path string) (*stat, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return nil, fmt.Errorf("laboratory: %w", err)
	}
	_, rest, _ := strings.Cut(string(text), "\n")
	first := digits(uint64(time.Hour / tick))
	mapped, err := t.file(path, []byte("cpu     "+string(first[:])+" 0 0 0 0 0 0 0 0 0\n"+rest))
	if err != nil {
		return nil, err
	}
	return &stat{board: b, text: mapped}, nil
}

// show counts what was used by an instant, once in a tick.
func (s *stat) show(now time.Duration) {
	if s.board.machine.Neighbour.Watts <= 0 || now-s.last < tick {
		return
	}
	s.last = now
	s.board.mu.Lock()
	used := s.board.own + s.board.used
	s.board.mu.Unlock()
	busy := time.Duration(used*float64(time.Second)) + s.board.neighbour.until(now)
	putWord(s.text[8:], digits(uint64(time.Hour/tick)+uint64(busy/tick)))
}
