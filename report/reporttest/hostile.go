package reporttest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"unicode"
	"unicode/utf8"

	"cg/pattern"
)

// Evil begins like a formula and holds what a terminal obeys, what makes a row,
// and what HTML, Markdown and XML understand.
const Evil = "=HYPERLINK(\"x\")\x1b]0;owned\x07\x1b[2J\nfake  1 J\r\u009b31m\u202egnp\u2028\x7f\t|`</script><b>&]]>"

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
			v.SetMapIndex(reflect.ValueOf(Evil+key.String()).Convert(v.Type().Key()), value)
		}
	case reflect.String:
		v.SetString(Evil + v.String())
	}
}

// Poisoned is a copy of v in which every text is dangerous.
func Poisoned[T any](v *T) *T {
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
var style = pattern.Later("\x1b\\[(0|1|2|33|36)m")

// Harmless tells what in a text a terminal would obey, but for line ends, tabs
// and cg's own colours; "" if there is nothing.
func Harmless(text string) string {
	text = style().ReplaceAllString(text, "")
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
