// Package config reads settings from files.
//
// It takes the text of a TOML file (toml.io, version 1.0) and the list of known keys. It
// returns the value of each key that the file sets, with its line. An unknown key and a
// value of the wrong type are errors that name file, line and key; the errors of a file
// are returned together.
package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"cg/near"
)

// Type is what values a key takes.
type Type string

const (
	Text    Type = "a text in quotes"
	Texts   Type = "a list of texts in quotes"
	Whole   Type = "a whole number"
	Number  Type = "a number"
	Boolean Type = "true or false"
	Time    Type = "a number of seconds, or a time in quotes"
)

// Any is the name of a key that stands for all names in its table.
const Any = "*"

// Key is a setting. Its name is written in the table of its section, or, when
// the section is "", before the first table.
type Key struct {
	Section, Name string
	Type          Type
	Check         func(string) error // of each text of a value; nil takes any
}

func (k Key) String() string {
	if k.Section == "" {
		return k.Name
	}
	return k.Section + "." + k.Name
}

// Value is what a file sets a key to: several texts for a list, one otherwise,
// as a command line would have them.
type Value struct {
	Texts []string
	File  string
	Line  int
}

// Origin is FILE:LINE.
func (v Value) Origin() string { return fmt.Sprintf("%s:%d", v.File, v.Line) }

// Settings are the values of a file by Key.String.
type Settings map[string]Value

// Parse reads the text of a file.
func Parse(file string, text []byte, keys []Key) (Settings, error) {
	// The whole library first: it knows all rules of the format.
	var all map[string]any
	broken := toml.Unmarshal(text, &all)
	var where *toml.DecodeError
	if errors.As(broken, &where) {
		line, column := where.Position()
		return nil, fmt.Errorf("%s:%d:%d: %s", file, line, column, strings.TrimPrefix(where.Error(), "toml: "))
	}
	r := &reader{file: file, keys: keys, found: Settings{}}
	r.parser.Reset(text)
	table := ""
	for r.parser.NextExpression() {
		switch e := r.parser.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			var line int
			table, line = r.name(e.Key())
			if e.Kind == unstable.ArrayTable {
				r.fail(line, table, "[[%s]] is a list of tables: write [%s]", table, table)
			} else if !slices.ContainsFunc(keys, func(k Key) bool { return k.Section == table }) {
				r.fail(line, table, "there is no such table; %s",
					known(table, "known are ", keys, func(k Key) string { return k.Section }))
			}
		case unstable.KeyValue:
			name, line := r.name(e.Key())
			r.set(table, name, line, e.Value())
		}
	}
	if err := r.parser.Error(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(r.errs) == 0 && broken != nil {
		return nil, fmt.Errorf("%s: %s", file, strings.TrimPrefix(broken.Error(), "toml: "))
	}
	return r.found, errors.Join(r.errs...)
}

type reader struct {
	file   string
	keys   []Key
	parser unstable.Parser
	found  Settings
	errs   []error
}

func (r *reader) fail(line int, key, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s:%d: %s: %s", r.file, line, key, fmt.Sprintf(format, args...)))
}

// name joins a dotted key and tells its line.
func (r *reader) name(parts unstable.Iterator) (name string, line int) {
	for parts.Next() {
		if n := parts.Node(); name == "" {
			name, line = string(n.Data), r.parser.Shape(n.Raw).Start.Line
		} else {
			name += "." + string(n.Data)
		}
	}
	return name, line
}

// set takes in one line: name may hold a section itself.
func (r *reader) set(table, name string, line int, value *unstable.Node) {
	full := name
	if table != "" {
		full = table + "." + name
	}
	if value.Kind == unstable.InlineTable {
		for entries := value.Children(); entries.Next(); {
			n := entries.Node()
			inner, at := r.name(n.Key())
			r.set(full, inner, at, n.Value())
		}
		return
	}
	i := slices.IndexFunc(r.keys, func(k Key) bool { return k.String() == full })
	if i < 0 {
		i = slices.IndexFunc(r.keys,
			func(k Key) bool { return k.Name == Any && strings.HasPrefix(full, k.Section+".") })
	}
	if i < 0 {
		section := ""
		if at := strings.IndexByte(full, '.'); at >= 0 {
			section = full[:at]
		}
		if !slices.ContainsFunc(r.keys, func(k Key) bool { return k.Section == section }) {
			if table == "" {
				r.fail(line, full, "there is no such key; %s",
					known(section, "known tables are ", r.keys, func(k Key) string { return k.Section }))
			}
			return // the table was refused
		}
		own := func(k Key) string {
			if k.Section != section {
				return ""
			}
			return k.Name
		}
		r.fail(line, full, "there is no such key; %s",
			known(strings.TrimPrefix(full, section+"."), "known are ", r.keys, own))
		return
	}
	key := r.keys[i]
	texts, ok := key.texts(value)
	if !ok {
		r.fail(line, full, "%s is not %s", shown(r.parser.Raw(value.Raw), value), key.Type)
		return
	}
	for _, text := range texts {
		if key.Check != nil {
			if err := key.Check(text); err != nil {
				r.fail(line, full, "%s", err)
				return
			}
		}
	}
	if before, twice := r.found[full]; twice {
		r.fail(line, full, "is set already, in line %d", before.Line)
		return
	}
	r.found[full] = Value{texts, r.file, line}
}

// texts are those of a value of the key's type.
func (k Key) texts(value *unstable.Node) ([]string, bool) {
	kinds := map[Type][]unstable.Kind{
		Text: {unstable.String}, Texts: {unstable.String}, Whole: {unstable.Integer},
		Number:  {unstable.Integer, unstable.Float},
		Boolean: {unstable.Bool}, Time: {unstable.String, unstable.Integer, unstable.Float},
	}[k.Type]
	if k.Type == Texts && value.Kind == unstable.Array {
		texts := []string{}
		for items := value.Children(); items.Next(); {
			if items.Node().Kind != unstable.String {
				return nil, false
			}
			texts = append(texts, string(items.Node().Data))
		}
		return texts, true
	}
	if !slices.Contains(kinds, value.Kind) {
		return nil, false
	}
	text := string(value.Data)
	if value.Kind == unstable.Integer || value.Kind == unstable.Float {
		text = strings.ReplaceAll(text, "_", "")
	}
	return []string{text}, true
}

// shown is a value as it is written, if that is known.
func shown(raw []byte, value *unstable.Node) string {
	switch {
	case value.Kind == unstable.String:
		return fmt.Sprintf("%q", value.Data)
	case len(value.Data) > 0:
		return string(value.Data)
	case len(raw) > 0:
		return string(raw)
	}
	return strings.ToLower(value.Kind.String())
}

// list names what keys have, without repetition.
// known asks whether one of the names was meant that keys have, or lists them all.
func known(word, say string, keys []Key, what func(Key) string) string {
	var names []string
	for _, k := range keys {
		if name := what(k); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return near.Or(word, names, say+strings.Join(names, ", "))
}
