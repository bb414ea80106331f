// Command generate writes the constants of runtimes/sdk/spec/constants.txt as
// Go, Python, Java and JavaScript: for cg itself (package spec), and into each package for
// sessions, which stands alone. It refuses a line that is no name and value.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// constant is a line of constants.txt with the comment above it.
type constant struct {
	comment []string
	name    string
	value   any  // json.Number, string, []any of one of them
	ofCg    bool // which reads it as the packages do
}

func main() {
	if err := generate(".."); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// generate writes all files; runtimes is two folders above spec's.
func generate(sdk string) error {
	files, err := generated(sdk)
	if err != nil {
		return err
	}
	for path, text := range files {
		if err := os.WriteFile(path, text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// generated are the files that follow from constants.txt, by their paths. sdk is
// the folder runtimes/sdk.
func generated(sdk string) (map[string][]byte, error) {
	const source = "spec/constants.txt"
	text, err := os.ReadFile(filepath.Join(sdk, source))
	if err != nil {
		return nil, err
	}
	all, err := parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	files := map[string][]byte{
		filepath.Join(sdk, "../python/sdk/codegreen/_spec.py"):              python(all),
		filepath.Join(sdk, "../java/sdk/src/main/java/codegreen/Spec.java"): java(all),
		filepath.Join(sdk, "../golang/_sdk/spec.go"):                        golang("codegreen", false, all),
		filepath.Join(sdk, "../node/sdk/spec.cjs"):                          node(ofNode(all)),
		filepath.Join(sdk, "spec/constants.go"):                             golang("spec", true, ofCg(all)),
	}
	for path, text := range files {
		if strings.HasSuffix(path, ".go") {
			if files[path], err = format.Source(text); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	return files, nil
}

func parse(text string) (all []constant, err error) {
	var comment []string
	seen := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			comment = nil
			continue
		case strings.HasPrefix(line, "#"):
			comment = append(comment, strings.TrimSpace(line[1:]))
			continue
		}
		name, value, found := strings.Cut(line, " = ")
		name, ofCg := strings.CutPrefix(name, "cg ")
		if !found || seen[name] || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return nil, fmt.Errorf("line %d: %q is no new name and value", i+1, line)
		}
		seen[name] = true
		c := constant{comment: comment, name: name, ofCg: ofCg}
		d := json.NewDecoder(strings.NewReader(value))
		d.UseNumber()
		if err := d.Decode(&c.value); err != nil || d.More() {
			return nil, fmt.Errorf("line %d: %s: %q is no JSON value: %v", i+1, name, value, err)
		}
		all, comment = append(all, c), nil
	}
	return all, nil
}

// ofCg are those that cg reads. One that has no comment of its own takes the
// comment that stands before those of its group that are left out.
func ofCg(all []constant) (some []constant) {
	var comment []string
	for _, c := range all {
		if c.comment != nil {
			comment = c.comment
		}
		if c.ofCg {
			c.comment, comment = comment, nil
			some = append(some, c)
		}
	}
	return some
}

// ofNode are those that the package for Node needs: cg itself measures its sessions.
func ofNode(all []constant) []constant {
	return slices.DeleteFunc(slices.Clone(all), func(c constant) bool {
		return !strings.HasPrefix(c.name, "budget_") && !strings.HasPrefix(c.name, "request_")
	})
}

const header = "Code generated from runtimes/sdk/spec/constants.txt of cg by go generate. DO NOT EDIT."

// words are the parts of a name.
func (c constant) words() []string { return strings.Split(c.name, "_") }

// camel is fooBar, or FooBar if exported.
func (c constant) camel(exported bool) string {
	var b strings.Builder
	for i, w := range c.words() {
		if i > 0 || exported {
			w = strings.ToUpper(w[:1]) + w[1:]
		}
		b.WriteString(w)
	}
	return b.String()
}

func quoted(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(v)
	// Escapes are ASCII: javac reads a source in the locale's encoding.
	text := strings.Builder{}
	for _, r := range strings.TrimSpace(b.String()) {
		switch {
		case r < 0x80:
			text.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&text, "\\u%04x", r)
		default:
			panic(fmt.Sprintf("%q has a character that the languages escape in different ways", b.String()))
		}
	}
	return text.String()
}

// isFraction tells whether a number is one by its form, as 2.0 is.
func isFraction(n json.Number) bool { return strings.ContainsAny(n.String(), ".eE") }

// literal is a value that is no list: JSON's form is that of all languages.
func literal(v any) string {
	if s, is := v.(string); is {
		return quoted(s)
	}
	return fmt.Sprint(v)
}

// list is a list between brackets; a long one has lines of its own.
func list(opening string, v []any, closing, indent string) string {
	lines := []string{""}
	for i, one := range v {
		text := literal(one)
		if i+1 < len(v) {
			text += ","
		}
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = text
		case len(*last)+len(text) < 100:
			*last += " " + text
		default:
			lines = append(lines, text)
		}
	}
	if len(lines) == 1 {
		return opening + lines[0] + closing
	}
	between := "\n" + indent + "    "
	if closing == "}" { // of Go
		closing = "," + "\n}"
	}
	return opening + between + strings.Join(lines, between) + closing
}

func golang(name string, exported bool, all []constant) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "// %s\n\npackage %s\n", header, name)
	for _, c := range all {
		b.WriteString("\n")
		for _, line := range c.comment {
			b.WriteString(strings.TrimSpace("// "+line) + "\n")
		}
		if v, is := c.value.([]any); is {
			kind := "string"
			if n, number := v[0].(json.Number); number {
				kind = "int"
				if isFraction(n) {
					kind = "float64"
				}
			}
			fmt.Fprintf(&b, "var %s = []%s%s\n", c.camel(exported), kind, list("{", v, "}", ""))
			continue
		}
		fmt.Fprintf(&b, "const %s = %s\n", c.camel(exported), literal(c.value))
	}
	return b.Bytes()
}

