package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Read compares a JSON object with the schema while it is read. No more of it is in
// memory than an element of a list at the top. Elements are most of a large file, and
// most of them are seen to be valid as they are read. The keywords anyOf and if of the
// whole see these lists as empty. The error is an *InvalidError, or that of the decoder
// where the text is no JSON.
func (s *Schema) Read(d *jsontext.Decoder) error {
	if k := d.PeekKind(); k != '{' && k != 0 {
		v, err := value(d)
		if err != nil {
			return err
		}
		return s.Validate(v)
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	top := map[string]any{} // with empty lists
	for d.PeekKind() != '}' {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		if items, all := s.itemsOf(name); all && d.PeekKind() == '[' {
			top[name] = []any{}
			err = readElements(d, name, items)
		} else {
			top[name], err = value(d)
		}
		if err != nil {
			return err
		}
	}
	return s.Validate(top)
}

// value reads the next value.
func value(d *jsontext.Decoder) (v any, err error) {
	raw, err := d.ReadValue()
	if err != nil {
		return nil, err
	}
	return decoded(raw)
}

func decoded(raw []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// itemsOf are the schemas of the elements of a list at the top. They are not all that is said of it
// if the list is compared as a whole, too.
func (s *Schema) itemsOf(name string) (items []*Schema, all bool) {
	all = true
	for ; s != nil; s = s.ref {
		for p := s.Properties[name]; p != nil; p = p.ref {
			if p.Items != nil {
				items = append(items, p.Items)
			}
			all = all && p.Const == nil && p.Enum == nil && p.AnyOf == nil && p.If == nil
		}
		more, allOfThem := s.Then.itemsOf(name)
		items, all = append(items, more...), all && allOfThem
	}
	return items, all
}

// readElements compares each element of a list at the top with the schemas.
func readElements(d *jsontext.Decoder, name string, items []*Schema) error {
	var forms []*form
	for _, s := range items {
		f, err := formOf(s)
		if err != nil {
			f = nil // the schema itself is asked, of each
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
			v, err := decoded(raw)
			if err != nil {
				return err
			}
			if e := items[i].check(v, []string{name, strconv.Itoa(n)}); e != nil {
				return e
			}
		}
	}
	_, err := d.ReadToken()
	return err
}

// form is the part of a schema that a text can be compared with while it is read,
// value by value, with nothing kept. A text of this form is valid. Whether another
// one is, the schema itself decides.
type form struct {
	kinds      map[jsontext.Kind]bool // of values; nil takes all
	whole      bool                   // numbers have no fraction
	min, max   *float64
	texts      map[string]bool // nil takes all
	pattern    *regexp.Regexp
	properties map[string]member
	required   int   // how many properties are
	additional *form // of other properties; nil for none
	items      *form
}

// member is the form of a property, and whether an object must have it.
type member struct {
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
func formOf(s *Schema) (*form, error) {
	if s == nil {
		return anything, nil
	}
	switch {
	case s.never, s.If != nil, s.Const != nil, (s.ref != nil || s.AnyOf != nil) && !s.delegates():
		return nil, errNoForm
	case s.ref != nil:
		return formOf(s.ref)
	case s.AnyOf != nil:
		return formOfEither(s.AnyOf)
	}
	f := &form{additional: anything, items: anything, pattern: s.pattern, min: s.Minimum, max: s.Maximum}
	if s.Type != nil {
		f.kinds = map[jsontext.Kind]bool{}
		for _, t := range s.Type {
			for _, k := range kindsOf[t] {
				f.kinds[k] = true
			}
		}
		f.whole = slices.Contains(s.Type, "integer") && !slices.Contains(s.Type, "number")
	}
	if s.Enum != nil {
		f.kinds, f.texts = map[jsontext.Kind]bool{'"': true}, map[string]bool{}
		for _, v := range s.Enum {
			text, ok := v.(string)
			if !ok {
				return nil, errNoForm
			}
			f.texts[text] = true
		}
	}
	return f, f.parts(s)
}

// parts finds the forms of what is in an object or an array.
func (f *form) parts(s *Schema) (err error) {
	f.properties, f.required = map[string]member{}, len(s.Required)
	for _, p := range s.properties {
		of, err := formOf(p.Schema)
		if err != nil {
			return err
		}
		f.properties[p.name] = member{form: of}
	}
	if a := s.Additional; a != nil && a.never {
		f.additional = nil
	} else if f.additional, err = formOf(a); err != nil {
		return err
	}
	for _, name := range s.Required {
		p, ok := f.properties[name]
		if !ok {
			p.form = f.additional
		}
		p.required = true
		f.properties[name] = p
	}
	f.items, err = formOf(s.Items)
	return err
}

// delegates reports whether a schema only names others: by $ref or by anyOf.
func (s *Schema) delegates() bool {
	rest := s.said
	rest.Meta, rest.Title, rest.Description, rest.Defs = "", "", "", nil
	if s.ref != nil {
		rest.Ref = ""
	} else {
		rest.AnyOf = nil
	}
	return reflect.ValueOf(rest).IsZero()
}

// formOfEither is the form of two schemas, one of which is null.
func formOfEither(either []*Schema) (*form, error) {
	if len(either) != 2 {
		return nil, errNoForm
	}
	for i, a := range either {
		if len(a.Type) != 1 || a.Type[0] != "null" {
			continue
		}
		f, err := formOf(either[1-i])
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
