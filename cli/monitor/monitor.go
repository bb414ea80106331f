// Package monitor is the command cg monitor, which tells what runs now in joules, to a terminal, files and other
// programs.
package monitor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/machine"
	"cg/cli/output"
	"cg/cli/tell"
	"cg/monitor"
	"cg/monitor/annotate"
	"cg/monitor/jsonl"
	"cg/monitor/metrics"
	"cg/monitor/otlp"
	"cg/monitor/spans"
	"cg/mqtt"
	"cg/nemb/condition"
	"cg/nemb/population"
	"cg/report/usage"
	"cg/shown"
	"cg/version"
)

// Command is cg monitor.
func Command(s flags.Settings) *cli.Command {
	return &cli.Command{
		Name:  "monitor",
		Usage: "show what runs now, in joules",
		Description: `Divides the machine's energy among the processes and control groups that run, by
processor time, until it is interrupted, or for --duration. Idle power is set
aside where it is known. On a terminal it shows a table, elsewhere a line for
each interval, and a summary at its end.

--pid, --cgroup, --unit and --container name what to watch; each may be given
several times. A --pid is a process with all that it starts. When all that is
watched has ended, cg monitor ends, too.

With --socket, programs say which requests begin and end, a line of JSON each:
{"annotate":"request","id":"7","name":"GET /cart","begin":true,"tid":4711}
{"annotate":"request","id":"7","end":true,"tid":4711}

With --otlp-listen, cg takes OpenTelemetry's spans of requests, which programs send
after their end.

SIGHUP has cg read the settings again, where it has no terminal (docs/monitor.md).

With --serve, --textfile, --mqtt or --otlp nothing is printed but to a terminal.

Exit status: 0; 1 if nothing can be read, what is to be watched is not there, or
a file cannot be written; 2 usage.`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "duration", Aliases: []string{"d"},
				Usage: "stop after `TIME` (seconds, or such as 1m30s)"},
			&cli.StringFlag{Name: "interval", Aliases: []string{"i"}, Value: "1s",
				Usage: "take a reading each `TIME`, 100ms to 1m"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"},
				Usage: "save the summary as JSON to `FILE`, - for standard output"},
			&cli.StringFlag{Name: "jsonl", Usage: "add a line of JSON for each interval to `FILE`"},
			&cli.StringFlag{Name: "rotate", Usage: "start the file of --jsonl anew at `SIZE[,N]`, and keep N earlier " +
				"ones (such as 100MB,5)"},
			&cli.StringFlag{Name: "serve",
				Usage: "answer Prometheus at `ADDRESS`/metrics; :PORT for this machine alone"},
			&cli.StringFlag{Name: "textfile", Usage: "write cg.prom to `DIR` at each interval, for node_exporter"},
			&cli.StringFlag{Name: "otlp", Usage: "send metrics at each interval to the OpenTelemetry collector at " +
				"`URL`: http://HOST[:4318] or grpc://HOST[:4317]; https and grpcs for TLS"},
			&cli.IntFlag{Name: "max-labels", Value: 200, Usage: "give `N` processes and N control groups series of " +
				"their own at most; the rest is one"},
			&cli.IntFlag{Name: "top", Value: 20, Usage: "list `N` processes and N control groups at most, 0 for none"},
			&cli.StringSliceFlag{Name: "sensors", Aliases: []string{"s"}, Usage: "use only these `SENSORS` (" +
				machine.SensorNames() + "); default: all that measure, else the estimate"},
			flags.Sysroot(),
		}, slices.Concat(requestFlags(), targetFlags(), brokerFlags())...),
		Action: func(c *cli.Context) error { return run(c, s) },
	}
}

func targetFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntSliceFlag{Name: "pid", Usage: "watch process `PID` and all that it starts"},
		&cli.StringSliceFlag{Name: "cgroup", Usage: "watch control group `PATH` and those below it"},
		&cli.StringSliceFlag{Name: "unit", Usage: "watch the systemd unit `UNIT`"},
		&cli.StringSliceFlag{Name: "container", Usage: "watch the container with this `NAME` or id"},
	}
}

// gcPercent lets a monitor's small heap grow before it is collected: what it takes each second is
// garbage, and a collection costs more than some megabytes (testdata/bench/monitor.sh).
const gcPercent = 400

