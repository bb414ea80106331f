package recorder

import (
	"errors"
	"fmt"
	"math"
)

// symbol is a part of a rule: a call, or another rule, so and so many times.
type symbol struct {
	value int32 // a call from 0 on, or the number of a rule as -1 minus its place
	times int32
}

// grammar makes the calls of a rank: its first rule is where they begin.
type grammar struct {
	rules [][]symbol
	// lengths are how many calls each rule makes.
	lengths []uint64
}

// length is how many calls the whole makes.
func (g *grammar) length() uint64 { return g.lengths[0] }

// Grammars (CFG, by the algorithm Sequitur) have an i32 number of rules. Of each i32
// number, below 0, i32 symbols, and of each symbol i32 value, i32 times. The rule -1 is
// the beginning; a value below 0 is a rule.
func parseGrammar(b []byte, calls int) (*grammar, error) {
	if len(b) < 4 {
		return nil, fmt.Errorf("a grammar has %d bytes", len(b))
	}
	n := int(int32(little.Uint32(b)))
	b = b[4:]
	if n < 1 || n > len(b)/8 {
		return nil, fmt.Errorf("a grammar says that it has %d rules, and has %d bytes", n, len(b))
	}
	g := &grammar{rules: make([][]symbol, n)}
	begun := false
	place := map[int32]int32{-1: 0} // of each number
	next := int32(1)
	var all []symbol
	spans := make([][2]int, n)
	for i := range n {
		if len(b) < 8 {
			return nil, fmt.Errorf("rule %d of %d: the grammar ends", i, n)
		}
		id, count := int32(little.Uint32(b)), int(int32(little.Uint32(b[4:])))
		b = b[8:]
		if count < 0 || count > len(b)/8 {
			return nil, fmt.Errorf("rule %d has %d symbols, and %d bytes are left", id, count, len(b))
		}
		at := int32(0)
		if id != -1 {
			if _, twice := place[id]; twice || id >= 0 || int(next) >= n {
				return nil, fmt.Errorf("a rule has the number %d, which is of another or of none", id)
			}
			at, next = next, next+1
			place[id] = at
		} else if begun {
			return nil, errors.New("a grammar begins twice")
		} else {
			begun = true
		}
		begin := len(all)
		for k := range count {
			s := symbol{int32(little.Uint32(b[8*k:])), int32(little.Uint32(b[8*k+4:]))}
			if s.times < 1 {
				return nil, fmt.Errorf("rule %d has a symbol %d times", id, s.times)
			}
			if int(s.value) >= calls {
				return nil, fmt.Errorf("rule %d has call %d, and there are %d", id, s.value, calls)
			}
			all = append(all, s)
		}
		spans[at] = [2]int{begin, len(all)}
		b = b[8*count:]
	}
	if !begun {
		return nil, errors.New("a grammar has no beginning, rule -1")
	}
	for i, s := range spans {
		g.rules[i] = all[s[0]:s[1]]
	}
	for i := range all {
		if all[i].value < 0 {
			at, known := place[all[i].value]
			if !known {
				return nil, fmt.Errorf("there is no rule %d", all[i].value)
			}
			all[i].value = -1 - at
		}
	}
	return g, g.measure()
}

// measure counts the calls, and refuses a grammar that contains itself.
func (g *grammar) measure() error {
	const unknown, open, known = 0, 1, 2
	state := make([]uint8, len(g.rules))
	length := make([]uint64, len(g.rules))
	next := make([]int, len(g.rules)) // symbol to look at
	stack := []int{0}
	for len(stack) > 0 {
		rule := stack[len(stack)-1]
		state[rule] = open
		if next[rule] == len(g.rules[rule]) {
			state[rule] = known
			stack = stack[:len(stack)-1]
			continue
		}
		s := g.rules[rule][next[rule]]
		one := uint64(1)
		if s.value < 0 {
			inner := int(-1 - s.value)
			switch state[inner] {
			case open:
				return errors.New("a grammar contains itself")
			case unknown:
				stack = append(stack, inner)
				continue
			}
			one = length[inner]
		}
		if one > 0 && uint64(s.times) > (math.MaxInt64-length[rule])/one {
			return errors.New("a grammar makes more calls than can be counted")
		}
		length[rule] += one * uint64(s.times)
		next[rule]++
	}
	g.lengths = length
	return nil
}

// walker gives the calls of a grammar in their order.
type walker struct {
	g     *grammar
	stack []frame
	// call is the current one, left how often it still comes.
	call int32
	left int32
}

// frame is a rule that is being gone through, how often it comes again, and its place.
type frame struct {
	rule  []symbol
	at    int
	again int32
}

func (g *grammar) walk() walker {
	return walker{g: g, stack: []frame{{rule: g.rules[0]}}}
}

// next is the number of the next call, or -1 at the end.
func (w *walker) next() int32 {
	if w.left > 0 {
		w.left--
		return w.call
	}
	for len(w.stack) > 0 {
		f := &w.stack[len(w.stack)-1]
		if f.at == len(f.rule) {
			if f.again > 0 {
				f.again--
				f.at = 0
				continue
			}
			w.stack = w.stack[:len(w.stack)-1]
			continue
		}
		s := f.rule[f.at]
		f.at++
		if s.value >= 0 {
			w.call, w.left = s.value, s.times-1
			return w.call
		}
		if inner := -1 - s.value; w.g.lengths[inner] > 0 {
			w.stack = append(w.stack, frame{rule: w.g.rules[inner], again: s.times - 1})
		}
	}
	return -1
}
