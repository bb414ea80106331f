// Package format is the registry of the ways to write documents down.
//
// A document is what cg has to tell: a run, several runs side by side, repeated
// runs, a comparison, a check of a change, what cg track records. A format
// registers itself with a Writer for each kind of document that it can show;
// whoever has a document finds the format by its name, by how the name of a file
// ends. A format that cannot show a kind of
// document says what it can show. This package writes nothing itself and knows no
// document and no format.
package format

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"cg/events"
	"cg/near"
	"cg/shown"
)

// Document is what a format writes down.
type Document interface {
	// Kind is what people call it, with its article: "a run". It is the same for all
	// documents of a type, and is asked of its zero value, too.
	Kind() string
}

// Limited is a document with less in it than others of its kind. Fits is nil where a
// format shows what there is, and else says what to do.
type Limited interface {
	Document
	Fits(Format) error
}

// Explained is a document that tells why a format has no meaning for documents of its kind: ""
// for formats of which there is nothing to tell. It is asked of its zero value, too.
type Explained interface {
	Document
	WhyNot(Format) string
}

// Writer writes documents of one kind.
type Writer struct {
	// Kind is that of the documents.
	Kind string
	// Write writes a document that is whole.
	Write func(w io.Writer, d Document, o Options) error
	// Folder writes a document that is whole as a folder of files, in formats that do.
	// Write is nil then.
	Folder func(create Create, d Document, o Options) error
	// Follow is for documents that grow while they are written: what their package
	// wants of a format. It is nil for documents that are whole.
	Follow any
}

// Writes makes a Writer of a function for one type of documents.
func Writes[D Document](write func(w io.Writer, d D, o Options) error) Writer {
	var none D
	return Writer{Kind: none.Kind(), Write: func(w io.Writer, d Document,
		o Options) error {
		return write(w, d.(D), o)
	}}
}

// Create makes a file of a folder by its name in it, which may have folders before it.
type Create func(name string) (io.WriteCloser, error)

// WritesFolder makes a Writer of a function for one type of documents, in a format that
// is a folder of files.
func WritesFolder[D Document](write func(create Create, d D, o Options) error) Writer {
	var none D
	return Writer{Kind: none.Kind(), Folder: func(create Create, d Document, o Options) error {
		return write(create, d.(D), o)
	}}
}

// Follows makes a Writer for documents that grow, with what their package wants.
func Follows(d Document, with any) Writer { return Writer{Kind: d.Kind(), Follow: with} }

// Format is a way to write documents down.
type Format struct {
	Name    string   // as on the command line
	Title   string   // for people
	Endings []string // of files that are of this format, with the dot
	Writers []Writer // one for each kind of document that it can show
	// Choices are what the format leaves to choose.
	Choices []Choice
	// Table says that it is one table, in which the rows of several runs stand below
	// each other.
	Table bool
	// Picture is set on what people look at: measure can write it at once.
	Picture bool
	// Parts says that it can show a run that was read from a file with tasks and
	// samples only.
	Parts bool
	// Time says that it shows calls where they are in time, given an event log, and
	// Slices is how many of them at most, unless Options say; 0 is DefaultSlices.
	Time   bool
	Slices int
	// Text says that it shows the text of the program, given Options.Source.
	Text bool
	// Top says that it shows the largest rows only, as many as Options.Top.
	Top bool
	// JSON says that what it writes is JSON.
	JSON bool
	// Read reads a document back, nil where the format is not read.
	Read func(f io.ReadSeeker) (Document, error)
	// Same reads a document that is written in the same format again, where Read leaves
	// something out; nil where it does not. The document reads the file while it is written.
	Same func(f io.ReadSeeker) (Document, error)
	// Verify tells what is wrong in a file of the format, nil where that is not asked. The
	// error is why it cannot be read.
	Verify func(f io.ReadSeeker) (faults []string, err error)
}

// Choice is something that a format leaves to choose, by a flag of cg report. Formats
// that have it in common declare the same.
type Choice struct {
	Flag   string
	Usage  string // what the flag chooses, its value in backquotes
	Values []string
}

// Options are what formats leave to choose. Each uses what it has a use for.
type Options struct {
	Terminal
	Names []string // of several runs, in their order
	// Chosen has a value of a Choice by its flag. What is not there is the first.
	Chosen map[string]string
	// Top is how many rows to show of each table of a comparison, 0 for all.
	Top int
	// Source reads a file of the program and tells when it was changed; nil
	// leaves source out.
	Source func(file string) (text []byte, modified time.Time, err error)
	// Events is the log of the run's checkpoints, nil for none, and Slices how many of
	// the longest slices of calls are shown, 0 for the Format's.
	Events *events.Log
	Slices int
}

// Terminal says how text is laid out.
type Terminal struct {
	Width   int  // columns; 0 means 80
	Color   bool // ANSI colours (ECMA-48)
	Verbose bool // every function and every warning in full
}

// Rows is how many rows of n a table of functions or tests shows: the first fifteen
// unless everything was asked for.
func (t Terminal) Rows(n int) int {
	if t.Verbose {
		return n
	}
	return min(n, 15)
}

// AtMost is how many rows of n a table of a comparison shows: Top, or all for 0.
func (o Options) AtMost(n int) int {
	if o.Top <= 0 {
		return n
	}
	return min(n, o.Top)
}

// Choose gives the value of a choice, and refuses one that there is not.
func (o Options) Choose(c Choice) (string, error) {
	value := cmp.Or(o.Chosen[c.Flag], c.Values[0])
	if !slices.Contains(c.Values, value) {
		return "", fmt.Errorf("--%s %q is not known: %s", c.Flag, value,
			near.Or(value, c.Values, "use "+strings.Join(c.Values, ", ")))
	}
	return value, nil
}

