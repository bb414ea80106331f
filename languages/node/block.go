package node

import "slices"

// A body with checkpoints stands in a block. There its declarations of functions are lexical, and names that
// the function or Node's wrapper binds can be declared anew. A body to which that matters is left alone.

// wrapperNames are the parameters of the function that Node makes of a CommonJS module.
var wrapperNames = []string{"exports", "require", "module", "__filename", "__dirname"}

// keptFromBlock is why a body cannot stand in a block, "" if it can. around are the names of its parameters.
func (p *planner) keptFromBlock(body int, around []string) string {
	if name := p.redeclared(body, around); name != "" {
		return "left alone: it declares " + name + ", the name of a parameter"
	}
	functions, twice := p.functionsIn(body)
	if twice == "" && len(functions) > 0 {
		for i := body + 1; i < p.After(body) && twice == ""; {
			twice, i = p.declaredAgain(functions, i, body)
		}
	}
	switch twice {
	case "":
		return ""
	case evalName:
		return "left alone: eval may declare its functions twice"
	}
	return "left alone: it declares " + twice + " twice"
}

// evalName calls the text of a program in its scope, where it is called by this name.
const evalName = "eval"

// functionsIn lists the functions that a body itself declares, with one that it declares twice, "" if there is
// none. That is no error in a body, and may be one in a block.
func (p *planner) functionsIn(body int) (functions []string, twice string) {
	p.Children(body, func(c int) {
		for p.Nodes[c].Type == "labeled_statement" {
			labelled := p.Field(c, "body")
			if labelled < 0 {
				return
			}
			c = labelled
		}
		if !isDeclaration(p.Nodes[c].Type) {
			return
		}
		name := p.Text(p.Field(c, "name"))
		if slices.Contains(functions, name) {
			twice = name
		}
		functions = append(functions, name)
	})
	return functions, twice
}

func isDeclaration(nodeType string) bool {
	return nodeType == "function_declaration" || nodeType == "generator_function_declaration"
}

// declaredAgain is the name among a body's functions that a node declares once more: by var, or as a function
// in a block, which sets the body's name when it is reached. It is evalName for what may do so. next is the node
// to look at then.
func (p *planner) declaredAgain(functions []string, i, body int) (name string, next int) {
	switch p.Nodes[i].Type {
	case "function_declaration", "generator_function_declaration":
		if own := p.Text(p.Field(i, "name")); slices.Contains(functions, own) && !p.standsIn(i, body) {
			return own, i
		}
		return "", p.After(i)
	case "function_expression", "generator_function", "arrow_function", "method_definition", "class_static_block":
		return "", p.After(i)
	case "variable_declaration":
		name = p.oneOf(functions, i)
	case "for_in_statement":
		if left := p.Field(i, "left"); left >= 0 && p.hasToken(i, "var") {
			name = p.oneOf(functions, left)
		}
	case "call_expression":
		if callee := p.Field(i, "function"); callee >= 0 && p.Text(callee) == evalName {
			name = evalName
		}
	}
	return name, i + 1
}

// standsIn reports whether a declaration is a statement of a body itself, with labels or without.
func (p *planner) standsIn(i, body int) bool {
	i = p.Nodes[i].Parent
	for i > body && p.Nodes[i].Type == "labeled_statement" {
		i = p.Nodes[i].Parent
	}
	return i == body
}

// redeclared is a name among those around a body that the body binds by let, const or class, "" if there is
// none. That is an error, which a block would hide.
func (p *planner) redeclared(body int, around []string) string {
	found := ""
	note := func(names []string) {
		for _, name := range names {
			if slices.Contains(around, name) {
				found = name
			}
		}
	}
	p.Children(body, func(c int) {
		switch p.Nodes[c].Type {
		case "class_declaration":
			note([]string{p.Text(p.Field(c, "name"))})
		case "lexical_declaration":
			p.Children(c, func(d int) {
				if name := p.Field(d, "name"); name >= 0 {
					note(p.bound(name))
				}
			})
		}
	})
	return found
}

// parameters are the names that the parameters of a function bind.
func (p *planner) parameters(function int) []string {
	for _, field := range []string{"parameters", "parameter"} {
		if i := p.Field(function, field); i >= 0 {
			return p.bound(i)
		}
	}
	return nil
}

// bound are the names that a pattern binds, or a list of parameters.
func (p *planner) bound(pattern int) (names []string) {
	for i := pattern; i < p.After(pattern); {
		n := p.Nodes[i]
		if i > pattern {
			parent := p.Nodes[n.Parent].Type
			if n.Field == "right" || n.Field == "value" && parent != "pair_pattern" || n.Field == "key" {
				i = p.After(i) // a default, or the name of a property
				continue
			}
		}
		if n.Type == "identifier" || n.Type == "shorthand_property_identifier_pattern" {
			names = append(names, p.Text(i))
		}
		i++
	}
	return names
}

// oneOf is a name among some that a pattern or a declaration by var binds, "" if it binds none of them.
// It may take a use of a name for a binding.
func (p *planner) oneOf(names []string, i int) string {
	for c := i; c < p.After(i); c++ {
		switch p.Nodes[c].Type {
		case "identifier", "shorthand_property_identifier_pattern":
			if parent := p.Nodes[c].Parent; p.Nodes[parent].Type == "variable_declarator" &&
				p.Nodes[c].Field != "name" {
				continue
			}
			if name := p.Text(c); slices.Contains(names, name) && p.binds(c, i) {
				return name
			}
		}
	}
	return ""
}

// binds reports whether an identifier stands on the left of the declarator around it.
func (p *planner) binds(c, declaration int) bool {
	for n := c; n > declaration; n = p.Nodes[n].Parent {
		if p.Nodes[n].Field == "value" {
			return false
		}
	}
	return true
}
