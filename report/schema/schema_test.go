package schema

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var cases = []struct{ name, schema, text, want string }{
	{"type", `{"properties": {"a": {"type": "string"}}}`, `{"a": 1}`, "a: got number, want string"},
	{"types", `{"properties": {"a": {"type": ["string", "null"]}}}`, `{"a": true}`, "a: got boolean, want string or null"},
	{"one of the types", `{"properties": {"a": {"type": ["string", "null"]}}}`, `{"a": null}`, ""},
	{"integer", `{"properties": {"a": {"type": "integer"}}}`, `{"a": 1.5}`, "a: got number, want integer"},
	{"whole with a point", `{"properties": {"a": {"type": "integer"}}}`, `{"a": 1.0}`, ""},
	{"whole with an exponent", `{"properties": {"a": {"type": "integer"}}}`, `{"a": 1.50e1}`, ""},
	{"large with a fraction", `{"properties": {"a": {"type": "integer"}}}`, `{"a": 9007199254740993.5}`,
		"a: got number, want integer"},
	{"whole and negative exponent", `{"properties": {"a": {"type": "integer"}}}`, `{"a": -100e-2}`, ""},
	{"no longer whole", `{"properties": {"a": {"type": "integer"}}}`, `{"a": 100e-3}`, "a: got number, want integer"},
	{"nothing", `{"properties": {"a": {"type": "integer"}}}`, `{"a": -0.0e9}`, ""},
	{"minimum", `{"properties": {"a": {"minimum": 0}}}`, `{"a": -1.5}`, "a: minimum: got -1.5, want 0"},
	{"maximum", `{"properties": {"a": {"maximum": 1}}}`, `{"a": 2}`, "a: maximum: got 2, want 1"},
	{"bounds are of numbers", `{"properties": {"a": {"maximum": 1}}}`, `{"a": "2"}`, ""},
	{"pattern", `{"properties": {"a": {"pattern": "^x$"}}}`, `{"a": "it's"}`, `a: 'it\'s' does not match pattern '^x$'`},
	{"const", `{"properties": {"a": {"const": "x"}}}`, `{"a": "y"}`, "a: value must be 'x'"},
	{"const of a list", `{"properties": {"a": {"const": ["x", 1]}}}`, `{"a": ["x", 1.0]}`, ""},
	{"const true", `{"properties": {"a": {"const": true}}}`, `{"a": 1}`, "a: value must be true"},
	{"const null", `{"properties": {"a": {"const": null}}}`, `{"a": 0}`, "a: value must be null"},
	{"enum", `{"properties": {"a": {"enum": ["x", null]}}}`, `{"a": "y"}`, "a: value must be one of 'x', null"},
	{"enum with null", `{"properties": {"a": {"enum": ["x", null]}}}`, `{"a": null}`, ""},
	{"required", `{"required": ["a", "b", "c"]}`, `{"b": 1}`, "the whole: missing properties 'a', 'c'"},
	{"required below", `{"properties": {"a": {"required": ["b"]}}}`, `{"a": {}}`, "a: missing property 'b'"},
	{"no others", `{"properties": {"a": {}}, "additionalProperties": false}`, `{"c": 1, "a": 1, "b": 1}`,
		"the whole: additional properties 'b', 'c' not allowed"},
	{"others", `{"additionalProperties": {"type": "number"}}`, `{"c": 1, "a": "x"}`, "a: got string, want number"},
	{"not this one", `{"properties": {"a": false}}`, `{"a": 1}`, "a: not allowed"},
	{"items", `{"properties": {"a": {"items": {"type": "number"}}}}`, `{"a": [1, "x"]}`, "a.1: got string, want number"},
	{"items below", `{"properties": {"a": {"properties": {"b": {"items": {"items": {"type": "number"}}}}}}}`,
		`{"a": {"b": [[1], [2, []]]}}`, "a.b.1.1: got array, want number"},
	{"fields of items", `{"properties": {"a": {"items": {"required": ["b"], "properties": {"b": {"type": "integer"}}}}}}`,
		`{"a": [{"b": 1}, {"c": 1}]}`, "a.1: missing property 'b'"},
	{"a field twice and one missing", `{"properties": {"a": {"items": {"required": ["b", "c"]}}}}`,
		`{"a": [{"b": 1, "b": 1}]}`, "a.0: missing property 'c'"},
	{"either", `{"properties": {"a": {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"b": {"type": "null"}}}]}}}`,
		`{"a": {"b": 1}}`, "a.b: got number, want null"},
	{"either of items", `{"properties": {"a": {"items": {"anyOf": [{"type": "null"}, {"type": "number"}], "minimum": 3}}}}`,
		`{"a": [null, 3, 2]}`, "a.2: minimum: got 2, want 3"},
	{"neither", `{"properties": {"a": {"anyOf": [{"type": "null"}, {"type": "number"}]}}}`, `{"a": "x"}`,
		"a: got string, want null"},
	{"if", `{"if": {"required": ["a"]}, "then": {"required": ["b"]}}`, `{"a": 1}`, "the whole: missing property 'b'"},
	{"if not", `{"if": {"required": ["a"]}, "then": {"required": ["b"]}}`, `{"c": 1}`, ""},
	{"items of then", `{"if": {}, "then": {"properties": {"a": {"items": {"minimum": 1}}}}}`, `{"a": [1, 0]}`,
		"a.1: minimum: got 0, want 1"},
	{"reference", `{"$defs": {"n": {"type": "number"}}, "properties": {"a": {"$ref": "#/$defs/n"}}}`, `{"a": "x"}`,
		"a: got string, want number"},
	{"reference with more", `{"$defs": {"n": {"type": "number"}}, "properties": {"a": {"items": {"$ref": "#/$defs/n", "minimum": 1}}}}`,
		`{"a": [0]}`, "a.0: minimum: got 0, want 1"},
	{"reference of a reference", `{"$defs": {"n": {"type": "number"}, "m": {"$ref": "#/$defs/n"}},
		"properties": {"a": {"items": {"$ref": "#/$defs/m"}}}}`, `{"a": ["x"]}`, "a.0: got string, want number"},
	{"no object", `{"type": "object"}`, `[1]`, "the whole: got array, want object"},
}

