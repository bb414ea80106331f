package laboratory

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sort"
	"strings"
	"time"

	"cg/nemb/account"
)

// Neighbour is another program on the machine, which is simulated: it uses one processor in bursts, and none between
// them. The times of bursts and pauses are drawn at random, on average Busy and Quiet.
type Neighbour struct {
	Watts       float64
	Busy, Quiet time.Duration
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
	for at := draw(n.Quiet); at < longest; {
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
	rest  string // of the real file, behind its first line
	used  *account.Account
}

func newStat(b *board) (*stat, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return nil, fmt.Errorf("laboratory: %w", err)
	}
	_, rest, _ := strings.Cut(string(text), "\n")
	return &stat{board: b, rest: rest, used: account.New()}, nil
}

func (s *stat) text() string {
	busy := time.Duration(0)
	if s.board.machine.Neighbour.Watts > 0 {
		program, _ := s.used.Used()
		busy = program + s.board.neighbour.until(time.Since(s.board.epoch))
	}
	return fmt.Sprintf("cpu  %d 0 0 0 0 0 0 0 0 0\n%s", int64(time.Hour/tick)+int64(busy/tick), s.rest)
}
