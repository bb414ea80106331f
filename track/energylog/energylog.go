// Package energylog reads energy over time from logs: those that cg track writes (CSV and
// lines of JSON), and those of WattAMeter (github.com/NatLabRockies/WattAMeter).
//
// What comes in is a file; what comes out are the joules of the machine since the first
// reading, at the moment of each. Energy counters are added up where they count different
// things: a core's is part of its package's, and a platform's has the packages in it. Where
// a log has powers only, they are integrated. A reading that failed is left out. What a
// counter counted from its last reading until it began anew is not known, and such gaps are
// counted.
package energylog

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Log is the energy of a machine, or of a part of it, over time.
type Log struct {
	// Unix are moments in seconds since 1970, in their order, two at least.
	Unix []float64
	// Joules are since the first moment.
	Joules []float64
	// Kind is measured, derived or estimated. What is measured with gaps is derived.
	Kind string
	// Anew is how often a counter began anew: a gap, of which Joules have nothing.
	Anew int
	// Columns are those that make it up, as the file names them.
	Columns []string
}

// maxRows is how many rows of a file are read: a day at a millisecond.
const maxRows = 90_000_000

// column is one of a file.
type column struct {
	name  string
	id    string // of what it counts, without its unit
	power bool
	scale float64 // to J or W
	kind  string
	at    int // in the row
}

// table is a file as rows of numbers; a value that is not known is not a number.
type table struct {
	columns []column
	next    func() (unix int64, values []float64, err error) // unix in ns
}

// open reads how a log is made up.
func open(r io.Reader) (*table, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	head, err := b.Peek(1)
	if err != nil {
		return nil, errors.New("it is empty")
	}
	switch head[0] {
	case '{':
		return jsonLines(b)
	case '#':
		return wattameter(b)
	}
	return csvRows(b)
}

// Read reads a log. Times of WattAMeter's are in the zone of this machine.
func Read(r io.Reader) (*Log, error) {
	t, err := open(r)
	if err != nil {
		return nil, err
	}
	chosen := choose(t.columns)
	if len(chosen) == 0 {
		return nil, errors.New("it has no column of energy or power that cg knows")
	}
	return t.read(chosen)
}

// read adds the chosen columns up.
func (t *table) read(chosen []column) (*Log, error) {
	out := &Log{Kind: "measured"}
	for _, c := range chosen {
		out.Columns = append(out.Columns, c.name)
		if kind := c.kind; kind == "estimated" || kind == "derived" && out.Kind == "measured" {
			out.Kind = kind
		}
	}
	sum, before := 0.0, make([]float64, len(chosen))
	for row := 0; ; row++ {
		ns, values, err := t.next()
		unix := float64(ns) * 1e-9
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", row+1, err)
		}
		if row >= maxRows {
			return nil, fmt.Errorf("it has more than %d rows", maxRows)
		}
		now := make([]float64, len(chosen))
		whole := true
		for i, c := range chosen {
			v := math.NaN()
			if c.at < len(values) {
				v = values[c.at] * c.scale
			}
			whole = whole && !math.IsNaN(v) && !math.IsInf(v, 0)
			now[i] = v
		}
		n := len(out.Unix)
		if !whole || n > 0 && unix <= out.Unix[n-1] {
			continue
		}
		for i, c := range chosen {
			switch {
			case n == 0:
			case c.power:
				sum += (before[i] + now[i]) / 2 * (unix - out.Unix[n-1])
			case now[i] < before[i]: // the counter began anew
				out.Anew++
			default:
				sum += now[i] - before[i]
			}
		}
		before = now
		out.Unix, out.Joules = append(out.Unix, unix), append(out.Joules, sum)
	}
	if len(out.Unix) < 2 {
		return nil, errors.New("it has fewer than two readings")
	}
	if out.Anew > 0 && out.Kind == "measured" {
		out.Kind = "derived"
	}
	return out, nil
}

// choose picks the columns that make up the machine: energies before powers of the same
// thing, packages before the platform, and no part of what is counted already.
func choose(all []column) (out []column) {
	packages := slices.ContainsFunc(all, func(c column) bool { return isPackage(c.id) })
	for _, c := range all {
		part := strings.Contains(c.id, "core") || strings.Contains(c.id, "uncore")
		platform := strings.HasPrefix(c.id, "psys") || strings.HasPrefix(c.id,
			"machine") || strings.HasPrefix(c.id, "system") || strings.HasPrefix(c.id, "wall")
		if part || platform && packages || c.id == "" {
			continue
		}
		other := func(o column) bool { return o.id == c.id && (!o.power || o.at < c.at) }
		if c.power && slices.ContainsFunc(all, other) {
			continue
		}
		out = append(out, c)
	}
	return out
}

// isPackage reports whether a column is a processor's: package-0 of cg, cpu-0 of WattAMeter.
func isPackage(id string) bool {
	if strings.HasPrefix(id, "package-") {
		return true
	}
	rest, is := strings.CutPrefix(id, "cpu-")
	_, err := strconv.Atoi(rest)
	return is && err == nil
}