// Limits of --interval: a counter must not go round twice between two readings.
const (
	leastInterval = 100 * time.Millisecond
	mostInterval  = time.Minute
)

// Interval reads the time of --interval.
func Interval(s string) (time.Duration, error) {
	every, err := flags.Duration(s)
	if err == nil && (every < leastInterval || every > mostInterval) {
		err = fmt.Errorf("%v cannot be kept: use %v to %v", every, leastInterval, mostInterval)
	}
	return every, err
}

func run(c *cli.Context, from flags.Settings) error {
	if c.Args().Present() {
		return exit.Usage("monitor: %q: it takes only flags (cg monitor --help)", c.Args().First())
	}
	every, err := Interval(c.String("interval"))
	if err != nil {
		return exit.Usage("-i: %w", err)
	}
	length, err := flags.Duration(c.String("duration"))
	if err != nil {
		return exit.Usage("-d: %w", err)
	}
	if c.Int("top") < 0 {
		return exit.Usage("--top: %d: use 0 or more", c.Int("top"))
	}
	ctx, hangup, stop := signals(c)
	defer stop()
	debug.SetGCPercent(gcPercent)
	here, err := machine.Open(ctx, c)
	if err != nil {
		return err
	}
	defer here.Close()
	for _, err := range here.Found.Denied {
		tell.Warn(err.Error())
	}
	if len(here.Found.Sensors) == 0 {
		return exit.Failure("monitor: nothing can be read here%s", machine.Because(here.Found.Hung))
	}
	here.RecallIdle()
	host, err := population.Open(population.Config{})
	if err != nil {
		return exit.Failure("%w", err)
	}
	defer host.Close()
	targets, err := targetsOf(c, host)
	if err != nil {
		return err
	}
	out, err := openOutputs(c, here.Root.CPU().Name)
	if err != nil {
		return err
	}
	defer out.close()
	session, err := monitor.Start(here.Found.Sensors, host, targets, tell.Say)
	if err != nil {
		return exit.Failure("%w", err)
	}
	out.hear(session)
	out.targets = targets
	if length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, length)
		defer cancel()
	}
	others := condition.Others()
	last, err := session.Run(ctx, every, func(s *monitor.Snapshot) bool {
		select {
		case <-hangup:
			out.reload(c, session, from)
		default:
		}
		return out.each(s)
	})
	if err != nil {
		return exit.Failure("%w", err)
	}
	hostname, _ := os.Hostname()
	run := usage.Run{CgVersion: version.Cg, Hostname: hostname, CPUModel: here.Root.CPU().Name,
		IntervalS: every.Seconds()}
	run.Others = slices.Compact(slices.Sorted(slices.Values(condition.Names(append(others, condition.Others()...)))))
	return out.end(last, usage.New(last, run))
}

// targetsOf finds what is to be watched.
func targetsOf(c *cli.Context, host *population.Host) (all []monitor.Target, err error) {
	add := func(kind monitor.Kind, name string, pid int) {
		if err != nil {
			return
		}
		t, failed := monitor.Resolve(host, "", kind, name, pid)
		if failed != nil {
			err = exit.Failure("--%s: %w", string(kind), failed)
		}
		all = append(all, t)
	}
	for _, pid := range c.IntSlice("pid") {
		if pid <= 0 {
			return nil, exit.Usage("--pid: %d is no process", pid)
		}
		add(monitor.PID, strconv.Itoa(pid), pid)
	}
	for _, kind := range []monitor.Kind{monitor.Cgroup, monitor.Unit, monitor.Container} {
		for _, name := range c.StringSlice(string(kind)) {
			if strings.TrimSpace(name) == "" {
				return nil, exit.Usage("--%s: it has no name", string(kind))
			}
			add(kind, name, 0)
		}
	}
	return all, err
}

// outputs are the places to which cg monitor writes.
type outputs struct {
	document *output.File
	rows     *jsonl.File // nil without --jsonl
	live     bool        // standard output is a terminal
	quiet    bool        // it gets the document alone, or nothing
	top      int
	failed   error

	exporter *metrics.Exporter // nil without --serve and --textfile
	server   *metrics.Server
	folder   string // of --textfile
	broker   *mqtt.Publisher
	topic    string         // of its messages
	sends    brokerWanted   // to it
	leaving  sync.WaitGroup // brokers that there were
	targets  []monitor.Target

	collector *otlp.Exporter
	socket    *annotate.Server
	spans     *spans.Server
	history   time.Duration // for which windows are remembered for spans
	run, cpu  string        // the id of the run, and the name of the processor
}

