package metrics

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"

	"cg/checkpoint"
	"cg/monitor"
	"cg/monitor/series"
	"cg/nemb"
	"cg/nemb/leaks"
	"cg/nemb/population"
	"cg/nemb/simulate"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }

// world is a machine of known power in virtual time, with processes that take turns.
type world struct {
	book     *monitor.Book
	exporter *Exporter
	counter  simulate.Counter
	now      time.Duration
	begun    time.Duration
	r        monitor.Reading
	broken   bool
	gpu      bool    // there is a GPU, with a driver that tells at once who uses it
	drew     float64 // by that, uJ
}

func newWorld(most, processes int) *world {
	w := &world{counter: simulate.Counter{Power: simulate.Trace{{Watts: 20}, {From: 30 * time.Second, Watts: 50}, {From: 50 * time.Second, Watts: 5}}, Range: 262143328850}}
	w.r.Host.KnowsBusy = true
	for i := range processes {
		path := fmt.Sprintf("/system.slice/s%d.service", i)
		w.r.Host.Processes = append(w.r.Host.Processes, population.Process{ID: population.ID{PID: 100 + i, Start: 7}, Name: fmt.Sprintf("p%d", i), Group: path})
		w.r.Host.Groups = append(w.r.Host.Groups, population.Group{Path: path})
	}
	w.restart(most)
	return w
}

// restart is a cg that begins now.
func (w *world) restart(most int) {
	domains := []nemb.Domain{{ID: "package-0", Kind: "cpu_package", Source: "/sys/x", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1}}
	if w.gpu {
		domains = append(domains, nemb.Domain{ID: "gpu0", Kind: nemb.KindGPU, Source: "nvml", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1, Period: 20 * time.Millisecond})
	}
	w.book = monitor.New(domains, 4, 1)
	w.book.Watch(monitor.Target{Kind: monitor.Unit, Name: "s0", Path: "s0.service"})
	w.exporter, w.begun = New("0", "run", most), w.now
	w.exporter.series = series.New(most, 0)
	w.read(0)
}

func (w *world) read(after time.Duration) {
	w.now += after
	for i := range w.r.Host.Processes {
		cpu := after / time.Duration(2*(i+1))
		w.r.Host.Processes[i].CPU += cpu
		w.r.Host.Groups[i].CPU += cpu
		w.r.Host.Busy += cpu
	}
	w.r.At, w.r.Unix = checkpoint.Instant(w.now)+1, int64(w.now)
	w.r.Energy = []float64{float64(w.counter.Read(w.now))}
	if w.broken {
		w.r.Energy[0] = math.NaN()
	}
	if w.gpu {
		w.compute(after)
	}
	w.book.Add(&w.r)
	w.exporter.Update(w.book.Snapshot())
}

// compute has the GPU draw 50 W for three seconds, and then 250 W for all processes, of which the second uses most.
func (w *world) compute(after time.Duration) {
	told := nemb.Occupancy{From: w.r.At - checkpoint.Instant(after), To: w.r.At, At: w.r.At, KnowsUses: true, KnowsContexts: true}
	watts := 50.0
	if w.now > 3*time.Second {
		watts = 250
		for i := range w.r.Host.Processes {
			part := 0.05
			if i == 1 {
				part = 0.5
			}
			told.Uses = append(told.Uses, nemb.Use{PID: 100 + i, Part: part, Lo: part - 0.01, Hi: part + 0.01})
		}
	}
	w.drew += watts * 1e6 * after.Seconds()
	w.r.Energy = append(w.r.Energy, w.drew)
	w.r.Occupancies = [][]nemb.Occupancy{nil, {told}}
}

