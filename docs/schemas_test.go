package docs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// schemas are the texts NAME.schema.json of this folder, decoded, by their names.
func schemas(t *testing.T) map[string]map[string]any {
	t.Helper()
	files, err := filepath.Glob("*.schema.json")
	if err != nil || len(files) < 9 {
		t.Fatal(files, err)
	}
	all := map[string]map[string]any{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		var s map[string]any
		if err == nil {
			err = json.Unmarshal(b, &s)
		}
		if err != nil {
			t.Fatal(file, err)
		}
		all[file] = s
	}
	return all
}

// eachObject calls told for each object in a decoded JSON text.
func eachObject(v any, told func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		told(v)
		for _, below := range v {
			eachObject(below, told)
		}
	case []any:
		for _, below := range v {
			eachObject(below, told)
		}
	}
}

// A file holds all the definitions that it refers to, and no other. What has fields or a choice of values is
// written once in it.
func TestSchemasAreWholeAndWrittenOnce(t *testing.T) {
	for file, s := range schemas(t) {
		used, written := map[string]bool{}, map[string]int{}
		eachObject(s, func(o map[string]any) {
			if to, is := o["$ref"].(string); is {
				used[to] = true
			}
			_, enum := o["enum"].([]any)
			if fields, _ := o["properties"].(map[string]any); enum || len(fields) > 0 && o["type"] == "object" {
				b, err := json.Marshal(o)
				if err != nil {
					t.Fatal(err)
				}
				written[string(b)]++
			}
		})
		definitions, _ := s["$defs"].(map[string]any)
		for name := range definitions {
			if !used["#/$defs/"+name] {
				t.Errorf("%s: nothing refers to %s", file, name)
			}
		}
		for to := range used {
			name, here := strings.CutPrefix(to, "#/$defs/")
			if definitions[name] == nil || !here {
				t.Errorf("%s: no definition is %s", file, to)
			}
		}
		for text, n := range written {
			if n > 1 {
				t.Errorf("%s: %d times %s", file, n, text)
			}
		}
	}
}

// A definition of one name is the same in all files.
func TestDefinitionsAgree(t *testing.T) {
	type place struct {
		file       string
		definition any
	}
	first, shared := map[string]place{}, 0
	for file, s := range schemas(t) {
		definitions, _ := s["$defs"].(map[string]any)
		for name, definition := range definitions {
			before, is := first[name]
			if !is {
				first[name] = place{file, definition}
				continue
			}
			shared++
			if !reflect.DeepEqual(before.definition, definition) {
				t.Errorf("%s is in %s not what it is in %s", name, file, before.file)
			}
		}
	}
	if shared < 5 {
		t.Errorf("only %d definitions are in several files", shared)
	}
}
