package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// ValidateFrom is Validate for a text that is read as it is held against the
// schema: no more of it is in memory than an element of a list at the top. Elements
// are most of a large file, and most of them are seen to be valid as they are read.
func ValidateFrom(f io.ReadSeeker) error {
	head, err := headOf(f)
	if err != nil {
		return err
	}
	schema, err := compiled()
	if head.session {
		schema, err = compiledSession()
	}
	if err != nil {
		return err
	}
	d := jsontext.NewDecoder(f, loose...)
	if _, err := d.ReadToken(); err != nil {
		return locatedIn(f, err)
	}
	top := map[string]any{} // with empty lists
	for d.PeekKind() != '}' {
		token, err := d.ReadToken()
		if err != nil {
			return locatedIn(f, err)
		}
		name := token.String()
		if d.PeekKind() == '[' {
			top[name] = []any{}
			err = validElements(d, name, itemsOf(schema, name))
		} else {
			var raw jsontext.Value
			if raw, err = d.ReadValue(); err == nil {
				top[name], err = jsonschema.UnmarshalJSON(bytes.NewReader(raw))
			}
		}
		var invalid *invalidError
		if errors.As(err, &invalid) {
			return err
		} else if err != nil {
			return locatedIn(f, err)
		}
	}
	return invalidIn(schema.Validate(top))
}

// itemsOf are the schemas of the elements of a list at the top.
func itemsOf(s *jsonschema.Schema, name string) (items []*jsonschema.Schema) {
	if s == nil {
		return nil
	}
	for p := s.Properties[name]; p != nil; p = p.Ref {
		if p.Items2020 != nil {
			items = append(items, p.Items2020)
		}
	}
	return append(append(items, itemsOf(s.Ref, name)...), itemsOf(s.Then, name)...)
}

