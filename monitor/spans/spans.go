// Package spans hears from programs which requests they have worked on, as OpenTelemetry's spans
// (https://opentelemetry.io/docs/specs/otlp/): over gRPC, and over HTTP as binary protobuf, both at
// one address.
//
// Of what comes it takes the spans of requests (kind server or consumer) whose resource names a
// process of this machine: process.pid, and where they are there host.name and container.id. All
// others are left out. The name of a span is that of its route. The attribute thread.id is not read:
// by the semantic conventions it is the number that a language gives its thread, and not the kernel's.
//
// Nobody waits: what comes is kept until it is asked for (Server.Take), so much at most. What is
// beyond that is refused, as the protocol tells a sender, and counted.
package spans

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // which senders may use
	"google.golang.org/protobuf/proto"

	"cg/checkpoint"
	"cg/monitor"
)

// Bounds of what programs may send.
const (
	mostBytes   = 4 << 20 // of a message, unpacked
	mostKept    = 50_000  // spans between two readings
	mostClients = 256     // connections
	longestName = 200     // bytes; what is longer is cut
	longestID   = 200     // bytes; no container has a longer one
	mostStreams = 16      // messages of one connection at once
	headersFor  = 5 * time.Second
	readFor     = 30 * time.Second
	idleFor     = 2 * time.Minute
)

// Server listens at an address. Its methods may be called from any goroutine.
type Server struct {
	Address string
	host    string // the name of this machine
	http    *http.Server
	failed  chan error

	mu   sync.Mutex
	kept []monitor.Span
	lost Lost
}

// Lost is what was left out.
type Lost struct {
	Messages int // over HTTP, that are none of the protocol, or too large; over gRPC the sender alone is told
	Foreign  int // spans whose resource names no process of this machine
	Dropped  int // spans that were too many at once
}

// Listen begins to listen at an address. host is the name of this machine: a span that names another
// is left out.
func Listen(address, host string) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	s := &Server{Address: listener.Addr().String(), host: host, failed: make(chan error, 1)}
	over := grpc.NewServer(grpc.MaxRecvMsgSize(mostBytes))
	collector.RegisterTraceServiceServer(over, &service{server: s})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", s.post)
	s.http = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
				over.ServeHTTP(w, r)
				return
			}
			mux.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: headersFor, ReadTimeout: readFor, WriteTimeout: readFor, IdleTimeout: idleFor,
		MaxHeaderBytes: 1 << 14, Protocols: new(http.Protocols),
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: mostStreams},
	}
	s.http.Protocols.SetHTTP1(true)
	s.http.Protocols.SetUnencryptedHTTP2(true) // gRPC without TLS
	go func() {
		if err := s.http.Serve(netutil.LimitListener(listener, mostClients)); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- err
		}
	}()
	return s, nil
}

// Failed receives the error that ended a server.
func (s *Server) Failed() <-chan error { return s.failed }

// Take gives the spans that came since it was called last.
func (s *Server) Take() []monitor.Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.kept
	s.kept = nil
	return all
}

// Lost is what was left out so far.
func (s *Server) Lost() Lost {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// Close ends the server, and the connections that are open after a second.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.http.Shutdown(ctx) == nil {
		return nil
	}
	return s.http.Close()
}

// service is the protocol's, over gRPC.
type service struct {
	collector.UnimplementedTraceServiceServer
	server *Server
}

// Export takes a message.
func (s *service) Export(_ context.Context, m *collector.ExportTraceServiceRequest) (
	*collector.ExportTraceServiceResponse, error) {
	return s.server.take(m.GetResourceSpans()), nil
}

// post takes a message over HTTP. https://opentelemetry.io/docs/specs/otlp/#otlphttp-request
func (s *Server) post(w http.ResponseWriter, r *http.Request) {
	message, status, err := read(w, r)
	if err != nil {
		s.mu.Lock()
		s.lost.Messages++
		s.mu.Unlock()
		http.Error(w, err.Error(), status)
		return
	}
	answer, err := proto.Marshal(s.take(message.GetResourceSpans()))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", protobuf)
	w.Write(answer)
}

const protobuf = "application/x-protobuf"

