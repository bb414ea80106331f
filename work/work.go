// Package work counts the units of work that a program says it has done: tokens, requests, frames, rows.
//
// A Pattern says where the count stands in the program's output: behind a regular expression, or in a JSON
// value. It takes the output as the program wrote it, and gives a number above 0 or an error that says what
// was found in its place. It knows nothing of energy.
package work

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cg/pattern"
)

// Pattern says where a program's output has a count.
type Pattern struct {
	Name string // of the unit
	Text string // as it was given
	take string // sum, last or count; "" where there is to be one match
	re   *regexp.Regexp
	path []step // of JSON values, where there is no re
}

// Unnamed is the unit of a pattern that names none.
const Unnamed = "unit"

const grammar = "a pattern is [sum:|last:|count:]REGEXP with one group, such as 'tokens: (?P<token>\\d+)', " +
	"or [sum:|last:]json:[NAME=]PATH, such as json:token=.usage.total_tokens"

// nameForm is that of a unit. It stands in columns and flags, so it has no spaces and no slash.
var nameForm = pattern.Later(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// Parse reads a pattern. A name is that of its group, of NAME, or of the last key of a path.
func Parse(text string) (Pattern, error) {
	p := Pattern{Text: text, Name: Unnamed}
	rest := text
	for _, take := range []string{"sum", "last", "count"} {
		if after, is := strings.CutPrefix(rest, take+":"); is {
			p.take, rest = take, after
			break
		}
	}
	if path, is := strings.CutPrefix(rest, "json:"); is {
		return p.ofJSON(path)
	}
	var err error
	if p.re, err = regexp.Compile(rest); err != nil {
		return p, fmt.Errorf("%q: %w: %s", text, err, grammar)
	}
	groups := p.re.NumSubexp()
	switch {
	case rest == "":
		return p, fmt.Errorf("%q: there is nothing to look for: %s", text, grammar)
	case p.take == "count" && groups > 1, p.take != "count" && groups != 1:
		return p, fmt.Errorf("%q: it has %d groups: %s (others are written (?:...))", text, groups, grammar)
	case groups == 1 && p.re.SubexpNames()[1] != "":
		p.Name = p.re.SubexpNames()[1]
	}
	return p, nil
}

// ParseAll reads patterns of different units.
func ParseAll(texts []string) (all []Pattern, err error) {
	for _, text := range texts {
		p, err := Parse(text)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(o Pattern) bool { return o.Name == p.Name }) {
			return nil, fmt.Errorf("%q: the unit %s is counted twice: name each group another, as in (?P<token>\\d+)",
				text, p.Name)
		}
		all = append(all, p)
	}
	return all, nil
}

// MissingError tells that an output does not have the count of a pattern.
type MissingError struct {
	Pattern string
	Why     string
}

func (e *MissingError) Error() string { return fmt.Sprintf("%q %s", e.Pattern, e.Why) }

func (p Pattern) missing(format string, args ...any) error {
	return &MissingError{p.Text, fmt.Sprintf(format, args...)}
}

// longest is the length of a line that is searched, in bytes.
const longest = 16 << 20

// Counts are what the outputs of a program, standard output first, have by these patterns, by unit.
func Counts(patterns []Pattern, outputs ...io.ReadSeeker) (map[string]float64, error) {
	counts := map[string]float64{}
	for _, p := range patterns {
		var found []string
		for _, output := range outputs {
			if _, err := output.Seek(0, io.SeekStart); err != nil {
				return nil, err
			}
			matches, err := p.find(output)
			if err != nil {
				return nil, err
			}
			if p.take == "last" && len(matches) > 0 { // of standard output, where it has one
				found = matches
				break
			}
			found = append(found, matches...)
		}
		n, err := p.count(found)
		if err != nil {
			return nil, err
		}
		counts[p.Name] = n
	}
	return counts, nil
}

// find lists the matches in an output, of "last" the last one alone.
func (p Pattern) find(output io.Reader) (found []string, err error) {
	add := func(text string) {
		if p.take == "last" {
			found = found[:0]
		}
		found = append(found, text)
	}
	if p.re == nil {
		return found, p.values(output, add)
	}
	in := bufio.NewReaderSize(output, 64<<10)
	for {
		line, err := in.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) {
			whole := slices.Clone(line)
			for errors.Is(err, bufio.ErrBufferFull) && len(whole) <= longest {
				line, err = in.ReadSlice('\n')
				whole = append(whole, line...)
			}
			if line = whole; len(whole) > longest {
				return nil, p.missing("cannot be looked for: a line of the output is longer than %d MiB", longest>>20)
			}
		}
		for _, m := range p.re.FindAllSubmatch(line[:len(strings.TrimRight(string(line), "\r\n"))], -1) {
			if p.take == "count" {
				add("1")
			} else {
				add(string(m[1]))
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return found, nil
		case err != nil:
			return nil, err
		}
	}
}

// count is what the matches come to.
func (p Pattern) count(found []string) (float64, error) {
	if len(found) == 0 {
		return 0, p.missing("is not in the output")
	}
	if p.take == "" && len(found) > 1 {
		return 0, p.missing("is %d times in the output: put sum: in front of it to add them up, or last: to take the "+
			"last one", len(found))
	}
	total := 0.0
	for _, text := range found {
		n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) || n < 0 {
			return 0, p.missing("has %q in the output, which is no count: use a group of digits, such as (\\d+)", text)
		}
		total += n
	}
	if total <= 0 || math.IsInf(total, 0) {
		return 0, p.missing("counts %g in the output: a unit's energy needs a count above 0", total)
	}
	return total, nil
}
