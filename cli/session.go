package cli

import (
	"bytes"
	"errors"
	"math"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/cli/exit"
	codegreen "cg/runtimes/golang/_sdk"
)

// sessionCommand is the session of a program that says when tasks begin and end: one in C or C++, by codegreen.h,
// or in JavaScript, by the package for Node.
func sessionCommand() *cli.Command {
	return &cli.Command{
		Name:   "session",
		Hidden: true,
		Usage:  "measure the tasks of the program that started it (cg sdk c, cg sdk node)",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "pid", Usage: "the program is process `PID`"},
			&cli.StringFlag{Name: "name", Usage: "the `NAME` of the session"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write the session to `FILE`"},
			&cli.StringFlag{Name: "format", Value: "auto", Usage: "write it as `FORMAT`: auto, json, csv or none"},
			&cli.StringFlag{Name: "language", Usage: "the `LANGUAGE` of the program"},
			&cli.StringFlag{Name: "language-version", Usage: "the `VERSION` of the language"},
			&cli.BoolFlag{Name: "time-series", Usage: "keep the samples of every task"},
			&cli.BoolFlag{Name: "alone", Usage: "do not warn of other sessions"},
			&cli.IntFlag{Name: "buffer", Usage: "keep `N` samples until they are read"},
			&cli.Int64Flag{Name: "interval-us", Usage: "one sample each `MICROSECONDS`"},
			&cli.StringFlag{Name: "gauges", Usage: "record the gauges `NAMES` (with commas, or all)"},
			&cli.Int64Flag{Name: "gauge-interval-ms", Usage: "read gauges each `MILLISECONDS`"},
		},
		Action: runSession,
	}
}

// sessionOptions are those of the package for Go, whose rules the session has.
func sessionOptions(c *cli.Context) []codegreen.Option {
	options := []codegreen.Option{codegreen.WithoutSignals(), codegreen.Output(c.String("output")),
		codegreen.Format(c.String("format")), codegreen.Buffer(c.Int("buffer")),
		codegreen.SampleInterval(time.Duration(c.Int64("interval-us")) * time.Microsecond),
		codegreen.OfProgram(codegreen.Program{PID: c.Int("pid"), Language: c.String("language"),
			Version: c.String("language-version")})}
	if c.Bool("time-series") {
		options = append(options, codegreen.TimeSeries())
	}
	if c.Bool("alone") {
		options = append(options, codegreen.WithoutConcurrentWarning())
	}
	if names := c.String("gauges"); names != "" {
		options = append(options, codegreen.Gauges(strings.Split(names, ",")...))
	}
	if ms := c.Int64("gauge-interval-ms"); ms != 0 {
		options = append(options, codegreen.GaugeInterval(time.Duration(ms)*time.Millisecond))
	}
	return options
}

// line is how cg and a program talk (docs/session.md): by packets of the socket that is the standard input, so
// that threads of the program need no lock, or, where that is a stream, by messages that end with a zero byte and
// are answered on standard output.
type line struct {
	stream bool
	rest   []byte // of a stream: what came behind the last message
}

// openLine is the line to the program that started this process.
func openLine() (*line, bool) {
	kind, err := unix.GetsockoptInt(0, unix.SOL_SOCKET, unix.SO_TYPE)
	stream := kind == unix.SOCK_STREAM
	return &line{stream: stream}, err == nil && (stream || kind == unix.SOCK_SEQPACKET)
}