var (
	errType = fmt.Errorf("the content type is not %s: set OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf or grpc",
		protobuf)
	errSize  = fmt.Errorf("the message is longer than %d bytes: send fewer spans at once", mostBytes)
	errCoded = errors.New("the content encoding is not known: use gzip or none")
)

// read gives the message of a request; an error has its status.
func read(w http.ResponseWriter, r *http.Request) (*collector.ExportTraceServiceRequest, int, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != protobuf {
		return nil, http.StatusUnsupportedMediaType, errType
	}
	body := io.Reader(http.MaxBytesReader(w, r.Body, mostBytes))
	switch r.Header.Get("Content-Encoding") {
	case "", "identity":
	case "gzip":
		unpacked, err := gzip.NewReader(body)
		if err != nil {
			return nil, http.StatusBadRequest, err
		}
		body = unpacked
	default:
		return nil, http.StatusUnsupportedMediaType, errCoded
	}
	b, err := io.ReadAll(io.LimitReader(body, mostBytes+1))
	var long *http.MaxBytesError
	if errors.As(err, &long) || len(b) > mostBytes {
		return nil, http.StatusRequestEntityTooLarge, errSize
	} else if err != nil {
		return nil, http.StatusBadRequest, err
	}
	m := &collector.ExportTraceServiceRequest{}
	if err := proto.Unmarshal(b, m); err != nil {
		return nil, http.StatusBadRequest, err
	}
	return m, http.StatusOK, nil
}

// take keeps the spans of a message, and tells its sender how many were too many.
func (s *Server) take(all []*trace.ResourceSpans) *collector.ExportTraceServiceResponse {
	now, wall := checkpoint.Monotime(), time.Now().UnixNano()
	s.mu.Lock()
	defer s.mu.Unlock()
	refused := 0
	for _, of := range all {
		from := senderOf(of.GetResource().GetAttributes())
		for _, scope := range of.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				if k := span.GetKind(); k != trace.Span_SPAN_KIND_SERVER && k != trace.Span_SPAN_KIND_CONSUMER {
					continue
				}
				if from.pid <= 0 || from.host != "" && !sameHost(from.host, s.host) {
					s.lost.Foreign++
					continue
				}
				if len(s.kept) >= mostKept {
					s.lost.Dropped++
					refused++
					continue
				}
				s.kept = append(s.kept, monitor.Span{PID: int(from.pid), Container: from.container,
					Name:  monitor.RouteName(span.GetName(), longestName),
					Begin: moment(span.GetStartTimeUnixNano(), now, wall),
					End:   moment(span.GetEndTimeUnixNano(), now, wall)})
			}
		}
	}
	answer := &collector.ExportTraceServiceResponse{}
	if refused > 0 {
		answer.PartialSuccess = &collector.ExportTracePartialSuccess{RejectedSpans: int64(refused),
			ErrorMessage: fmt.Sprintf("cg monitor takes %d spans in an interval", mostKept)}
	}
	return answer
}

// sender is what a resource says of its process.
type sender struct {
	pid             int64
	host, container string
}

func senderOf(attributes []*common.KeyValue) (r sender) {
	for _, a := range attributes {
		switch a.GetKey() {
		case "process.pid":
			r.pid = a.GetValue().GetIntValue()
		case "host.name":
			r.host = a.GetValue().GetStringValue()
		case "container.id":
			r.container = a.GetValue().GetStringValue()
		}
	}
	if r.pid > 1<<22 || len(r.container) > longestID { // the kernel's largest (proc(5), pid_max)
		r = sender{}
	}
	return r
}

// sameHost reports whether two names are those of one machine, with or without its domain.
func sameHost(a, b string) bool {
	a, _, _ = strings.Cut(a, ".")
	b, _, _ = strings.Cut(b, ".")
	return strings.EqualFold(a, b)
}

// moment is a time since 1970 on the machine's clock. One that is yet to come is now.
func moment(unixNs uint64, now checkpoint.Instant, wall int64) checkpoint.Instant {
	if unixNs >= uint64(wall) {
		return now
	}
	return now - checkpoint.Instant(min(uint64(wall)-unixNs, uint64(24*time.Hour)))
}
