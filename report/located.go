package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Located says where in a text JSON is at fault.
func Located(b []byte, err error) error {
	at := int64(-1)
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		if at = syntax.Offset; at >= int64(len(b)) {
			return fmt.Errorf("it ends in the middle, after %d bytes", len(b))
		}
	case errors.As(err, &wrong):
		at = wrong.Offset
		// Parts of a struct that stand in another have its name on the way.
		way := slices.DeleteFunc(strings.Split(wrong.Field, "."),
			func(s string) bool { return s == "" || s != strings.ToLower(s) })
		field := cmp.Or(strings.Join(way, "."), "the whole")
		err = fmt.Errorf("%s: %s stands where %s belongs", field, jsonWords[strings.Fields(wrong.Value + " ?")[0]],
			jsonKind(wrong.Type))
	default:
		return err
	}
	at = min(at, int64(len(b)))
	return fmt.Errorf("line %d: %w", 1+bytes.Count(b[:at], []byte("\n")), err)
}

// jsonWords are the kinds of values as encoding/json calls them, for people.
var jsonWords = map[string]string{"string": "a text", "number": "a number", "object": "an object", "array": "a list",
	"bool": "true or false", "?": "something else"}

// jsonKind is what a Go type is in JSON.
func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return jsonKind(t.Elem())
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number from 0 on"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	}
	return "a number"
}

// IsPlaced reports whether a function stands in a file.
func (f Function) IsPlaced() bool { return f.File != "" && f.Line > 0 }
