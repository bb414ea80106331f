package track

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"cg/nemb"
	"cg/pattern"
	"cg/shown"
)

// wattameterLayout writes what WattAMeter 0.9 (github.com/NatLabRockies/WattAMeter)
// writes: wattameter_SUFFIX.log with the line of the run, which its scripts wait
// for, and for each tracker a file of the CPU's energy and one of the GPUs', with
// its names, columns and units, so that its file_to_df(f, skip_lines=1) reads
// them. There the last row before each flush lacks its power; here only the
// last of all does.
var wattameterLayout = &Layout{
	group: func(readers []reader) [][]reader {
		var groups [][]reader
		at := map[string]int{}
		for _, r := range readers {
			name := wattameterGroup(r)
			i, ok := at[name]
			if !ok {
				i = len(groups)
				at[name] = i
				groups = append(groups, nil)
			}
			groups[i] = append(groups[i], r)
		}
		return groups
	},
	extra: func(c Config) []string { return []string{wattameterBase(c)} },
	marker: func(c Config) encoder {
		return &wattameterLog{id: c.ID, begun: time.Now()}
	},
	name: func(c Config, t Tracker, st *stream, taken []string) string {
		tag := wattameterGroup(st.readers[0]) + "_" + strings.ReplaceAll(pythonFloat(t.Every.Seconds()), ".", "")
		count := 0
		for _, path := range taken {
			if strings.HasPrefix(filepath.Base(path), tag) {
				count++
			}
		}
		if count > 0 {
			tag += "_" + strconv.Itoa(count)
		}
		return tag + "_" + wattameterBase(c)
	},
	encoder: func(c Config, _ Tracker, st *stream) encoder {
		return &wattameterLog{id: c.ID, begun: time.Now(), columns: wattameterColumns(st.columns), data: true}
	},
}

func wattameterBase(c Config) string {
	if c.Suffix == "" {
		return "wattameter.log"
	}
	return "wattameter_" + c.Suffix + ".log"
}

// wattameterGroup is what a metric's name has before its quantity (nvml, amdsmi), or the first four
// letters of one without (rapl).
func wattameterGroup(r reader) string {
	name := r.columns[0].metric
	if kind, _, is := strings.Cut(name, "-"); is {
		return kind
	}
	return name[:min(4, len(name))]
}

