// Package otlp sends what a monitor counted to a collector, by the OpenTelemetry protocol
// (https://opentelemetry.io/docs/specs/otlp/), over gRPC or HTTP.
//
// It takes snapshots and sends each as cumulative monotonic sums in joules (points.go), with the
// exporters of OpenTelemetry's SDK. Nobody waits for the collector: messages are kept while it is
// away, so many at most, then the oldest are dropped and counted. A message that the collector
// refuses for good is dropped, too, as the protocol asks for.
//
// The exporters read the variables OTEL_EXPORTER_OTLP_HEADERS, _CERTIFICATE, _TIMEOUT and
// _COMPRESSION, and those with METRICS_ in their names.
package otlp

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cg/monitor"
	"cg/monitor/series"
)

// Config says where snapshots go to, and of which run they are.
type Config struct {
	// URL is http://HOST[:PORT][/PATH] or https://, for OTLP over HTTP, or grpc://HOST[:PORT] or
	// grpcs://.
	URL                     string
	Version, Run, Host, CPU string
	Most                    int // series of processes, and of control groups, at most
	Kept                    int // messages that wait at most; 0 is 100
	// Warn gets what the user should know: that the collector is away, and that it is back.
	Warn func(string)
	// Retry is the time between two attempts; 0 is 5 s.
	Retry time.Duration
}

const (
	keptMessages = 100
	retryEvery   = 5 * time.Second
	// patience is how long one attempt may take.
	patience = 10 * time.Second
	// The ports that the protocol names.
	portGRPC, portHTTP = "4317", "4318"
)

// sender is an exporter of OpenTelemetry's SDK.
type sender interface {
	Export(context.Context, *metricdata.ResourceMetrics) error
	Shutdown(context.Context) error
}

// Exporter sends snapshots. Add, SetMost and Close are called from one goroutine.
type Exporter struct {
	config Config
	sender sender
	points points
	stop   context.CancelFunc // ends the attempt under way
	ctx    context.Context

	mu       sync.Mutex
	messages []*metricdata.ResourceMetrics // the oldest first
	dropped  int
	refused  int
	away     bool
	news     chan struct{}
	ended    chan struct{}
}

// ErrURL is what is wrong with the URL of a collector.
type ErrURL struct{ URL string }

func (e *ErrURL) Error() string {
	return fmt.Sprintf("%q is no URL of a collector: use http://HOST[:4318] or grpc://HOST[:4317], with https or grpcs "+
		"for TLS; OTEL_EXPORTER_OTLP_HEADERS has what it asks for", e.URL)
}

// target is the URL as the SDK's exporters take it.
func target(s string) (endpoint string, overGRPC bool, err error) {
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", false, &ErrURL{s}
	}
	scheme, overGRPC := strings.CutPrefix(u.Scheme, "grpc")
	port := portHTTP
	switch {
	case overGRPC && (scheme == "" || scheme == "s") && strings.Trim(u.Path, "/") == "":
		u.Scheme, port = "http"+scheme, portGRPC
	case !overGRPC && (scheme == "http" || scheme == "https"):
		if strings.Trim(u.Path, "/") == "" {
			u.Path = "/v1/metrics"
		}
	default:
		return "", false, &ErrURL{s}
	}
	if u.Port() == "" {
		u.Host += ":" + port
	}
	return u.String(), overGRPC, nil
}

// Check says what is wrong with a URL.
func Check(s string) error {
	_, _, err := target(s)
	return err
}

// Open begins to send, and goes on until Close. A collector that is away is no error.
func Open(c Config) (*Exporter, error) {
	endpoint, overGRPC, err := target(c.URL)
	if err != nil {
		return nil, err
	}
	if c.Kept == 0 {
		c.Kept = keptMessages
	}
	if c.Retry == 0 {
		c.Retry = retryEvery
	}
	e := &Exporter{config: c, news: make(chan struct{}, 1), ended: make(chan struct{}),
		points: points{config: &c, series: series.New(c.Most, 0), gpus: series.New(c.Most, 0)}}
	e.ctx, e.stop = context.WithCancel(context.Background())
	// The exporters' own retries would hold up what is newer.
	if overGRPC {
		e.sender, err = otlpmetricgrpc.New(e.ctx, otlpmetricgrpc.WithEndpointURL(endpoint),
			otlpmetricgrpc.WithRetry(otlpmetricgrpc.RetryConfig{}))
	} else {
		e.sender, err = otlpmetrichttp.New(e.ctx, otlpmetrichttp.WithEndpointURL(endpoint),
			otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{}))
	}
	if err != nil {
		e.stop()
		return nil, err
	}
	go e.run()
	return e, nil
}

