package spec_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"cg/runtimes/sdk/spec"
)

// schema is a part of docs/session.schema.json.
type schema struct {
	Ref        string `json:"$ref"`
	Type       any
	Const      any
	Enum       []any
	AnyOf      []schema `json:"anyOf"`
	Required   []string
	Properties map[string]schema
	Items      *schema
	Additional json.RawMessage   `json:"additionalProperties"`
	Defs       map[string]schema `json:"$defs"`
}

// UnmarshalJSON reads true as a schema that demands nothing.
func (s *schema) UnmarshalJSON(b []byte) error {
	if string(b) == "true" || string(b) == "false" {
		return nil
	}
	type plain schema
	return json.Unmarshal(b, (*plain)(s))
}

// both is what two parts demand together.
func both(a, b schema) schema {
	all := map[string]schema{}
	for _, s := range []schema{a, b} {
		for name, p := range s.Properties {
			if _, is := all[name]; !is { // the second part says more of the same
				all[name] = p
			}
		}
	}
	return schema{Required: slices.Concat(a.Required, b.Required), Properties: all}
}

// allows tells whether a value of that type may stand there.
func (s schema) allows(kind string, defs map[string]schema) bool {
	name := map[string]string{"list": "array"}[kind]
	if name == "" {
		name = kind
	}
	values := s.Enum
	if s.Const != nil {
		values = append(values, s.Const)
	}
	for _, v := range values {
		switch v.(type) {
		case nil:
			if kind == "null" {
				return true
			}
		case string:
			if kind == "string" {
				return true
			}
		case bool:
			if kind == "boolean" {
				return true
			}
		case []any:
			if kind == "list" {
				return true
			}
		}
	}
	switch of := s.Type.(type) {
	case string:
		return of == name
	case []any:
		return slices.Contains(of, any(name))
	}
	if s.Ref != "" {
		return defs[strings.TrimPrefix(s.Ref, "#/$defs/")].allows(kind, defs)
	}
	return slices.ContainsFunc(s.AnyOf, func(one schema) bool { return one.allows(kind, defs) })
}

// The fields of a session's file (fields.json) are those of the schema and of
// docs/session.md, and a CSV has some of a task's.
func TestFields(t *testing.T) {
	read := func(path string, v any) {
		t.Helper()
		b, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(b, v)
		}
		if err != nil {
			t.Fatal(path, err)
		}
	}
	var all schema
	read("../../../docs/session.schema.json", &all)
	var rows []struct {
		Of, Field, Type, Only string
		Null                  bool
		Later                 bool // files of older packages are without it
	}
	read("cases/fields.json", &rows)
	text, err := os.ReadFile("../../../docs/session.md")
	if err != nil {
		t.Fatal(err)
	}
	_, documented, _ := strings.Cut(string(text), "## The file")
	defs := all.Defs
	session := defs["session"].Properties
	meta := both(defs["meta"], session["meta"])
	place := schema{}
	if err := json.Unmarshal(meta.Properties["domain_topology"].Additional, &place); err != nil {
		t.Fatal(err)
	}
	gauge := schema{}
	if err := json.Unmarshal(session["tasks"].Items.Properties["gauges"].Additional, &gauge); err != nil {
		t.Fatal(err)
	}
	task := both(defs["task"], *session["tasks"].Items)
	noise := session["tasks"].Items.Properties["noise"].AnyOf[1]
	objects := map[string]schema{
		"file": {Required: defs["session"].Required, Properties: all.Properties},
		"meta": meta, "place": place,
		"timeseries": meta.Properties["timeseries"], "sampler": meta.Properties["sampler"],
		"task": task, "totals": both(defs["totals"], session["totals"]),
		"sample": defs["sample"], "noise": both(defs["noise"], noise), "noise_warning": defs["noise_warning"].AnyOf[1],
		"warning": *all.Properties["warnings"].Items, "unit": defs["unit"],
		"task_gpu": defs["task_gpu"],
		"gauges":   meta.Properties["gauges"], "gauge_column": *meta.Properties["gauges"].Properties["columns"].Items,
		"gauge": gauge, "gauge_reading": *all.Properties["gauges"].Items,
	}
	scalars := map[string]bool{} // of a task
	for _, row := range rows {
		p, is := objects[row.Of].Properties[row.Field]
		if !is {
			t.Errorf("the schema of %s has no %s", row.Of, row.Field)
			continue
		}
		delete(objects[row.Of].Properties, row.Field)
		if required := slices.Contains(objects[row.Of].Required, row.Field); required != (row.Only == "" && !row.Later || strings.HasPrefix(row.Of, "gauge")) {
			t.Errorf("%s of %s: required is %v in the schema", row.Field, row.Of, required)
		}
		if !p.allows(row.Type, defs) || row.Null && !p.allows("null", defs) {
			t.Errorf("%s of %s: the schema does not allow %+v", row.Field, row.Of, row)
		}
		scalars[row.Field] = scalars[row.Field] || row.Of == "task" && row.Type != "object" && row.Type != "list"
		if row.Of != "file" && !strings.Contains(documented, "`"+row.Field+"`") {
			t.Errorf("docs/session.md does not say what %s of %s is", row.Field, row.Of)
		}
	}
	for of, object := range objects {
		for field := range object.Properties {
			t.Errorf("fields.json has no %s of %s", field, of)
		}
	}
	for _, column := range spec.TaskColumns {
		if !scalars[column] {
			t.Errorf("the column %s of a CSV is no scalar of a task", column)
		}
	}
}