// pythonFloat writes a number as Python's str does.
func pythonFloat(v float64) string {
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

type wattameterColumn struct {
	column
	index   int // in the row
	tag     string
	derived string  // tag of the power
	scale   float64 // of the value
}

// value is that of a row, in the column's unit.
func (c wattameterColumn) value(r row) float64 {
	v := r.values[c.index] * c.scale
	if c.energy || c.metric == "nvml-power" {
		v = math.Round(v)
	}
	return v
}

var (
	raplName = pattern.Later(`^(core|uncore|dram)(?:-([0-9]+))?$`)
	gpuName  = pattern.Later(`^gpu(?:-amd-)?([0-9]+)$`)
)

// wattameterColumns gives columns the tags that WattAMeter gives them. It does
// not know all of ours; those keep their name, with the unit in brackets. An
// energy that was not measured says what it is: machine-estimated[uJ].
func wattameterColumns(columns []column) []wattameterColumn {
	var out []wattameterColumn
	seen := map[string]int{}
	only := "0" // the package that domains without a number are of
	for _, c := range columns {
		if rest, ok := strings.CutPrefix(c.id, "package-"); ok {
			only = strings.Split(rest, "-")[0]
		}
	}
	for i, c := range columns {
		name := c.id
		if rest, ok := strings.CutPrefix(name, "package-"); ok {
			name = "cpu-" + strings.Split(rest, "-")[0]
		} else if m := raplName().FindStringSubmatch(name); m != nil {
			name = "cpu-" + cmp.Or(m[2], only) + "-" + m[1]
		} else if m := gpuName().FindStringSubmatch(name); m != nil {
			name = "gpu-" + m[1]
		}
		w := wattameterColumn{column: c, index: i, scale: 1}
		switch {
		case c.metric == "nvml-energy":
			w.tag, w.scale = name+"[mJ]", 1e-3
		case c.metric == "amdsmi-energy" && c.method == nemb.Measured:
			w.tag = name + "[uJ]"
		case c.energy:
			if n := seen[name]; n > 0 {
				seen[name]++
				name = fmt.Sprintf("%s-r%d", name, n)
			} else {
				seen[name] = 1
			}
			if c.method == nemb.Estimated || c.method == nemb.Derived { // what is no counter says so on every line
				name += "-" + string(c.method)
			}
			w.tag, w.derived = name+"[uJ]", name+"[W]"
		case strings.HasSuffix(c.name, "_average_power_w"):
			continue // which it does not record
		case c.metric == "nvml-power":
			w.tag, w.scale = name+"[mW]", 1e3
		case strings.HasSuffix(c.name, "_gpu_percent"):
			w.tag = name + "[%gpu]"
		case strings.HasSuffix(c.name, "_memory_percent"):
			w.tag = name + "[%mem]"
		case strings.HasSuffix(c.name, "_nvlink_tx_kib"):
			w.tag = name + "[TXKiB]"
		case strings.HasSuffix(c.name, "_nvlink_rx_kib"):
			w.tag = name + "[RXKiB]"
		case c.metric == "amdsmi-power":
			w.tag = name + "[W]"
		case c.metric == "nvml-temp", c.metric == "amdsmi-temp":
			w.tag = name + "[C]"
		case c.unit == "":
			w.tag = c.name
		default:
			w.tag = c.name + "[" + c.unit + "]"
		}
		w.tag, w.derived = wattameterTag(w.tag), wattameterTag(w.derived)
		out = append(out, w)
	}
	return out
}

// wattameterTag is a name without what ends one: columns stand apart by spaces.
func wattameterTag(s string) string { return strings.Join(strings.Fields(shown.Line(s)), "_") }

// wattameterLog is one file. The power of a row is the mean until the next one,
// so a row waits for it.
type wattameterLog struct {
	id      string
	begun   time.Time
	columns []wattameterColumn
	data    bool // false for the file that has the line of the run only
	waiting *row
}

const wattameterTime = "2006-01-02_15:04:05.000000"

func (f *wattameterLog) header() string {
	text := fmt.Sprintf("# %s - WattAMeter run %s\n", f.begun.Format(wattameterTime), shown.Line(f.id))
	if !f.data {
		return text
	}
	text += "# timestamp" + strings.Repeat(" ", len(wattameterTime)-len("timestamp")) + " reading-time[ns]"
	for _, c := range f.columns {
		text += " " + c.tag
	}
	for _, c := range f.columns {
		if c.derived != "" {
			text += " " + c.derived
		}
	}
	return text + "\n"
}

func (f *wattameterLog) again(old []byte, header string) (string, error) {
	_, names, _ := strings.Cut(header, "\n")
	if f.data && !bytes.Contains(old, []byte("\n"+names)) {
		return "", fmt.Errorf("has other columns: rows cannot be added to it")
	}
	if len(old) > 0 && old[len(old)-1] != '\n' {
		return "\n" + header, nil
	}
	return header, nil
}

func (f *wattameterLog) rows(buf []byte, rows []row, last bool) []byte {
	for i := range rows {
		if f.waiting != nil {
			buf = f.write(buf, *f.waiting, &rows[i])
		}
		f.waiting = &rows[i]
	}
	if last && f.waiting != nil {
		buf = f.write(buf, *f.waiting, nil)
		f.waiting = nil
	}
	return buf
}

// write writes a row whose power holds until next, or without it.
func (f *wattameterLog) write(buf []byte, r row, next *row) []byte {
	put := func(v float64, digits int) {
		buf = append(buf, ' ')
		before := len(buf)
		if buf = number(buf, v, digits); len(buf) == before {
			buf = append(buf, "inf"...) // its reader takes no nan
		}
	}
	buf = append(buf, "  "...)
	buf = time.Unix(0, r.unix).AppendFormat(buf, wattameterTime)
	buf = fmt.Appendf(buf, " %d", r.reading.Nanoseconds())
	for _, c := range f.columns {
		put(c.value(r), 6)
	}
	for _, c := range f.columns {
		if c.derived != "" && next != nil {
			put(watts(r, *next, c.index), 9)
		}
	}
	return append(buf, '\n')
}
