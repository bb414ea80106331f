package report

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"cg/docs"
	"cg/nemb"
)

// Schema is the JSON Schema of a saved run (json-schema.org, draft 2020-12):
// docs/report.schema.json.
func Schema() map[string]any {
	s := schemaOf(reflect.TypeFor[Run]())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "A run measured by cg, schema version " + SchemaVersion
	return s
}

// RepeatedSchema is that of repeated runs: docs/repeated.schema.json.
func RepeatedSchema() map[string]any {
	s := schemaOf(reflect.TypeFor[Repeated]())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "Repeated runs measured by cg, schema version " + SchemaVersion
	return s
}

// ComparisonSchema is that of a comparison: docs/comparison.schema.json.
func ComparisonSchema() map[string]any {
	s := schemaOf(reflect.TypeFor[Comparison]())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "Saved runs compared by cg, schema version " + SchemaVersion
	return s
}

// Validate holds a text against the schema: that of sessions if it is of one. The
// error names the first field that differs.
func Validate(b []byte) error { return ValidateFrom(bytes.NewReader(b)) }

var compiled = sync.OnceValues(func() (*jsonschema.Schema, error) {
	b, err := json.Marshal(Schema())
	if err != nil {
		return nil, err
	}
	text, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("run.json", text); err != nil {
		return nil, err
	}
	return c.Compile("run.json")
})

// schemaOf describes a type of Run. A pointer may be null; a field without
// omitempty must be there; nothing else may.
func schemaOf(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[Joules]():
		return map[string]any{"type": "number", "minimum": 0}
	case t == reflect.TypeFor[Verdict]():
		return map[string]any{"enum": []Verdict{Higher, Lower, Within, NoneShown, NotComparable}}
	case t == reflect.TypeFor[nemb.Method]():
		return map[string]any{"enum": []nemb.Method{nemb.Measured, nemb.Derived, nemb.Estimated, nemb.Unavailable}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		inner := schemaOf(t.Elem())
		return map[string]any{"anyOf": []any{inner, map[string]any{"type": "null"}}}
	case reflect.Struct:
		properties, required := map[string]any{}, []string{}
		var fields func(reflect.Type)
		fields = func(t reflect.Type) {
			for i := range t.NumField() {
				f := t.Field(i)
				if f.Anonymous {
					fields(f.Type)
					continue
				}
				if !f.IsExported() {
					continue
				}
				name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
				if name == "" {
					continue
				}
				properties[name] = schemaOf(f.Type)
				if options != "omitempty" {
					required = append(required, name)
				}
			}
		}
		fields(t)
		return map[string]any{"type": "object", "properties": properties, "required": required,
			"additionalProperties": false}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	}
	return map[string]any{"type": "integer"}
}

var compiledSession = sync.OnceValues(func() (*jsonschema.Schema, error) {
	text, err := jsonschema.UnmarshalJSON(bytes.NewReader(docs.SessionSchema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("session.json", text); err != nil {
		return nil, err
	}
	return c.Compile("session.json")
})