func TestValidate(t *testing.T) {
	for _, c := range cases {
		s, err := Compile([]byte(c.schema))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		v, err := decoded([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		read := s.Read(jsontext.NewDecoder(strings.NewReader(c.text), jsontext.AllowDuplicateNames(true)))
		for how, err := range map[string]error{"read": read, "decoded": s.Validate(v)} {
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%s: %s: %q, want %q", c.name, how, got, c.want)
			}
		}
		if valid := validByLibrary(t, c.schema, v); valid != (c.want == "") {
			t.Errorf("%s: valid %v for a library", c.name, valid)
		}
	}
}

func validByLibrary(t *testing.T, schema string, v any) bool {
	t.Helper()
	rules, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", rules); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("schema.json").Validate(v) == nil
}

// A schema is understood whole or refused.
func TestCompileRefuses(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties": {"a": {"minLength": 1}}}`: `schema: json: unknown field "minLength"`,
		`{"type": "whole"}`:                       `schema: type "whole" is not known`,
		`{"items": {"$ref": "#/$defs/n"}}`:        `schema: $ref: nothing is "#/$defs/n"`,
		`{"$defs": {"n": {}}, "$ref": "n"}`:       `schema: $ref: nothing is "n"`,
		`{"pattern": "("}`:                        "schema: pattern: error parsing regexp: missing closing ): `(`",
		`{"then": {}}`:                            "schema: then is without if",
		`{"$defs": {"n": {"items": {"$ref": "#/$defs/n"}}}, "$ref": "#/$defs/n"}`: "schema: it refers to itself",
		`{`: "schema: unexpected end of JSON input",
	} {
		if _, err := Compile([]byte(schema)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", schema, err, want)
		}
	}
}

// What is no JSON is the decoder's error.
func TestReadDamaged(t *testing.T) {
	s, err := Compile([]byte(`{"properties": {"a": {"items": {"type": "number"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "{", `{"a"`, `{"a": [`, `{"a": [1, }`, `{"a": {"b": }}`, "nul"} {
		err := s.Read(jsontext.NewDecoder(bytes.NewReader([]byte(text))))
		var invalid *InvalidError
		if err == nil || errors.As(err, &invalid) {
			t.Errorf("%s: %v, want an error of the decoder", text, err)
		}
	}
}
