package footprint

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Series is how many grams a kilowatt-hour emitted over some time: each rate holds until the
// next one begins, and the last as long as the one before it.
type Series struct {
	Name  string // the file or address that it is from
	times []time.Time
	rates []float64 // g/kWh
}

// mostRows is more than ten years of quarters of an hour.
const mostRows = 1 << 19

// The layouts of times that are read. One without a zone is in UTC.
var layouts = []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04",
	"2006-01-02 15:04:05", "2006-01-02 15:04"}

// ReadSeries reads a table of comma-separated values with a line of names (RFC 4180). The
// first column whose name begins with "time" or "date" has when a rate begins. The rate is in
// g_per_kwh, or in the column of the life cycle that Electricity Maps' files have. name is
// what errors call it.
func ReadSeries(name string, r io.Reader) (*Series, error) {
	rows := csv.NewReader(r)
	rows.FieldsPerRecord = -1
	head, err := rows.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: not a table of times and g_per_kwh: %w", name, err)
	}
	at := slices.IndexFunc(head, func(s string) bool {
		s = strings.ToLower(strings.TrimPrefix(s, "\ufeff"))
		return strings.HasPrefix(s, "time") || strings.HasPrefix(s, "date")
	})
	rate := slices.IndexFunc(head, func(s string) bool {
		s = strings.ToLower(strings.TrimSpace(s))
		return s == "g_per_kwh" || strings.HasPrefix(s, "carbon intensity") &&
			(strings.Contains(s, "life") || strings.Contains(s, "lca")) // lca up to 2024
	})
	if at < 0 || rate < 0 {
		return nil, fmt.Errorf("%s: its first line names no columns time and g_per_kwh", name)
	}
	s := &Series{Name: name}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		line, _ := rows.FieldPos(0)
		if err := s.add(row, at, rate); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
	}
	if len(s.times) < 2 {
		return nil, fmt.Errorf("%s: two rows at least tell how long a rate holds, and there are %d", name, len(s.times))
	}
	return s, nil
}

func (s *Series) add(row []string, at, rate int) error {
	if len(row) <= max(at, rate) {
		return fmt.Errorf("the row has %d columns and not %d", len(row), max(at, rate)+1)
	}
	when, err := parseTime(row[at])
	if err != nil {
		return err
	}
	if n := len(s.times); n > 0 && !when.After(s.times[n-1]) {
		return fmt.Errorf("%s is not after the row before", row[at])
	}
	if len(s.times) == mostRows {
		return fmt.Errorf("there are more than %d rows", mostRows)
	}
	v, err := positive(row[rate])
	s.times, s.rates = append(s.times, when), append(s.rates, v)
	return err
}

func parseTime(text string) (time.Time, error) {
	for _, layout := range layouts {
		if t, err := time.Parse(layout, strings.TrimSpace(text)); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time such as 2026-03-01T14:00:00Z", text)
}

// Mean is the mean rate from one moment to another, by time. The interval is from the least to
// the most of the rates that held meanwhile: nothing says at which of them the energy was used.
func (s *Series) Mean(from, to time.Time) (Range, error) {
	last := len(s.times) - 1
	end := s.times[last].Add(s.times[last].Sub(s.times[last-1]))
	if from.Before(s.times[0]) || to.After(end) {
		return Range{}, fmt.Errorf("%s has rates from %s to %s, and the energy was used from %s to %s", s.Name,
			stamp(s.times[0]), stamp(end), stamp(from), stamp(to))
	}
	i, found := slices.BinarySearchFunc(s.times, from, time.Time.Compare)
	if !found {
		i--
	}
	mean := Range{Lo: s.rates[i], Hi: s.rates[i]}
	sum := 0.0
	for ; i <= last && (s.times[i].Before(to) || !s.times[i].After(from)); i++ {
		until := end
		if i < last {
			until = s.times[i+1]
		}
		over := earlier(until, to).Sub(later(s.times[i], from)).Seconds()
		sum += s.rates[i] * over
		mean.Value = s.rates[i]
		mean.Lo, mean.Hi = min(mean.Lo, s.rates[i]), max(mean.Hi, s.rates[i])
	}
	if took := to.Sub(from).Seconds(); took > 0 {
		mean.Value = min(mean.Hi, max(mean.Lo, sum/took))
	}
	return mean, nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
