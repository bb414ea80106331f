// Package codegreen tells what named parts of a program cost in joules.
//
//	s, err := codegreen.Start("training-run")
//	if err != nil {
//		log.Print(err) // s is nil then, and does nothing
//	}
//	defer s.Close()
//	ctx, load := s.Task(ctx, "load")
//	read(ctx)
//	load.End()
//
// A task that is begun with the context of another is inside it, whatever
// goroutine it runs in. Close writes codegreen_<pid>.json; docs/session.md of cg
// describes the file, where energies come from, and the rules.
//
// A program that ends by os.Exit or log.Fatal runs no deferred Close: Exit is there
// for that. SIGTERM and SIGINT end the session and then the program; one that
// handles them itself says so by WithoutSignals.
package codegreen

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Version of this package.
const Version = "0.1.0"

// config is the options of a session.
type config struct {
	output     string
	format     string
	save       bool
	neighbours bool
	record     bool
	buffer     int
	interval   time.Duration
	signals    bool
	warn       func(slug, message string)
	about      func(*meta) // changes what the file says of the program; nil where that is this process
	program    int         // the process that the session is of, 0 for this one
	gaugeNames []string
	period     time.Duration // of gauges
}

// Option is a setting of a session.
type Option func(*config)

// Output names the file, which is codegreen_<pid>.json without it; CSV where it ends in .csv.
func Output(path string) Option { return func(c *config) { c.output = path } }

// Format is "auto", "json", "csv" or "none"; auto goes by the file's name.
func Format(format string) Option { return func(c *config) { c.format = format } }

// WithoutFile writes no file.
func WithoutFile() Option { return func(c *config) { c.save = false } }

// TimeSeries keeps the samples of every task.
func TimeSeries() Option { return func(c *config) { c.record = true } }

// SampleInterval is the time between two samples, 100us to 1m; else it is the run's, or cg's.
func SampleInterval(d time.Duration) Option { return func(c *config) { c.interval = d } }

// Buffer is how many samples cg keeps until they are read, 16 to 1048576.
func Buffer(samples int) Option { return func(c *config) { c.buffer = samples } }

// Gauges records what cg reads besides energies: names of metrics of cg track, such as nvml-temp, or all.
func Gauges(names ...string) Option { return func(c *config) { c.gaugeNames = names } }

// GaugeInterval is the time between two readings of gauges, 100ms to 1m; 1s without it.
func GaugeInterval(d time.Duration) Option { return func(c *config) { c.period = d } }

// WithoutConcurrentWarning does not warn of other processes that have a session:
// counters are the machine's, and each session has the other's energy.
func WithoutConcurrentWarning() Option { return func(c *config) { c.neighbours = false } }

// WithoutSignals leaves SIGTERM and SIGINT to the program, which then closes the
// session itself.
func WithoutSignals() Option { return func(c *config) { c.signals = false } }

// OnWarning is called with what the session has to say, in place of a line on
// standard error. The slugs are in docs/session.md of cg.
func OnWarning(f func(slug, message string)) Option { return func(c *config) { c.warn = f } }

func (c *config) check() error {
	if !slices.Contains(formats, c.format) {
		return fmt.Errorf("codegreen: format %q: use auto, json, csv or none", c.format)
	}
	if c.interval != 0 && (c.interval < intervalLeastNs || c.interval > intervalMostNs) {
		return fmt.Errorf("codegreen: sample interval %v: use 100us to 1m", c.interval)
	}
	if c.buffer != 0 && (c.buffer < bufferLeast || c.buffer > bufferMost) {
		return fmt.Errorf("codegreen: buffer of %d samples: use 16 to 1048576", c.buffer)
	}
	return checkGauges(c.gaugeNames, c.period)
}

// active is the session of this process, and finished how many wrote to the name
// that a session has by default.
var (
	activeMu sync.Mutex
	active   *Session
	finished int
)

// ErrActive says that the process has a session already.
var ErrActive = errors.New("codegreen: a session is active in this process already")

// Start begins a session. It is an error, and the session is nil, while another
// is active and where an option means nothing. Methods of a nil session do
// nothing. Whatever else fails is a warning.
func Start(name string, options ...Option) (*Session, error) {
	c := config{format: "auto", save: true, neighbours: true, signals: true, period: gaugePeriodNs}
	c.warn = func(_, message string) { fmt.Fprintln(os.Stderr, "codegreen: "+plain(message)) }
	for _, o := range options {
		o(&c)
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	activeMu.Lock()
	if active != nil {
		defer activeMu.Unlock()
		return nil, fmt.Errorf("%w: %q", ErrActive, active.name)
	}
	s := &Session{name: name, config: c}
	active = s
	s.path = c.path(finished)
	activeMu.Unlock()
	s.start()
	return s, nil
}

// Active is the session of this process, nil while there is none.
func Active() *Session {
	activeMu.Lock()
	defer activeMu.Unlock()
	return active
}

// path is where the file goes.
func (c *config) path(before int) string {
	path := c.output
	if path == "" {
		ending, extra := "json", ""
		if c.format == "csv" {
			ending = "csv"
		}
		if before > 0 {
			extra = fmt.Sprintf("_%d", before+1)
		}
		path = fmt.Sprintf("codegreen_%d%s.%s", os.Getpid(), extra, ending)
	}
	if all, err := filepath.Abs(path); err == nil {
		return all
	}
	return path
}

func (c *config) csv(path string) bool {
	return c.format == "csv" || c.format == "auto" && strings.EqualFold(filepath.Ext(path), ".csv")
}

// Exit closes the session, if one is active, and ends the program.
func Exit(code int) {
	Active().Close()
	os.Exit(code)
}