func openOutputs(c *cli.Context, cpu string) (*outputs, error) {
	if err := output.Different(c, "output", "jsonl"); err != nil {
		return nil, err
	}
	o := &outputs{document: &output.File{Flag: "-o", Name: c.String("output")}, top: c.Int("top"),
		quiet: c.String("output") == "-", run: flags.NewID(), cpu: cpu}
	o.live = !o.quiet && term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("TERM") != "dumb"
	var rotation jsonl.Rotation
	var err error
	if c.String("jsonl") == "" && flags.Given(c, "rotate") {
		return nil, exit.Usage("--rotate is for --jsonl")
	}
	if c.String("jsonl") != "" && c.IsSet("rotate") {
		if rotation, err = jsonl.ParseRotation(c.String("rotate")); err != nil {
			return nil, exit.Usage("--rotate: %w", err)
		}
	}
	if err := o.openExporters(c); err != nil {
		o.close()
		return nil, err
	}
	if err := o.document.Open(); err != nil {
		o.close()
		return nil, err
	}
	if name := c.String("jsonl"); name != "" {
		if o.rows, err = jsonl.Open(name, rotation); err != nil {
			o.rows = nil
			o.close()
			return nil, exit.Failure("--jsonl: %s cannot be written: %w", name, tell.Reason(err))
		}
	}
	return o, nil
}

func (o *outputs) close() {
	o.document.Abandon()
	if o.rows != nil {
		o.rows.Close()
	}
	if o.server != nil {
		o.server.Close()
	}
	o.leaving.Wait() // whose last word is that the broker of now is there
	if o.broker != nil {
		if lost := o.broker.Close(exit.SenderPatience); lost > 0 {
			tell.Warnf("--mqtt: %d rows were not sent", lost)
		}
	}
	o.closeRequests()
	if o.collector != nil {
		if lost := o.collector.Close(exit.SenderPatience); lost > 0 {
			tell.Warnf("--otlp: %d messages were not sent", lost)
		}
	}
	if o.folder != "" {
		metrics.RemoveFile(o.folder)
	}
}

// each shows a snapshot; false ends cg monitor.
func (o *outputs) each(s *monitor.Snapshot) bool {
	var row *usage.Row
	if o.rows != nil || o.broker != nil || !o.quiet { // for scrapers alone nobody looks at it
		row = usage.NewRow(s, o.top)
	}
	if o.rows != nil {
		if o.failed = o.rows.Write(row); o.failed != nil {
			return false
		}
	}
	if o.failed = o.export(s, row); o.failed != nil {
		return false
	}
	switch {
	case o.quiet:
	case o.live:
		width, height, err := term.GetSize(int(os.Stdout.Fd()))
		if err != nil {
			width, height = 100, 40
		}
		o.failed = tell.Put("\x1b[H\x1b[J%s", row.Table(o.top, width, height-1))
	default:
		o.failed = tell.Put("%s", row.Line())
	}
	return o.failed == nil && !over(s)
}

// over reports whether all that is watched has ended.
func over(s *monitor.Snapshot) bool {
	for _, t := range s.Targets {
		if !t.Ended {
			return false
		}
	}
	return len(s.Targets) > 0
}

// end shows the summary and saves it.
func (o *outputs) end(last *monitor.Snapshot, d *usage.Document) error {
	for _, t := range last.Targets {
		if t.Ended {
			tell.Notef("%s %s has ended", string(t.Kind), t.Name)
		}
	}
	b, err := d.JSON()
	if err != nil {
		return exit.Failure("%w", err)
	}
	switch {
	case errors.Is(o.failed, unix.EPIPE):
		o.failed = nil
	case o.quiet && o.document.Name != "-":
	case o.quiet:
		o.failed = errors.Join(o.failed, tell.Put("%s", shown.Safe(shown.JSON(b))))
	case o.live:
		o.failed = errors.Join(o.failed, tell.Put("\x1b[H\x1b[J%s", d.Text(o.top)))
	default:
		o.failed = errors.Join(o.failed, tell.Put("\n%s", d.Text(o.top)))
	}
	if err := errors.Join(o.failed, o.document.Save(b)); err != nil {
		return exit.Failure("writing: %w", err)
	}
	return nil
}
