package gpu

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/machine"
	"cg/pmsampling"
	"cg/pmsampling/cupti"
)

// serveCommand is the collector of a program in Python: codegreen.pm_sampling starts it.
func serveCommand() *cli.Command {
	return &cli.Command{
		Name:         "serve",
		Hidden:       true,
		Usage:        "sample and evaluate for the program that started it (codegreen.pm_sampling)",
		Flags:        []cli.Flag{flags.Sysroot()},
		OnUsageError: flags.UsageError,
		Action:       runServe,
	}
}

// request is a request: one line of JSON, and then as many bytes as it says.
type request struct {
	Call       string `json:"call"`
	Device     int    `json:"device"`
	MaxSamples int    `json:"max_samples"`
	First      int    `json:"first"`
	Count      int    `json:"count"`
	Bytes      int64  `json:"bytes"` // the image of load
	pmsampling.Config
	recorded
}

// recorded is counter data without its image.
type recorded struct {
	Chip      string   `json:"chip_name,omitempty"`
	Names     []string `json:"names,omitempty"` // metrics of the data
	Total     int      `json:"num_total_samples"`
	Populated int      `json:"num_populated_samples"`
	Completed int      `json:"num_completed_samples"`
	Starts    []int64  `json:"start_timestamps,omitempty"`
	Ends      []int64  `json:"end_timestamps,omitempty"`
	Reason    int32    `json:"decode_stop_reason"`
	Overflow  bool     `json:"overflow"`
}

// reply is the answer to each: one line of JSON, and then as many bytes as it says.
type reply struct {
	Error  string     `json:"error,omitempty"`
	Kind   string     `json:"kind,omitempty"` // of the error: value, memory, state, denied, or other
	Bytes  int        `json:"bytes,omitempty"`
	Data   *recorded  `json:"data,omitempty"`
	Values []*float64 `json:"values,omitempty"` // null for NaN
}

// mostRequest is the longest line of a request, mostImage the largest image.
const (
	mostRequest = 64 << 20
	mostImage   = 4 << 30
)

// server is what a program has begun.
type server struct {
	root      string
	in        *bufio.Reader
	out       *bufio.Writer
	library   *cupti.Library // nil before it is needed
	collector *pmsampling.Collector
	loaded    *pmsampling.CounterData
	evaluator *pmsampling.Evaluator
}

// runServe answers until its standard input ends, and gives the GPU back. Signals of a terminal are the program's.
func runServe(c *cli.Context) (err error) {
	root, err := machine.Root(c)
	if err != nil {
		return err
	}
	signal.Ignore(unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	s := &server{root: root.Dir, in: bufio.NewReaderSize(os.Stdin, 1<<16), out: bufio.NewWriter(os.Stdout)}
	defer func() { err = errors.Join(err, s.end()) }()
	for {
		if err := s.next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return exit.Failure("gpu serve: %w", err)
		}
	}
}

func (s *server) end() (err error) {
	if s.collector != nil {
		err = s.collector.Disable()
	}
	if s.evaluator != nil {
		err = errors.Join(err, s.evaluator.Close())
	}
	return err
}

// next answers one request.
func (s *server) next() error {
	line, err := s.line()
	if err != nil {
		return err
	}
	var call request
	if err := json.Unmarshal(line, &call); err != nil {
		return fmt.Errorf("a request that is no JSON: %w", err)
	}
	if call.Bytes < 0 || call.Bytes > mostImage {
		return fmt.Errorf("an image of %d bytes", call.Bytes)
	}
	image := make([]byte, call.Bytes)
	if _, err := io.ReadFull(s.in, image); err != nil {
		return err
	}
	answer, more, err := s.do(call, image)
	if err != nil {
		answer = reply{Error: err.Error(), Kind: exceptionOf(err)}
	}
	answer.Bytes = len(more)
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	s.out.Write(append(text, '\n'))
	s.out.Write(more)
	return s.out.Flush()
}

// line is a line of a request.
func (s *server) line() (line []byte, err error) {
	for {
		part, err := s.in.ReadSlice('\n')
		if line = append(line, part...); !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > mostRequest {
			return nil, fmt.Errorf("a request of more than %d bytes", mostRequest)
		}
	}
}

// exceptionOf is which exception of Python's an error is.
func exceptionOf(err error) string {
	for _, k := range []struct {
		kind  error
		named string
	}{{pmsampling.ErrState, "state"}, {pmsampling.ErrValue, "value"}, {cupti.ErrDevice, "value"}, {cupti.ErrMetric, "value"},
		{cupti.ErrMemory, "memory"}, {cupti.ErrDenied, "denied"}, {cupti.ErrBusy, "state"}, {cupti.ErrAbsent, "state"}} {
		if errors.Is(err, k.kind) {
			return k.named
		}
	}
	return "other"
}

// open loads CUPTI when it is first needed.
func (s *server) open() (err error) {
	if s.library == nil {
		s.library, err = cupti.Open(s.root)
	}
	return err
}

// do makes one call.
func (s *server) do(call request, image []byte) (a reply, more []byte, err error) {
	if err := s.open(); err != nil {
		return reply{Error: err.Error(), Kind: "state"}, nil, nil
	}
	if s.collector == nil {
		s.collector = pmsampling.New(s.library, call.Device)
	}
	switch call.Call {
	case "enable":
		s.collector.Device = call.Device
		err = s.collector.Enable()
	case "configure":
		err = s.collector.Configure(call.Config)
	case "start":
		err = s.collector.Start()
	case "stop":
		err = s.collector.Stop()
	case "disable":
		err = s.collector.Disable()
	case "decode":
		d, err := s.collector.Decode(call.MaxSamples)
		if err != nil {
			return a, nil, err
		}
		a.Data = &recorded{d.Chip, d.Metrics, d.Total, d.Populated, d.Completed, d.Starts, d.Ends, int32(d.Reason),
			d.Overflow}
		return a, d.Image, nil
	case "load":
		err = s.load(call.recorded, image)
	case "evaluate":
		a.Values, err = s.evaluate(call.First, call.Count)
	default:
		err = fmt.Errorf("there is no call %q", call.Call)
	}
	return a, nil, err
}

// load takes the data that evaluate computes next.
func (s *server) load(d recorded, image []byte) (err error) {
	if s.evaluator != nil {
		err = s.evaluator.Close()
	}
	s.evaluator = pmsampling.NewEvaluator(s.library, d.Chip)
	s.loaded = &pmsampling.CounterData{Image: image, Chip: d.Chip, Metrics: d.Names, Completed: d.Completed}
	return err
}

func (s *server) evaluate(first, count int) ([]*float64, error) {
	if s.loaded == nil {
		return nil, errors.New("nothing was loaded")
	}
	if first < 0 || count < 0 || first+count > s.loaded.Completed {
		return nil, fmt.Errorf("there are no samples %d to %d: %w", first, first+count, pmsampling.ErrValue)
	}
	values, err := s.evaluator.Evaluate(s.loaded, first, first+count)
	all := make([]*float64, len(values))
	for i, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			all[i] = &values[i]
		}
	}
	return all, err
}
