package track

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"cg/shown"
)

// Recording is what cg track records: a document that grows while it is written.
type Recording struct{}

// Kind names a recording.
func (Recording) Kind() string { return "a recording of cg track" }

// Layout is how a format keeps recordings: which files there are, and what is in them.
type Layout struct {
	// group says which readers share a file.
	group func([]reader) [][]reader
	// extra names the files beside those of the trackers; marker writes them.
	extra  func(Config) []string
	marker func(Config) encoder
	// name names the file of a stream, other than those taken.
	name    func(c Config, t Tracker, st *stream, taken []string) string
	encoder func(Config, Tracker, *stream) encoder
}

// encoder writes one file.
type encoder interface {
	header() string
	// again is the header of a file that is there, or an error if rows cannot
	// be added to it.
	again(old []byte, header string) (string, error)
	// rows adds rows to buf; last tells that no more come.
	rows(buf []byte, rows []row, last bool) []byte
}

// The layouts. CSV and JSONLines have one file for each tracker.
var (
	CSV        = tabular("csv", newCSV)
	JSONLines  = tabular("jsonl", newJSONLines)
	WattAMeter = wattameterLayout
)

// Filenames are the files that a recording makes first. When they are there, all of its
// files are. Those of WattAMeter's layout with one file each for what the sensors are is its
// log of runs.
func (c Config) Filenames() (names []string) {
	if names = c.Layout.extra(c); len(names) == 0 {
		for _, t := range c.Trackers {
			names = append(names, c.Layout.name(c, t, nil, names))
		}
	}
	for i := range names {
		names[i] = filepath.Join(c.Dir, names[i])
	}
	return names
}

// tabular is a layout with one file for each tracker.
func tabular(extension string, encode func(Config, Tracker, *stream) encoder) *Layout {
	return &Layout{
		group: func(readers []reader) [][]reader {
			if len(readers) == 0 {
				return nil
			}
			return [][]reader{readers}
		},
		extra: func(Config) []string { return nil },
		name: func(c Config, t Tracker, _ *stream, taken []string) string {
			suffix := ""
			if c.Suffix != "" {
				suffix = "_" + c.Suffix
			}
			for n := 1; ; n++ {
				name := "cg_" + t.Every.String() + suffix + "." + extension
				if n > 1 {
					name = fmt.Sprintf("cg_%s_%d%s.%s", t.Every, n, suffix, extension)
				}
				if !endsAny(taken, "/"+name) {
					return name
				}
			}
		},
		encoder: encode,
	}
}

func endsAny(paths []string, end string) bool {
	for _, p := range paths {
		if strings.HasSuffix("/"+p, end) {
			return true
		}
	}
	return false
}

// number writes a value with at most the given digits behind the point; empty
// where it is not known.
func number(buf []byte, v float64, digits int) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return buf
	}
	start := len(buf)
	buf = strconv.AppendFloat(buf, v, 'f', digits, 64)
	if bytes.IndexByte(buf[start:], '.') >= 0 {
		buf = bytes.TrimRight(buf, "0")
		buf = bytes.TrimSuffix(buf, []byte("."))
	}
	return buf
}

// csvFile has a line of names and a line for each row. Energies are cumulative
// joules; the power beside each is the mean since the row before.
type csvFile struct {
	columns []column
	id      string
	before  row
}

func newCSV(c Config, _ Tracker, st *stream) encoder { return &csvFile{columns: st.columns, id: c.ID} }

func (f *csvFile) header() string {
	names := []string{"unix_ns", "mono_ns", "reading_ns"}
	for _, c := range f.columns {
		names = append(names, csvText(c.name))
		if c.energy {
			names = append(names, csvText(c.power()))
		}
	}
	return strings.Join(append(names, "run"), ",") + "\n"
}

func (f *csvFile) again(old []byte, header string) (string, error) {
	if !bytes.HasPrefix(old, []byte(header)) {
		return "", errors.New("has other columns: rows cannot be added to it")
	}
	if len(old) > 0 && old[len(old)-1] != '\n' {
		return "\n", nil // its writer was killed
	}
	return "", nil
}

func (f *csvFile) rows(buf []byte, rows []row, _ bool) []byte {
	for _, r := range rows {
		buf = fmt.Appendf(buf, "%d,%d,%d", r.unix, r.mono, r.reading.Nanoseconds())
		for i, c := range f.columns {
			if !c.energy {
				buf = number(append(buf, ','), r.values[i], 6)
				continue
			}
			buf = number(append(buf, ','), r.values[i]*1e-6, 6)
			buf = number(append(buf, ','), watts(f.before, r, i), 6)
		}
		buf = append(append(append(buf, ','), csvText(f.id)...), '\n')
		f.before = r
	}
	return buf
}

// csvText is a text that no spreadsheet runs, in quotes where it must be (RFC 4180).
func csvText(s string) string {
	s = shown.Cell(s)
	if strings.ContainsAny(s, ",\"\r\n") {
		return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	return s
}

// jsonLines has an object with the columns, and one for each row.
type jsonLines struct {
	columns []column
	id      string
	every   time.Duration
	before  row
}

func newJSONLines(c Config, t Tracker, st *stream) encoder {
	return &jsonLines{columns: st.columns, id: c.ID, every: t.Every}
}

func (f *jsonLines) header() string {
	type description struct {
		Name   string `json:"name"`
		Unit   string `json:"unit"`
		Kind   string `json:"kind"`
		Source string `json:"source"`
	}
	columns := []description{}
	for _, c := range f.columns {
		columns = append(columns, description{c.name, c.unit, string(c.method), c.source})
		if c.energy {
			kind := string(c.method)
			if kind == "measured" {
				kind = "derived"
			}
			columns = append(columns, description{c.power(), "W", kind, c.source})
		}
	}
	b, _ := json.Marshal(map[string]any{"run": f.id, "interval_s": f.every.Seconds(), "columns": columns})
	return string(shown.JSON(b)) + "\n"
}

func (f *jsonLines) again(old []byte, header string) (string, error) {
	if len(old) > 0 && old[len(old)-1] != '\n' {
		return "\n" + header, nil
	}
	return header, nil
}

func (f *jsonLines) rows(buf []byte, rows []row, _ bool) []byte {
	put := func(name string, v float64) {
		quoted, _ := json.Marshal(name)
		buf = append(append(append(buf, ','), shown.JSON(quoted)...), ':')
		before := len(buf)
		if buf = number(buf, v, 6); len(buf) == before {
			buf = append(buf, "null"...)
		}
	}
	for _, r := range rows {
		buf = fmt.Appendf(buf, `{"unix_ns":%d,"mono_ns":%d,"reading_ns":%d`, r.unix, r.mono, r.reading.Nanoseconds())
		for i, c := range f.columns {
			if !c.energy {
				put(c.name, r.values[i])
				continue
			}
			put(c.name, r.values[i]*1e-6)
			put(c.power(), watts(f.before, r, i))
		}
		buf = append(buf, "}\n"...)
		f.before = r
	}
	return buf
}
