package c

import (
	"slices"
	"strings"

	"cg/instrument/syntax"
)

// In C++ an operator, a copy or a declaration may be a call of a function. plain tells the types and
// names for which it is none: numbers, enumerators, pointers. It knows the declarations of the
// program's own text alone; a name that it does not know is not plain.
type plain struct {
	*parser
	types map[string]bool // names of types, by whether they are plain
	all   values          // of the whole text
	own   values          // of the function that is looked at
}

// values are names of variables, parameters and members.
type values struct {
	plain map[string]bool // an array counts as what it holds
	held  map[string]bool // what pointers and arrays of the name hold
}

// plainTypes are those of the standard headers that stand for numbers.
var plainTypes = []string{"size_t", "ssize_t", "ptrdiff_t", "intptr_t", "uintptr_t", "time_t", "int8_t", "int16_t",
	"int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "byte", "nullptr_t"}

// newPlain learns from all declarations of a text. A name counts as plain if it is in all of them.
func newPlain(p *parser) *plain {
	k := &plain{parser: p, types: map[string]bool{}}
	for i, n := range p.tree.Nodes {
		switch n.Type {
		case "enum_specifier":
			if name := p.tree.Field(i, "name"); name >= 0 {
				note(k.types, p.tree.Text(name), true)
			}
		case "class_specifier", "struct_specifier", "union_specifier", "type_parameter_declaration",
			"optional_type_parameter_declaration":
			p.tree.Children(i, func(c int) {
				if p.tree.Nodes[c].Type == "type_identifier" {
					note(k.types, p.tree.Text(c), false)
				}
			})
		case "type_definition", "alias_declaration":
			k.alias(i)
		}
	}
	k.all = k.valuesIn(0, len(p.tree.Nodes))
	return k
}

// note keeps what was learnt of a name.
func note(to map[string]bool, name string, is bool) {
	before, known := to[name]
	to[name] = is && (before || !known)
}

// valuesIn learns from the declarations of values from one node to another.
func (k *plain) valuesIn(from, to int) values {
	v := values{map[string]bool{}, map[string]bool{}}
	for i := from; i < to; i++ {
		switch k.tree.Nodes[i].Type {
		case "enumerator":
			if name := k.tree.Field(i, "name"); name >= 0 {
				note(v.plain, k.tree.Text(name), true)
			}
		case "declaration", "field_declaration", "parameter_declaration", "optional_parameter_declaration":
			is := k.isType(k.tree.Field(i, "type"))
			k.tree.Children(i, func(c int) {
				if k.tree.Nodes[c].Field != "declarator" {
					return
				}
				if name, pointer := k.declares(c); name != "" {
					note(v.plain, name, is || pointer)
					note(v.held, name, is)
				}
			})
		}
	}
	return v
}

// alias learns a name for a type.
func (k *plain) alias(i int) {
	name, of := k.tree.Field(i, "name"), k.tree.Field(i, "type")
	pointer := false
	if name < 0 {
		for name = k.tree.Field(i, "declarator"); name >= 0 && k.tree.Nodes[name].Type != "type_identifier"; {
			pointer = pointer || k.tree.Nodes[name].Type == "pointer_declarator"
			name = k.tree.Field(name, "declarator")
		}
	}
	if name >= 0 {
		note(k.types, k.tree.Text(name), pointer || k.isType(of))
	}
}

// declares gives the name that a declarator declares, and whether it is that of a pointer.
func (k *plain) declares(d int) (name string, pointer bool) {
	for ; d >= 0; d = k.inner(d) {
		switch k.tree.Nodes[d].Type {
		case "identifier", "field_identifier":
			return k.tree.Text(d), pointer
		case "pointer_declarator":
			pointer = true
		case "function_declarator":
			return "", false
		}
	}
	return "", false
}

// isType reports whether values of a type are plain.
func (k *plain) isType(t int) bool {
	if t < 0 {
		return false
	}
	switch k.tree.Nodes[t].Type {
	case "primitive_type", "sized_type_specifier", "enum_specifier":
		return true
	case "type_descriptor":
		abstract := k.tree.Field(t, "declarator")
		return abstract >= 0 && k.tree.Nodes[abstract].Type == "abstract_pointer_declarator" ||
			k.isType(k.tree.Field(t, "type"))
	case "type_identifier", "qualified_identifier":
		name := strings.TrimPrefix(spaceless(k.tree.Text(t)), "std::")
		is, known := k.types[name]
		return is || !known && slices.Contains(plainTypes, name)
	}
	return false
}

// isBody reports whether the body of a function calls nothing, whatever its types are.
func (k *plain) isBody(i, body int) bool {
	k.own = k.valuesIn(i, k.tree.After(i))
	returns := k.tree.Field(i, "type")
	value := k.isType(returns) || returns < 0 || strings.Contains(k.tree.Text(returns), "auto")
	refers := false
	if d := k.tree.Field(i, "declarator"); d >= 0 {
		if t := k.told(d); t >= 0 {
			value = k.isType(t)
		}
		switch k.tree.Nodes[d].Type {
		case "pointer_declarator":
			value = true
		case "reference_declarator":
			refers = true
		}
	}
	return k.isStatement(body, value, refers)
}

// told gives the type that a declarator has of what the function returns, behind the parameters or as the
// name of a conversion; -1 for none.
func (k *plain) told(d int) int {
	for n := d; n < k.tree.After(d); n++ {
		switch k.tree.Nodes[n].Type {
		case "trailing_return_type":
			within := k.tree.Nodes[n+1 : k.tree.After(n)]
			return n + 1 + slices.IndexFunc(within, func(c syntax.Node) bool { return c.Named })
		case "operator_cast":
			return k.tree.Field(n, "type")
		}
	}
	return -1
}

// isStatement is the same for a statement. value says that the function returns what is plain, refers
// that it returns a reference.
func (k *plain) isStatement(s int, value, refers bool) bool {
	is := true
	switch k.tree.Nodes[s].Type {
	case "compound_statement", "if_statement", "else_clause", "condition_clause", "case_statement", "switch_statement":
		k.tree.Children(s, func(c int) {
			if n := k.tree.Nodes[c]; n.Named && is {
				is = strings.HasSuffix(n.Type, "expression") && k.isValue(c) || k.isStatement(c, value, refers) ||
					k.isValue(c)
			}
		})
		return is
	case "break_statement", "comment":
		return true
	case "expression_statement", "return_statement":
		ret := k.tree.Nodes[s].Type == "return_statement"
		k.tree.Children(s, func(c int) {
			if k.tree.Nodes[c].Named && is {
				is = ret && refers && k.isPlace(c) || (value || !ret) && k.isValue(c)
			}
		})
		return is
	case "declaration":
		of := k.isType(k.tree.Field(s, "type"))
		k.tree.Children(s, func(c int) {
			if n := k.tree.Nodes[c]; n.Field == "declarator" && is {
				_, pointer := k.declares(c)
				v := k.tree.Field(c, "value")
				is = (of || pointer) && (v < 0 || k.isValue(v))
			}
		})
		return is
	}
	return false
}

// isValue reports whether an expression has a plain value, and calls nothing.
func (k *plain) isValue(e int) bool {
	if e < 0 {
		return false
	}
	all := func(fields ...string) bool {
		return !slices.ContainsFunc(fields, func(f string) bool { return !k.isValue(k.tree.Field(e, f)) })
	}
	switch k.tree.Nodes[e].Type {
	case "number_literal", "char_literal", "string_literal", "true", "false", "null", "nullptr", "this",
		"sizeof_expression", "comment":
		return true
	case "identifier", "field_identifier":
		return k.knows(k.tree.Text(e))
	case "qualified_identifier":
		name := k.tree.Text(e)
		return k.knows(name[strings.LastIndexByte(name, ':')+1:])
	case "field_expression":
		return k.isPlace(e) && k.all.plain[k.tree.Text(k.tree.Field(e, "field"))]
	case "parenthesized_expression":
		is := true
		k.tree.Children(e, func(c int) { is = is && (!k.tree.Nodes[c].Named || k.isValue(c)) })
		return is
	case "binary_expression", "assignment_expression", "comma_expression":
		return all("left", "right")
	case "unary_expression", "update_expression":
		return all("argument")
	case "conditional_expression":
		return all("condition", "consequence", "alternative")
	case "cast_expression":
		return k.isType(k.tree.Field(e, "type")) && all("value")
	case "pointer_expression":
		of := k.tree.Field(e, "argument")
		if k.tree.Source[k.tree.Nodes[e].Start] == '&' {
			return k.isPlace(of)
		}
		return k.isPlace(e) && k.holds(of)
	case "subscript_expression":
		return k.isPlace(e) && k.holds(k.tree.Field(e, "argument"))
	}
	return false
}

// holds reports whether what a pointer or an array holds is plain.
func (k *plain) holds(e int) bool {
	if e >= 0 && k.tree.Nodes[e].Type == "field_expression" {
		field := k.tree.Field(e, "field")
		return field >= 0 && k.all.held[k.tree.Text(field)]
	}
	if e < 0 {
		return false
	}
	if is, known := k.own.held[k.tree.Text(e)]; known {
		return is
	}
	return k.all.held[k.tree.Text(e)]
}

// knows reports whether a name is that of a plain value: what the function declares hides the rest.
func (k *plain) knows(name string) bool {
	if is, known := k.own.plain[name]; known {
		return is
	}
	return k.all.plain[name]
}

// isPlace reports whether an expression names something in memory, and calls nothing on the way to it.
func (k *plain) isPlace(e int) bool {
	if e < 0 {
		return false
	}
	switch k.tree.Nodes[e].Type {
	case "identifier", "field_identifier", "this":
		return true
	case "field_expression":
		of, field := k.tree.Field(e, "argument"), k.tree.Field(e, "field")
		if of < 0 || field < 0 {
			return false
		}
		if strings.Contains(string(k.tree.Source[k.tree.Nodes[of].End:k.tree.Nodes[field].Start]), "->") {
			return k.isValue(of)
		}
		return k.isPlace(of)
	case "pointer_expression":
		return k.tree.Source[k.tree.Nodes[e].Start] == '*' && k.isValue(k.tree.Field(e, "argument"))
	case "subscript_expression":
		index := true
		k.tree.Children(e, func(c int) {
			n := k.tree.Nodes[c]
			switch {
			case n.Field == "argument" || !n.Named:
			case n.Type == "subscript_argument_list":
				k.tree.Children(c, func(a int) { index = index && (!k.tree.Nodes[a].Named || k.isValue(a)) })
			default:
				index = index && k.isValue(c)
			}
		})
		return index && k.isValue(k.tree.Field(e, "argument"))
	}
	return false
}
