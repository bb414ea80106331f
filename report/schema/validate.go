package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// InvalidError is the error of a text that is not as its schema has it.
type InvalidError struct {
	Place []string // the names and indices that lead to the value
	Why   string
}

func (e *InvalidError) Error() string {
	if len(e.Place) == 0 {
		return "the whole: " + e.Why
	}
	return strings.Join(e.Place, ".") + ": " + e.Why
}

// Validate compares a value with the schema. The value is one that
// json.Unmarshal gives, with numbers as float64 or json.Number. The error is
// an *InvalidError.
func (s *Schema) Validate(v any) error {
	if e := s.check(v, nil); e != nil {
		return e
	}
	return nil
}

// check finds the first difference of a value at a place.
func (s *Schema) check(v any, place []string) *InvalidError {
	if s == nil {
		return nil
	}
	if why := s.checkValue(v); why != "" {
		return &InvalidError{slices.Clone(place), why}
	}
	if e := s.ref.check(v, place); e != nil {
		return e
	}
	switch v := v.(type) {
	case map[string]any:
		if e := s.checkObject(v, place); e != nil {
			return e
		}
	case []any:
		for i, item := range v {
			if e := s.Items.check(item, append(place, strconv.Itoa(i))); e != nil {
				return e
			}
		}
	}
	if e := s.checkEither(v, place); e != nil {
		return e
	}
	if s.If != nil && s.If.check(v, place) == nil {
		return s.Then.check(v, place)
	}
	return nil
}

// checkValue compares what is not inside of the value. It tells why the value differs, or nothing.
func (s *Schema) checkValue(v any) string {
	switch {
	case s.never:
		return "not allowed"
	case len(s.Type) > 0 && !slices.ContainsFunc(s.Type, func(t string) bool { return is(v, t) }):
		return fmt.Sprintf("got %s, want %s", typeOf(v), strings.Join(s.Type, " or "))
	case s.Const != nil && !equal(v, s.constant):
		return oneOf([]any{s.constant})
	case s.Enum != nil && !slices.ContainsFunc(s.Enum, func(e any) bool { return equal(v, e) }):
		return oneOf(s.Enum)
	}
	if text, is := v.(string); is && s.pattern != nil && !s.pattern.MatchString(text) {
		return fmt.Sprintf("%s does not match pattern %s", quoted(text), quoted(*s.Pattern))
	}
	n, is := number(v)
	switch {
	case !is:
	case s.Minimum != nil && n < *s.Minimum:
		return fmt.Sprintf("minimum: got %v, want %v", n, *s.Minimum)
	case s.Maximum != nil && n > *s.Maximum:
		return fmt.Sprintf("maximum: got %v, want %v", n, *s.Maximum)
	}
	return ""
}

func (s *Schema) checkObject(v map[string]any, place []string) *InvalidError {
	var missing, more []string
	for _, name := range s.Required {
		if _, there := v[name]; !there {
			missing = append(missing, quoted(name))
		}
	}
	if len(missing) > 0 {
		return &InvalidError{slices.Clone(place), plural("missing property", "missing properties", missing)}
	}
	for _, p := range s.properties {
		if value, there := v[p.name]; there {
			if e := p.check(value, append(place, p.name)); e != nil {
				return e
			}
		}
	}
	if s.Additional == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if _, known := s.Properties[name]; known {
			continue
		}
		if s.Additional.never {
			more = append(more, quoted(name))
		} else if e := s.Additional.check(v[name], append(place, name)); e != nil {
			return e
		}
	}
	if len(more) > 0 {
		return &InvalidError{slices.Clone(place),
			fmt.Sprintf("additional properties %s not allowed", strings.Join(more, ", "))}
	}
	return nil
}

// checkEither compares the value with each schema of anyOf. If none fits, the error is that of the
// schema that fits deepest, which is the one that was meant.
func (s *Schema) checkEither(v any, place []string) (deepest *InvalidError) {
	for _, a := range s.AnyOf {
		e := a.check(v, place)
		if e == nil {
			return nil
		}
		if deepest == nil || len(e.Place) > len(deepest.Place) {
			deepest = e
		}
	}
	return deepest
}

// is reports whether a value is of a type.
func is(v any, t string) bool {
	own := typeOf(v)
	return own == t || own == "number" && t == "integer" && whole(v)
}

// typeOf names the type of a value. An integer is a number, too.
func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case map[string]any:
		return "object"
	case []any:
		return "array"
	}
	return "number"
}

func number(v any) (n float64, is bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case json.Number:
		n, _ = strconv.ParseFloat(string(v), 64) // infinite if too large, which is as good
		return n, true
	}
	return 0, false
}

// whole reports whether a number has no fraction, as 1, 1.0 and 1.5e1.
func whole(v any) bool {
	text, is := v.(json.Number)
	if !is {
		n, _ := number(v)
		return n == float64(int64(n)) || n >= 1<<63 || n <= -1<<63
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(string(text)), "e")
	before, fraction, _ := strings.Cut(strings.TrimPrefix(mantissa, "-"), ".")
	digits := strings.TrimRight(before+fraction, "0")
	if digits == "" {
		return true
	}
	power, err := 0, error(nil)
	if exponent != "" {
		power, err = strconv.Atoi(exponent)
	}
	if err != nil { // beyond all bounds
		return !strings.HasPrefix(exponent, "-")
	}
	return len(digits)-len(before) <= power
}

// equal compares values. Numbers are equal if they are so as float64.
func equal(a, b any) bool {
	if n, is := number(a); is {
		m, also := number(b)
		return also && n == m
	}
	switch a := a.(type) {
	case []any:
		b, also := b.([]any)
		return also && slices.EqualFunc(a, b, equal)
	case map[string]any:
		b, also := b.(map[string]any)
		return also && maps.EqualFunc(a, b, equal)
	}
	return reflect.DeepEqual(a, b)
}

func oneOf(values []any) string {
	var all []string
	for _, v := range values {
		switch v := v.(type) {
		case string:
			all = append(all, quoted(v))
		default:
			b, _ := json.Marshal(v)
			all = append(all, string(b))
		}
	}
	return plural("value must be", "value must be one of", all)
}

func plural(one, many string, of []string) string {
	if len(of) == 1 {
		return one + " " + of[0]
	}
	return many + " " + strings.Join(of, ", ")
}

func quoted(s string) string {
	s = strings.ReplaceAll(strconv.Quote(s), `\"`, `"`)
	return "'" + strings.ReplaceAll(s[1:len(s)-1], `'`, `\'`) + "'"
}
