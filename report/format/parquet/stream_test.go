package parquet

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"cg/report/format"
	"cg/report/reporttest"
	"cg/report/stream"
)

// A stream of events is five tables: everything that is in it, and what its tasks add up to.
func TestStream(t *testing.T) {
	evil, err := json.Marshal(reporttest.Evil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := stream.Open(strings.NewReader(`{"version": "0.0.1", "metadata": {}, "events": [` +
		`{"event_name": "enter:a", "timestamp": 0, "timeunit": "ns", "metadata": {"tid": 1}}, ` +
		`{"event_name": "enter:b", "timestamp": 10, "timeunit": "ns", "metadata": {"tid": 1, "w": 2.5}}, ` +
		`{"event_name": "exit:b", "timestamp": 30, "timeunit": "ns", "metadata": {"tid": 1, "energy_j": 2}}, ` +
		`{"event_name": "exit:a", "timestamp": 100, "timeunit": "ns", "metadata": {"tid": 1}}, ` +
		`{"event_name": ` + string(evil) + `, "timestamp": 7, "timeunit": "", "metadata": {}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	dir := written(t, s, format.Options{})
	for table, want := range map[string][]string{
		"tasks":     {" b 1 tid 1 10 30 2", " a 0 tid 1 0 100 <nil>"},
		"samples":   {" 10 b.w 2.5", " 30 b.energy_j 2"},
		"functions": {" a 1 100 80 <nil> 0", " b 1 20 20 2 1"},
		"paths":     {"0 <nil>  a 1 80", "1 0  b 1 20"},
	} {
		names := map[string][]string{"tasks": {"clock", "name", "depth", "thread", "start", "end", "energy_j"},
			"samples": {"clock", "at", "counter", "value"}, "functions": {"clock", "name", "calls", "total", "self", "energy_j", "tasks_with_energy"},
			"paths": {"path", "parent", "clock", "name", "calls", "self"}}[table]
		rows := rowsOf(t, filepath.Join(dir, table+".parquet"))
		for i, row := range rows {
			var cells []string
			for _, name := range names {
				cells = append(cells, fmt.Sprint(row[name]))
			}
			if got := strings.Join(cells, " "); i >= len(want) || got != want[i] {
				t.Errorf("%s: row %d is %q, want %q", table, i, got, want)
			}
		}
		if len(rows) != len(want) {
			t.Errorf("%s: %d rows, want %d", table, len(rows), len(want))
		}
	}
	events := rowsOf(t, filepath.Join(dir, "events.parquet"))
	if len(events) != 5 || fmt.Sprint(events[1]["metadata"]) != `{"tid": 1, "w": 2.5}` && fmt.Sprint(events[2]["metadata"]) != `{"tid": 1, "w": 2.5}` {
		t.Errorf("%v", events)
	}
	for _, row := range events {
		if found := reporttest.Harmless(fmt.Sprint(row)); found != "" {
			t.Error(found)
		}
	}
}
