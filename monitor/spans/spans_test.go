package spans

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	rpb "go.opentelemetry.io/proto/otlp/resource/v1"
	tpb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"cg/checkpoint"
	"cg/nemb/leaks"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }

func listen(t *testing.T) *Server {
	t.Helper()
	s, err := Listen("127.0.0.1:0", "here.example")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		s.Close()
	})
	return s
}

// OpenTelemetry's SDK sends spans by both protocols: those of requests come with their process, name
// and time.
func TestSDK(t *testing.T) {
	for name, exporter := range map[string]func(address string) (sdk.SpanExporter, error){
		"grpc": func(a string) (sdk.SpanExporter, error) {
			return otlptracegrpc.New(t.Context(), otlptracegrpc.WithInsecure(), otlptracegrpc.WithEndpoint(a))
		},
		"grpc, packed": func(a string) (sdk.SpanExporter, error) {
			return otlptracegrpc.New(t.Context(), otlptracegrpc.WithInsecure(), otlptracegrpc.WithEndpoint(a), otlptracegrpc.WithCompressor("gzip"))
		},
		"http": func(a string) (sdk.SpanExporter, error) {
			return otlptracehttp.New(t.Context(), otlptracehttp.WithInsecure(), otlptracehttp.WithEndpoint(a))
		},
		"http, packed": func(a string) (sdk.SpanExporter, error) {
			return otlptracehttp.New(t.Context(), otlptracehttp.WithInsecure(), otlptracehttp.WithEndpoint(a), otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := listen(t)
			to, err := exporter(s.Address)
			if err != nil {
				t.Fatal(err)
			}
			provider := sdk.NewTracerProvider(sdk.WithBatcher(to), sdk.WithResource(resource.NewSchemaless(
				semconv.ProcessPID(4711), semconv.HostName("HERE"), semconv.ContainerID("abc"))))
			tracer := provider.Tracer("test")
			ended := time.Now().Add(-time.Second)
			for kind, route := range map[trace.SpanKind]string{trace.SpanKindServer: "GET /cart", trace.SpanKindConsumer: "orders process",
				trace.SpanKindClient: "no", trace.SpanKindInternal: "no", trace.SpanKindProducer: "no"} {
				_, span := tracer.Start(context.Background(), route, trace.WithSpanKind(kind), trace.WithTimestamp(ended.Add(-250*time.Millisecond)),
					trace.WithAttributes(attribute.Int("thread.id", 1)))
				span.End(trace.WithTimestamp(ended))
			}
			before := checkpoint.Monotime()
			if err := provider.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := s.Take()
			var routes []string
			for _, span := range got {
				routes = append(routes, span.Name)
				if span.PID != 4711 || span.Container != "abc" || time.Duration(span.End-span.Begin) != 250*time.Millisecond ||
					span.End > before || time.Duration(before-span.End) > time.Hour {
					t.Errorf("%+v", span)
				}
			}
			if slices.Sort(routes); !slices.Equal(routes, []string{"GET /cart", "orders process"}) || s.Take() != nil || s.Lost() != (Lost{}) {
				t.Errorf("%q, %+v", routes, s.Lost())
			}
		})
	}
}

func message(n int, attributes ...*common.KeyValue) *collector.ExportTraceServiceRequest {
	var all []*tpb.Span
	for i := range n {
		all = append(all, &tpb.Span{Name: fmt.Sprint(i), Kind: tpb.Span_SPAN_KIND_SERVER})
	}
	return &collector.ExportTraceServiceRequest{ResourceSpans: []*tpb.ResourceSpans{{
		Resource: &rpb.Resource{Attributes: attributes}, ScopeSpans: []*tpb.ScopeSpans{{Spans: all}}}}}
}

func pid(n int64) *common.KeyValue {
	return &common.KeyValue{Key: "process.pid", Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: n}}}
}

func text(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
}

func packed(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Write(b)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// What is no message, or too large, is refused with its reason; it is counted, and what comes next is
// taken.
func TestHostile(t *testing.T) {
	s := listen(t)
	post := func(path, kind, coding string, body []byte) (int, string) {
		t.Helper()
		r, err := http.NewRequest("POST", "http://"+s.Address+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", kind)
		r.Header.Set("Content-Encoding", coding)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		b, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(b)
	}
	good, err := proto.Marshal(message(3, pid(1)))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		path, kind, coding string
		body               []byte
		status             int
		says               string
	}{
		{"/v1/traces", protobuf, "", good, 200, ""},
		{"/v1/traces", protobuf, "gzip", packed(t, good), 200, ""},
		{"/v1/traces", protobuf, "", nil, 200, ""},
		{"/v1/traces", "application/json", "", []byte("{}"), 415, "http/protobuf"},
		{"/v1/traces", protobuf, "zstd", good, 415, "gzip"},
		{"/v1/traces", protobuf, "", bytes.Repeat([]byte{0xff}, 100), 400, ""},
		{"/v1/traces", protobuf, "gzip", good, 400, ""},
		{"/v1/traces", protobuf, "", make([]byte, mostBytes+1), 413, "longer than"},
		{"/v1/traces", protobuf, "gzip", packed(t, make([]byte, 100<<20)), 413, "longer than"}, // 100 MB of 100 kB
		{"/v1/metrics", protobuf, "", good, 404, ""},
	} {
		if status, says := post(test.path, test.kind, test.coding, test.body); status != test.status || !strings.Contains(says, test.says) {
			t.Errorf("%s, %s, %s, %d bytes: %d, %s", test.path, test.kind, test.coding, len(test.body), status, says)
		}
	}
	if n := len(s.Take()); n != 6 || s.Lost().Messages != 6 {
		t.Errorf("%d spans, %+v", n, s.Lost())
	}
	c, err := net.Dial("tcp", s.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() // one that says nothing
	for _, foreign := range []*collector.ExportTraceServiceRequest{message(1), message(1, pid(0)), message(1, pid(-5)), message(1, pid(1<<40)),
		message(1, text("process.pid", "1")), message(1, pid(1), text("host.name", "there")),
		message(1, pid(1), text("container.id", strings.Repeat("a", 1<<20)))} {
		s.take(foreign.ResourceSpans)
	}
	if all, lost := s.Take(), s.Lost(); all != nil || lost.Foreign != 7 {
		t.Errorf("%v, %+v", all, lost)
	}
	if answer := s.take(message(mostKept+5, pid(1)).ResourceSpans); answer.GetPartialSuccess().GetRejectedSpans() != 5 || len(s.Take()) != mostKept {
		t.Errorf("%+v", answer)
	}
	long := message(1, pid(1))
	long.ResourceSpans[0].ScopeSpans[0].Spans[0].Name = strings.Repeat("é", 5000)
	s.take(long.ResourceSpans)
	if all := s.Take(); len(all) != 1 || len(all[0].Name) > longestName+3 {
		t.Errorf("%v", all)
	}
}
