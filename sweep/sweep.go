// Package sweep makes the combinations of parameters' values and puts them into command lines.
//
// It takes the words of flags such as -L threads 1,2,4 and -P size 1..1000 and gives Points: each has a value for
// each parameter. A text has a parameter's value wherever its name stands in braces, {size}. Names that are not
// known, empty lists and ranges without an end are errors.
package sweep

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"cg/pattern"
)

// Parameter is a name and the values that it has in turn.
type Parameter struct {
	Name   string
	Values []string
}

// Point is a combination: a value for each parameter, by its name.
type Point map[string]string

// MostValues bounds a range, MostPoints the combinations that are run.
const (
	MostValues = 1_000_000
	MostPoints = 500
)

var named = pattern.Later(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// IsName reports whether a word can be a parameter's name.
func IsName(word string) bool { return named().MatchString(word) }

// List is a parameter with the values that a text has, with commas between them.
func List(name, text string) (Parameter, error) {
	p := Parameter{Name: name, Values: strings.Split(text, ",")}
	if !IsName(name) {
		return p, nameless(name)
	}
	for i, v := range p.Values {
		if v == "" || slices.Contains(p.Values[:i], v) {
			return p, fmt.Errorf("%s %s: %q is empty, or there twice: values have a comma between them, 1,2,4", name,
				text, v)
		}
	}
	return p, nil
}

func nameless(name string) error {
	return fmt.Errorf("%q is no name: it begins with a letter, and has letters, digits, _ and - in it", name)
}

// Range is a parameter with the numbers of a text: 1..10 by ones, 1..1000:100 by steps of 100, 1..1000*10 with each
// ten times the one before. Numbers have the decimals that the text has.
func Range(name, text string) (Parameter, error) {
	p := Parameter{Name: name}
	if !IsName(name) {
		return p, nameless(name)
	}
	wrong := fmt.Errorf("%s %s: want a range: 1..10, 1..1000:100 (steps of 100) or 1..1000*10 (each ten times the "+
		"one before)", name, text)
	ends, by := text, "1"
	at := strings.IndexAny(text, ":*")
	if at >= 0 {
		ends, by = text[:at], text[at+1:]
	}
	from, to, is := strings.Cut(ends, "..")
	if !is {
		return p, wrong
	}
	times := at >= 0 && text[at] == '*'
	decimals := 0
	var numbers [3]float64
	for i, word := range []string{from, to, by} {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil || math.IsInf(v, 0) || math.IsNaN(v) || math.Abs(v) > 1e15 ||
			strings.ContainsAny(word, "xXpPeE_") {
			return p, wrong
		}
		numbers[i] = v
		if _, fraction, is := strings.Cut(word, "."); is && !(times && i == 2) {
			decimals = max(decimals, len(fraction))
		}
	}
	lo, hi, step := numbers[0], numbers[1], numbers[2]
	switch {
	case lo > hi:
		return p, fmt.Errorf("%s %s: the range ends before it begins: name the smaller number first", name, text)
	case times && (lo <= 0 || step <= 1), !times && step <= 0:
		return p, wrong
	case !times && (hi-lo)/step >= MostValues, times && math.Log(hi/lo)/math.Log(step) >= MostValues:
		return p, fmt.Errorf("%s %s: that are more than %d values: use a larger step", name, text, MostValues)
	}
	// Rounding must not lose the last value: its error is far below a step.
	end := hi + step*1e-9
	if times {
		end = hi * (1 + 1e-12)
	}
	for k := 0; ; k++ {
		v := lo + float64(k)*step
		if times {
			v = lo * math.Pow(step, float64(k))
		}
		if v > end {
			return p, nil
		}
		word := strconv.FormatFloat(v, 'f', decimals, 64)
		if !slices.Contains(p.Values[max(0, len(p.Values)-1):], word) {
			p.Values = append(p.Values, word)
		}
	}
}

// Check refuses parameters of one name.
func Check(all []Parameter) error {
	for i, p := range all {
		if slices.ContainsFunc(all[:i], func(o Parameter) bool { return o.Name == p.Name }) {
			return fmt.Errorf("%s is there twice: give each parameter its own name", p.Name)
		}
	}
	return nil
}

// Count is how many combinations there are, math.Inf for very many.
func Count(all []Parameter) float64 {
	n := 1.0
	for _, p := range all {
		n *= float64(len(p.Values))
	}
	return n
}

// Points are all combinations, the last parameter's values changing fastest; or, where sample is not 0, so many of
// them, drawn at random without one twice, in the same order.
func Points(all []Parameter, sample int, draw *rand.Rand) []Point {
	total := Count(all)
	if sample == 0 || float64(sample) >= total {
		points := make([]Point, 0, int(total))
		for i := range int(total) {
			points = append(points, point(all, i))
		}
		return points
	}
	drawn := map[string]bool{}
	places := make([][]int, 0, sample)
	for len(places) < sample {
		place := make([]int, len(all))
		for i, p := range all {
			place[i] = draw.IntN(len(p.Values))
		}
		if key := fmt.Sprint(place); !drawn[key] {
			drawn[key] = true
			places = append(places, place)
		}
	}
	slices.SortFunc(places, slices.Compare)
	var points []Point
	for _, place := range places {
		at := Point{}
		for i, p := range all {
			at[p.Name] = p.Values[place[i]]
		}
		points = append(points, at)
	}
	return points
}

// point is combination i.
func point(all []Parameter, i int) Point {
	at := Point{}
	for _, p := range slices.Backward(all) {
		at[p.Name] = p.Values[i%len(p.Values)]
		i /= len(p.Values)
	}
	return at
}

// Fill puts the values into a text. Braces about other words stay, and so does ${NAME}, which is a shell's.
func (at Point) Fill(text string) string {
	var pairs []string
	for name, value := range at {
		pairs = append(pairs, "${"+name+"}", "${"+name+"}", "{"+name+"}", value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// Of is the part of a point whose parameters stand in some texts.
func (at Point) Of(texts ...string) Point {
	part := Point{}
	for name, value := range at {
		if slices.ContainsFunc(texts, func(text string) bool {
			return strings.Count(text, "{"+name+"}") > strings.Count(text, "${"+name+"}")
		}) {
			part[name] = value
		}
	}
	return part
}
