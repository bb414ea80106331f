package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"cg/events"
	"cg/shown"
)

// Format is a way to write runs down.
type Format struct {
	Name    string   // as on the command line
	Title   string   // for people
	Endings []string // of files that are of this format, with the dot
	// Several says that runs can stand side by side; else there is one.
	Several bool
	// Picture is set on what people look at: measure can write it at once.
	Picture bool
	// Parts says that it can show a run that was read from a file with tasks and
	// samples only.
	Parts bool
	// Time says that it shows calls where they are in time, given an event log.
	Time bool
	// JSON says that what it writes is JSON.
	JSON bool
	// Read reads a run back, nil where the format is not read.
	Read func(f io.ReadSeeker) (*Run, error)
	// Write gets at least one run. Runs are named by Options.Names.
	Write func(w io.Writer, runs []*Run, o Options) error
}

// Options are what formats leave to choose. Each uses what it has a use for.
type Options struct {
	Terminal
	Names []string // of the runs, in their order
	Table string   // of csv: one of Tables
	Value string   // of collapsed: one of Values
	Plot  string   // of svg and png: one of Plots
	// Source reads a file of the program and tells when it was changed; nil
	// leaves source out.
	Source func(file string) (text []byte, modified time.Time, err error)
	// Events is the log of the run's checkpoints, nil for none, and Slices how many of
	// the longest slices of calls are told, 0 for DefaultSlices, in a page PageSlices.
	Events *events.Log
	Slices int
}

var formats []Format

func register(f Format) { formats = append(formats, f) }

// Formats lists the formats by name.
func Formats() []Format {
	return slices.SortedFunc(slices.Values(formats), func(a, b Format) int { return cmp.Compare(a.Name, b.Name) })
}

// FormatNamed finds a format by its name.
func FormatNamed(name string) (Format, error) {
	var names []string
	for _, f := range Formats() {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return Format{}, fmt.Errorf("format %q is not known: use %s", name, strings.Join(names, ", "))
}

// FormatOf finds the format of a file by how its name ends; the longest ending
// counts.
func FormatOf(file string) (Format, error) {
	var best Format
	length := 0
	var endings []string
	for _, f := range Formats() {
		for _, e := range f.Endings {
			endings = append(endings, e)
			if strings.HasSuffix(strings.ToLower(file), e) && len(e) > length {
				best, length = f, len(e)
			}
		}
	}
	if length == 0 {
		return best, fmt.Errorf("the name %s does not tell a format (%s): use --format", file, strings.Join(endings, " "))
	}
	return best, nil
}

// Export writes runs in a format. Runs beyond the first are refused where they
// have no place.
func Export(w io.Writer, f Format, runs []*Run, o Options) error {
	if len(runs) > 1 && !f.Several {
		return fmt.Errorf("%s holds one run, not %d", f.Name, len(runs))
	}
	for _, r := range runs {
		switch {
		case r.parts == "":
		case r.parts == partsSession && f.Picture && len(runs) == 1:
		case len(runs) > 1 && (f.Name == "text" || f.Picture):
			return fmt.Errorf("runs of a %s file have no functions to lay side by side: use csv, or one at a time", r.parts)
		case !f.Parts:
			return fmt.Errorf("a %s file has tasks and samples and nothing else, which %s cannot show: use %s", r.parts, f.Name, alternatives(func(f Format) bool { return f.Parts || r.parts == partsSession && f.Picture }))
		}
	}
	if f.JSON {
		w = shown.JSONWriter(w)
	}
	return f.Write(w, runs, o)
}

// ReaderNamed finds a format that is read by its name.
func ReaderNamed(name string) (Format, error) {
	reads := func(f Format) bool { return f.Read != nil }
	if f, err := FormatNamed(name); err == nil && reads(f) {
		return f, nil
	}
	return Format{}, fmt.Errorf("%q is no format that is read: use %s", name, alternatives(reads))
}

// alternatives names the formats that are good for something.
func alternatives(good func(Format) bool) string {
	var names []string
	for _, f := range Formats() {
		if good(f) {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

func init() {
	register(Format{Name: "json", JSON: true, Title: "the run as cg saves it", Endings: []string{".json"}, Read: ReadFrom, Write: func(w io.Writer, runs []*Run, _ Options) error {
		b, err := runs[0].JSON(true)
		if err == nil {
			_, err = w.Write(b)
		}
		return err
	}})
	register(Format{Name: "text", Title: "tables for a terminal", Endings: []string{".txt"}, Several: true, Parts: true, Write: writeText})
}

// frame is a function on a call path, as profile viewers show it.
type frame struct {
	name, file string
	line       int
	end        int
}

// Names of frames that are no functions.
const (
	frameOthers  = "(further calls)"
	frameUnknown = "(unknown)"
)

// frames gives the frame of each path, with names that viewers print as they
// stand; the first is the program.
func (r *Run) frames() []frame {
	sites := map[uint32]Site{}
	for _, s := range r.Sites {
		sites[s.ID] = s
	}
	out := make([]frame, len(r.Paths))
	for i, p := range r.Paths {
		s, known := sites[p.Site]
		switch {
		case p.Parent < 0:
			out[i] = frame{name: shown.Line(r.program())}
		case p.Task != "":
			out[i] = frame{name: shown.Line(p.Task)}
		case known:
			out[i] = frame{name: shown.Line(s.Name), file: shown.Line(s.File), line: s.Line, end: s.EndLine}
		case p.Site == 0:
			out[i] = frame{name: frameOthers}
		default:
			out[i] = frame{name: frameUnknown}
		}
	}
	return out
}

// program is what was run, for people.
func (r *Run) program() string {
	if len(r.Tasks) > 0 && r.Tasks[0].Name != "" {
		return r.Tasks[0].Name
	}
	return "program"
}

// stack gives the indices of the paths from the first to path i.
func (r *Run) stack(i int) []int {
	var out []int
	for ; i >= 0; i = r.Paths[i].Parent {
		out = append(out, i)
	}
	slices.Reverse(out)
	return out
}
