package codegreen

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

func zoneOf(t *testing.T, root, folder, name string, value, most int) {
	t.Helper()
	dir := filepath.Join(root, folder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"name": name + "\n", "energy_uj": strconv.Itoa(value) + "\n", "max_energy_range_uj": strconv.Itoa(most) + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Packages and memory are read, cores and the whole machine are part of them.
func TestCounters(t *testing.T) {
	root := t.TempDir()
	zoneOf(t, root, "intel-rapl:0", "package-0", 99_900_000, 99_999_999)
	zoneOf(t, root, "intel-rapl:0:0", "core", 7, 99_999_999)
	zoneOf(t, root, "intel-rapl:0:1", "dram", 0, 99_999_999)
	zoneOf(t, root, "intel-rapl:1", "psys", 0, 99_999_999)
	if err := os.MkdirAll(filepath.Join(root, "intel-rapl:2"), 0o755); err != nil {
		t.Fatal(err)
	}
	var c counters
	c.find(root, 0)
	if len(c.zones) != 2 {
		t.Fatalf("%d zones", len(c.zones))
	}
	const second = 1_000_000_000
	for _, step := range []struct {
		at            int64
		value         int
		joules, watts float64
	}{
		{second / 2000, 99_950_000, 0, 0}, // too soon to be read
		{second, 99_950_000, 0.05, 0.05},
		{2 * second, 50_000, 0.15, 0.1},             // round once
		{2*second + second/1000, 0, 0.15, 0},        // so much in a millisecond is none: reset
		{3*second + second/1000, 40, 0.15004, 4e-5}, // and on
	} {
		zoneOf(t, root, "intel-rapl:0", "package-0", step.value, 99_999_999)
		joules, watts, ok := c.read(step.at)
		if near := func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }; !ok || !near(joules, step.joules) || !near(watts, step.watts) {
			t.Errorf("at %d: %g J, %g W, %v; want %g, %g", step.at, joules, watts, ok, step.joules, step.watts)
		}
	}
	var none counters
	none.find(t.TempDir(), 0)
	if _, _, ok := none.read(second); ok {
		t.Error("read without a counter")
	}
}

func TestBlock(t *testing.T) {
	r := &record{names: map[uint32]string{7: "p.Größe𝛼\"\\"}, calls: map[uint32]uint32{7: 2}, dropped: 3}
	r.begun, r.origin = all.begun, 5
	r.note(r.now(), enter, 7, 0xab)
	r.places = []*place{{told: `"function": "p.f", "line": 4`, count: 2, time: 30}, {told: `"line": 5`}}
	lines := r.block()
	var b struct {
		Measurements []struct {
			CheckpointID string `json:"checkpoint_id"`
			Timestamp    int64
			Joules       *float64
		}
		Dropped int
		Places  []struct {
			Function    string
			Line, Count int
			TimeNs      int `json:"time_ns"`
		}
	}
	const head, tail = "--- CODEGREEN_RESULT_START ---\n", "\n--- CODEGREEN_RESULT_END ---\n"
	if err := json.Unmarshal([]byte(lines[len(head):len(lines)-len(tail)]), &b); err != nil {
		t.Fatal(err)
	}
	if m := b.Measurements; len(m) != 1 || m[0].CheckpointID != "enter:p.Größe𝛼\"\\:7#inv_2_tab" || m[0].Timestamp < 5 || m[0].Joules != nil || b.Dropped != 3 {
		t.Errorf("%+v", b)
	}
	if p := b.Places; len(p) != 2 || p[0].Function != "p.f" || p[0].Count != 2 || p[0].TimeNs != 30 || p[1].Line != 5 {
		t.Errorf("%+v", b.Places)
	}
}

// Many are counted as dropped, and the calls that are open are ended by the end.
func TestRecord(t *testing.T) {
	if r := find(); r != all {
		t.Error("another record in this process")
	}
	CodegreenSites(10, "a\nb")
	CodegreenEnter(11)
	CodegreenEnter(12)()
	if len(all.events) != 3 || len(all.open[codegreenG()].calls) != 1 || all.names[12] != "b" {
		t.Errorf("%+v", all.events)
	}
	all.events = append(all.events, make([]event, limit-3)...)
	CodegreenEnter(12)
	if all.dropped != 1 {
		t.Errorf("%d dropped", all.dropped)
	}
}
