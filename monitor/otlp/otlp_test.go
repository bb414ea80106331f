package otlp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"cg/checkpoint"
	"cg/monitor"
	"cg/monitor/series"
	"cg/nemb"
	"cg/nemb/leaks"
	"cg/nemb/population"
	"cg/nemb/simulate"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }

// world is a machine of known power in virtual time.
type world struct {
	book    *monitor.Book
	counter simulate.Counter
	now     time.Duration
	r       monitor.Reading
}

// begun is when the machines of the tests begin, ns since 1970.
const begun = 1_700_000_000_000_000_000

func newWorld(processes int) *world {
	w := &world{counter: simulate.Counter{Power: simulate.Trace{{Watts: 20}, {From: 30 * time.Second, Watts: 50}}}}
	w.r.Host.KnowsBusy = true
	for i := range processes {
		path := fmt.Sprintf("/system.slice/s%d.service", i)
		w.r.Host.Processes = append(w.r.Host.Processes, population.Process{ID: population.ID{PID: 100 + i, Start: 7},
			Name: fmt.Sprintf("p%d\xff", i), Group: path})
		w.r.Host.Groups = append(w.r.Host.Groups, population.Group{Path: path})
	}
	w.restart()
	return w
}

// restart is a cg that begins now.
func (w *world) restart() {
	w.book = monitor.New([]nemb.Domain{{ID: "package-0", Kind: "cpu_package", Source: "/sys/x", Method: nemb.Measured,
		InTotal: true, Lo: 1, Hi: 1}}, 4, 1)
	w.book.Watch(monitor.Target{Kind: monitor.Unit, Name: "s0", Path: "s0.service"})
	w.read(0)
}

func (w *world) read(after time.Duration) *monitor.Snapshot {
	w.now += after
	for i := range w.r.Host.Processes {
		cpu := after / time.Duration(2*(i+1))
		w.r.Host.Processes[i].CPU += cpu
		w.r.Host.Groups[i].CPU += cpu
		w.r.Host.Busy += cpu
	}
	w.r.At, w.r.Unix = checkpoint.Instant(w.now)+1, begun+int64(w.now)
	w.r.Energy = []float64{w.drawn(w.now)}
	w.book.Add(&w.r)
	return w.book.Snapshot()
}

// drawn is what the counter has counted, in microjoules.
func (w *world) drawn(until time.Duration) float64 { return float64(w.counter.Read(until)) }

// receiver is the protocol's own server, over gRPC and over HTTP.
type receiver struct {
	collector.UnimplementedMetricsServiceServer
	mu       sync.Mutex
	requests []*collector.ExportMetricsServiceRequest
	answers  []error // to the next requests; none is success
}

func (r *receiver) Export(_ context.Context, q *collector.ExportMetricsServiceRequest) (
	*collector.ExportMetricsServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.answers) > 0 {
		answer := r.answers[0]
		r.answers = r.answers[1:]
		return nil, answer
	}
	r.requests = append(r.requests, q)
	return &collector.ExportMetricsServiceResponse{}, nil
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	message := &collector.ExportMetricsServiceRequest{}
	if err = errors.Join(err, proto.Unmarshal(body, message)); err != nil || q.URL.Path != "/v1/metrics" {
		http.Error(w, fmt.Sprint("no message: ", q.URL.Path, err), http.StatusBadRequest)
		return
	}
	answer, err := r.Export(q.Context(), message)
	switch status.Code(err) {
	case codes.OK:
		b, _ := proto.Marshal(answer)
		w.Header().Set("Content-Type", "application/x-protobuf")
		w.Write(b)
	case codes.InvalidArgument:
		http.Error(w, err.Error(), http.StatusBadRequest)
	default:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

// serve answers over HTTP or gRPC, at an address that may be used again.
func (r *receiver) serve(t *testing.T, scheme, address string) (url string, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if scheme == "http" {
		s := httptest.NewUnstartedServer(r)
		s.Listener.Close()
		s.Listener = listener
		s.Start()
		return s.URL, func() { s.CloseClientConnections(); s.Close() }
	}
	s := grpc.NewServer()
	collector.RegisterMetricsServiceServer(s, r)
	done := make(chan struct{})
	go func() { s.Serve(listener); close(done) }()
	return "grpc://" + listener.Addr().String(), func() { s.Stop(); <-done }
}

func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.requests)
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not after a minute: ", what)
		}
	}
}

// settle waits, when a test has ended, until its connections are closed: the libraries do that
// in goroutines of their own.
func settle(t *testing.T) {
	t.Helper()
	before := sockets(t)
	t.Cleanup(func() { until(t, "connections are closed", func() bool { return sockets(t) <= before }) })
}

