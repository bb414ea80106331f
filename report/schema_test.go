package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"cg/docs"
	"cg/long"
	"cg/nemb"
)

// oracle compiles a schema with a library of others.
func oracle(t testing.TB, text []byte) *jsonschema.Schema {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", v); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("schema.json")
}

// oracleOf is that of runs, or of sessions.
func oracleOf(t testing.TB, session bool) *jsonschema.Schema {
	t.Helper()
	if session {
		return oracle(t, docs.SessionSchema)
	}
	b, err := json.Marshal(Schema())
	if err != nil {
		t.Fatal(err)
	}
	return oracle(t, b)
}

// differencesBy lists what a library says of a text: the leaves of its error, which
// name the field as cg does.
func differencesBy(t testing.TB, schema *jsonschema.Schema, b []byte) (all []string) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return []string{err.Error()}
	}
	var invalid *jsonschema.ValidationError
	if err = schema.Validate(v); !errors.As(err, &invalid) {
		return nil
	}
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, c := range e.Causes {
			walk(c)
		}
		if len(e.Causes) == 0 {
			all = append(all, cmp.Or(strings.Join(e.InstanceLocation, "."), "the whole")+": "+
				e.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
		}
	}
	walk(invalid)
	return all
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

// A text that is read meanwhile is valid when it is so for a library of JSON Schema, which
// has all of it at once, and what differs first is one of the differences that the library finds:
// each value of each text is changed, left away, and put beside one that nobody knows, in lists of two.
func TestValidateAgreesWithALibrary(t *testing.T) {
	texts, others := savedTexts(t), []any{nil, "text", -1.0, 1.5, map[string]any{}}
	if long.Without(t, "true and lists in place of each value, and a run of which no energy is known") {
		delete(texts, "unknown")
	} else {
		others = append(others, true, []any{}, []any{1.0})
	}
	for name, text := range texts {
		f := bytes.NewReader(text)
		head, err := HeadOf(f)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		tried, refused := 0, 0
		schema := oracleOf(t, head.Session)
		try := func(what string, v any) {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			tried++
			want := differencesBy(t, schema, b)
			valid := len(want) == 0
			got := ValidateFrom(bytes.NewReader(b))
			if got != nil && strings.Contains(got.Error(), "not a saved run") {
				return // which is said before
			}
			if (got == nil) != valid {
				t.Errorf("%s: %s: by the library valid %v, as it is read: %v", name, what, valid, got)
			} else if !valid && !slices.Contains(want, got.Error()) {
				t.Errorf("%s: %s: %v, and the library says %q", name, what, got, want)
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
		mutate(whole, "", others, func(what string) { try(what, whole) })
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

// mutate changes each value below v to others in turn, tells so, and puts it back; of a list
// the first two elements.
func mutate(v any, at string, others []any, told func(what string)) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if at == "" && key == "meta" || at == ".meta" && (key == "schema_version" || key == "tool") {
				mutate(value, at+"."+key, others, told)
				continue
			}
			for _, other := range others {
				v[key] = other
				told(at + "." + key + " changed")
			}
			delete(v, key)
			told(at + "." + key + " left away")
			v[key] = value
			mutate(value, at+"."+key, others, told)
		}
		v["unheard_of"] = 1.0
		told(at + ".unheard_of")
		delete(v, "unheard_of")
	case []any:
		for i := range v[:min(len(v), 2)] {
			mutate(v[i], at+"[]", others, told)
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
