// Package trend is the history of a command's cost over commits, and what changed in it.
//
// cg gate --history appends a Line to a file for each check; Read takes such a file, and New
// makes the document of cg trend from its lines: a Series for each command, metric and kind of
// machine, with the steps in it and the commits between which they lie. A line that this cg
// cannot read is refused with its number.
package trend

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"cg/gate"
	"cg/nemb"
	"cg/report"
	"cg/report/verdict"
	"cg/shown"
	"cg/statistics"
)

// Line is a check of a change as the history keeps it: what head cost.
type Line struct {
	SchemaVersion string      `json:"schema_version"`
	CgVersion     string      `json:"cg_version"`
	At            string      `json:"at"`      // RFC 3339, UTC
	Commit        string      `json:"commit"`  // "" outside of a repository
	Subject       string      `json:"subject"` // of the commit's message
	Changed       bool        `json:"changed"` // files differed from the commit
	Base          string      `json:"base"`    // commit that it was compared with, "" for none
	Command       []string    `json:"command"`
	Build         string      `json:"build"`
	Granularity   string      `json:"granularity"` // checkpoints cost, too
	Metric        string      `json:"metric"`
	Unit          string      `json:"unit"`
	Counter       string      `json:"counter"`
	Kind          nemb.Method `json:"energy_kind"`
	Pairs         int         `json:"pairs"` // measurements of head
	Value         float64     `json:"value"` // mean of a run, in the unit
	Lo            *float64    `json:"value_lo"`
	Hi            *float64    `json:"value_hi"` // 95 % interval of the mean; null of one measurement
	Change        *float64    `json:"change"`   // against base; 0.05 is 5 % more
	ChangeLo      *float64    `json:"change_lo"`
	ChangeHi      *float64    `json:"change_hi"`
	Verdict       string      `json:"verdict"`
	Machine       Machine     `json:"machine"`
}

// Machine is what a line was measured on.
type Machine struct {
	// Fingerprint is that of the processor's model, the number of processors and the system.
	// Machines that are alike in these have one history: those of a CI service have another
	// name each time.
	Fingerprint string `json:"fingerprint"`
	CPUModel    string `json:"cpu_model"`
	Processors  int    `json:"processors"`
	Platform    string `json:"platform"`
	Kernel      string `json:"kernel"`
	Hostname    string `json:"hostname"`
}

// LineOf is the line of a check on a machine with so many processors.
func LineOf(g *verdict.Check, processors int) (Line, error) {
	m := Machine{CPUModel: g.Meta.CPUModel, Processors: processors, Platform: g.Meta.Platform, Kernel: g.Meta.Kernel,
		Hostname: g.Meta.Hostname}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %q", m.CPUModel, m.Processors, m.Platform))
	m.Fingerprint = hex.EncodeToString(sum[:8])
	l := Line{SchemaVersion: report.SchemaVersion, CgVersion: g.Meta.CgVersion, At: g.Meta.StartedAt,
		Command: g.Command, Build: g.Build, Granularity: g.Meta.Granularity, Metric: g.Metric, Unit: g.Unit,
		Counter: g.Counter, Kind: g.Backend.Kind, Pairs: len(g.Result.Head), Change: g.Program.Change,
		ChangeLo: g.Program.Lo, ChangeHi: g.Program.Hi, Verdict: string(g.Verdict), Machine: m}
	if g.Head != nil {
		l.Commit, l.Subject, l.Changed = g.Head.Commit, g.Head.Subject, len(g.Head.Changed) > 0
	}
	if g.Base != nil {
		l.Base = g.Base.Commit
	}
	var values []float64
	for _, v := range g.Result.Head {
		values = append(values, v.Value)
		l.Value += v.Value / float64(len(g.Result.Head))
	}
	if !(l.Value > 0) || math.IsInf(l.Value, 0) {
		return l, fmt.Errorf("%g %s is no cost that a history can keep: is the command too short (--batch)?", l.Value,
			g.Unit)
	}
	if lo, hi := statistics.MeanInterval(values, 0.95); !math.IsNaN(lo) && !math.IsNaN(hi) {
		l.Lo, l.Hi = &lo, &hi
	}
	return l, nil
}

// longest is the length of a line of a history, in bytes. The arguments of a command have at most 6 MiB (execve(2)).
const longest = 16 << 20

var errLong = fmt.Errorf("no check of a history: it is longer than %d MiB", longest>>20)

// JSON is the line as it is kept, with its end. One that Read would refuse is an error.
func (l Line) JSON() ([]byte, error) {
	b, err := json.Marshal(l)
	b = append(shown.JSON(b), '\n')
	if err == nil && len(b) > longest {
		err = errLong
	}
	return b, err
}

// ErrEmpty says that a history has no line.
var ErrEmpty = errors.New("it has no check yet: cg gate --history FILE adds one")

// Read reads a history. A last line without an end that is no check was cut off while it was
// written and does not count; cut says that there is one.
func Read(r io.Reader) (lines []Line, cut bool, err error) {
	line := &io.LimitedReader{R: r}
	in := bufio.NewReader(line)
	for n := 1; ; n++ {
		line.N = longest
		text, end := in.ReadBytes('\n')
		switch {
		case end != nil && end != io.EOF:
			return nil, false, end
		case end == io.EOF && line.N == 0:
			return nil, false, fmt.Errorf("line %d: %w", n, errLong)
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			l, err := decode(text)
			switch {
			case err != nil && end == io.EOF && len(lines) > 0:
				return lines, true, nil
			case err != nil:
				return nil, false, fmt.Errorf("line %d: %w", n, err)
			}
			lines = append(lines, l)
		}
		if end == io.EOF {
			return lines, false, nil
		}
	}
}

func decode(text []byte) (l Line, err error) {
	if err := json.Unmarshal(text, &l); err != nil {
		return l, fmt.Errorf("no check of a history: %w", err)
	}
	switch {
	case l.SchemaVersion == "" || l.Metric == "" || len(l.Command) == 0 || l.Machine.Fingerprint == "":
		return l, errors.New("no check of a history: cg gate --history FILE makes them")
	case !report.Reads(l.SchemaVersion):
		return l, report.Unreadable(l.CgVersion, l.SchemaVersion, "measure it anew")
	case !(l.Value > 0) || math.IsInf(l.Value, 0):
		return l, fmt.Errorf("value: %g is no cost", l.Value)
	case l.Pairs < 1:
		return l, fmt.Errorf("pairs: %d is no number of measurements", l.Pairs)
	}
	return l, nil
}

// key tells what may be compared.
func (l Line) key() string {
	kind := ""
	if whole, _ := gate.Metric(l.Metric).Of(); whole.IsEnergy() {
		kind = string(l.Kind)
	}
	return strings.Join([]string{fmt.Sprintf("%q", l.Command), l.Build, l.Granularity, l.Metric, l.Unit, l.Counter,
		kind, l.Machine.Fingerprint}, "\x00")
}