func sockets(t *testing.T) (n int) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// point is a data point with its attributes as text.
type point struct {
	*metrics.NumberDataPoint
	labels map[string]string
}

// points are those of a metric in a request; each sum must be cumulative and monotonic.
func pointsOf(t *testing.T, q *collector.ExportMetricsServiceRequest, name string) (out []point) {
	t.Helper()
	for _, m := range q.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		if m.Name != name {
			continue
		}
		if !m.GetSum().IsMonotonic ||
			m.GetSum().AggregationTemporality != metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE {
			t.Errorf("%s is no cumulative monotonic sum", name)
		}
		for _, p := range m.GetSum().DataPoints {
			labels := map[string]string{}
			for _, a := range p.Attributes {
				labels[a.Key] = a.Value.GetStringValue()
				if n, is := a.Value.Value.(*common.AnyValue_IntValue); is {
					labels[a.Key] = strconv.FormatInt(n.IntValue, 10)
				}
			}
			out = append(out, point{p, labels})
		}
	}
	return out
}

func (p point) micro() int64 { return int64(math.Round(p.GetAsDouble() * 1e6)) }

// What the protocol's own server receives is what the counter counted, to the microjoule, over
// a restart of cg, too; the processes and the groups are each the ledger's line.
func TestReceiverHasTheJoules(t *testing.T) {
	settle(t)
	for _, scheme := range []string{"http", "grpc"} {
		r := &receiver{}
		url, stop := r.serve(t, scheme, "127.0.0.1:0")
		w := newWorld(6)
		open := func(run string) *Exporter {
			e, err := Open(Config{URL: url, Version: "1", Run: run, Host: "h", CPU: "c", Most: 3,
				Warn: func(s string) { t.Error(s) }})
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		e, restarted := open("one"), time.Duration(0)
		for k := range 60 {
			if k == 40 {
				if lost := e.Close(time.Minute); lost != 0 {
					t.Errorf("%s: %d messages were not sent", scheme, lost)
				}
				restarted = w.now
				w.restart()
				e = open("two")
			}
			e.Add(w.read(time.Second))
		}
		if lost := e.Close(time.Minute); lost != 0 || r.count() != 60 {
			t.Errorf("%s: %d messages were not sent, %d came", scheme, lost, r.count())
		}
		stop()
		for k, q := range r.requests {
			from, now := time.Duration(0), time.Duration(k+1)*time.Second
			if k >= 40 {
				from = restarted
			}
			want := int64(w.drawn(now) - w.drawn(from))
			for _, name := range []string{"hw.energy", "hw.host.energy", "cg.ledger.energy"} {
				checkSum(t, scheme, k, pointsOf(t, q, name), want, from, now)
			}
			line := int64(0)
			for _, p := range pointsOf(t, q, "cg.ledger.energy") {
				if p.labels["cg.ledger.line"] == "processes" {
					line = p.micro()
				}
			}
			for _, name := range []string{"cg.process.energy", "cg.cgroup.energy"} {
				all := pointsOf(t, q, name)
				checkSum(t, scheme, k, all, line, -1, now)
				if len(all) > 4 {
					t.Errorf("%s %d: %d points of %s", scheme, k, len(all), name)
				}
			}
		}
		checkAttributes(t, r.requests[59])
	}
}

// The sum of a target that was left out and is watched again is another, which begins at 0 then.
func TestTargetsThatAreWatchedAgain(t *testing.T) {
	w := newWorld(1)
	w.read(10 * time.Second)
	w.book.Retarget(nil)
	w.read(10 * time.Second)
	w.book.Retarget([]monitor.Target{{Kind: monitor.Unit, Name: "s0", Path: "s0.service"}})
	snapshot := w.read(time.Second)
	n := 0
	for _, m := range machine(snapshot, stamps{start: time.Unix(0, begun), now: time.Unix(0, snapshot.AtUnix)}) {
		if !strings.HasPrefix(m.Name, "cg.target.") {
			continue
		}
		for _, p := range m.Data.(metricdata.Sum[float64]).DataPoints {
			if n++; p.StartTime.UnixNano() != begun+20e9 || p.Value > 20 {
				t.Errorf("%s: %v from %v", m.Name, p.Value, p.StartTime)
			}
		}
	}
	if n != 2 {
		t.Errorf("%d points", n)
	}
}

func checkSum(t *testing.T, scheme string, k int, all []point, want int64, from, now time.Duration) {
	t.Helper()
	sum := int64(0)
	for _, p := range all {
		sum += p.micro()
		if p.TimeUnixNano != begun+uint64(now) || from >= 0 && p.StartTimeUnixNano != begun+uint64(from) ||
			p.StartTimeUnixNano > p.TimeUnixNano {
			t.Errorf("%s %d: from %d to %d, want %v to %v", scheme, k, p.StartTimeUnixNano-begun, p.TimeUnixNano-begun, from, now)
		}
	}
	if sum != want {
		t.Errorf("%s %d: %d µJ of %d", scheme, k, sum, want)
	}
}

func checkAttributes(t *testing.T, q *collector.ExportMetricsServiceRequest) {
	t.Helper()
	resource := map[string]string{}
	for _, a := range q.ResourceMetrics[0].Resource.Attributes {
		resource[a.Key] = a.Value.GetStringValue()
	}
	for key, want := range map[string]string{"service.name": "cg", "service.instance.id": "two", "host.name": "h"} {
		if resource[key] != want {
			t.Errorf("%s is %q", key, resource[key])
		}
	}
	p := pointsOf(t, q, "hw.energy")[0]
	for key, want := range map[string]string{"hw.id": "package-0", "hw.type": "cpu", "cg.method": "measured"} {
		if got := p.labels[key]; got != want {
			t.Errorf("%s is %q", key, got)
		}
	}
	all := pointsOf(t, q, "cg.process.energy")
	if !slices.ContainsFunc(all, func(p point) bool {
		return p.labels["process.pid"] == "100" && p.labels["process.executable.name"] == "p0\ufffd"
	}) {
		t.Errorf("no process: %v", all[0].labels)
	}
	if energy := pointsOf(t, q, "cg.target.energy"); len(energy) != 1 || energy[0].GetAsDouble() <= 0 {
		t.Errorf("%v", energy)
	}
}

// A collector that is away keeps nobody waiting. What waits comes when it is back, in order,
// up to a bound, and what was dropped is counted.
func TestCollectorThatIsAway(t *testing.T) {
	settle(t)
	for _, scheme := range []string{"http", "grpc"} {
		r := &receiver{}
		url, stop := r.serve(t, scheme, "127.0.0.1:0")
		stop()
		w := newWorld(2)
		var mu sync.Mutex
		var warned []string
		e, err := Open(Config{URL: url, Kept: 5, Most: 10, Retry: 20 * time.Millisecond,
			Warn: func(s string) { mu.Lock(); warned = append(warned, s); mu.Unlock() }})
		if err != nil {
			t.Fatal(err)
		}
		said := func(n int) func() bool {
			return func() bool { mu.Lock(); defer mu.Unlock(); return len(warned) == n }
		}
		e.Add(w.read(time.Second))
		until(t, "it says that nobody answers", said(1))
		for range 11 {
			e.Add(w.read(time.Second))
		}
		if dropped, refused := e.Lost(); dropped != 7 || refused != 0 {
			t.Errorf("%s: %d dropped, %d refused", scheme, dropped, refused)
		}
		address := url[strings.LastIndex(url, "/")+1:]
		_, stop = r.serve(t, scheme, address)
		until(t, "what waits comes", func() bool { return r.count() == 5 })
		until(t, "it says that somebody answers", said(2))
		if lost := e.Close(time.Minute); lost != 7 {
			t.Errorf("%s: %d lost", scheme, lost)
		}
		stop()
		for i, q := range r.requests {
			if got, want := pointsOf(t, q, "hw.energy")[0].micro(), int64(w.drawn(time.Duration(8+i)*time.Second)); got != want {
				t.Errorf("%s: message %d has %d µJ, not %d", scheme, i, got, want)
			}
		}
		if !strings.Contains(warned[0], "the collector does not answer: ") || !strings.Contains(warned[1], "answers again") {
			t.Errorf("%s: %q", scheme, warned)
		}
	}
}

// What a collector refuses for good is dropped and counted; what it cannot take now is sent
// again.
func TestRefusals(t *testing.T) {
	settle(t)
	for _, scheme := range []string{"http", "grpc"} {
		r := &receiver{answers: []error{status.Error(codes.InvalidArgument, strings.Repeat("x", 1<<16)),
			status.Error(codes.Unavailable, "later"), status.Error(codes.Unavailable, "later")}}
		url, stop := r.serve(t, scheme, "127.0.0.1:0")
		var again atomic.Bool // what answers again has answered: Close gives up a collector that is away
		e, err := Open(Config{URL: url, Most: 10, Retry: time.Millisecond, Warn: func(s string) {
			if len(s) > 2*longest {
				t.Errorf("%d bytes are told", len(s))
			}
			again.Store(strings.Contains(s, "answers again"))
		}})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(1)
		e.Add(w.read(time.Second))
		e.Add(w.read(time.Second))
		until(t, "the second comes", func() bool { return r.count() == 1 && again.Load() })
		if lost := e.Close(time.Minute); lost != 1 {
			t.Errorf("%s: %d lost", scheme, lost)
		}
		stop()
		if got := pointsOf(t, r.requests[0], "hw.energy")[0].micro(); got != 40e6 {
			t.Errorf("%s: %d µJ", scheme, got)
		}
	}
}

// A collector that takes a connection and says nothing does not hold up the end.
func TestSilentCollector(t *testing.T) {
	settle(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, scheme := range []string{"http://", "grpc://"} {
		e, err := Open(Config{URL: scheme + listener.Addr().String(), Most: 1, Warn: func(string) {}})
		if err != nil {
			t.Fatal(err)
		}
		e.Add(newWorld(1).read(time.Second))
		if lost := e.Close(20 * time.Millisecond); lost != 1 {
			t.Errorf("%s: %d lost", scheme, lost)
		}
	}
}

func TestURL(t *testing.T) {
	for _, test := range []struct {
		url, want string
		grpc      bool
	}{
		{"http://h", "http://h:4318/v1/metrics", false}, {"https://h:1/", "https://h:1/v1/metrics", false},
		{"https://h/otlp/v1/metrics", "https://h:4318/otlp/v1/metrics", false},
		{"grpc://h", "http://h:4317", true}, {"grpcs://[::1]:2/", "https://[::1]:2/", true},
		{"h:4317", "", false}, {"grpc://h/x", "", false}, {"grpcx://h", "", false}, {"http://", "", false},
		{"http://u:p@h", "", false}, {"http://h?x=1", "", false}, {"ftp://h", "", false},
	} {
		got, grpc, err := target(test.url)
		if got != test.want || grpc != test.grpc || (err == nil) != (test.want != "") {
			t.Errorf("%s: %q, %v, %v", test.url, got, grpc, err)
		}
	}
}

// GPUs' energy has sums of its own: those of processes and of groups are the ledgers' line, which are the counter's.
func TestGPUs(t *testing.T) {
	w := newWorld(2)
	w.book = monitor.New([]nemb.Domain{{ID: "gpu0", Kind: nemb.KindGPU, Source: "nvml", Method: nemb.Measured, InTotal: true,
		Lo: 1, Hi: 1, Period: 20 * time.Millisecond}}, 4, 1)
	w.book.Watch(monitor.Target{Kind: monitor.Unit, Name: "s0", Path: "s0.service"})
	drew := 0.0
	for k := range 9 {
		at, watts := checkpoint.Instant(k)*checkpoint.Instant(time.Second)+1, 50.0
		told := nemb.Occupancy{From: at - checkpoint.Instant(time.Second), To: at, At: at, KnowsUses: true, KnowsContexts: true}
		if k > 4 {
			watts = 150
			told.Uses = []nemb.Use{{PID: 100, Part: .5, Lo: .5, Hi: .5}, {PID: 101, Part: .25, Lo: .25, Hi: .25}}
		}
		if k > 0 {
			drew += watts * 1e6
		}
		w.r.At, w.r.Unix, w.r.Energy = at, begun+int64(at), []float64{drew}
		w.r.Occupancies = [][]nemb.Occupancy{{told}}
		w.book.Add(&w.r)
	}
	p := points{config: &Config{Most: 3}, series: series.New(3, 0), gpus: series.New(3, 0)}
	sums := map[string]float64{}
	for _, m := range p.message(w.book.Snapshot()).ScopeMetrics[0].Metrics {
		of, is := m.Data.(metricdata.Sum[float64])
		for _, point := range of.DataPoints {
			sums[m.Name] += point.Value
			if line, _ := point.Attributes.Value(keyLine); line.AsString() == "processes" {
				sums["line of "+m.Name] = point.Value
			}
		}
		if strings.Contains(m.Name, "gpu") && (!is || !of.IsMonotonic) {
			t.Errorf("%s is no monotonic sum", m.Name)
		}
	}
	for name, want := range map[string]float64{"cg.gpu.ledger.energy": 800, "line of cg.gpu.ledger.energy": 400,
		"cg.process.gpu.energy": 400, "cg.cgroup.gpu.energy": 400, "cg.target.gpu.energy": 400 * .5 / .75} {
		if math.Abs(sums[name]-want) > 1e-3 {
			t.Errorf("%s is %v J, want %v J", name, sums[name], want)
		}
	}
}
