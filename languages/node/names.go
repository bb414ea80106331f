package node

import (
	"slices"
	"strings"

	"cg/checkpoint"
	"cg/pattern"
)

// Names are those of V8's stack traces where it has one (v8.dev/docs/stack-trace-api): that of the
// definition, else that of the variable, property or field that a function is assigned to.

const anonymous = "<anonymous>"

// functionNamed is the name of a function in the scope around it, and what it is.
func (p *planner) functionNamed(i int, here scope) (string, checkpoint.SiteKind) {
	kind := checkpoint.Function
	switch p.Nodes[i].Type {
	case "class_static_block":
		return "<static>", checkpoint.Method
	case "method_definition":
		name := propertyText(p.Text(p.Field(i, "name")))
		if here.class && name == "constructor" && !p.hasToken(i, "static") {
			return name, checkpoint.Constructor
		}
		for _, word := range []string{"get", "set"} {
			if p.hasToken(i, word) {
				name = word + " " + name
			}
		}
		if parent := p.Nodes[i].Parent; p.Nodes[parent].Type == "object" {
			name = joined(p.assigned(parent), name)
		}
		return name, checkpoint.Method
	case "arrow_function":
		kind = checkpoint.Lambda
	}
	if name := p.Field(i, "name"); name >= 0 {
		return p.Text(name), kind
	}
	if name := p.assigned(i); name != "" {
		return name, kind
	}
	return anonymous, kind
}

// classNamed is the name of a class in the scope around it.
func (p *planner) classNamed(i int) string {
	if name := p.Field(i, "name"); name >= 0 {
		return p.Text(name)
	}
	if name := p.assigned(i); name != "" {
		return name
	}
	return "<class>"
}

// assigned is the name of what an expression is assigned to, "" if there is none.
func (p *planner) assigned(i int) string {
	n := p.Nodes[i]
	parent := n.Parent
	if parent < 0 {
		return ""
	}
	switch p.Nodes[parent].Type {
	case "parenthesized_expression", "as_expression", "satisfies_expression":
		return p.assigned(parent)
	case "variable_declarator":
		if name := p.Field(parent, "name"); n.Field == "value" && p.Nodes[name].Type == "identifier" {
			return p.Text(name)
		}
	case "assignment_expression", "assignment_pattern", "object_assignment_pattern":
		if n.Field == "right" {
			return memberText(p.Text(p.Field(parent, "left")))
		}
	case "pair":
		if object := p.Nodes[parent].Parent; n.Field == "value" {
			return joined(p.assigned(object), propertyText(p.Text(p.Field(parent, "key"))))
		}
	case "field_definition", "public_field_definition":
		for _, field := range []string{"property", "name"} {
			if name := p.Field(parent, field); n.Field == "value" && name >= 0 {
				return propertyText(p.Text(name))
			}
		}
	case "export_statement":
		return "default"
	}
	return ""
}

// joined is a name behind that of what it belongs to.
func joined(owner, name string) string {
	if owner == "" {
		return name
	}
	return owner + "." + name
}

// propertyText is a property's name as it is written, without quotes, on one line.
func propertyText(text string) string {
	if len(text) > 1 && (text[0] == '"' || text[0] == '\'') {
		text = text[1 : len(text)-1]
	}
	return strings.Join(strings.Fields(text), " ")
}

var plainMember = pattern.Later(`^[\p{L}\p{N}_$#]+(\.[\p{L}\p{N}_$#]+)*$`)

// memberText is the name that an assignment gives: module.exports.f and exports.f give f, A.prototype.f
// gives A.f, and this.f gives f.
func memberText(left string) string {
	if !plainMember().MatchString(left) {
		if dot := strings.LastIndexByte(left, '.'); dot >= 0 && plainMember().MatchString(left[dot+1:]) {
			return left[dot+1:]
		}
		return ""
	}
	parts := strings.Split(left, ".")
	if len(parts) > 2 && parts[0] == "module" && parts[1] == "exports" {
		parts = parts[2:]
	} else if len(parts) > 1 && (parts[0] == "exports" || parts[0] == "this") {
		parts = parts[1:]
	}
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "prototype" })
	return strings.Join(parts, ".")
}