// validElements holds each element of a list against the schemas.
func validElements(d *jsontext.Decoder, name string, items []*jsonschema.Schema) error {
	var forms []*form
	for _, s := range items {
		f, err := formOf(s)
		if err != nil {
			f = nil // the schema tells, of each
		}
		forms = append(forms, f)
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	element := jsontext.NewDecoder(bytes.NewReader(nil))
	for n := 0; d.PeekKind() != ']'; n++ {
		raw, err := d.ReadValue()
		if err != nil {
			return err
		}
		for i, f := range forms {
			if element.Reset(bytes.NewReader(raw)); f.fits(element) {
				continue
			}
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
			if err == nil {
				err = invalidIn(items[i].Validate(v), name, strconv.Itoa(n))
			}
			if err != nil {
				return err
			}
		}
	}
	_, err := d.ReadToken()
	return err
}

// invalidError is of a text that is not as the schema has it.
type invalidError struct{ field, why string }

func (e *invalidError) Error() string { return e.field + ": " + e.why }

// invalidIn names the first field that differs, below the place that was held
// against the schema.
func invalidIn(err error, place ...string) error {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	for len(invalid.Causes) > 0 {
		invalid = invalid.Causes[0]
	}
	field := strings.Join(append(place, invalid.InstanceLocation...), ".")
	if field == "" {
		field = "the whole"
	}
	return &invalidError{field, invalid.ErrorKind.LocalizedString(message.NewPrinter(language.English))}
}

// locatedIn is located for a text that can be read again.
func locatedIn(f io.ReadSeeker, err error) error {
	if _, seek := f.Seek(0, io.SeekStart); seek != nil {
		return err
	}
	b, read := io.ReadAll(f)
	if read != nil {
		return read
	}
	var whole json.RawMessage
	if own := json.Unmarshal(b, &whole); own != nil {
		err = own
	}
	return located(b, err)
}

// form is the part of a JSON Schema that can be held against a text as it is read,
// value by value, with nothing kept: a text of this form is valid. Of one that is
// not, the schema itself has to tell.
type form struct {
	kinds      map[jsontext.Kind]bool // of values; nil takes all
	whole      bool                   // numbers have no fraction
	min, max   *float64
	texts      map[string]bool // nil takes all
	pattern    jsonschema.Regexp
	properties map[string]property
	required   int
	additional *form // of other properties; nil for none
	items      *form
}

type property struct {
	*form
	required bool
}

// anything takes every value.
var anything = &form{}

// kindsOf are the kinds of tokens that values of a type begin with.
var kindsOf = map[string][]jsontext.Kind{
	"null": {'n'}, "boolean": {'t', 'f'}, "string": {'"'}, "number": {'0'}, "integer": {'0'},
	"object": {'{'}, "array": {'['},
}

// errNoForm is the error of a schema that says more than a form can.
var errNoForm = errors.New("no form")

// formOf finds the form of a schema.
func formOf(s *jsonschema.Schema) (*form, error) {
	if s == nil {
		return anything, nil
	}
	more := s.If != nil || s.Not != nil || s.Const != nil || len(s.AllOf) > 0 || len(s.OneOf) > 0 ||
		s.MinItems != nil || s.MaxItems != nil || s.MinLength != nil || s.MaxLength != nil ||
		s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil || s.PatternProperties != nil
	switch {
	case more, s.Ref != nil && (s.Types != nil || s.Properties != nil):
		return nil, errNoForm
	case s.Ref != nil:
		return formOf(s.Ref)
	case len(s.AnyOf) > 0:
		return formOfEither(s)
	}
	f := &form{additional: anything, items: anything, pattern: s.Pattern}
	if s.Types != nil {
		f.kinds = map[jsontext.Kind]bool{}
		for _, t := range s.Types.ToStrings() {
			for _, k := range kindsOf[t] {
				f.kinds[k] = true
			}
		}
		names := s.Types.ToStrings()
		f.whole = slices.Contains(names, "integer") && !slices.Contains(names, "number")
	}
	if s.Enum != nil {
		f.kinds, f.texts = map[jsontext.Kind]bool{'"': true}, map[string]bool{}
		for _, v := range s.Enum.Values {
			text, ok := v.(string)
			if !ok {
				return nil, errNoForm
			}
			f.texts[text] = true
		}
	}
	if s.Minimum != nil {
		v, _ := s.Minimum.Float64()
		f.min = &v
	}
	if s.Maximum != nil {
		v, _ := s.Maximum.Float64()
		f.max = &v
	}
	return f, f.parts(s)
}

// parts finds the forms of what is in an object or an array.
func (f *form) parts(s *jsonschema.Schema) (err error) {
	f.properties, f.required = map[string]property{}, len(s.Required)
	for name, p := range s.Properties {
		of, err := formOf(p)
		if err != nil {
			return err
		}
		f.properties[name] = property{form: of}
	}
	switch a := s.AdditionalProperties.(type) {
	case bool:
		if !a {
			f.additional = nil
		}
	case *jsonschema.Schema:
		if f.additional, err = formOf(a); err != nil {
			return err
		}
	}
	for _, name := range s.Required {
		p, ok := f.properties[name]
		if !ok {
			p.form = f.additional
		}
		p.required = true
		f.properties[name] = p
	}
	f.items, err = formOf(s.Items2020)
	return err
}

// formOfEither is the form of a schema of two, one of which is null.
func formOfEither(s *jsonschema.Schema) (*form, error) {
	if len(s.AnyOf) != 2 || s.Types != nil || s.Properties != nil {
		return nil, errNoForm
	}
	for i, a := range s.AnyOf {
		if a.Types == nil || a.Types.String() != "[null]" {
			continue
		}
		f, err := formOf(s.AnyOf[1-i])
		if err != nil || f.kinds == nil {
			return nil, errors.Join(err, errNoForm)
		}
		f.kinds['n'] = true
		return f, nil
	}
	return nil, errNoForm
}

// fits reads a value and reports whether it is of the form. The text goes on
// behind the value if it is, and else anywhere.
func (f *form) fits(d *jsontext.Decoder) bool {
	k := d.PeekKind()
	if f == nil || f.kinds != nil && !f.kinds[k] {
		return false
	}
	switch k {
	case '{':
		return f.fitsObject(d)
	case '[':
		if _, err := d.ReadToken(); err != nil {
			return false
		}
		for d.PeekKind() != ']' {
			if !f.items.fits(d) {
				return false
			}
		}
		_, err := d.ReadToken()
		return err == nil
	}
	token, err := d.ReadToken()
	switch {
	case err != nil:
		return false
	case k == '"':
		return (f.texts == nil || f.texts[token.String()]) &&
			(f.pattern == nil || f.pattern.MatchString(token.String()))
	case k == '0':
		return f.fitsNumber(token)
	}
	return true
}

func (f *form) fitsNumber(token jsontext.Token) bool {
	if f.whole && strings.ContainsAny(token.String(), ".eE") {
		return false // which may be whole all the same
	}
	if f.min == nil && f.max == nil {
		return true
	}
	v, err := strconv.ParseFloat(token.String(), 64)
	return err == nil && (f.min == nil || v >= *f.min) && (f.max == nil || v <= *f.max)
}

func (f *form) fitsObject(d *jsontext.Decoder) bool {
	if _, err := d.ReadToken(); err != nil {
		return false
	}
	missing := f.required
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return false
		}
		p, ok := f.properties[name.String()]
		if !ok {
			p.form = f.additional
		}
		if p.required {
			missing--
		}
		if !p.fits(d) {
			return false
		}
	}
	_, err := d.ReadToken()
	return err == nil && missing == 0
}
