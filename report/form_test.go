package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"cg/nemb"
)

// byTheSchema is whether a text is valid as the schema has it, all of it at once.
func byTheSchema(t testing.TB, b []byte, session bool) bool {
	t.Helper()
	schema, err := compiled()
	if session {
		schema, err = compiledSession()
	}
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	return err == nil && schema.Validate(v) == nil
}

// savedTexts are saved runs, and the files of sessions.
func savedTexts(t testing.TB) map[string][]byte {
	t.Helper()
	texts := map[string][]byte{}
	for name, r := range map[string]*Run{
		"measured": example(nemb.Measured), "unknown": example(nemb.Unavailable), "suite": suite(nemb.Measured),
	} {
		b, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = b
	}
	texts["session"] = []byte(session)
	return texts
}

// What is held against the schema as it is read is valid when all of it at once is:
// each value of each text is put to the test, in the place of another one, left
// away, and beside one that nobody knows, in lists of two.
func TestFormIsTheSchema(t *testing.T) {
	for name, text := range savedTexts(t) {
		f := bytes.NewReader(text)
		head, err := headOf(f)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		tried, refused := 0, 0
		try := func(what string, v any) {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			tried++
			valid := byTheSchema(t, b, head.session)
			got := ValidateFrom(bytes.NewReader(b))
			if got != nil && strings.Contains(got.Error(), "not a saved run") {
				return // which is said before
			}
			if (got == nil) != valid {
				t.Errorf("%s: %s: by the schema valid %v, as it is read: %v", name, what, valid, got)
			}
			if !valid {
				refused++
			}
		}
		var whole any
		if err := json.Unmarshal(text, &whole); err != nil {
			t.Fatal(err)
		}
		whole = shortened(whole)
		try("as it is", whole)
		mutate(whole, "", func(what string) { try(what, whole) })
		if tried < 200 || refused < 100 {
			t.Errorf("%s: %d tried, %d refused", name, tried, refused)
		}
	}
}

// shortened is v with the first two elements of each list.
func shortened(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = shortened(v[key])
		}
	case []any:
		v = v[:min(len(v), 2)]
		for i := range v {
			v[i] = shortened(v[i])
		}
		return v
	}
	return v
}

// mutate changes each value below v in turn, tells so, and puts it back; of a list
// the first two elements.
func mutate(v any, at string, told func(what string)) {
	others := []any{nil, "text", -1.0, 1.5, true, map[string]any{}, []any{}, []any{1.0}}
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if at == "" && key == "meta" || at == ".meta" && (key == "schema_version" || key == "tool") {
				mutate(value, at+"."+key, told)
				continue
			}
			for _, other := range others {
				v[key] = other
				told(at + "." + key + " changed")
			}
			delete(v, key)
			told(at + "." + key + " left away")
			v[key] = value
			mutate(value, at+"."+key, told)
		}
		v["unheard_of"] = 1.0
		told(at + ".unheard_of")
		delete(v, "unheard_of")
	case []any:
		for i := range v[:min(len(v), 2)] {
			mutate(v[i], at+"[]", told)
		}
	}
}

// The text that a digest is of is that of encoding/json, however it is written.
func TestSealIsJSON(t *testing.T) {
	runs := []*Run{example(nemb.Measured), example(nemb.Estimated), example(nemb.Unavailable), suite(nemb.Measured),
		hostile(), {}, {Functions: []Function{}}}
	long := *example(nemb.Measured)
	long.LongCalls, long.Events, long.Baseline = []LongCall{{}, {}}, &EventLog{}, &Baseline{}
	for i, r := range append(runs, &long) {
		plain := *r
		plain.SHA256 = ""
		var want, got bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		if err := e.Encode(plain); err != nil {
			t.Fatal(err)
		}
		if err := r.seal(&got); err != nil {
			t.Fatal(err)
		}
		if got.String()+"\n" != want.String() {
			t.Errorf("run %d: %s\nwant %s", i, got.String(), want.String())
		}
	}
}