// values are the series that are shown: "name{label=value,...}".
func values(t *testing.T, e *Exporter) map[string]float64 {
	t.Helper()
	all, err := e.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range all {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += "," + l.GetValue()
			}
			out[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return out
}

// Whoever has a series when, what rate() and increase() make of all series of processes, or
// of groups, is what they make of the ledger's line; there are no more than asked for.
func TestSeriesAreBounded(t *testing.T) {
	w := newWorld(3, 6)
	const line = "cg_ledger_energy_joules_total,processes,derived"
	names := []string{"cg_process_energy_joules_total", "cg_cgroup_energy_joules_total"}
	rises, begin := map[string]float64{}, math.NaN()
	var before map[string]float64
	for k := range 60 {
		w.read(time.Second)
		if k == 10 { // one that has a series ends
			w.r.Host.Processes = slices.Delete(w.r.Host.Processes, 0, 1)
			w.r.Host.Groups = slices.Delete(w.r.Host.Groups, 0, 1)
		}
		if k == 12 { // its group is made anew, and a process with a name that is no UTF-8 is in it
			w.r.Host.Processes = append(w.r.Host.Processes, population.Process{ID: population.ID{PID: 100, Start: 9}, Name: "\xff", Group: "/system.slice/s0.service"})
			w.r.Host.Groups = append(w.r.Host.Groups, population.Group{Path: "/system.slice/s0.service"})
		}
		if k%3 != 0 {
			continue
		}
		now := values(t, w.exporter)
		for _, name := range names {
			n := 0
			for series, v := range now {
				old, there := before[series]
				if !strings.HasPrefix(series, name+",") {
					continue
				}
				n++
				switch {
				case before == nil:
				case !there && v != 0:
					t.Errorf("after %d s: %s begins at %v", k, series, v)
				case v < old:
					rises[name] += v
				default:
					rises[name] += v - old
				}
			}
			if n > 4 {
				t.Errorf("after %d s: %s: %d series", k, name, n)
			}
		}
		if before == nil {
			begin = now[line]
		}
		for name, rise := range rises {
			if want := now[line] - begin; math.Abs(rise-want) > 1e-6 {
				t.Fatalf("after %d s: all series of %s rise by %v J, their line by %v J", k, name, rise, want)
			}
		}
		before = now
	}
	for _, want := range []string{"cg_process_energy_joules_total,,derived,other,other,", "cg_cgroup_energy_joules_total,other,,derived,", "cg_info,run,0"} {
		if _, ok := before[want]; !ok {
			t.Errorf("no %s in %v", want, before)
		}
	}
}

// One who asks each second, as --textfile does, takes nothing from one who asks each 50:
// that one sees series begin at 0 and end with their last value, too, and a group that is
// made anew goes on.
func TestSeveralAskers(t *testing.T) {
	w := newWorld(5, 3)
	w.exporter.series = series.New(5, series.Begins)
	const line = "cg_ledger_energy_joules_total,processes,derived"
	rises := map[string]float64{}
	var before map[string]float64
	begin := 0.0
	for k := range 551 {
		w.read(time.Second)
		switch k {
		case 75, 320: // one begins late, and one anew
			w.r.Host.Processes = append(w.r.Host.Processes, population.Process{ID: population.ID{PID: 200, Start: uint64(k)}, Name: "late", Group: "/late"})
			w.r.Host.Groups = append(w.r.Host.Groups, population.Group{Path: "/late"})
		case 310:
			w.r.Host.Processes, w.r.Host.Groups = w.r.Host.Processes[:3], w.r.Host.Groups[:3]
		}
		now := values(t, w.exporter)
		if k%50 != 0 {
			continue
		}
		for series, v := range now {
			name, _, _ := strings.Cut(series, ",")
			old, there := before[series]
			if !there && before != nil && v != 0 {
				t.Errorf("after %d s: %s begins at %v", k, series, v)
			}
			rises[name] += v - old
		}
		if before == nil {
			begin = now[line]
			clear(rises)
		}
		for _, name := range []string{"cg_process_energy_joules_total", "cg_cgroup_energy_joules_total"} {
			if want := now[line] - begin; math.Abs(rises[name]-want) > 1e-6 {
				t.Errorf("after %d s: %s rise by %v J, their line by %v J", k, name, rises[name], want)
			}
		}
		before = now
	}
	if v := before["cg_cgroup_energy_joules_total,/late,,derived,"]; v <= 0 {
		t.Errorf("the late group has %v J", v)
	}
	w.r.Host.Processes, w.r.Host.Groups = w.r.Host.Processes[:3], w.r.Host.Groups[:3]
	w.read(time.Second)
	values(t, w.exporter)
	w.read(series.Lasts + time.Second)
	for series := range values(t, w.exporter) {
		if strings.Contains(series, ",late,") {
			t.Errorf("%s is shown long after its end", series)
		}
	}
}

// A process whose series is full of quiet ones takes the place of one of these.
func TestQuietSeriesGiveWay(t *testing.T) {
	w := newWorld(1, 1)
	w.read(time.Second)
	values(t, w.exporter)
	quiet := w.r.Host.Processes[0]
	w.r.Host.Processes[0] = population.Process{ID: population.ID{PID: 200, Start: 8}, Name: "late", Group: quiet.Group}
	w.r.Host.Processes = append(w.r.Host.Processes, quiet)
	move := func() {
		w.now += time.Second
		w.r.Host.Processes[0].CPU += time.Second
		w.r.Host.Groups[0].CPU += time.Second
		w.r.At, w.r.Unix, w.r.Energy = checkpoint.Instant(w.now)+1, int64(w.now), []float64{float64(w.counter.Read(w.now))}
		w.book.Add(&w.r)
		w.exporter.Update(w.book.Snapshot())
	}
	late := func() bool {
		for name := range values(t, w.exporter) {
			if strings.HasPrefix(name, "cg_process_energy_joules_total") && strings.Contains(name, ",late,") {
				return true
			}
		}
		return false
	}
	if move(); late() {
		t.Error("it has a series at once")
	}
	w.now += 2 * time.Hour
	if move(); !late() {
		t.Error("it has no series after hours")
	}
}

// Names that are no UTF-8 may become equal: one of them has a series, and the page is whole.
func TestNamesThatBecomeEqual(t *testing.T) {
	w := newWorld(5, 2)
	for i, name := range []string{"/\xfe", "/\xff"} {
		w.r.Host.Processes[i].Group, w.r.Host.Groups[i].Path = name, name
		w.r.Host.Processes[i].ID, w.r.Host.Processes[i].Name = population.ID{PID: 300, Start: 5 + uint64(i)}, "p"
	}
	w.restart(5)
	for range 2 {
		w.book.Watch(monitor.Target{Kind: monitor.Unit, Name: "s0", Path: "s0.service"})
		w.book.Watch(monitor.Target{Kind: monitor.Cgroup, Name: "/\xfe", Path: "/\xfe"})
		w.book.Watch(monitor.Target{Kind: monitor.Cgroup, Name: "/\xff", Path: "/\xff"})
	}
	w.read(time.Second)
	values(t, w.exporter)
	w.read(time.Second)
	groups := 0
	for series := range values(t, w.exporter) {
		if strings.HasPrefix(series, "cg_cgroup_energy_joules_total,/") {
			groups++
		}
	}
	if n := len(w.book.Snapshot().Targets); groups != 1 || n != 3 {
		t.Errorf("%d groups have a series, there are %d targets", groups, n)
	}
}

// A counter that has never moved has no series, and one that fails says so and keeps its
// series.
func TestSensorState(t *testing.T) {
	w := newWorld(3, 1)
	const series = "cg_energy_joules_total,package-0,measured,/sys/x"
	if _, there := values(t, w.exporter)[series]; there {
		t.Error("a counter that has not moved is shown")
	}
	w.read(time.Second)
	w.broken = true
	w.read(time.Second)
	now := values(t, w.exporter)
	if now[series] != 20 || now["cg_sensor_readable,package-0,/sys/x"] != 0 || now["cg_sensor_failed_readings_total,package-0,/sys/x"] != 1 {
		t.Error(now)
	}
	w.broken = false
	w.read(time.Second)
	now = values(t, w.exporter)
	if now[series] != 60 || now["cg_sensor_readable,package-0,/sys/x"] != 1 || now["cg_target_energy_joules_total,unit,derived,s0"] != 60 {
		t.Error(now)
	}
}

func TestAddress(t *testing.T) {
	for s, want := range map[string]string{":9464": "127.0.0.1:9464", "0.0.0.0:1": "0.0.0.0:1", "[::1]:80": "[::1]:80", "host:0": "host:0"} {
		if got, err := Address(s); got != want || err != nil {
			t.Errorf("%s: %s, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "9464", ":", ":http", ":70000", "a b:1", ":-1"} {
		var e *ErrAddress
		if got, err := Address(s); !errors.As(err, &e) {
			t.Errorf("%q: %s, %v", s, got, err)
		}
	}
}

func TestServe(t *testing.T) {
	w := newWorld(3, 2)
	w.read(time.Second)
	s, err := Serve(w.exporter, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimSuffix(strings.TrimPrefix(s.URL, "http://"), "/metrics")
	if _, err := Serve(w.exporter, address); err == nil {
		t.Error("a port is used twice")
	}
	hanging, err := net.Dial("tcp", address) // it keeps nobody waiting
	if err != nil {
		t.Fatal(err)
	}
	defer hanging.Close()
	client := &http.Client{}
	defer client.CloseIdleConnections()
	for path, want := range map[string]string{"/metrics": "cg_machine_energy_joules_total{method=\"measured\"} 20\n", "/": "<a href=\"/metrics\">"} {
		r, err := client.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r.Body)
		if r.Body.Close(); err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %v\n%s", path, err, b)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestTextfile(t *testing.T) {
	w := newWorld(3, 2)
	w.read(time.Second)
	dir := t.TempDir()
	if err := w.exporter.WriteFile(dir); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "cg.prom"))
	if err != nil || !strings.Contains(string(b), "cg_machine_energy_joules_total{method=\"measured\"} 20\n") {
		t.Errorf("%v\n%s", err, b)
	}
	for range 2 {
		if err := RemoveFile(dir); err != nil {
			t.Error(err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Error(left)
	}
}

// need is a program of Debian's package prometheus.
func need(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("CI") != "true" {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	return path
}

// The conventions of Prometheus, by its own tool.
func TestPromtool(t *testing.T) {
	w := newWorld(3, 6)
	w.gpu = true
	w.restart(3)
	w.r.Annotations = []monitor.Annotation{
		{From: 1, ID: "a", Name: "GET /\"cart\"\n", Begin: true, At: w.r.At, CPU: -1, Thread: monitor.Thread{PID: 100}},
		{From: 1, ID: "a", At: w.r.At + 5e8, CPU: -1},
	}
	w.read(time.Second)
	all, err := w.exporter.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(families()) { // all that can be on at once
		t.Errorf("%d metrics of %d", len(all), len(families()))
	}
	var page bytes.Buffer
	for _, f := range all {
		if _, err := expfmt.MetricFamilyToText(&page, f); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(need(t, "promtool"), "check", "metrics")
	cmd.Stdin = &page
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

// GPUs' energy has series of its own, by what their drivers tell: those of processes and of groups are each the ledgers'
// line, the ledgers are the GPUs' counters, and there are no more than asked for.
func TestGPUs(t *testing.T) {
	w := newWorld(3, 6)
	w.gpu = true
	w.restart(3)
	for range 13 {
		w.read(time.Second)
	}
	sums, second := map[string]float64{}, false
	for name, v := range values(t, w.exporter) {
		family := strings.Split(name, ",")[0]
		sums[family] += v
		sums[family+" series"]++
		if strings.HasPrefix(name, "cg_gpu_ledger_energy_joules_total,gpu0,processes,") {
			sums["line"] = v
		}
		second = second || strings.HasPrefix(name, "cg_process_gpu_energy_joules_total") && strings.Contains(name, ",101,")
	}
	if got := sums["cg_gpu_ledger_energy_joules_total"]; math.Abs(got-w.drew*1e-6) > 1e-5 || math.Abs(sums["line"]-2000) > 1e-3 {
		t.Errorf("the ledger has %v J of %v J, processes %v J of 2000 J", got, w.drew*1e-6, sums["line"])
	}
	for _, family := range []string{"cg_process_gpu_energy_joules_total", "cg_cgroup_gpu_energy_joules_total"} {
		if math.Abs(sums[family]-sums["line"]) > 1e-5 || sums[family+" series"] > 4 {
			t.Errorf("%s: %v J of %v J in %v series", family, sums[family], sums["line"], sums[family+" series"])
		}
	}
	if !second {
		t.Error("the process that uses most has no series")
	}
	if got, want := sums["cg_target_gpu_energy_joules_total"], 2000*.05/.75; math.Abs(got-want) > 1e-3 {
		t.Errorf("the target has %v J, want %v J", got, want)
	}
}

// The text is the registry's, byte for byte, whatever the names.
func TestText(t *testing.T) {
	w := newWorld(3, 6)
	w.r.Host.Processes[0].Name, w.r.Host.Processes[1].Name = "a\\\"b\n\xff", "é"
	for k := range 4 {
		w.r.Annotations = []monitor.Annotation{
			{From: 1, ID: "a", Name: fmt.Sprintf("GET /\"%d\"\n\\", k), Begin: true, At: w.r.At, CPU: -1, Thread: monitor.Thread{PID: 100}},
			{From: 1, ID: "a", At: w.r.At + 5e8, CPU: -1},
		}
		w.broken = k == 2
		w.read(time.Second / 3)
		all, err := w.exporter.Registry().Gather()
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		for _, f := range all {
			if _, err := expfmt.MetricFamilyToText(&want, f); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.exporter.Text(); !bytes.Equal(got, want.Bytes()) || !bytes.Contains(got, []byte("é")) {
			t.Errorf("%d: %s\nwant %s", k, got, want.Bytes())
		}
	}
	if got := New("1", "x", 3).Text(); string(got) != "# HELP cg_info 1, with the version of cg and the id of this run.\n# TYPE cg_info gauge\ncg_info{run=\"x\",version=\"1\"} 1\n" {
		t.Errorf("%s", got)
	}
}

// Prometheus scrapes each second of the machine's time, in which cg begins anew once: the
// joules of a window that PromQL gives are the counter's.
func TestPrometheus(t *testing.T) {
	path := need(t, "prometheus")
	w := newWorld(2, 4)
	w.gpu = true
	w.restart(2)
	const scrapes = 60
	begun := time.Now().Truncate(time.Second)
	done := make(chan struct{})
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, _ *http.Request) {
		if n++; n > scrapes { // the machine's time stands still
			to.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if n == 20 {
			w.restart(2)
		}
		w.read(time.Second)
		all, err := w.exporter.Registry().Gather()
		if err != nil {
			t.Error(err)
		}
		to.Header().Set("Content-Type", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
		for _, f := range all {
			for _, m := range f.Metric {
				at := begun.Add(w.now).UnixMilli()
				m.TimestampMs = &at
			}
			expfmt.MetricFamilyToText(to, f)
		}
		if n == scrapes {
			close(done)
		}
	}))
	defer server.Close()
	base := startPrometheus(t, path, server.Listener.Addr().String())
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatal("Prometheus does not scrape")
	}
	joules := func(from, to int) float64 { // of what cg saw
		a, b := time.Duration(from)*time.Second, time.Duration(to)*time.Second
		return float64(w.counter.Read(b)-w.counter.Read(a)) * 1e-6
	}
	query := func(expression string, at int) float64 {
		t.Helper()
		v, err := ask(base, expression, begun.Add(time.Duration(at)*time.Second))
		if err != nil {
			t.Errorf("%s: %v", expression, err)
		}
		return v
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if v, err := ask(base, "count_over_time(cg_readings_total[5m])", begun.Add(scrapes*time.Second)); err == nil && v == scrapes {
			break
		}
	}
	for _, test := range []struct {
		what string
		got  float64
		want float64
	}{
		{"a domain", query(`increase(cg_energy_joules_total{domain="package-0"}[30s])`, 60), joules(30, 60)},
		{"the lines of the ledger", query(`sum(increase(cg_ledger_energy_joules_total[30s])) - sum(increase(cg_gpu_ledger_energy_joules_total[30s]))`, 60), joules(30, 60)},
		{"processes, with the rest", query(`sum(increase(cg_process_energy_joules_total[30s])) - sum(increase(cg_process_gpu_energy_joules_total[30s]))`, 60), joules(30, 60)},
		{"control groups, with the rest", query(`sum(increase(cg_cgroup_energy_joules_total[30s])) - sum(increase(cg_cgroup_gpu_energy_joules_total[30s]))`, 60), joules(30, 60)},
		{"power", query(`sum(rate(cg_machine_energy_joules_total[10s]))`, 45), 50 + 250},
		{"a GPU's lines", query(`sum(increase(cg_gpu_ledger_energy_joules_total[30s]))`, 60), 30 * 250},
		{"one process", query(`increase(cg_process_energy_joules_total{pid="100"}[30s])`, 60), 30*250*.05/.65 + joules(30, 60)*12/25},
		// The second in which cg began anew is lost to it, and to nobody else.
		{"over a restart", query(`increase(cg_energy_joules_total{domain="package-0"}[25s])`, 29), joules(4, 29)},
	} {
		if math.Abs(test.got-test.want) > 0.01*test.want {
			t.Errorf("%s: %v, want %v", test.what, test.got, test.want)
		}
	}
	for _, expression := range dashboard(t) {
		if n, err := count(base, expression, begun.Add(scrapes*time.Second)); n == 0 || err != nil {
			t.Errorf("%s has nothing to show: %v", expression, err)
		}
	}
}

// dashboard lists what the panels of Grafana's dashboard ask for, over half a minute.
func dashboard(t *testing.T) (expressions []string) {
	t.Helper()
	b, err := os.ReadFile("../../deploy/monitor/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			expressions = append(expressions, strings.NewReplacer("$__rate_interval", "30s", "$__range", "30s", "$instance", ".*", "$top", "5").Replace(target.Expr))
		}
	}
	if len(expressions) < 5 {
		t.Fatalf("only %q", expressions)
	}
	return expressions
}

// The rules for Prometheus, by its own tool: each alert fires when it should.
func TestRules(t *testing.T) {
	cmd := exec.Command(need(t, "promtool"), "test", "rules", "rules_test.yml")
	cmd.Dir = "../../deploy/monitor"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// What the rules and the dashboard name is shown.
func TestNamesInDeploy(t *testing.T) {
	known := map[string]bool{}
	for _, f := range families() {
		name := strings.Split(f.description.String(), `"`)[1]
		known[name] = true
	}
	name := regexp.MustCompile(`\bcg_[a-z_]+\b`)
	for _, file := range []string{"rules.yml", "grafana.json"} {
		b, err := os.ReadFile("../../deploy/monitor/" + file)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, n := range name.FindAllString(string(b), -1) {
			if seen++; !known[n] && n != "cg_machine_power_watts" && n != "cg_power_watts" {
				t.Errorf("%s names %s, which is not shown", file, n)
			}
		}
		if seen < 5 {
			t.Errorf("%s names only %d metrics", file, seen)
		}
	}
}

// startPrometheus runs it on a folder of the test, scraping an address as often as it can.
func startPrometheus(t *testing.T, path, target string) (base string) {
	t.Helper()
	dir := t.TempDir()
	config := fmt.Sprintf("global: {scrape_interval: 100ms, scrape_timeout: 100ms}\nscrape_configs:\n- job_name: cg\n  honor_timestamps: true\n  static_configs: [{targets: ['%s']}]\n", target)
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	ctx, cancel := context.WithCancel(context.Background())
	var log bytes.Buffer
	cmd := exec.CommandContext(ctx, path, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		cmd.Wait()
		http.DefaultClient.CloseIdleConnections()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return "http://" + address
}

// answer is what Prometheus says of an expression.
type answer struct {
	Data struct {
		Result []struct{ Value [2]any }
	}
	Error string
}

func query(base, expression string, at time.Time) (a answer, err error) {
	r, err := http.Get(base + "/api/v1/query?time=" + strconv.FormatInt(at.Unix(), 10) + "&query=" + url.QueryEscape(expression))
	if err != nil {
		return a, err
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
		return a, err
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

// ask asks Prometheus for one figure at an instant.
func ask(base, expression string, at time.Time) (float64, error) {
	a, err := query(base, expression, at)
	if err == nil && len(a.Data.Result) != 1 {
		err = fmt.Errorf("%d results", len(a.Data.Result))
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(fmt.Sprint(a.Data.Result[0].Value[1]), 64)
}

// count asks how many figures there are.
func count(base, expression string, at time.Time) (int, error) {
	a, err := query(base, expression, at)
	return len(a.Data.Result), err
}

// Requests have series by name, a name that is no UTF-8 too; they are a part of their process.
func TestRequests(t *testing.T) {
	w := newWorld(3, 2)
	for k := range 3 {
		w.r.Annotations = []monitor.Annotation{
			{From: 1, ID: "a", Name: "GET /\xff", Begin: true, At: w.r.At, CPU: -1, Thread: monitor.Thread{PID: 100}},
			{From: 1, ID: "a", At: w.r.At + 5e8, CPU: -1},
		}
		w.read(time.Second)
		now := values(t, w.exporter)
		if got := now["cg_requests_total,GET /\ufffd"]; got != float64(k+1) {
			t.Errorf("%v requests after %d s", got, k+1)
		}
		process, request := 0.0, now["cg_request_energy_joules_total,derived,GET /\ufffd"]
		for _, p := range w.book.Snapshot().Processes {
			if p.PID == 100 {
				process = p.Joules
			}
		}
		if math.Abs(request-process/2) > 1e-5 {
			t.Errorf("%v J after %d s, of a process with %v J: %v", request, k+1, process, now)
		}
	}
}
