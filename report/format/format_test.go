package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// Documents of the tests.
type (
	letter  struct{ text string }
	parcel  struct{}
	journal struct{}
	scrap   struct{}
)

func (*letter) Kind() string  { return "a letter" }
func (*parcel) Kind() string  { return "a parcel" }
func (*journal) Kind() string { return "a journal" }
func (*scrap) Kind() string   { return "a scrap" }

func (*scrap) Fits(f Format) error {
	if f.Parts {
		return nil
	}
	return errors.New("a scrap is too little for " + f.Name)
}

// registered puts formats in the place of all others.
func registered(t *testing.T, all ...Format) {
	t.Helper()
	before := formats
	t.Cleanup(func() { formats = before })
	formats = nil
	for _, f := range all {
		Register(f)
	}
}

func letters(w io.Writer, l *letter, o Options) error {
	_, err := fmt.Fprintf(w, "%s in %d columns", l.text, o.Width)
	return err
}

func nothing[D Document](io.Writer, D, Options) error { return nil }

func office(t *testing.T, more ...Format) {
	registered(t, append([]Format{
		{Name: "plain", Endings: []string{".txt"}, Writers: []Writer{Writes(letters), Writes(nothing[*parcel])}},
		{Name: "card", Endings: []string{".card", ".short.txt"}, Writers: []Writer{Writes(letters), Writes(nothing[*scrap])}, Parts: true},
		{Name: "label", Endings: []string{".card", ".label"}, Writers: []Writer{Writes(nothing[*parcel]), Writes(nothing[*scrap])}},
	}, more...)...)
}

func TestFormatSaysWhatItShows(t *testing.T) {
	office(t)
	for _, c := range []struct {
		name string
		d    Document
		want string
	}{
		{"plain", &letter{}, ""},
		{"label", &letter{}, "format label cannot show a letter: it shows a parcel and a scrap; use card or plain"},
		{"card", &parcel{}, "format card cannot show a parcel: it shows a letter and a scrap; use label or plain"},
		{"doc", &letter{}, `format "doc" is not known: use card or plain`},
	} {
		if _, err := Named(c.name, c.d); message(err) != c.want {
			t.Errorf("%s for %s: %v, want %q", c.name, c.d.Kind(), err, c.want)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestFormatOfAFile(t *testing.T) {
	office(t)
	for _, c := range []struct {
		file string
		d    Document
		want string // the format, or the error
	}{
		{"a.txt", &letter{}, "plain"},
		{"A.TXT", &letter{}, "plain"},
		{"a.short.txt", &letter{}, "card"}, // the longest ending
		{"a.card", &letter{}, "card"},      // which two formats have
		{"a.card", &parcel{}, "label"},
		{"a.short.txt", &parcel{}, "plain"},
		{"a.label", &letter{}, "format label cannot show a letter: it shows a parcel and a scrap; use card or plain"},
		{"a.doc", &parcel{}, "the name a.doc does not tell a format (.card .label .txt): use --format"},
	} {
		f, err := For(c.file, c.d)
		if got := f.Name; err != nil && err.Error() != c.want || err == nil && got != c.want {
			t.Errorf("%s of %s: %s, %v, want %s", c.file, c.d.Kind(), got, err, c.want)
		}
	}
}

func TestWriterGetsItsDocument(t *testing.T) {
	office(t)
	f, err := Named("plain", &letter{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := f.Write(&b, &letter{"hello"}, Options{Terminal: Terminal{Width: 40}}); err != nil || b.String() != "hello in 40 columns" {
		t.Errorf("%q, %v", &b, err)
	}
	if err := f.Write(&b, &journal{}, Options{}); err == nil || !strings.Contains(err.Error(), "cannot show a journal") {
		t.Errorf("a document that the format does not know is written: %v", err)
	}
}

func TestLimitedDocument(t *testing.T) {
	office(t)
	for name, want := range map[string]string{"card": "", "label": "a scrap is too little for label"} {
		f, err := Named(name, &scrap{})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Write(io.Discard, &scrap{}, Options{}); message(err) != want {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

func TestChoices(t *testing.T) {
	c := Choice{Flag: "ink", Values: []string{"black", "blue"}}
	for given, want := range map[string]string{"": "black", "blue": "blue"} {
		if got, err := (Options{Chosen: map[string]string{"ink": given}}).Choose(c); got != want || err != nil {
			t.Errorf("%q: %q, %v", given, got, err)
		}
	}
	if _, err := (Options{Chosen: map[string]string{"ink": "red"}}).Choose(c); message(err) != `--ink "red" is not known: use black, blue` {
		t.Error(err)
	}
}

// A document that grows has a Writer with what its package follows it with.
func TestFormatThatFollows(t *testing.T) {
	office(t, Format{Name: "tape", Writers: []Writer{Follows(&journal{}, "reel")}})
	f, err := Named("tape", &journal{})
	if err != nil {
		t.Fatal(err)
	}
	if w, err := f.Writer(&journal{}); err != nil || w.Follow != "reel" {
		t.Errorf("%v, %v", w.Follow, err)
	}
}

func TestReader(t *testing.T) {
	office(t, Format{Name: "scan", Read: func(io.ReadSeeker) (Document, error) { return &letter{"read"}, nil }})
	if f, err := Reader("scan"); err != nil || f.Name != "scan" {
		t.Errorf("%s, %v", f.Name, err)
	}
	if _, err := Reader("plain"); message(err) != `"plain" is no format that is read: use scan` {
		t.Error(err)
	}
}

func TestTwoOfAName(t *testing.T) {
	office(t)
	defer func() {
		if recover() == nil {
			t.Error("two formats of a name are registered")
		}
	}()
	Register(Format{Name: "card"})
}

func TestListedByName(t *testing.T) {
	office(t)
	var names []string
	for _, f := range Of(&scrap{}) {
		names = append(names, f.Name)
	}
	if !slices.Equal(names, []string{"card", "label"}) {
		t.Errorf("%q", names)
	}
}

func TestFolder(t *testing.T) {
	box := WritesFolder(func(create Create, l *letter, o Options) error {
		w, err := create("a/letter.txt")
		if err != nil {
			return err
		}
		defer w.Close()
		return letters(w, l, o)
	})
	office(t, Format{Name: "box", Writers: []Writer{box}})
	f, err := Named("box", &letter{})
	if err != nil {
		t.Fatal(err)
	}
	if plain, _ := Named("plain", &letter{}); !f.IsFolder(&letter{}) || plain.IsFolder(&letter{}) {
		t.Error("the box is a folder, and plain is not")
	}
	if err := f.Write(io.Discard, &letter{}, Options{}); message(err) != "format box is a folder of files: name the folder with -o" {
		t.Error(err)
	}
	var b bytes.Buffer
	create := func(name string) (io.WriteCloser, error) {
		fmt.Fprintf(&b, "%s: ", name)
		return nopCloser{&b}, nil
	}
	if err := f.WriteFolder(create, &letter{"hello"}, Options{Terminal: Terminal{Width: 40}}); err != nil ||
		b.String() != "a/letter.txt: hello in 40 columns" {
		t.Errorf("%q, %v", &b, err)
	}
	if err := f.WriteFolder(create, &scrap{}, Options{}); message(err) != "format box cannot show a scrap: it shows a letter; use card or label" {
		t.Error(err)
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
