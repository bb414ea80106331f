package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"cg/nemb"
	"cg/report/format"
)

// evil begins like a formula and holds what a terminal obeys, what makes a row,
// and what HTML, Markdown and XML understand.
const evil = "=HYPERLINK(\"x\")\x1b]0;owned\x07\x1b[2J\nfake  1 J\r\u009b31m\u202egnp\u2028\x7f\t|`</script><b>&]]>"

// poisoned gives every text in v the danger: fields, elements, keys and values of
// maps. What is kept is what tells that v can be read at all.
func poisoned(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			poisoned(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.IsExported() && !slices.Contains([]string{"SchemaVersion", "Tool", "SHA256"}, f.Name) {
				poisoned(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			poisoned(v.Index(i))
		}
	case reflect.Map:
		if v.Type().Key().Kind() != reflect.String {
			return
		}
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			poisoned(value)
			v.SetMapIndex(key, reflect.Value{})
			v.SetMapIndex(reflect.ValueOf(evil+key.String()).Convert(v.Type().Key()), value)
		}
	case reflect.String:
		v.SetString(evil + v.String())
	}
}

// poisonedCopy leaves v, parts of which other tests have, as it is.
func poisonedCopy[T any](v *T) *T {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	out := new(T)
	if err := json.Unmarshal(b, out); err != nil {
		panic(err)
	}
	poisoned(reflect.ValueOf(out))
	return out
}

// style are the colours that cg paints with.
var style = regexp.MustCompile("\x1b\\[(0|1|2|33|36)m")

// harmless tells what in a text a terminal would obey, but for line ends, tabs
// and cg's own colours; "" if there is nothing.
func harmless(text string) string {
	text = style.ReplaceAllString(text, "")
	if !utf8.ValidString(text) {
		return "bytes that are no UTF-8"
	}
	for at, r := range text {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) ||
			unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)) {
			return fmt.Sprintf("%U in %q", r, text[max(0, at-40):min(len(text), at+40)])
		}
	}
	return ""
}

// No format lets a text of a run through that a terminal obeys, that fakes a row,
// or that a spreadsheet runs.
func TestPoisonedRun(t *testing.T) {
	runs := map[string]func() *Run{
		"measured":  func() *Run { return example(nemb.Measured) },
		"estimated": func() *Run { return example(nemb.Estimated) },
		"unknown":   func() *Run { return example(nemb.Unavailable) },
		"suite":     func() *Run { return suite(nemb.Measured) },
	}
	for name, of := range runs {
		for _, f := range format.Of((*Run)(nil)) {
			if f.Name == "png" || f.Name == "pprof" {
				continue // not for terminals; pprof's names are those of frames
			}
			_, several := f.Writer(Several{})
			tables := []string{""}
			if f.Name == "csv" {
				tables = append(tables, f.Choices[0].Values...)
			}
			for _, table := range tables {
				for count := 1; count == 1 || count == 2 && several == nil; count++ {
					o := format.Options{Terminal: format.Terminal{Width: 160, Color: true, Verbose: true},
						Chosen: map[string]string{"table": table}}
					var all []*Run
					for k := range count {
						all = append(all, poisonedCopy(of()))
						o.Names = append(o.Names, fmt.Sprint(evil, k))
					}
					var b bytes.Buffer
					if err := f.Write(&b, Together(all), o); err != nil {
						if name == "unknown" && f.Name == "collapsed" {
							continue // which says that there are no energies
						}
						t.Fatalf("%s, %s: %v", name, f.Name, err)
					}
					where := fmt.Sprintf("%s, %d as %s %s", name, count, f.Name, table)
					if found := harmless(b.String()); found != "" {
						t.Errorf("%s: %s", where, found)
					}
					if f.Name == "text" && strings.Contains(b.String(), "\nfake") {
						t.Errorf("%s: a row is faked", where)
					}
					if (f.Name == "markdown" || f.Name == "html") && strings.Contains(b.String(), "</script><b>") {
						t.Errorf("%s: HTML of the run's", where)
					}
					if f.Name == "csv" {
						cellsHarmless(t, where, b.Bytes())
					}
				}
			}
		}
		saved, err := poisonedCopy(of()).JSON()
		if err != nil {
			t.Fatal(err)
		}
		r, err := Read(saved)
		if err != nil {
			t.Fatal(err)
		}
		if found := harmless(string(saved)); found != "" {
			t.Errorf("%s: saved: %s", name, found)
		}
		if got := r.Meta.Hostname; got != poisonedCopy(of()).Meta.Hostname {
			t.Errorf("%s: the host is read back as %q", name, got)
		}
		for _, fault := range r.Check() {
			if strings.HasPrefix(fault, "sha256") {
				t.Errorf("%s: %s", name, fault)
			}
		}
	}
}

// cellsHarmless wants a table whose texts no spreadsheet runs, and whose negative
// numbers are numbers.
func cellsHarmless(t *testing.T, where string, table []byte) {
	t.Helper()
	all, err := csv.NewReader(bytes.NewReader(table)).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	for i, row := range all {
		for k, c := range row {
			if c == "" || !strings.ContainsAny(c[:1], "=+-@\t\r") {
				continue
			}
			if err := json.Unmarshal([]byte(c), new(float64)); err != nil {
				t.Errorf("%s: row %d, column %d: a spreadsheet runs %q", where, i, k, c)
			}
		}
	}
	if strings.Contains(where, "paths") && all[1][2] != "-1" {
		t.Errorf("%s: the first path's parent is %q", where, all[1][2])
	}
}

// So it is with repeated runs, comparisons and checks.
func TestPoisonedOthers(t *testing.T) {
	texts := map[string]string{}
	put := func(kind string, d format.Document) {
		for _, f := range format.Of(d) {
			if f.Name == "png" {
				continue // is no text
			}
			var b bytes.Buffer
			if err := f.Write(&b, d, format.Options{Terminal: format.Terminal{Width: 160, Color: true}}); err != nil {
				t.Fatalf("%s as %s: %v", kind, f.Name, err)
			}
			texts[kind+f.Endings[0]] = b.String()
		}
	}
	repeated := repeated(nemb.Estimated, 4)
	repeated.Warnings = []Warning{{"slug", "message"}}
	put("run", poisonedCopy(repeated))
	base, head := poisonedCopy(example(nemb.Measured)), poisonedCopy(example(nemb.Measured))
	head.Meta.Hostname += "other"
	head.Meta.RunID += "other"
	put("compare", compared(t, runsSide(evil, base), runsSide(evil+"2", head), CompareOptions{Allow: true}))
	g := poisonedCopy(checked())
	put("gate", g)
	texts["gate.annotations"] = strings.Join(g.Annotations(), "\n")
	if len(texts) < 14 {
		t.Errorf("only %d texts: %q", len(texts), slices.Sorted(maps.Keys(texts)))
	}
	for name, text := range texts {
		if found := harmless(text); found != "" {
			t.Errorf("%s: %s", name, found)
		}
		if strings.HasSuffix(name, ".txt") && strings.Contains(text, "\nfake") {
			t.Errorf("%s: a row is faked", name)
		}
		if strings.HasSuffix(name, ".md") && strings.Contains(text, "</script><b>") {
			t.Errorf("%s: HTML of the run's", name)
		}
	}
	cellsHarmless(t, "run.csv", []byte(texts["run.csv"]))
}
