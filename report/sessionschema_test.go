package report

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"cg/docs"
)

// part is a part of a schema, with the definitions that it refers to.
type part struct {
	said map[string]any
	defs map[string]any
}

// partOf is the schema of a text.
func partOf(t *testing.T, text []byte) part {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return part{all, all["$defs"].(map[string]any)}
}

// at is the part below some keywords and names. It is empty where there is none.
func (p part) at(path ...string) part {
	said := p.said
	for _, name := range path {
		said, _ = said[name].(map[string]any)
	}
	return part{said, p.defs}
}

// defined is a definition.
func (p part) defined(name string) part { return part{p.defs, p.defs}.at(name) }

// resolved is what a part refers to, or itself.
func (p part) resolved() part {
	for {
		to, is := p.said["$ref"].(string)
		if !is {
			return p
		}
		p = p.defined(strings.TrimPrefix(to, "#/$defs/"))
	}
}

// either lists the parts of which one has to fit.
func (p part) either() (all []part) {
	p = p.resolved()
	list, is := p.said["anyOf"].([]any)
	if !is {
		return []part{p}
	}
	for _, one := range list {
		all = append(all, part{one.(map[string]any), p.defs}.either()...)
	}
	return all
}

// object is the one of the parts that has fields.
func (p part) object(t *testing.T) part {
	t.Helper()
	for _, one := range p.either() {
		if len(one.at("properties").said) > 0 {
			return one
		}
	}
	t.Fatalf("no fields in %v", p.said)
	return part{}
}

// types are the types of the values that a part takes, with those of elements and of
// values of any name behind "[]" and "{}".
func (p part) types() map[string]bool {
	all := map[string]bool{}
	for _, one := range p.either() {
		switch of := one.said["type"].(type) {
		case string:
			all[of] = true
		case []any:
			for _, t := range of {
				all[t.(string)] = true
			}
		}
		values, _ := one.said["enum"].([]any)
		if v, is := one.said["const"]; is {
			values = append(values, v)
		}
		for _, v := range values {
			all[typeOfValue(v)] = true
			list, _ := v.([]any)
			for _, element := range list {
				all["[]"+typeOfValue(element)] = true
			}
		}
		for sign, keyword := range map[string]string{"[]": "items", "{}": "additionalProperties"} {
			if below := one.at(keyword); below.said != nil {
				for t := range below.types() {
					all[sign+t] = true
				}
			}
		}
	}
	if all["number"] {
		all["integer"] = true
	}
	if all["{}number"] {
		all["{}integer"] = true
	}
	return all
}

// typeOfValue is the type of a decoded value.
func typeOfValue(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case []any:
		return "array"
	}
	return "string"
}

// unit is the unit in the description of a part or of what is in it, or "".
func (p part) unit() string {
	for _, one := range append([]part{p, p.resolved()}, p.either()...) {
		for _, s := range []part{one, one.at("additionalProperties").resolved()} {
			text, _ := s.said["description"].(string)
			word, _, _ := strings.Cut(text, " ")
			if word = strings.TrimRight(word, ";"); word != "" {
				return word
			}
		}
	}
	return ""
}

func (p part) required() (names []string) {
	list, _ := p.said["required"].([]any)
	for _, name := range list {
		names = append(names, name.(string))
	}
	return names
}

// agreement is an object of a session's file and the same one of a report.
type agreement struct {
	name         string
	session, run part
	alone        bool     // the session's schema says it of sessions only
	own          []string // fields that reports do not have
}

// check compares the fields by their names, their types and their units.
func (c agreement) check(t *testing.T) {
	fields, known := c.session.at("properties"), c.run.at("properties")
	if len(fields.said) == 0 || len(known.said) == 0 {
		t.Errorf("%s: %d fields of a session, %d of a report", c.name, len(fields.said), len(known.said))
	}
	var own []string
	for _, name := range slices.Sorted(maps.Keys(fields.said)) {
		ours, theirs := known.at(name), fields.at(name)
		if ours.said == nil {
			own = append(own, name)
			continue
		}
		wide := theirs.types()
		for kind := range ours.types() {
			if !wide[kind] && (kind != "null" || !c.alone) {
				t.Errorf("%s: %s may be %s in a report, and is one of %v in a session", c.name, name, kind, wide)
			}
		}
		unit := theirs.unit()
		if by := ours.unit(); by != unit && !(by == "" && unit == "W" && strings.HasSuffix(name, "_w")) {
			t.Errorf("%s: %s is in %q in a report, in %q in a session", c.name, name, by, unit)
		}
	}
	if !slices.Equal(own, c.own) {
		t.Errorf("%s: only sessions have %q, want %q", c.name, own, c.own)
	}
	for _, name := range c.session.required() {
		if !c.alone && !slices.Contains(c.run.required(), name) {
			t.Errorf("%s: a report may be without %s, which the schema of sessions asks for", c.name, name)
		}
	}
}

// The fields that a session's file and a report have in common have the same names, types and units in the two
// schemas. What the report's schema takes, the session's takes, too.
func TestSessionSchemaAgrees(t *testing.T) {
	text, err := json.Marshal(Schema())
	if err != nil {
		t.Fatal(err)
	}
	run, session := partOf(t, text), partOf(t, docs.SessionSchema)
	meta, alone := session.defined("meta"), session.at("$defs", "session", "properties", "meta")
	for name := range meta.at("properties").said {
		delete(alone.at("properties").said, name) // the form of a text, whose type is told in meta
	}
	for _, c := range []agreement{
		{name: "meta", session: meta, run: run.defined("Meta")},
		{name: "meta of a session", session: alone, run: run.defined("Meta"), alone: true, own: []string{"gauges", "sampler"}},
		{name: "timeseries", session: alone.at("properties", "timeseries"), run: run.defined("Timeseries"), alone: true},
		{name: "domain_topology", session: meta.at("properties", "domain_topology", "additionalProperties"),
			run: run.defined("nemb.Place")},
		{name: "task", session: session.defined("task"), run: run.defined("Task"),
			own: []string{"forgotten", "machine_energy_j", "thread"}},
		{name: "sample", session: session.defined("sample"), run: run.defined("Sample")},
		{name: "noise", session: session.defined("noise"), run: run.defined("Noise")},
		{name: "noise warning", session: session.defined("noise_warning").object(t), run: run.defined("NoiseWarning")},
		{name: "totals", session: session.defined("totals"), run: run.defined("Totals")},
		{name: "warning", session: session.at("properties", "warnings", "items"), run: run.defined("Warning")},
	} {
		c.check(t)
	}
}
