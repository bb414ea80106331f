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
	symbols []symbol
	spans   [][2]uint32 // of each rule among the symbols
	// lengths are how many calls each rule makes.
	lengths []uint64
}

// rule are the symbols of a rule.
func (g *grammar) rule(i int32) []symbol { return g.symbols[g.spans[i][0]:g.spans[i][1]] }

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
	g := &grammar{spans: make([][2]uint32, n), symbols: make([]symbol, 0, len(b)/8-n)}
	begun := false
	place := map[int32]int32{-1: 0} // of each number
	next := int32(1)
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
		begin := len(g.symbols)
		for k := range count {
			s := symbol{int32(little.Uint32(b[8*k:])), int32(little.Uint32(b[8*k+4:]))}
			if s.times < 1 {
				return nil, fmt.Errorf("rule %d has a symbol %d times", id, s.times)
			}
			if int(s.value) >= calls {
				return nil, fmt.Errorf("rule %d has call %d, and there are %d", id, s.value, calls)
			}
			g.symbols = append(g.symbols, s)
		}
		g.spans[at] = [2]uint32{uint32(begin), uint32(len(g.symbols))}
		b = b[8*count:]
	}
	if !begun {
		return nil, errors.New("a grammar has no beginning, rule -1")
	}
	for i, s := range g.symbols {
		if s.value < 0 {
			at, known := place[s.value]
			if !known {
				return nil, fmt.Errorf("there is no rule %d", s.value)
			}
			g.symbols[i].value = -1 - at
		}
	}
	return g, g.measure()
}

// measure counts the calls, and refuses a grammar that contains itself.
func (g *grammar) measure() error {
	const unknown, open, known = 0, 1, 2
	state := make([]uint8, len(g.spans))
	length := make([]uint64, len(g.spans))
	next := make([]uint32, len(g.spans)) // symbol to look at
	stack := []int32{0}
	for len(stack) > 0 {
		rule := stack[len(stack)-1]
		state[rule] = open
		symbols := g.rule(rule)
		if int(next[rule]) == len(symbols) {
			g.shorten(rule, length)
			state[rule] = known
			stack = stack[:len(stack)-1]
			continue
		}
		s := symbols[next[rule]]
		one := uint64(1)
		if s.value < 0 {
			inner := -1 - s.value
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

// shorten leaves out the symbols of a rule that make no call, and puts what a rule of one symbol
// makes in the place of that rule. So a step of a walker makes a call, or begins or ends at
// least two, and a walk takes no longer than its calls. The rules in the rule are short already.
func (g *grammar) shorten(rule int32, length []uint64) {
	symbols := g.rule(rule)
	kept := symbols[:0]
	for _, s := range symbols {
		if s.value < 0 {
			inner := -1 - s.value
			if length[inner] == 0 {
				continue
			}
			if in := g.rule(inner); len(in) == 1 && (in[0].times == 1 || s.times == 1) {
				s = symbol{in[0].value, in[0].times * s.times}
			}
		}
		kept = append(kept, s)
	}
	g.spans[rule][1] = g.spans[rule][0] + uint32(len(kept))
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
	return walker{g: g, stack: []frame{{rule: g.rule(0)}}}
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
		w.stack = append(w.stack, frame{rule: w.g.rule(-1 - s.value), again: s.times - 1})
	}
	return -1
}
