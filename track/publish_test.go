package track

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"cg/nemb"
)

// posts keeps the messages of a courier.
type posts []string

func (p *posts) add(topic string, payload []byte) { *p = append(*p, topic+" "+string(payload)) }

// published has a row with all that is known, one with a counter and a temperature that could
// not be read, and a last one.
func published(t *testing.T, prefix, id string) []string {
	t.Helper()
	defer func(before *time.Location) { time.Local = before }(time.Local)
	time.Local = time.UTC
	columns := []column{
		{name: "gpu0_temperature_c", unit: "C", method: nemb.Measured, id: "gpu0", metric: "nvml-temp"},
		{name: "package-0_j", unit: "J", energy: true, method: nemb.Measured, id: "package-0", metric: "rapl"},
		{name: "gpu0_power_w", unit: "W", method: nemb.Measured, id: "gpu0", metric: "nvml-power"},
		{name: "machine_estimated_j", unit: "J", energy: true, method: nemb.Estimated, id: "machine", metric: "estimate"},
	}
	var got posts
	c := newCourier(&Broker{Prefix: prefix, Node: "n\x1b1", Add: got.add}, id)
	st := &stream{columns: columns, subjects: subjectsOf(prefix, columns)}
	second := int64(time.Second)
	at := time.Date(2026, 11, 21, 15, 0, 0, 1000, time.UTC).UnixNano()
	for i, values := range [][]float64{{40, 1e6, 299.5, 0}, {math.NaN(), math.NaN(), 300, 1e6}, {41, 3e6, 301, 3e6}} {
		c.add(st, row{at + int64(i)*(second-500), 5*second + int64(i)*second, time.Duration(1000 + i), values})
	}
	c.send()
	c.finish([]*stream{st})
	return got
}

// A message for each row and kind of reader, and the power of a row with the next one.
func TestMessages(t *testing.T) {
	head := func(time, iso string, reading int) string {
		return fmt.Sprintf(`{"timestamp[ns]": %s, "timestamp[iso]": "2026-11-21T%s", "reading-time[ns]": %d, "node": "n\u001b1", "run-id": "job \"1\""`, time, iso, reading)
	}
	first, second, third := head("1795273200000001000", "15:00:00.000001", 1000), head("1795273201000000500", "15:00:01", 1001),
		head("1795273202000000000", "15:00:02", 1002)
	want := []string{
		"a/nvmlreader/data " + first + `, "gpu-0[C]": 40, "gpu-0[mW]": 299500}`,
		"a/nvmlreader/data " + second + `, "gpu-0[C]": null, "gpu-0[mW]": 300000}`,
		"a/raplreader/data " + first + `, "cpu-0[uJ]": 1000000, "cpu-0[W]": null}`,
		"a/estimatereader/data " + first + `, "machine-estimated[uJ]": 0, "machine-estimated[W]": 1}`,
		"a/nvmlreader/data " + third + `, "gpu-0[C]": 41, "gpu-0[mW]": 301000}`,
		"a/raplreader/data " + second + `, "cpu-0[uJ]": null, "cpu-0[W]": null}`,
		"a/estimatereader/data " + second + `, "machine-estimated[uJ]": 1000000, "machine-estimated[W]": 2}`,
		"a/raplreader/data " + third + `, "cpu-0[uJ]": 3000000}`,
		"a/estimatereader/data " + third + `, "machine-estimated[uJ]": 3000000}`,
	}
	if got := published(t, "a/", `job "1"`); !reflect.DeepEqual(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// WattAMeter's own publisher makes the same message of the same row.
func TestMessagesAreWattAMeters(t *testing.T) {
	python := os.Getenv("CG_WATTAMETER_PYTHON")
	if python == "" {
		t.Skip("CG_WATTAMETER_PYTHON names no interpreter with wattameter, pandas and nvidia-ml-py")
	}
	cmd := exec.Command(python, "-c", `
from wattameter.mqtt_publisher import MQTTPublisher
class Client:
    def publish(self, topic, message, qos): print(topic, message)
p = MQTTPublisher.__new__(MQTTPublisher)
p._connected, p.topic_prefix, p.node_name, p.run_id, p.client, p.qos = True, "a", "n\x1b1", "job1", Client(), 1
p.publish_data("nvmlreader", 1795273200000001000, 1000, ["gpu-0[C]", "gpu-0[mW]"], [40, 299500])
p.publish_batch("raplreader", [1795273202000000000], [1002], ["cpu-0[uJ]"], [[3000000]], ["cpu-0[W]"], [])`)
	cmd.Env = append(os.Environ(), "TZ=UTC")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	theirs := strings.Split(strings.TrimSpace(string(out)), "\n")
	ours := published(t, "a", "job1")
	for i, mine := range []string{ours[0], ours[7]} {
		var got, want map[string]any
		topic, text, _ := strings.Cut(mine, " ")
		theirTopic, theirText, _ := strings.Cut(theirs[i], " ")
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(theirText), &want); err != nil {
			t.Fatal(err)
		}
		if topic != theirTopic || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\nwant\n%s", mine, theirs[i])
		}
	}
}

// Every row of a recording becomes a message, the last one, too.
func TestEveryRowIsPublished(t *testing.T) {
	var got posts
	dir := t.TempDir()
	c := Config{Root: nemb.Root{Dir: t.TempDir()}, Trackers: []Tracker{{Every: 5 * time.Millisecond, Metrics: []string{"estimate"}}},
		Layout: CSV, Dir: dir, Broker: &Broker{Prefix: "p", Add: got.add}, Log: func(slog.Level, string) {}}
	s, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	for s.tracks[0].streams[0].out.waits() < 5 {
		time.Sleep(time.Millisecond)
	}
	summaries, err := s.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != summaries[0].Rows || !strings.HasPrefix(got[0], "p/estimatereader/data {") {
		t.Errorf("%d messages of %d rows: %q", len(got), summaries[0].Rows, got)
	}
	if n := lines(dir + "/cg_5ms.csv"); n != summaries[0].Rows+1 {
		t.Errorf("%d lines, want %d rows and a header", n, summaries[0].Rows)
	}
}

// waits is how many rows are not written yet.
func (o *output) waits() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.pending)
}
