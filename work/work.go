// Package work counts the units of work that a program says it has done: tokens, requests, frames, rows.
//
// A Pattern says where the count stands in the program's output: behind a regular expression, or in a JSON
// value. It takes the output as the program wrote it, and gives a number above 0 or an error that says what
// was found in its place. It knows nothing of energy.
package work

import (
	"bufio"
	"bytes"
	"context"
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

// Counts are what the outputs of a program, standard output first, have by these patterns, by unit. It takes the
// memory of one line, or for JSON of one output, and ends with the error of ctx once that is done.
func Counts(ctx context.Context, patterns []Pattern, outputs ...io.ReadSeeker) (map[string]float64, error) {
	counts := map[string]float64{}
	for _, p := range patterns {
		t := tally{pattern: p}
		for _, output := range outputs {
			if _, err := output.Seek(0, io.SeekStart); err != nil {
				return nil, err
			}
			if err := p.find(reader{ctx, output}, &t); err != nil {
				return nil, err
			}
			if p.take == "last" && t.matches > 0 { // of standard output, where it has one
				break
			}
		}
		n, err := t.count()
		if err != nil {
			return nil, err
		}
		counts[p.Name] = n
	}
	return counts, nil
}

// reader reads until ctx is done.
type reader struct {
	ctx context.Context
	io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// tally is what the matches of a pattern come to so far.
type tally struct {
	pattern Pattern
	matches int
	last    string
	total   float64 // but of "last"
	wrong   error   // the first of them that is no count
}

// add takes the next match.
func (t *tally) add(text string) {
	t.matches++
	t.last = text
	switch t.pattern.take {
	case "last":
	case "count":
		t.total++
	default:
		t.sum(text)
	}
}

func (t *tally) sum(text string) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if (err != nil || math.IsNaN(n) || math.IsInf(n, 0) || n < 0) && t.wrong == nil {
		t.wrong = t.pattern.missing("has %q in the output, which is no count: use a group of digits, such as (\\d+)",
			text)
	}
	t.total += n
}

// find adds the matches in an output.
func (p Pattern) find(output reader, t *tally) error {
	if p.re == nil {
		return p.values(output, t.add)
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
				return p.missing("cannot be looked for: a line of the output is longer than %d MiB", longest>>20)
			}
		}
		for _, m := range p.re.FindAllSubmatch(bytes.TrimRight(line, "\r\n"), -1) {
			if p.take == "count" {
				t.add("")
			} else {
				t.add(string(m[1]))
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// count is what all matches come to.
func (t *tally) count() (float64, error) {
	p := t.pattern
	if t.matches == 0 {
		return 0, p.missing("is not in the output")
	}
	if p.take == "" && t.matches > 1 {
		return 0, p.missing("is %d times in the output: put sum: in front of it to add them up, or last: to take the "+
			"last one", t.matches)
	}
	if p.take == "last" {
		t.sum(t.last)
	}
	if t.wrong != nil {
		return 0, t.wrong
	}
	if t.total <= 0 || math.IsInf(t.total, 0) {
		return 0, p.missing("counts %g in the output: a unit's energy needs a count above 0", t.total)
	}
	return t.total, nil
}