// runSession measures the session of the program that started this process.
func runSession(c *cli.Context) error {
	l, ok := openLine()
	if !ok || c.Args().Present() {
		return exit.Usage("session: it is started by programs that use the packages of cg sdk c and cg sdk node")
	}
	gone, err := unix.PidfdOpen(c.Int("pid"), 0)
	if err != nil {
		return exit.Failure("session: --pid: process %d: %w", c.Int("pid"), err)
	}
	defer unix.Close(gone)
	// They are the program's to answer; the session ends when the program does.
	signal.Ignore(unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGPIPE, unix.SIGTTOU)
	s, err := codegreen.Start(c.String("name"), sessionOptions(c)...)
	if err != nil {
		l.answer("refused " + strings.TrimPrefix(err.Error(), "codegreen: "))
		return nil
	}
	l.answer("ready " + s.File())
	talk := &conversation{line: l, session: s, tasks: map[int64]*codegreen.Task{}}
	if !talk.hear(gone) {
		s.Died()
	}
	if err := s.Close(); err != nil {
		l.answer("failed")
		return nil // there was a warning of it
	}
	l.answer("closed")
	return nil
}

// answer sends a message. A program that is gone hears none.
func (l *line) answer(text string) {
	if !l.stream {
		unix.Sendto(0, []byte(text), unix.MSG_NOSIGNAL, nil)
		return
	}
	for rest := append([]byte(text), 0); len(rest) > 0; {
		n, err := unix.Write(1, rest) // SIGPIPE is ignored
		if err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		rest = rest[max(n, 0):]
	}
}

// messages are those in what was read: all of a packet, and of a stream those that are whole.
func (l *line) messages(read []byte) (all []string) {
	if !l.stream {
		return []string{string(read)}
	}
	l.rest = append(l.rest, read...)
	for {
		message, rest, whole := bytes.Cut(l.rest, []byte{0})
		if !whole {
			return all
		}
		all, l.rest = append(all, string(message)), rest
	}
}

// conversation is what a program tells of its tasks, by their numbers.
type conversation struct {
	line    *line
	session *codegreen.Session
	tasks   map[int64]*codegreen.Task
}

// hear takes messages until the program stops the session, which it reports, or is gone.
func (t *conversation) hear(gone int) (stopped bool) {
	message := make([]byte, 1<<16)
	for {
		both := []unix.PollFd{{Fd: 0, Events: unix.POLLIN}, {Fd: int32(gone), Events: unix.POLLIN}}
		if _, err := unix.Poll(both, -1); err != nil {
			if errors.Is(err, unix.EINTR) {
				continue
			}
			return false
		}
		if both[0].Revents == 0 { // nothing is left of what it said
			return false
		}
		n, err := unix.Read(0, message)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n <= 0 || err != nil {
			return false
		}
		for _, m := range t.line.messages(message[:n]) {
			if m == "stop" {
				return true
			}
			t.take(m)
		}
	}
}

// take takes a message: "begin NUMBER PARENT THREAD NS NAME", "end NUMBER NS", "name NUMBER NAME" before that,
// "count NUMBER BITS UNIT" with the bits of a double, or "energy NUMBER", which is answered with
// "energy UJ LO HI PROGRAM LO HI KIND" and what is known of GPUs, where -1 stands for what is not known.
func (t *conversation) take(message string) {
	words := strings.SplitN(message, " ", 6)
	var of [5]int64
	for i := 1; i < min(len(words), 5); i++ {
		of[i], _ = strconv.ParseInt(words[i], 10, 64)
	}
	task := t.tasks[of[1]]
	switch {
	case words[0] == "begin" && len(words) == 6:
		name := strings.ToValidUTF8(words[5], "\uFFFD")
		t.tasks[of[1]] = t.session.TaskAt(t.tasks[of[2]], name, int(of[3]), of[4])
	case words[0] == "end" && task != nil:
		task.EndAt(of[2]) // the program has seen that nothing is open inside
	case words[0] == "name" && task != nil:
		_, name, _ := strings.Cut(strings.TrimPrefix(message, "name "), " ")
		task.Rename(strings.ToValidUTF8(name, "\uFFFD"))
	case words[0] == "count" && len(words) == 4:
		task.Count(math.Float64frombits(uint64(of[2])), words[3]) // the program refuses what is no count
	case words[0] == "energy":
		t.line.answer("energy " + task.Told())
	}
}
