package c

import (
	"strings"

	"cg/checkpoint"
)

// declared gives the name that a definition declares, where it stands, and what it is; "" if it
// is no function's.
func (p *parser) declared(i int) (name string, at int, kind checkpoint.SiteKind) {
	if p.tree.Nodes[i].Type == "lambda_expression" {
		return "<lambda>", p.tree.Nodes[i].Start, checkpoint.Lambda
	}
	is := false
	for d := p.tree.Field(i, "declarator"); d >= 0; d = p.inner(d) {
		n := p.tree.Nodes[d]
		switch n.Type {
		case "identifier", "field_identifier", "destructor_name", "operator_name", "qualified_identifier",
			"template_function", "template_method":
			if !is {
				return "", 0, ""
			}
			name = spaceless(p.tree.Text(d))
			return name, n.Start, p.kindOf(i, name)
		case "operator_cast":
			text, _, _ := strings.Cut(p.tree.Text(d), "(")
			return strings.Join(strings.Fields(text), " "), n.Start, checkpoint.Method
		case "function_declarator":
			is = true
		}
	}
	return "", 0, ""
}

// inner is the declarator in a declarator, -1 for none.
func (p *parser) inner(d int) int {
	next := p.tree.Field(d, "declarator")
	if next >= 0 {
		return next
	}
	p.tree.Children(d, func(c int) { // parentheses and references have no field
		n := p.tree.Nodes[c]
		if n.Named && next < 0 && (strings.HasSuffix(n.Type, "declarator") || n.Type == "identifier") {
			next = c
		}
	})
	return next
}

// kindOf tells functions, methods and constructors by where they stand and how they are called.
func (p *parser) kindOf(i int, name string) checkpoint.SiteKind {
	parts := strings.Split(p.typeAround(i)+"::"+name, "::")
	last, of := parts[len(parts)-1], parts[len(parts)-2]
	of, _, _ = strings.Cut(of, "<")
	switch {
	case of != "" && last == of:
		return checkpoint.Constructor
	case p.typeAround(i) != "":
		return checkpoint.Method
	}
	return checkpoint.Function
}

var types = map[string]bool{"class_specifier": true, "struct_specifier": true, "union_specifier": true}

// typeAround is the name of the type that a definition stands in, "" for none.
func (p *parser) typeAround(i int) string {
	for k := p.tree.Nodes[i].Parent; k >= 0; k = p.tree.Nodes[k].Parent {
		if types[p.tree.Nodes[k].Type] {
			return p.nameOf(k)
		}
		if t := p.tree.Nodes[k].Type; t == "compound_statement" || t == "namespace_definition" {
			return ""
		}
	}
	return ""
}

// nameOf is the name of a type or a namespace.
func (p *parser) nameOf(i int) string {
	if name := p.tree.Field(i, "name"); name >= 0 {
		return spaceless(p.tree.Text(name))
	}
	return "(anonymous)"
}

// scope is what stands before the name of a definition: namespaces, types and functions around.
func (p *parser) scope(i int) (scope string) {
	if !p.dialect.scoped {
		return ""
	}
	for k := p.tree.Nodes[i].Parent; k >= 0; k = p.tree.Nodes[k].Parent {
		switch t := p.tree.Nodes[k].Type; {
		case t == "namespace_definition" || types[t]:
			scope = p.nameOf(k) + "::" + scope
		case t == "function_definition" || t == "lambda_expression":
			if name, _, _ := p.declared(k); name != "" {
				scope = name + "::" + scope
			}
		}
	}
	return scope
}

// spaceless is a name as it is usually written: with spaces between words only.
func spaceless(name string) string {
	var b strings.Builder
	fields := strings.Fields(name)
	for i, f := range fields {
		if i > 0 && isWord(f[0]) && isWord(fields[i-1][len(fields[i-1])-1]) {
			b.WriteByte(' ')
		}
		b.WriteString(f)
	}
	return b.String()
}

// scopedAlone says why a function of C++ is left alone: it may be computed by the compiler.
func (p *parser) scopedAlone(i, body int) (why string) {
	before, isFriend := p.beforeFriend(i), false
	scan(before, func(at, end int) int {
		switch w := string(before[at:end]); w {
		case "constexpr", "consteval":
			why = "is " + w
		case "friend":
			isFriend = true
		}
		return end
	})
	if isFriend && why != "" {
		return why
	}
	for k := i + 1; k < body; k++ {
		if n := p.tree.Nodes[k]; n.Parent == i && n.Type == "type_qualifier" {
			switch t := p.tree.Text(k); t {
			case "constexpr", "consteval":
				return "is " + t
			}
		}
	}
	return ""
}

// beforeFriend is what stands before a definition if it may be that of a friend: the words before friend are in no
// node of it. Where the type is a name, the grammar has them in a declaration of their own that lacks its end.
func (p *parser) beforeFriend(i int) []byte {
	n := p.tree.Nodes[i]
	if n.Parent >= 0 && p.tree.Nodes[n.Parent].Type == "friend_declaration" {
		return p.tree.Source[p.tree.Nodes[n.Parent].Start:n.Start]
	}
	if end := p.tree.Nodes[max(i-1, 0)]; n.Type == "function_definition" && end.Missing && end.Type == ";" {
		return p.tree.Source[p.tree.Nodes[end.Parent].Start:n.Start]
	}
	return nil
}

// isTemplated reports whether a definition may have instances: it is in a template, or has a parameter
// that is auto. A lambda has none of its own.
func (p *parser) isTemplated(i, body int) bool {
	if p.tree.Nodes[i].Type == "lambda_expression" {
		return false
	}
	for k := p.tree.Nodes[i].Parent; k >= 0; k = p.tree.Nodes[k].Parent {
		if p.tree.Nodes[k].Type == "template_declaration" {
			return true
		}
	}
	for k := i + 1; k < body; k++ {
		if n := p.tree.Nodes[k]; n.Type == "parameter_declaration" && strings.Contains(p.tree.Text(k), "auto") {
			return true
		}
	}
	return false
}