// columnOf reads the name of one of cg track's columns: package-0_j, gpu0_derived_j.
func columnOf(name string, at int) column {
	c := column{name: name, scale: 1, kind: "measured", at: at}
	id, is := strings.CutSuffix(name, "_j")
	if !is {
		if id, is = strings.CutSuffix(name, "_power_w"); !is || strings.HasSuffix(id, "_average") {
			if id, is = strings.CutSuffix(name, "_w"); !is || strings.HasSuffix(id, "_average_power") {
				return c
			}
		}
		c.power, c.kind = true, "derived"
	}
	for _, kind := range []string{"estimated", "derived"} {
		if rest, is := strings.CutSuffix(id, "_"+kind); is {
			id, c.kind = rest, kind
		}
	}
	c.id = id
	return c
}

// csvRows reads what cg track --format csv writes.
func csvRows(r io.Reader) (*table, error) {
	rows := csv.NewReader(r)
	rows.ReuseRecord, rows.FieldsPerRecord = true, -1
	names, err := rows.Read()
	if err != nil || len(names) == 0 || names[0] != "unix_ns" {
		return nil, errors.New("it is no log of cg track or WattAMeter: it begins with no unix_ns, # or {")
	}
	if names[len(names)-1] == "power_w" { // cg track's last column is run
		return nil, errors.New("it is a table that cg track merge made: name the logs themselves")
	}
	t := &table{}
	for i, name := range names {
		t.columns = append(t.columns, columnOf(name, i))
	}
	values := make([]float64, len(names))
	t.next = func() (int64, []float64, error) {
		fields, err := rows.Read()
		for err == nil && (fields[0] == "unix_ns" || len(fields) < len(names)) { // a header again, or a row cut off
			fields, err = rows.Read()
		}
		if err != nil {
			return 0, nil, err
		}
		for i := range values {
			values[i] = number(fields[i])
		}
		ns, err := strconv.ParseInt(fields[0], 10, 64)
		return ns, values, err
	}
	return t, nil
}

// number is a value, not a number where there is none.
func number(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// jsonLines reads what cg track --format jsonl writes.
func jsonLines(r io.Reader) (*table, error) {
	d := json.NewDecoder(r)
	d.UseNumber()
	var head struct {
		Columns []struct{ Name, Kind string }
	}
	if err := d.Decode(&head); err != nil || len(head.Columns) == 0 {
		return nil, errors.New("it is no log of cg track: its first line does not describe columns")
	}
	t := &table{}
	for i, c := range head.Columns {
		one := columnOf(c.Name, i)
		if c.Kind != "" && !one.power {
			one.kind = c.Kind
		}
		t.columns = append(t.columns, one)
	}
	values := make([]float64, len(t.columns))
	t.next = func() (int64, []float64, error) {
		for {
			var row map[string]any
			if err := d.Decode(&row); errors.Is(err, io.ErrUnexpectedEOF) {
				return 0, nil, io.EOF // a row cut off
			} else if err != nil {
				return 0, nil, err
			}
			unix, is := row["unix_ns"].(json.Number)
			if !is {
				continue // a header again
			}
			for i, c := range t.columns {
				v, _ := row[c.name].(json.Number)
				values[i] = number(string(v))
			}
			ns, err := unix.Int64()
			return ns, values, err
		}
	}
	return t, nil
}

// units are those of WattAMeter's columns: of energies in joules, of powers in watts.
var units = map[string]struct {
	scale float64
	power bool
}{"uJ": {1e-6, false}, "mJ": {1e-3, false}, "J": {1, false}, "W": {1, true}, "mW": {1e-3, true}}

// wattameter reads a log of WattAMeter's: lines that begin with # are comments, one of
// which names the columns.
func wattameter(r *bufio.Reader) (*table, error) {
	t := &table{}
	line := func() (string, error) {
		s, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) && s != "" {
			err = nil
		}
		return strings.TrimSpace(s), err
	}
	for len(t.columns) == 0 {
		s, err := line()
		if err != nil {
			return nil, errors.New("it is no log of WattAMeter's: no line names columns")
		}
		words := strings.Fields(strings.TrimPrefix(s, "#"))
		if len(words) < 2 || words[0] != "timestamp" {
			continue
		}
		for i, word := range words[1:] {
			t.columns = append(t.columns, wattameterColumn(word, i))
		}
	}
	values := make([]float64, len(t.columns))
	t.next = func() (int64, []float64, error) {
		for {
			s, err := line()
			if err != nil {
				return 0, nil, err
			}
			words := strings.Fields(s)
			if len(words) < 2 || words[0][0] == '#' {
				continue
			}
			at, err := time.ParseInLocation("2006-01-02_15:04:05.000000", words[0], time.Local)
			if err != nil {
				return 0, nil, fmt.Errorf("%q is no time of WattAMeter's", words[0])
			}
			for i := range values {
				if values[i] = math.NaN(); i+1 < len(words) {
					values[i] = number(words[i+1])
				}
			}
			return at.UnixNano(), values, nil
		}
	}
	return t, nil
}

func wattameterColumn(word string, at int) column {
	c := column{name: word, kind: "measured", at: at}
	id, rest, _ := strings.Cut(word, "[")
	unit, known := units[strings.TrimSuffix(rest, "]")]
	if !known {
		return c
	}
	if c.scale, c.power = unit.scale, unit.power; c.power {
		c.kind = "derived"
	}
	for _, kind := range []string{"estimated", "derived"} {
		if rest, is := strings.CutSuffix(id, "-"+kind); is {
			id, c.kind = rest, kind
		}
	}
	c.id = id
	return c
}
