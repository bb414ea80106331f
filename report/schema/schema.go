// Package schema compares JSON texts with a JSON Schema (json-schema.org, draft 2020-12). It takes a schema
// of the keywords that cg's own schemas use, and refuses one with others. An error names the first
// field that differs, and what was wanted of it.
//
// The libraries for JSON Schema compile the schemas of schemas when a program starts, which takes
// each start of cg longer than everything else that is prepared then. In tests, one of them is the oracle.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Schema is a compiled schema. Its methods may be called at the same time.
type Schema struct {
	never bool // the schema "false"
	said
	ref        *Schema
	pattern    *regexp.Regexp
	constant   any
	properties []property // in the order of their names
}

type property struct {
	name string
	*Schema
}

// said is a schema as it is written.
type said struct {
	Meta        string             `json:"$schema"`
	Title       string             `json:"title"`
	Description string             `json:"description"`
	Defs        map[string]*Schema `json:"$defs"`
	Ref         string             `json:"$ref"` // #/$defs/NAME

	Type       types              `json:"type"`
	Const      json.RawMessage    `json:"const"`
	Enum       []any              `json:"enum"`
	Minimum    *float64           `json:"minimum"`
	Maximum    *float64           `json:"maximum"`
	Pattern    *string            `json:"pattern"`
	Required   []string           `json:"required"`
	Properties map[string]*Schema `json:"properties"`
	Additional *Schema            `json:"additionalProperties"`
	Items      *Schema            `json:"items"`
	AnyOf      []*Schema          `json:"anyOf"`
	If         *Schema            `json:"if"`
	Then       *Schema            `json:"then"`
}

// types are the names of types. One alone is written without a list.
type types []string

func (t *types) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*t = types{""}
		return json.Unmarshal(b, &(*t)[0])
	}
	return json.Unmarshal(b, (*[]string)(t))
}

// UnmarshalJSON reads a schema and refuses keywords that it does not know.
func (s *Schema) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "true":
		return nil
	case "false":
		s.never = true
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(&s.said)
}

// Compile reads a schema. It is an error if the schema has a keyword that this
// package does not know: nothing that a schema says is passed over. One that
// refers to itself is refused, too.
func Compile(text []byte) (*Schema, error) {
	s := &Schema{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if err := s.compile(s.Defs); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if s.deeper(deepest) {
		return nil, errors.New("schema: it refers to itself")
	}
	return s, nil
}

// deepest is more levels than a schema has that does not refer to itself.
const deepest = 64

// deeper reports whether a schema has more levels than so many.
func (s *Schema) deeper(levels int) bool {
	if s == nil {
		return false
	}
	return levels == 0 || s.ref.deeper(levels-1) ||
		slices.ContainsFunc(s.below(), func(b *Schema) bool { return b.deeper(levels - 1) })
}

// compile resolves what is below a schema.
func (s *Schema) compile(defs map[string]*Schema) (err error) {
	if s == nil {
		return nil
	}
	for _, t := range s.Type {
		if kindsOf[t] == nil {
			return fmt.Errorf("type %q is not known", t)
		}
	}
	if s.Ref != "" {
		name, below := strings.CutPrefix(s.Ref, "#/$defs/")
		if s.ref = defs[name]; !below || s.ref == nil {
			return fmt.Errorf("$ref: nothing is %q", s.Ref)
		}
	}
	if s.Pattern != nil {
		if s.pattern, err = regexp.Compile(*s.Pattern); err != nil {
			return fmt.Errorf("pattern: %w", err)
		}
	}
	if s.Const != nil {
		if err := json.Unmarshal(s.Const, &s.constant); err != nil {
			return fmt.Errorf("const: %w", err)
		}
	}
	if s.Then != nil && s.If == nil {
		return errors.New("then is without if")
	}
	for name, p := range s.Properties {
		s.properties = append(s.properties, property{name, p})
	}
	slices.SortFunc(s.properties, func(a, b property) int { return strings.Compare(a.name, b.name) })
	for _, below := range s.below() {
		if err := below.compile(defs); err != nil {
			return err
		}
	}
	return nil
}

// below lists the schemas that are written in this one.
func (s *Schema) below() []*Schema {
	all := []*Schema{s.Additional, s.Items, s.If, s.Then}
	all = append(all, s.AnyOf...)
	for _, p := range s.properties {
		all = append(all, p.Schema)
	}
	for _, d := range s.Defs {
		all = append(all, d)
	}
	return all
}
