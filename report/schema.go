package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"cg/docs"
	"cg/nemb"
	"cg/report/schema"
)

// Schema is the JSON Schema of a saved run: docs/report.schema.json.
func Schema() map[string]any { return SchemaOf(reflect.TypeFor[Run](), "A run measured by cg") }

// Validate compares a text with the schema: that of sessions if it is of one. The
// error names the first field that differs.
func Validate(b []byte) error { return ValidateFrom(bytes.NewReader(b)) }

// ValidateFrom is Validate for a text that is read meanwhile: no more of it is in
// memory than an element of a list at the top.
func ValidateFrom(f io.ReadSeeker) error {
	head, err := HeadOf(f)
	if err != nil {
		return err
	}
	rules, err := compiled()
	if head.Session {
		rules, err = compiledSession()
	}
	if err != nil {
		return err
	}
	err = rules.Read(jsontext.NewDecoder(f, loose...))
	var invalid *schema.InvalidError
	if err == nil || errors.As(err, &invalid) {
		return err
	}
	return locatedIn(f, err)
}

// locatedIn is Located for a text that can be read again.
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
	return Located(b, err)
}

var compiled = sync.OnceValues(func() (*schema.Schema, error) {
	b, err := json.Marshal(Schema())
	if err != nil {
		return nil, err
	}
	return schema.Compile(b)
})

var compiledSession = sync.OnceValues(func() (*schema.Schema, error) { return schema.Compile(docs.SessionSchema) })

// Described is a type whose JSON is not that of its fields.
type Described interface {
	Schema() map[string]any
}

// Enumerated is a type of texts of which a document holds only a few.
type Enumerated interface {
	All() []string // every text that may stand there
}

// SchemaOf is the JSON Schema of a type of documents (json-schema.org, draft 2020-12). Each type
// in the document is written once, in $defs, and is named where it is used.
func SchemaOf(t reflect.Type, title string) map[string]any {
	d := definitions{}
	s := d.written(t)
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = title + ", schema version " + SchemaVersion
	if len(d) > 0 {
		s["$defs"] = d
	}
	return s
}

// definitions are the schemas of the types in a document, by the types' names.
type definitions map[string]map[string]any

// nameOf is the name of a type's definition: of a type of this package its own, of another
// one that with its package. It is "" for a type that is written where it stands.
func nameOf(t reflect.Type) string {
	defined := t.Kind() == reflect.Struct || t == reflect.TypeFor[Joules]() || t == reflect.TypeFor[nemb.Method]() ||
		t.Implements(reflect.TypeFor[Described]()) || t.Implements(reflect.TypeFor[Enumerated]())
	switch {
	case !defined || t.Name() == "": // of a pointer, too
		return ""
	case t.PkgPath() == reflect.TypeFor[Run]().PkgPath():
		return t.Name()
	}
	return t.String()
}

// of describes a type where it stands.
func (d definitions) of(t reflect.Type) map[string]any {
	name := nameOf(t)
	if name == "" {
		return d.written(t)
	}
	if _, is := d[name]; !is {
		d[name] = nil // of a type that has itself inside
		d[name] = d.written(t)
	}
	return map[string]any{"$ref": "#/$defs/" + name}
}

// written describes a type in full. A pointer may be null; a field without
// omitempty must be there; nothing else may.
func (d definitions) written(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[Joules]():
		return map[string]any{"type": "number", "minimum": 0, "description": "J"}
	case t.Implements(reflect.TypeFor[Described]()):
		return reflect.Zero(t).Interface().(Described).Schema()
	case t.Implements(reflect.TypeFor[Enumerated]()):
		return map[string]any{"enum": reflect.Zero(t).Interface().(Enumerated).All()}
	case t == reflect.TypeFor[nemb.Method]():
		return map[string]any{"enum": []nemb.Method{nemb.Measured, nemb.Derived, nemb.Estimated, nemb.Unavailable}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return map[string]any{"anyOf": []any{d.of(t.Elem()), map[string]any{"type": "null"}}}
	case reflect.Struct:
		properties, required := map[string]any{}, []string{}
		d.fields(t, properties, &required)
		return map[string]any{"type": "object", "properties": properties, "required": required,
			"additionalProperties": false}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": d.of(t.Elem())}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": d.of(t.Elem())}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	}
	return map[string]any{"type": "integer"}
}

// fields describes the fields of a struct, with those of the structs that are embedded in it.
func (d definitions) fields(t reflect.Type, properties map[string]any, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			if f.Type.Kind() == reflect.Pointer {
				f.Type = f.Type.Elem()
			}
			had := len(*required)
			d.fields(f.Type, properties, required)
			if f.Tag.Get("schema") == "optional" { // all of it is there, or none
				*required = (*required)[:had]
			}
			continue
		}
		if !f.IsExported() {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		properties[name] = d.of(f.Type)
		if options != "omitempty" && options != "omitzero" {
			*required = append(*required, name)
		}
	}
}
