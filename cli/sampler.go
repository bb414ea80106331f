package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/machine"
	"cg/cli/tell"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/gpuuse"
	"cg/nemb/sampler"
	"cg/shown"
	"cg/version"
)

func samplerCommand() *cli.Command {
	return &cli.Command{
		Name:  "sampler",
		Usage: "sample the machine for the process that started it",
		Description: `This command is for programs, such as the packages of cg sdk. It samples the
machine's energy into memory that others can map (nemb/RING.md). It prints a line
of JSON with the path, and READY when the first sample is there.

With --gauges it reads metrics of cg track that are no energies instead, each second
or at -p (100ms to 1m).

It ends when its standard input is closed, when process --pid ends, or on SIGTERM,
and leaves nothing behind. If a sensor hangs it ends 2 s later, with status 125.

Exit status: 0; 1 if nothing can be sampled; 125 cg failed; 2 usage.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "precision", Aliases: []string{"p"}, Value: "high",
				Usage: "sampling `INTERVAL`: low, medium or high (100, 10, 1 ms), or a time from 100us to 1m"},
			&cli.StringSliceFlag{Name: "sensors", Aliases: []string{"s"}, Usage: "use only these `SENSORS` (" +
				machine.SensorNames() + "); default: all that measure, else the estimate"},
			&cli.IntFlag{Name: "buffer", Value: 4096, Usage: "keep the last `N` samples, 16 to 1048576"},
			&cli.IntFlag{Name: "pid",
				Usage: "end with `PID`, whose process tree is the program; default: the process that started cg"},
			&cli.IntFlag{Name: "program",
				Usage: "what is told of GPUs is of the process tree of `PID`; default: of --pid"},
			&cli.StringFlag{Name: "gauges", Usage: "read these `METRICS` (" + strings.Join(gaugeNames(), ", ") +
				"), or all that the machine has: all"},
			flags.Sysroot(),
		},
		Action: runSampler,
	}
}

// samplerLine is what cg sampler says of itself (docs/session.md).
type samplerLine struct {
	Sampler    int     `json:"cg_sampler"` // version of this line
	Ring       string  `json:"ring"`
	PID        int     `json:"pid"`
	CgVersion  string  `json:"cg_version"`
	IntervalMs float64 `json:"interval_ms"`
	CPUModel   string  `json:"cpu_model"`
	// Without tells which of the gauges that were asked for are not read, and why.
	Without []string `json:"without,omitempty"`
}

// greet says where the samples are, and that the first is there.
func greet(line samplerLine, interval time.Duration, root nemb.Root) error {
	line.Sampler, line.PID, line.CgVersion = 1, os.Getpid(), version.Cg
	line.IntervalMs, line.CPUModel = float64(interval.Microseconds())/1e3, root.CPU().Name
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	return tell.Put("%s\nREADY\n", shown.Safe(shown.JSON(text)))
}

func runSampler(c *cli.Context) error {
	if c.Args().Present() {
		return exit.Usage("sampler: %q: it takes only flags (cg sampler --help)", c.Args().First())
	}
	interval, err := flags.Precision(c.String("precision"))
	if err != nil {
		return exit.Usage("-p: %w", err)
	}
	pid, program, err := samplerPIDs(c)
	if err != nil {
		return err
	}
	gone, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return exit.Failure("--pid: process %d: %w", pid, err)
	}
	defer unix.Close(gone)
	if err := unix.Kill(program, 0); errors.Is(err, unix.ESRCH) {
		return exit.Failure("--program: process %d: %w", program, err)
	}
	slots := c.Int("buffer")
	if slots < 16 || slots > sampler.MaxSlots {
		return exit.Usage("--buffer: %d samples: use 16 to %d", slots, sampler.MaxSlots)
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGTERM)
	// Ctrl-C and a closed terminal are the program's to answer: it still wants
	// its last samples.
	signal.Ignore(unix.SIGINT, unix.SIGHUP, unix.SIGPIPE)
	over, done := alive(gone, ended), make(chan struct{})
	defer close(done)
	go leave(over, done)

	if c.String("gauges") != "" {
		return sampleGauges(c, over)
	}
	here, err := machine.Open(c.Context, c)
	if err != nil {
		return err
	}
	defer here.Close()
	sensors := here.Found.Sensors
	if len(sensors) == 0 {
		return exit.Failure("sampler: nothing can be sampled here%s",
			machine.Because(slices.Concat(here.Found.Denied, here.Found.Hung)))
	}
	account := account.New()
	defer account.Close()
	account.Watch(program)
	sampler, err := sampler.Start(sensors,
		sampler.Config{Interval: interval, Clock: checkpoint.SystemClock(), Program: account, Slots: slots,
			GPUReasons: gpuuse.Reasons()})
	if err != nil {
		return exit.Self("%w", err)
	}
	defer sampler.Close()
	path, err := sampler.Share()
	if err != nil {
		sampler.Stop()
		return exit.Self("%w", err)
	}
	tell := gpuuse.New(sampler, sensors, gpuuse.OwnerBy(account))
	tell.Begin()
	tell.Take(sampler.Poll())
	if err = greet(samplerLine{Ring: path}, interval, here.Root); err == nil {
		poll(sampler, tell, interval, over)
	}
	last := sampler.Stop()
	tell.Take(last)
	if len(last) > 0 {
		tell.Finish(last[len(last)-1].Time)
	}
	if err != nil && !errors.Is(err, unix.EPIPE) {
		return exit.Self("sampler: %w", err)
	}
	return nil
}

// samplerPIDs are the process with which the sampler ends, and the one whose tree is the program.
func samplerPIDs(c *cli.Context) (pid, program int, err error) {
	for _, name := range []string{"pid", "program"} {
		if n := c.Int(name); n < 0 || c.IsSet(name) && n == 0 {
			return 0, 0, exit.Usage("--%s: %d is no process", name, n)
		}
	}
	pid = cmp.Or(c.Int("pid"), os.Getppid())
	return pid, cmp.Or(c.Int("program"), pid), nil
}

// poll brings the samples to the ring until the channel is closed.
func poll(s *sampler.Sampler, tell *gpuuse.Teller, interval time.Duration, over <-chan struct{}) {
	timer := time.NewTicker(min(max(interval, 4*time.Millisecond), 50*time.Millisecond))
	defer timer.Stop()
	for {
		select {
		case <-over:
			return
		case <-timer.C:
			tell.Take(s.Poll())
		}
	}
}

// ending is how long a sampler that nobody wants any more may take to end.
const ending = 2 * time.Second

// leave ends the process when it goes on after over: a sensor may hang, and
// then nobody would end it.
func leave(over, done <-chan struct{}) {
	<-over
	select {
	case <-done:
	case <-time.After(ending):
		tell.Warnf("sampler: a sensor does not answer: ended %v after nobody wanted samples any more", ending)
		os.Exit(exit.StatusSelf)
	}
}

// alive is closed when standard input ends, the process of a pidfd does, or a
// signal comes.
func alive(pidfd int, ended <-chan os.Signal) <-chan struct{} {
	over := make(chan struct{})
	end := sync.OnceFunc(func() { close(over) })
	go func() {
		io.Copy(io.Discard, os.Stdin)
		end()
	}()
	go func() {
		for {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, -1)
			if n > 0 || err != nil && err != unix.EINTR {
				end()
				return
			}
		}
	}()
	go func() {
		<-ended
		end()
	}()
	return over
}
