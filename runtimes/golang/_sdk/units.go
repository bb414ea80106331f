package codegreen

import (
	"fmt"
	"math"
	"slices"
)

// counted is how many units of work a task has done.
type counted struct {
	unit string
	n    float64
}

// Count tells that the task has done n units of work: tokens, requests, frames, rows. The file
// says what one takes. Counts of a unit add up, from any goroutine, also after the end of the
// task; the file is without those after the end of the session. It is an error, and nothing is counted, where n is
// no number above 0, or the unit no word.
func (t *Task) Count(n float64, unit string) error {
	if !isUnit(unit) {
		return fmt.Errorf("codegreen: count: the unit %q: use letters, digits, _ and -, with a letter or _ in front",
			unit)
	}
	if !(n > 0) || math.IsInf(n, 0) {
		return fmt.Errorf("codegreen: count: %v %s: a count is a number above 0", n, unit)
	}
	if t == nil {
		return nil
	}
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	i := slices.IndexFunc(t.units, func(c counted) bool { return c.unit == unit })
	if i < 0 {
		t.units = append(t.units, counted{unit, n})
		return nil
	}
	if math.IsInf(t.units[i].n+n, 0) {
		return fmt.Errorf("codegreen: count: %v %s more are too many", n, unit)
	}
	t.units[i].n += n
	return nil
}

// isUnit tells whether it is the name of a unit: it stands in columns and flags.
func isUnit(name string) bool {
	for i, c := range []byte(name) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return name != ""
}

// Units are how many units of work were counted.
func (t *Task) Units() map[string]float64 {
	out := map[string]float64{}
	for _, c := range t.counts() {
		out[c.unit] = c.n
	}
	return out
}

func (t *Task) counts() []counted {
	if t == nil {
		return nil
	}
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	return slices.Clone(t.units)
}

// counting tells whether the task, or one around it, counts a unit.
func (t *Task) counting(unit string) bool {
	for ; t != nil; t = t.parent {
		if slices.ContainsFunc(t.counts(), func(c counted) bool { return c.unit == unit }) {
			return true
		}
	}
	return false
}

// unitEntry is what a unit of work takes.
type unitEntry struct {
	Name      string   `json:"name"`
	Count     float64  `json:"count"`
	Energy    *float64 `json:"energy_j"`
	Lo        *float64 `json:"energy_lo_j"`
	Hi        *float64 `json:"energy_hi_j"`
	PerJ      *float64 `json:"count_per_j"`
	PerJLo    *float64 `json:"count_per_j_lo"`
	PerJHi    *float64 `json:"count_per_j_hi"`
	Program   *float64 `json:"program_energy_j"`
	ProgramLo *float64 `json:"program_energy_lo_j"`
	ProgramHi *float64 `json:"program_energy_hi_j"`
}

// of is that of so much energy, nil where it is not known.
func (c counted) of(e *energy) unitEntry {
	out := unitEntry{Name: c.unit, Count: c.n}
	if e == nil {
		return out
	}
	per := func(micro int64) *float64 { return number(float64(micro) / 1e6 / c.n) }
	byJoule := func(micro int64) *float64 { return number(c.n / (float64(micro) / 1e6)) }
	out.Energy, out.Lo, out.Hi = per(e.total), per(e.lo), per(e.hi)
	out.PerJ, out.PerJLo, out.PerJHi = byJoule(e.total), byJoule(e.hi), byJoule(e.lo)
	if p := e.program; p != nil {
		out.Program, out.ProgramLo, out.ProgramHi = per(p.total), per(p.lo), per(p.hi)
	}
	return out
}

// unitsOf are the units of a task.
func unitsOf(t *Task) []unitEntry {
	out := []unitEntry{}
	for _, c := range t.counts() {
		out = append(out, c.of(t.energy))
	}
	return out
}

// unitsOfAll are the units of all tasks together. A task inside another that counts the same unit is left out:
// its energy is in that one's.
func unitsOfAll(tasks []*Task) []unitEntry {
	type sum struct {
		counted
		energy *energy // nil where that of one is not known
	}
	var sums []*sum
	for _, t := range tasks {
		for _, c := range t.counts() {
			if t.parent.counting(c.unit) {
				continue
			}
			i := slices.IndexFunc(sums, func(s *sum) bool { return s.unit == c.unit })
			if i < 0 {
				i = len(sums)
				sums = append(sums, &sum{counted{unit: c.unit}, &energy{program: &share{}}})
			}
			s := sums[i]
			s.n += c.n
			if t.energy == nil || s.energy == nil {
				s.energy = nil
				continue
			}
			s.energy.add(t.energy)
		}
	}
	out := []unitEntry{}
	for _, s := range sums {
		if !math.IsInf(s.n, 0) {
			out = append(out, s.of(s.energy))
		}
	}
	return out
}
