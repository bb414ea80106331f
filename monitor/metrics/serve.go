package metrics

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// loopback is where a port alone listens: no other machine reaches it.
const loopback = "127.0.0.1"

// Address completes the address of a listener: :PORT listens on the loopback only.
func Address(s string) (string, error) {
	host, port, err := net.SplitHostPort(s)
	n, failed := strconv.Atoi(port)
	if err != nil || failed != nil || n < 0 || n > 65535 || strings.ContainsAny(host, " /") {
		return "", &ErrAddress{s}
	}
	if host == "" {
		host = loopback
	}
	return net.JoinHostPort(host, port), nil
}

// Limits of who asks: a scraper that hangs takes a connection, and no more.
const (
	mostAtOnce   = 8
	headersFor   = 5 * time.Second
	answeredFor  = 30 * time.Second
	idleFor      = 2 * time.Minute
	mostOfHeader = 1 << 14
)

// Server answers at an address.
type Server struct {
	URL    string
	http   *http.Server
	failed chan error
}

// Serve answers at /metrics of an address, as Address gives it. Failed tells when it cannot go on.
func Serve(e *Exporter, address string) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", handler(e, promhttp.HandlerFor(e.registry, promhttp.HandlerOpts{
		Timeout: answeredFor,
	})))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<!DOCTYPE html><title>cg monitor</title><a href=\"/metrics\">metrics</a>\n")
	})
	s := &Server{URL: "http://" + listener.Addr().String() + "/metrics", failed: make(chan error, 1),
		http: &http.Server{Handler: mux, ReadHeaderTimeout: headersFor, ReadTimeout: headersFor,
			WriteTimeout: answeredFor, IdleTimeout: idleFor, MaxHeaderBytes: mostOfHeader}}
	go func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- err
		}
	}()
	return s, nil
}

// Failed receives the error that ended a server.
func (s *Server) Failed() <-chan error { return s.failed }

// Close ends the server, and the connections that are open after a second.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.http.Shutdown(ctx) == nil {
		return nil
	}
	return s.http.Close()
}

// textfile is the name of the file for node_exporter.
const textfile = "cg.prom"

// WriteFile replaces cg.prom in a folder by what the exporter shows: node_exporter
// (--collector.textfile.directory) never reads half of it.
func (e *Exporter) WriteFile(dir string) error {
	return prometheus.WriteToTextfile(filepath.Join(dir, textfile), e.registry)
}

// RemoveFile removes it: a counter that nobody writes any more is not a power of 0.
func RemoveFile(dir string) error {
	err := os.Remove(filepath.Join(dir, textfile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
