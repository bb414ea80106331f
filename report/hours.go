package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"cg/report/figures"
)

// Hours are what a run took of the machine, in the units of accounts and invoices.
type Hours struct {
	// Core is the processor time of the program and its children: core-hours that it used.
	Core float64 `json:"core_hours"`
	// ReservedCore is the time of the run, times the Processors that the program might use, busy or not: core-hours
	// that were kept for it. Nil where these are not known.
	ReservedCore *float64 `json:"reserved_core_hours"`
	Processors   *float64 `json:"processors"`
	// GPU is the time of the run, times the GPUs on which the program held a context. Nil where that is not known.
	GPU *float64 `json:"gpu_hours"`
}

const hour = 3600 // s

// hours tells what the run took. Of a program that cg did not start, the processors that it may use are not known. Of
// one that still runs, nothing is told: its processor time is known when it has ended, and the time of the run ends
// before.
func (r *Run) hours(started bool) {
	if r.Process.Running && started {
		return
	}
	wall := r.Totals.WallDurationS / hour
	h := &Hours{Core: (r.Process.UserS + r.Process.SystemS) / hour}
	if n := r.Processors(); n > 0 && started {
		reserved := n * wall
		h.Processors, h.ReservedCore = &n, &reserved
	}
	if n, known := r.GPUs.used(); known {
		gpu := float64(n) * wall
		h.GPU = &gpu
	}
	r.Totals.Hours = h
}

// used is on how many GPUs the program held a context; known is false where one does not tell.
func (g *GPUs) used() (n int, known bool) {
	if g == nil || len(g.Devices) == 0 {
		return 0, false
	}
	for _, d := range g.Devices {
		switch {
		case d.UsedByProgram == nil:
			return 0, false
		case *d.UsedByProgram:
			n++
		}
	}
	return n, true
}

// Processors are how many the program might use, 0 where that is not known: the least of those of cg's group or its
// own, of --cores, and of the limit of processor time.
func (r *Run) Processors() (n float64) {
	if r.MachineState == nil {
		return 0
	}
	least := func(m float64) {
		if m > 0 && (n == 0 || m < n) {
			n = m
		}
	}
	s := r.MachineState.Before
	least(float64(listed(s.CPUSet)))
	least(float64(listed(s.Cores)))
	if s.CPULimit != nil {
		least(*s.CPULimit)
	}
	return n
}

// listed is how many processors a list such as 0-3,6 has.
func listed(list string) (n int) {
	for part := range strings.SplitSeq(list, ",") {
		from, to, is := strings.Cut(strings.TrimSpace(part), "-")
		a, err := strconv.Atoi(from)
		if err != nil {
			continue
		}
		b := a
		if is {
			if b, err = strconv.Atoi(to); err != nil {
				continue
			}
		}
		n += max(0, b-a+1)
	}
	return n
}

// Plus adds the hours of another run. What is not known of one is not known of both.
func (h *Hours) Plus(o *Hours) *Hours {
	switch {
	case o == nil:
		return h
	case h == nil:
		sum := *o
		return &sum
	}
	return &Hours{Core: h.Core + o.Core, ReservedCore: joint(h.ReservedCore, o.ReservedCore, added),
		Processors: joint(h.Processors, o.Processors, math.Max), GPU: joint(h.GPU, o.GPU, added)}
}

func added(a, b float64) float64 { return a + b }

func joint(a, b *float64, of func(a, b float64) float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	v := of(*a, *b)
	return &v
}

// fewestHours are the core-hours from which on people are told of them: 36 s of one processor.
const fewestHours = 0.01

// Line says them in words, "" for fewer than people want to know of.
func (h *Hours) Line() string {
	if h == nil || max(h.Core, orZero(h.ReservedCore), orZero(h.GPU)) < fewestHours {
		return ""
	}
	text := inHours(h.Core) + " core-hours of processor time"
	if h.ReservedCore != nil {
		text += fmt.Sprintf(", %s core-hours of %s", inHours(*h.ReservedCore),
			countOf(*h.Processors, "reserved processor"))
	}
	if h.GPU != nil && *h.GPU > 0 {
		text += fmt.Sprintf(", %s GPU-hours", inHours(*h.GPU))
	}
	return text
}

// inHours has three digits that count, all of those before the point, and no zeros at its end.
func inHours(v float64) string {
	s := figures.Digits(v)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

func orZero(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// countOf is a number of things, which need not be whole.
func countOf(n float64, name string) string {
	if n != 1 {
		name += "s"
	}
	if n >= 1000 {
		return strconv.FormatFloat(n, 'f', 0, 64) + " " + name
	}
	return strconv.FormatFloat(n, 'g', 4, 64) + " " + name
}