// SetMost changes how many series of processes, and of control groups, there are at most.
func (e *Exporter) SetMost(most int) { e.points.series.SetMost(most) }

// Add takes the next snapshot. It does not wait.
func (e *Exporter) Add(s *monitor.Snapshot) {
	message := e.points.message(s)
	e.mu.Lock()
	e.messages = append(e.messages, message)
	for len(e.messages) > e.config.Kept {
		e.messages = e.messages[1:]
		e.dropped++
	}
	e.mu.Unlock()
	select {
	case e.news <- struct{}{}:
	default:
	}
}

// Lost is how many messages waited too long, and how many the collector refused.
func (e *Exporter) Lost() (dropped, refused int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.dropped, e.refused
}

// run sends until the exporter is closed.
func (e *Exporter) run() {
	defer close(e.ended)
	for {
		if !e.send() {
			select {
			case <-e.ctx.Done():
				return
			case <-time.After(e.config.Retry):
				continue
			}
		}
		select {
		case <-e.ctx.Done():
			return
		case <-e.news:
		}
	}
}

// send sends what waits; false says that the collector is away.
func (e *Exporter) send() bool {
	for {
		e.mu.Lock()
		if len(e.messages) == 0 {
			e.mu.Unlock()
			return true
		}
		first := e.messages[0]
		e.mu.Unlock()
		ctx, cancel := context.WithTimeout(e.ctx, patience)
		err := e.sender.Export(ctx, first)
		cancel()
		refused := isRefusal(err)
		if err != nil && !refused {
			e.tell("does not answer", err)
			return false
		}
		e.mu.Lock()
		if len(e.messages) > 0 && e.messages[0] == first { // it was not dropped meanwhile
			e.messages = e.messages[1:]
		}
		if refused {
			e.refused++
		}
		e.mu.Unlock()
		e.tell("refuses what it gets", err)
	}
}

// isRefusal tells an answer that will be the same at the next attempt: the protocol says to
// drop what was sent. https://opentelemetry.io/docs/specs/otlp/#failures
func isRefusal(err error) bool {
	if err == nil {
		return false
	}
	switch status.Code(err) {
	case codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.OutOfRange, codes.Unavailable, codes.DataLoss,
		codes.ResourceExhausted:
		return false
	case codes.Unknown: // none of gRPC
		var network *url.Error
		return !errors.As(err, &network) && !errors.Is(err, context.Canceled) &&
			!errors.Is(err, context.DeadlineExceeded) && !strings.Contains(err.Error(), "retry-able")
	}
	return true
}

// longest is how much of an error is told: it may hold a page.
const longest = 300

// tell says once that the collector is not as it should be, with an error, and once that it
// is again, with nil.
func (e *Exporter) tell(what string, err error) {
	if e.ctx.Err() != nil {
		return
	}
	e.mu.Lock()
	before, waiting := e.away, len(e.messages)
	e.away = err != nil
	e.mu.Unlock()
	switch {
	case err != nil && !before:
		text := err.Error()
		e.config.Warn(fmt.Sprintf("the collector %s: %s: %d messages wait at most", what,
			strings.ToValidUTF8(text[:min(len(text), longest)], ""), e.config.Kept))
	case err == nil && before:
		e.config.Warn(fmt.Sprintf("the collector answers again: %d messages have waited", waiting))
	}
}

// Close sends what waits, for so long at most. It tells how many messages were not sent.
func (e *Exporter) Close(limit time.Duration) (lost int) {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		e.mu.Lock()
		left, away := len(e.messages), e.away
		e.mu.Unlock()
		if left == 0 || away {
			break
		}
	}
	e.stop()
	<-e.ended
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	e.sender.Shutdown(ctx)
	return len(e.messages) + e.dropped + e.refused
}
