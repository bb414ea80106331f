package monitor

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/tell"
	"cg/monitor"
	"cg/monitor/annotate"
	"cg/monitor/metrics"
	"cg/monitor/spans"
)

func requestFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "socket", Usage: "hear at the socket `PATH` which requests programs begin and end, " +
			"and divide their energy among these"},
		&cli.StringFlag{Name: "socket-group", Usage: "let the members of `GROUP` connect to --socket, too"},
		&cli.StringFlag{Name: "otlp-listen", Usage: "take OpenTelemetry's spans of requests at `ADDRESS`, over gRPC " +
			"and HTTP; :PORT for this machine alone"},
		&cli.StringFlag{Name: "otlp-history", Value: "5m", Usage: "divide energy among spans that come up to `TIME` " +
			"after their end, 10s to 1h"},
	}
}

// openSocket opens what --socket asks for.
func (o *outputs) openSocket(c *cli.Context) (err error) {
	if c.String("socket") == "" {
		if flags.Given(c, "socket-group") {
			return exit.Usage("--socket-group is for --socket")
		}
		return nil
	}
	if o.socket, err = annotate.Listen(c.String("socket"), c.String("socket-group")); err != nil {
		return exit.Failure("--socket: %w", err)
	}
	return nil
}

// Limits of --otlp-history.
const (
	leastHistory = 10 * time.Second
	mostHistory  = time.Hour
)

// openSpans opens what --otlp-listen asks for.
func (o *outputs) openSpans(c *cli.Context) error {
	if c.String("otlp-listen") == "" {
		if flags.Given(c, "otlp-history") {
			return exit.Usage("--otlp-history is for --otlp-listen")
		}
		return nil
	}
	keep, err := flags.Duration(c.String("otlp-history"))
	if err == nil && (keep < leastHistory || keep > mostHistory) {
		err = fmt.Errorf("%v cannot be kept: use %v to %v", keep, leastHistory, mostHistory)
	}
	if err != nil {
		return exit.Usage("--otlp-history: %w", err)
	}
	address, err := metrics.Address(c.String("otlp-listen"))
	if err != nil {
		return exit.Usage("--otlp-listen: %w", err)
	}
	hostname, _ := os.Hostname()
	o.spans, err = spans.Listen(address, hostname)
	if errors.Is(err, unix.EADDRINUSE) {
		return exit.Failure("--otlp-listen: %s is in use: choose another port, or end what listens there "+
			"(ss -ltnp)", address)
	} else if err != nil {
		return exit.Failure("--otlp-listen: %w", err)
	}
	o.history = keep
	tell.Notef("spans are taken at http://%s", o.spans.Address)
	return nil
}

// hear has a session ask what programs say of their requests.
func (o *outputs) hear(session *monitor.Session) {
	if o.socket != nil {
		session.Annotations = o.socket.Take
	}
	if o.spans != nil {
		session.Spans = o.spans.Take
		session.RememberFor(o.history)
	}
}

// closeRequests ends what hears of requests, and tells what was left out.
func (o *outputs) closeRequests() {
	if o.socket != nil {
		o.socket.Close()
		if bad, dropped := o.socket.Lost(); bad+dropped > 0 {
			tell.Warnf("--socket: %d lines were no annotations, %d annotations were too many at once", bad, dropped)
		}
	}
	if o.spans == nil {
		return
	}
	o.spans.Close()
	lost := o.spans.Lost()
	if lost.Messages+lost.Dropped > 0 {
		tell.Warnf("--otlp-listen: %d messages could not be read, %d spans were too many at once", lost.Messages,
			lost.Dropped)
	}
	if lost.Foreign > 0 {
		tell.Warnf("--otlp-listen: %d spans name no process of this machine: their resource needs process.pid, and no "+
			"other host.name", lost.Foreign)
	}
}
