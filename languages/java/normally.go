package java

import "strings"

// The compiler refuses a statement that the code never comes to (JLS 14.22), so an event at the end of a loop's body
// needs to know whether it does. Where that is not sure, there is none.

// goesOn reports whether a statement that the code comes to surely can complete normally.
func (p *planner) goesOn(i int) bool {
	switch t := p.Nodes[i].Type; t {
	case "return_statement", "break_statement", "continue_statement", "throw_statement", "yield_statement":
		return false
	case "block":
		last := p.lastOf(i)
		return last < 0 || p.goesOn(last)
	case "labeled_statement":
		inner := p.labelled(i)
		return p.goesOn(inner) || p.left(inner, p.labelOf(i), "break_statement")
	case "if_statement":
		other := p.Field(i, "alternative")
		return other < 0 || p.goesOn(other) || p.goesOn(p.Field(i, "consequence"))
	case "synchronized_statement":
		return p.goesOn(p.Field(i, "body"))
	case "try_statement", "try_with_resources_statement":
		return p.tryGoesOn(i)
	case "switch_expression":
		return p.switchGoesOn(i)
	case "while_statement", "for_statement", "do_statement":
		return p.loopGoesOn(i)
	}
	return true
}

func (p *planner) tryGoesOn(i int) bool {
	any, end := false, true
	p.Children(i, func(c int) {
		switch p.Nodes[c].Type {
		case "block":
			any = any || p.goesOn(c)
		case "catch_clause":
			any = any || p.goesOn(p.Field(c, "body"))
		case "finally_clause":
			end = p.goesOn(p.child(c, "block"))
		}
	})
	return any && end
}

func (p *planner) loopGoesOn(i int) bool {
	condition, body := p.Field(i, "condition"), p.Field(i, "body")
	if p.left(body, "", "break_statement") {
		return true
	}
	if condition < 0 || p.maybeConstant(condition) {
		return false
	}
	return p.Nodes[i].Type != "do_statement" || p.goesOn(body) || p.left(body, "", "continue_statement")
}

// switchGoesOn is goesOn of a switch statement. One that has a pattern or null needs no default to take every value.
func (p *planner) switchGoesOn(i int) bool {
	body := p.Field(i, "body")
	every, any, last := false, p.left(body, "", "break_statement"), true
	p.Children(body, func(c int) {
		t := p.Nodes[c].Type
		if t != "switch_rule" && t != "switch_block_statement_group" {
			return
		}
		p.Children(c, func(l int) {
			every = every || p.Nodes[l].Type == "switch_label" && p.takesEvery(l)
		})
		if end := p.lastOf(c); t == "switch_rule" {
			any, last = any || p.goesOn(end), false
		} else {
			last = end < 0 || p.goesOn(end)
		}
	})
	return any || last || !every
}

// takesEvery reports whether a label of a switch lets it take every value: default, or such as only an exhaustive
// switch has.
func (p *planner) takesEvery(label int) bool {
	for c := label + 1; c < p.After(label); c++ {
		switch t := p.Nodes[c].Type; {
		case t == "default", t == "pattern", t == "null_literal", t == "guard",
			t == "identifier" && p.name(c) == "default":
			return true
		}
	}
	return false
}

// left reports whether a part of the code has a jump out of the statement that it is the body of: a break or a continue
// with a label, or without one and in no inner statement that it would leave. One in a try whose finally does not go
// on may not get there.
func (p *planner) left(i int, label, jump string) bool {
	switch t := p.Nodes[i].Type; {
	case t == jump:
		return p.labelOf(i) == label
	case label == "" && (loops[t] || t == "switch_expression" && jump == "break_statement"),
		t == "lambda_expression", t == "class_body",
		strings.HasSuffix(t, "_declaration"):
		return false
	case t == "try_statement" || t == "try_with_resources_statement":
		if f := p.child(i, "finally_clause"); f >= 0 && !p.goesOn(p.child(f, "block")) {
			return p.left(f, label, jump)
		}
	}
	found := false
	p.Children(i, func(c int) { found = found || p.left(c, label, jump) })
	return found
}

// maybeConstant reports whether an expression may be a constant (JLS 15.29): of literals, and of names that may be
// those of constants.
func (p *planner) maybeConstant(i int) bool {
	n := p.Nodes[i]
	switch n.Type {
	case "identifier":
		return p.names().constant(p.name(i))
	case "field_access", "scoped_identifier":
		first := i
		for p.After(first) > first+1 {
			first++
		}
		// A type's, not that of a variable or of this.
		return p.Nodes[first].Type == "identifier" && !p.names().variables[p.name(first)]
	case "binary_expression", "unary_expression", "parenthesized_expression", "ternary_expression", "cast_expression":
		all := true
		p.Children(i, func(c int) { all = all && (!p.Nodes[c].Named || p.maybeConstant(c)) })
		return all
	}
	return strings.HasSuffix(n.Type, "_literal") && n.Type != "null_literal" || n.Type == "true" || n.Type == "false" ||
		strings.HasSuffix(n.Type, "_type") || n.Type == "type_identifier" || strings.HasSuffix(n.Type, "comment")
}

// declaredNames are the variables that a file declares.
type declaredNames struct{ variables, finals map[string]bool }

// constant reports whether a name may be that of a constant: of a final variable, or of none that the file declares.
func (d *declaredNames) constant(name string) bool { return d.finals[name] || !d.variables[name] }

func (p *planner) names() *declaredNames {
	if p.declared != nil {
		return p.declared
	}
	p.declared = &declaredNames{map[string]bool{}, map[string]bool{}}
	for i := range p.Nodes {
		switch t := p.Nodes[i].Type; t {
		case "constant_declaration", "field_declaration", "local_variable_declaration", "formal_parameter",
			"enhanced_for_statement", "spread_parameter":
			final := t == "constant_declaration" ||
				(t == "field_declaration" || t == "local_variable_declaration") && p.modified(i, "final")
			note := func(c int) {
				if name := p.Field(c, "name"); name >= 0 {
					p.declared.variables[p.name(name)] = true
					if final {
						p.declared.finals[p.name(name)] = true
					}
				}
			}
			note(i)
			p.Children(i, func(c int) {
				if p.Nodes[c].Type == "variable_declarator" {
					note(c)
				}
			})
		}
	}
	return p.declared
}
