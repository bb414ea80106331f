package work

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"cg/pattern"
)

// step is one of a path: a key of an object, an index of an array, or each element of one.
type step struct {
	key   string
	index int // -1 for each element; where key is ""
}

// steps is the form of a path: .key, ["any key"], [0], [-1] and [].
var steps = pattern.Later(`^(?:\.([A-Za-z_$][A-Za-z0-9_$-]*)|\["((?:[^"\\]|\\.)*)"\]|\[([0-9]*)\])`)

// largest is the length of an output that is read as JSON, in bytes.
const largest = 64 << 20

func (p Pattern) ofJSON(text string) (Pattern, error) {
	if p.take == "count" {
		return p, fmt.Errorf("%q: count: is for regular expressions: %s", p.Text, grammar)
	}
	name, rest, named := strings.Cut(text, "=")
	if !named || !nameForm().MatchString(name) {
		name, rest = "", text
	}
	rest = strings.TrimPrefix(rest, "$")
	if rest == "" {
		return p, fmt.Errorf("%q: the path is empty: %s", p.Text, grammar)
	}
	for rest != "" {
		m := steps().FindStringSubmatch(rest)
		if m == nil {
			return p, fmt.Errorf("%q: %q is no step of a path, which are .key, [\"key\"], [0] and [] for each element",
				p.Text, rest)
		}
		next := step{key: m[1], index: -1}
		switch {
		case strings.HasPrefix(m[0], `["`):
			key, err := strconv.Unquote(`"` + m[2] + `"`)
			if err != nil || key == "" {
				return p, fmt.Errorf("%q: %s is no key: write it as in JSON", p.Text, m[0])
			}
			next.key = key
		case m[3] != "":
			i, err := strconv.Atoi(m[3])
			if err != nil {
				return p, fmt.Errorf("%q: %s is no index", p.Text, m[0])
			}
			next.index = i
		}
		p.path, rest = append(p.path, next), rest[len(m[0]):]
	}
	for _, s := range p.path {
		if nameForm().MatchString(s.key) {
			p.Name = s.key
		}
	}
	if name != "" {
		p.Name = name
	}
	return p, nil
}

// values gives add what the path leads to in each JSON object and array of an output: those that begin a line.
func (p Pattern) values(output reader, add func(string)) error {
	text, err := io.ReadAll(io.LimitReader(output, largest+1))
	if err != nil {
		return err
	}
	if len(text) > largest {
		return p.missing("cannot be looked for: the output is longer than %d MiB", largest>>20)
	}
	for len(text) > 0 {
		if err := output.ctx.Err(); err != nil {
			return err
		}
		text = bytes.TrimLeft(text, " \t\r\n")
		var value any
		if len(text) > 0 && (text[0] == '{' || text[0] == '[') {
			if n, ok := decode(text, &value); ok {
				if err := p.follow(value, p.path, add); err != nil {
					return err
				}
				text = text[n:]
				continue
			}
		}
		_, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
	}
	return nil
}

// follow gives add the numbers that a path leads to from a value.
func (p Pattern) follow(value any, path []step, add func(string)) error {
	if len(path) == 0 {
		switch v := value.(type) {
		case float64:
			add(strconv.FormatFloat(v, 'g', -1, 64))
		case string:
			add(v)
		case nil:
		default:
			return p.missing("leads to what is no number in the output")
		}
		return nil
	}
	first, rest := path[0], path[1:]
	switch v := value.(type) {
	case map[string]any:
		if inside, is := v[first.key]; is && first.key != "" {
			return p.follow(inside, rest, add)
		}
	case []any:
		for i, inside := range v {
			if first.key == "" && (first.index < 0 || first.index == i) {
				if err := p.follow(inside, rest, add); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// decode reads the JSON value at the beginning of a text, and tells how long it is.
func decode(text []byte, value *any) (length int, ok bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(value); err != nil {
		return 0, false
	}
	return int(d.InputOffset()), true
}