// DefaultSlices is how many slices of calls a format shows, if it does not say.
const DefaultSlices = 200_000

// Default is the format where none is asked for.
const Default = "text"

var formats []Format // by name

// Register adds a format. Two of a name are a mistake in the program.
func Register(f Format) {
	if slices.ContainsFunc(formats, func(other Format) bool { return other.Name == f.Name }) {
		panic("format: two formats are called " + f.Name)
	}
	byName := func(f Format, name string) int { return cmp.Compare(f.Name, name) }
	at, _ := slices.BinarySearchFunc(formats, f.Name, byName)
	formats = slices.Insert(formats, at, f)
}

// All lists the formats by name.
func All() []Format {
	return slices.Clone(formats)
}

// Of lists the formats that can show a kind of document, by name.
func Of(d Document) []Format { return having(func(f Format) bool { return f.shows(d.Kind()) }) }

// Kinds lists the kinds of documents that some format can show, in the order of their names.
func Kinds() (kinds []string) {
	for _, f := range formats {
		for _, w := range f.Writers {
			kinds = append(kinds, w.Kind)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

func having(good func(Format) bool) []Format {
	return slices.DeleteFunc(All(), func(f Format) bool { return !good(f) })
}

func (f Format) shows(kind string) bool { return f.writer(kind) != nil }

func (f Format) writer(kind string) *Writer {
	for i := range f.Writers {
		if f.Writers[i].Kind == kind {
			return &f.Writers[i]
		}
	}
	return nil
}

// Writer gives the Writer of a kind of document. The error says what the format can
// show, and which formats show the document.
func (f Format) Writer(d Document) (Writer, error) {
	if w := f.writer(d.Kind()); w != nil {
		return *w, nil
	}
	if e, ok := d.(Explained); ok {
		if why := e.WhyNot(f); why != "" {
			return Writer{}, fmt.Errorf("format %s cannot show %s: %s, or use %s", f.Name, d.Kind(), why,
				Alternatives(Of(d)))
		}
	}
	var kinds []string
	for _, w := range f.Writers {
		kinds = append(kinds, w.Kind)
	}
	return Writer{}, fmt.Errorf("format %s cannot show %s: it shows %s; use %s", f.Name, d.Kind(),
		Listed(kinds, "and"), Alternatives(Of(d)))
}

// IsFolder reports whether a kind of document becomes a folder of files.
func (f Format) IsFolder(d Document) bool {
	w := f.writer(d.Kind())
	return w != nil && w.Folder != nil
}

// fits gives the Writer of a document that is whole.
func (f Format) fits(d Document) (Writer, error) {
	writer, err := f.Writer(d)
	if err != nil {
		return writer, err
	}
	if limited, ok := d.(Limited); ok {
		err = limited.Fits(f)
	}
	return writer, err
}

// WriteFolder writes a document that is whole as a folder of files.
func (f Format) WriteFolder(create Create, d Document, o Options) error {
	writer, err := f.fits(d)
	if err != nil {
		return err
	}
	return writer.Folder(create, d, o)
}

// Write writes a document that is whole.
func (f Format) Write(w io.Writer, d Document, o Options) error {
	writer, err := f.fits(d)
	if err != nil {
		return err
	}
	if writer.Write == nil {
		return fmt.Errorf("format %s is a folder of files: name the folder with -o", f.Name)
	}
	if f.JSON {
		w = shown.JSONWriter(w)
	}
	return writer.Write(w, d, o)
}

// Named finds a format that can show a document by its name.
func Named(name string, d Document) (Format, error) {
	for _, f := range formats {
		if f.Name == name {
			_, err := f.Writer(d)
			return f, err
		}
	}
	return Format{}, fmt.Errorf("format %q is not known: %s", name, nearest(name, Of(d)))
}

// For finds the format of a file that a document is to go to by how the file's name
// ends. The longest ending counts, and one of a format that can show the document
// before any other.
func For(name string, d Document) (Format, error) {
	var best Format
	length := 0
	for _, f := range All() {
		for _, e := range f.Endings {
			if !strings.HasSuffix(strings.ToLower(name), e) {
				continue
			}
			// A format that can show the document goes before one that cannot.
			shows, better := f.shows(d.Kind()), best.shows(d.Kind())
			if shows && !better || shows == better && len(e) > length {
				best, length = f, len(e)
			}
		}
	}
	if length == 0 {
		var endings []string
		for _, f := range Of(d) {
			endings = append(endings, f.Endings...)
		}
		return best, fmt.Errorf("the name %s does not tell a format (%s): use --format", name,
			strings.Join(endings, " "))
	}
	_, err := best.Writer(d)
	return best, err
}

// Reader finds a format that is read by its name. The error names also what the caller reads besides.
func Reader(name string, also ...string) (Format, error) {
	reads := having(func(f Format) bool { return f.Read != nil })
	for _, f := range reads {
		if f.Name == name {
			return f, nil
		}
	}
	return Format{}, fmt.Errorf("%q is no format that is read: %s", name, nearest(name, reads, also...))
}

// nearest asks whether one of some formats was meant, or names them all.
func nearest(name string, all []Format, also ...string) string {
	var names []string
	for _, f := range all {
		names = append(names, f.Name)
	}
	names = append(names, also...)
	return near.Or(name, names, "use "+Listed(names, "or"))
}

// Alternatives names formats of which one will do.
func Alternatives(all []Format) string { return Names(all, "or") }

// Names names formats, with a word before the last one.
func Names(all []Format, last string) string {
	var names []string
	for _, f := range all {
		names = append(names, f.Name)
	}
	return Listed(names, last)
}

// Listed joins words with a word before the last one.
func Listed(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}
