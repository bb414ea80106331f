package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"cg/measure"
)

const seedBlock = `--- CODEGREEN_RESULT_START ---
{"measurements": [
  {"checkpoint_id": "enter:main:1#inv_1_t7f", "timestamp": 13973000000, "joules": 6.80, "watts": 0.76},
  {"checkpoint_id": "enter:work:2#inv_1_t7f", "timestamp": 13973500000, "joules": 7.00, "watts": 40},
  {"checkpoint_id": "exit:work:3#inv_1_t7f", "timestamp": 13974500000, "joules": 8.60, "watts": 60},
  {"checkpoint_id": "exit:main:4#inv_1_t7f", "timestamp": 13975000000, "joules": 8.90, "watts": 71.94}
]}
--- CODEGREEN_RESULT_END ---
`

// A saved output that has a result block is a run: what its joules rise by between two
// checkpoints is the energy of the function that ran between them.
func TestBlockIsRun(t *testing.T) {
	for name, text := range map[string]string{
		"a block":              seedBlock,
		"a log":                "starting\n" + seedBlock + "done\n",
		"lines of JSON before": strings.Repeat("{\"level\": \"info\"}\n", 7000) + seedBlock,
		"a block in a log of lines": "10:03 out: " + strings.ReplaceAll(strings.ReplaceAll(seedBlock, "\n", ""),
			"--- {", "---\n10:04 out: {"),
		"CRLF":          strings.ReplaceAll(seedBlock, "\n", "\r\n"),
		"its JSON":      strings.Split(strings.ReplaceAll(seedBlock, "\n", ""), "---")[2],
		"one time":      strings.NewReplacer("13973500000", "13973000000", "13974500000", "13973000000").Replace(seedBlock),
		"out of order":  strings.Replace(seedBlock, "[\n", `[{"checkpoint_id":"exit:late:9#t7f","timestamp":13979000000},`, 1),
		"two processes": seedBlock + strings.NewReplacer("main", "child", "work", "child", "8.60", "6.9", "8.90", "7").Replace(seedBlock),
	} {
		r, err := Read([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		energies := map[string][2]Joules{}
		for _, f := range r.Functions {
			energies[f.Name] = [2]Joules{*f.SelfEnergyJ, *f.InclusiveEnergyJ}
		}
		if name != "two processes" && (energies["main"] != [2]Joules{500_000, 2_100_000} ||
			energies["work"] != [2]Joules{1_600_000, 1_600_000}) {
			t.Errorf("%s: %v", name, energies)
		}
		if faults := r.Check(); len(faults) > 0 || *r.Totals.EnergyJ != 2_100_000 {
			t.Errorf("%s: %v J, %q", name, r.Totals.EnergyJ.Float(), faults)
		}
		b, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		validate(t, b)
	}
}

// Without joules there are calls and times, and no energy.
func TestBlockWithoutEnergy(t *testing.T) {
	text := seedBlock
	for _, j := range []string{"6.80", "7.00", "8.60", "8.90"} {
		text = strings.ReplaceAll(text, j, "null")
	}
	r, err := Read([]byte(text)) // powers alone: 40 W for 0.5 ms, 60 W for 1 ms, 71.94 W for 0.5 ms
	if err != nil || *r.Totals.EnergyJ != 115_970 || *r.Functions[0].SelfEnergyJ != 60_000 {
		t.Fatalf("%v: %+v", err, r)
	}
	text = strings.NewReplacer("0.76", "null", "40}", "null}", "60}", "null}", "71.94", "null").Replace(text)
	r, err = Read([]byte(text))
	if err != nil || r.Meta.MeasurementQuality != QualityOnlyCalls || r.Totals.EnergyJ != nil || len(r.Functions) != 2 ||
		r.Functions[0].SelfEnergyJ != nil || r.Functions[0].Calls != 1 {
		t.Fatalf("%v: %+v", err, r)
	}
	if faults := r.Check(); len(faults) > 0 {
		t.Errorf("%q", faults)
	}
	for text, want := range map[string]string{
		strings.Split(seedBlock, "--- CODEGREEN_RESULT_END")[0]:             "does not end",
		"--- CODEGREEN_RESULT_START ---\n{]}\n--- CODEGREEN_RESULT_END ---": "no JSON",
		"--- CODEGREEN_RESULT_START ---\n--- CODEGREEN_RESULT_END ---":      "without measurements",
		"just a log": "not a saved run",
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// What a program did not keep is missing, and the report of its block says so.
func TestBlockThatDropped(t *testing.T) {
	r, err := Read([]byte(strings.Replace(seedBlock, "]}\n", `], "dropped": 7}`+"\n", 1)))
	if err != nil || !slices.ContainsFunc(r.Warnings, func(w Warning) bool {
		return w.Slug == "events-lost" && strings.HasPrefix(w.Message, "7 checkpoints are missing at the end")
	}) {
		t.Error(err, r.Warnings)
	}
}

// Checkpoints that the channel lost and those that a program did not keep are both told.
func TestBothLost(t *testing.T) {
	r := &Run{}
	r.warnOfEvents(Facts{Outcome: &measure.Outcome{Lost: 3, Blocks: []measure.Block{{Dropped: 7}}}})
	if len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0].Message, "3 checkpoints") ||
		!strings.Contains(r.Warnings[0].Message, "; 7 checkpoints are missing at the end") {
		t.Errorf("%q", r.Warnings)
	}
}

// The places of functions have sums, by which what these used themselves is divided. What is no place is left out.
func TestBlockPlaces(t *testing.T) {
	const of = `"function": "work", "site": 2, "function_line": 3, "function_end_line": 9, "file": "/s/a.py", "kind": "line", `
	text := func(places string) string {
		return strings.NewReplacer("exit:work:3", "exit:work:2", "]}\n", `], "places": [`+places+"]}\n").Replace(seedBlock)
	}
	if !strings.Contains(text("{}"), `"places"`) {
		t.Fatal(seedBlock)
	}
	hostile := strings.NewReplacer(`"line"`, `"method"`, `"line": 3`, `"line": -3`).Replace
	for name, places := range map[string]string{
		"two lines": `{` + of + `"line": 4, "column": 5, "end_line": 4, "count": 7, "time_ns": 300000}, ` +
			`{` + of + `"line": 5, "column": 5, "end_line": 5, "count": 2, "time_ns": 100000}, ` +
			`{` + of + `"line": 6, "column": 5, "end_line": 6, "count": 0, "time_ns": 0}`,
		"two processes": `{` + of + `"line": 4, "column": 5, "end_line": 4, "count": 3, "time_ns": 100000}, ` +
			`{` + of + `"line": 5, "column": 5, "end_line": 5, "count": 0, "time_ns": 0}]}` + "\n" + measure.BlockEnd + "\n" +
			measure.BlockStart + "\n" + `{"measurements": [], "places": [` +
			`{` + of + `"line": 4, "column": 5, "end_line": 4, "count": 4, "time_ns": 200000}, ` +
			`{` + of + `"line": 5, "column": 5, "end_line": 5, "count": 2, "time_ns": 100000}`,
		"one position": `{` + of + `"line": 4, "column": 5, "end_line": 4, "count": 0, "time_ns": 0}, ` +
			`{` + of + `"line": 4, "column": 5, "end_line": 4, "count": 7, "time_ns": 300000}, ` +
			`{` + of + `"line": 5, "column": 5, "end_line": 5, "count": 2, "time_ns": 100000}`,
		"what is no place": `{` + of + `"line": 4, "column": 5, "end_line": 4, "count": 7, "time_ns": 300000}, ` +
			`{` + of + `"line": 5, "column": 5, "end_line": 5, "count": 2, "time_ns": 100000}, ` +
			`{` + hostile(of) + `"line": 8, "end_line": 8, "count": 1, "time_ns": 5}, ` +
			`{` + of + `"line": 8, "end_line": 8, "count": 1, "time_ns": -5}, ` +
			`{"function": "nothing", "kind": "line", "line": 8, "end_line": 8, "count": 1, "time_ns": 5}, {}`,
	} {
		r, err := Read([]byte(text(places)))
		if err != nil {
			t.Fatal(name, err)
		}
		f := r.Functions[slices.IndexFunc(r.Functions, func(f Function) bool { return f.Name == "work" })]
		if r.Meta.Granularity != "line" || f.File != "/s/a.py" || f.Line != 3 || len(f.Places) != 3 {
			t.Fatalf("%s: %s, %+v", name, r.Meta.Granularity, f)
		}
		// It took 1 ms and 1.6 J, of which 0.6 ms are in no place.
		for i, want := range []Place{{Kind: "line", Line: 4, EndLine: 4, Count: 7, SelfTimeS: 0.0003},
			{Kind: "line", Line: 5, EndLine: 5, Count: 2, SelfTimeS: 0.0001},
			{Kind: "rest", Line: 3, EndLine: 9, SelfTimeS: 0.0006}} {
			p := f.Places[i]
			joules := Joules(math.Round(want.SelfTimeS * 1.6e9))
			if name == "one position" && i == 0 {
				want.Ordinal = 1
			}
			if p.Kind != want.Kind || p.Line != want.Line || p.EndLine != want.EndLine || p.Count != want.Count ||
				p.Ordinal != want.Ordinal ||
				math.Abs(p.SelfTimeS-want.SelfTimeS) > 1e-8 || max(*p.SelfEnergyJ, joules)-min(*p.SelfEnergyJ, joules) > 1 ||
				*p.SelfEnergyLoJ > *p.SelfEnergyJ || *p.SelfEnergyHiJ < *p.SelfEnergyJ {
				t.Errorf("%s: place %d: %+v, and not %+v and %v J", name, i, p, want, joules.Float())
			}
		}
		if faults := r.Check(); len(faults) > 0 {
			t.Errorf("%s: %q", name, faults)
		}
		b, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		validate(t, b)
	}
	// Times that are more than the function's are parts of it.
	r, err := Read([]byte(text(`{` + of + `"line": 4, "end_line": 4, "count": 7, "time_ns": 4611686018427387903}, {` + of +
		`"line": 5, "end_line": 5, "count": 7, "time_ns": 4611686018427387903}`)))
	if err != nil || len(r.Check()) > 0 {
		t.Fatal(err, r.Check())
	}
}

// Functions of one name are told apart by the number that their places tell.
func TestBlockPlacesOfOneName(t *testing.T) {
	// work:2 takes 0.5 ms and 1.5 J, and work:3 1 ms and 0.6 J.
	const measurements = `{"checkpoint_id": "enter:main:1#t7f", "timestamp": 1000000, "joules": 1.0},
  {"checkpoint_id": "enter:work:2#t7f", "timestamp": 2000000, "joules": 1.1},
  {"checkpoint_id": "exit:work:2#t7f", "timestamp": 2500000, "joules": 2.6},
  {"checkpoint_id": "enter:work:3#t7f", "timestamp": 3000000, "joules": 2.8},
  {"checkpoint_id": "exit:work:3#t7f", "timestamp": 4000000, "joules": 3.4},
  {"checkpoint_id": "exit:main:1#t7f", "timestamp": 5000000, "joules": 3.5}`
	place := func(function string, number int, file string, first, line int) string {
		return fmt.Sprintf(`{"function": %q, "site": %d, "function_line": %d, "function_end_line": %d, "file": %q, `+
			`"kind": "line", "line": %d, "column": 5, "end_line": %[6]d, "count": 7, "time_ns": 100000}`,
			function, number, first, first+9, file, line)
	}
	for name, second := range map[string]struct{ place, at, lines string }{
		"two files": {place("work", 3, "/s/b.c", 3, 5), "/s/b.c:3", " 5"},
		"one file":  {place("work", 3, "/s/a.c", 20, 21), "/s/a.c:20", " 21"},
		"one line":  {place("work", 3, "/s/a.c", 3, 4), "/s/a.c:3", " 4"},
		"no places": {"{}", ":0", ""},
	} {
		places := strings.Join([]string{place("main", 1, "/s/a.c", 40, 41), place("work", 2, "/s/a.c", 3, 4), second.place,
			place("work", 2, "/s/a.c", 3, 5), place("main", 2, "/s/a.c", 3, 6)}, ", ")
		r, err := Read([]byte("--- CODEGREEN_RESULT_START ---\n{\"measurements\": [" + measurements + `], "places": [` +
			places + "]}\n--- CODEGREEN_RESULT_END ---\n"))
		if err != nil {
			t.Fatal(name, err)
		}
		var told []string
		for _, f := range r.Functions {
			lines := ""
			for _, p := range f.Places {
				if p.Kind == "line" {
					lines += fmt.Sprintf(" %d", p.Line)
				}
			}
			told = append(told, fmt.Sprintf("%s:%d %s %.1f ms %.1f J, lines%s", f.File, f.Line, f.Name, f.SelfTimeS*1e3,
				f.SelfEnergyJ.Float(), lines))
		}
		slices.Sort(told)
		want := []string{"/s/a.c:3 work 0.5 ms 1.5 J, lines 4 5", "/s/a.c:40 main 2.5 ms 0.4 J, lines 41",
			second.at + " work 1.0 ms 0.6 J, lines" + second.lines}
		if slices.Sort(want); !slices.Equal(told, want) {
			t.Errorf("%s: %q, and not %q", name, told, want)
		}
		if faults := r.Check(); len(faults) > 0 {
			t.Errorf("%s: %q", name, faults)
		}
	}
}