func python(all []constant) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", header)
	for _, c := range all {
		if c.comment != nil {
			b.WriteString("\n")
		}
		for _, line := range c.comment {
			b.WriteString(strings.TrimSpace("# "+line) + "\n")
		}
		value := ""
		if v, is := c.value.([]any); is {
			value = list("[", v, "]", "")
		} else {
			value = literal(c.value)
		}
		fmt.Fprintf(&b, "%s = %s\n", strings.ToUpper(c.name), value)
	}
	return b.Bytes()
}

func node(all []constant) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "// This file has no checkpoints of cg's.\n// %s\n'use strict';\n", header)
	var names []string
	for _, c := range all {
		if c.comment != nil {
			b.WriteString("\n")
		}
		for _, line := range c.comment {
			b.WriteString(strings.TrimSpace("// "+line) + "\n")
		}
		value := literal(c.value)
		if v, is := c.value.([]any); is {
			value = list("[", v, "]", "")
		}
		names = append(names, strings.ToUpper(c.name))
		fmt.Fprintf(&b, "const %s = %s;\n", strings.ToUpper(c.name), value)
	}
	fmt.Fprintf(&b, "\nmodule.exports = {\n  %s,\n};\n", strings.Join(names, ",\n  "))
	return b.Bytes()
}

const javaOpening = `// %s
package codegreen;

import java.util.List;

/** What cg and its packages for sessions agree on. */
final class Spec {
    private Spec() {}
`

func java(all []constant) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, javaOpening, header)
	for _, c := range all {
		if c.comment != nil {
			b.WriteString("\n")
		}
		for _, line := range c.comment {
			b.WriteString("    " + strings.TrimSpace("// "+line) + "\n")
		}
		kind, value := "", ""
		switch v := c.value.(type) {
		case string:
			kind, value = "String", literal(v)
		case json.Number:
			kind, value = "int", v.String()
			if strings.HasSuffix(c.name, "_ns") || strings.HasSuffix(c.name, "_uj") {
				kind, value = "long", value+"L"
			}
			if isFraction(v) {
				kind, value = "double", v.String()
			}
		case []any:
			kind, value = "List<String>", list("List.of(", v, ")", "    ")
			if n, number := v[0].(json.Number); number {
				kind = "List<Integer>"
				if isFraction(n) {
					kind = "List<Double>"
				}
			}
		}
		fmt.Fprintf(&b, "    static final %s %s = %s;\n", kind, strings.ToUpper(c.name), value)
	}
	b.WriteString("}\n")
	return b.Bytes()
}
