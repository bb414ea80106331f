package energylog

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// Rows is a log as it stands.
type Rows struct {
	Unix    []int64     // ns since 1970, rising; two at least
	Names   []string    // of the columns
	Values  [][]float64 // by column; not a number where it is not known
	Powers  []Part      // the columns that add up to the machine's power
	Amounts []Part      // those that add up to its energy: energies, or powers to integrate
	Kind    string      // of the energy: measured, derived or estimated
}

// Part is a column that is added up.
type Part struct {
	Column int
	Scale  float64 // to J or W
	Power  bool
}

// ReadRows reads every column of a log that has numbers. A row that is not later than the one
// before it is left out.
func ReadRows(r io.Reader) (*Rows, error) {
	t, err := open(r)
	if err != nil {
		return nil, err
	}
	out := &Rows{Kind: "measured"}
	var from []int // of each column, where it is in the file's rows
	for i, c := range t.columns {
		if !slices.Contains([]string{"unix_ns", "mono_ns", "run"}, c.name) {
			out.Names, from = append(out.Names, c.name), append(from, i)
		}
	}
	var powers []column
	for _, c := range t.columns {
		if c.power {
			powers = append(powers, c)
		}
	}
	parts := func(chosen []column) (all []Part) {
		for _, c := range chosen {
			all = append(all, Part{Column: slices.Index(from, c.at), Scale: c.scale, Power: c.power})
		}
		return all
	}
	chosen := choose(t.columns)
	out.Powers, out.Amounts = parts(choose(powers)), parts(chosen)
	for _, c := range chosen {
		if c.kind == "estimated" || c.kind == "derived" && out.Kind == "measured" {
			out.Kind = c.kind
		}
	}
	out.Values = make([][]float64, len(from))
	for row := 0; ; row++ {
		unix, values, err := t.next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("row %d: %w", row+1, err)
		} else if row >= maxRows {
			return nil, fmt.Errorf("it has more than %d rows", maxRows)
		}
		if n := len(out.Unix); n > 0 && unix <= out.Unix[n-1] {
			continue
		}
		out.Unix = append(out.Unix, unix)
		for i, at := range from {
			v := math.NaN()
			if at < len(values) && !math.IsInf(values[at], 0) {
				v = values[at]
			}
			out.Values[i] = append(out.Values[i], v)
		}
	}
	if len(out.Unix) < 2 {
		return nil, errors.New("it has fewer than two readings")
	}
	return out, nil
}
