// Package track is the command cg track, which records sensors to files, alone or on the nodes of a job.
package track

import (
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/folders"
	"cg/cli/machine"
	"cg/cli/tell"
	"cg/near"
	"cg/nemb/condition"
	"cg/report/format"
	"cg/track"
)

// trackers is a flag that may be given several times and whose values hold
// commas.
type trackers []track.Tracker

func (t *trackers) Set(spec string) error {
	parsed, err := track.Parse(spec)
	if err == nil {
		*t = append(*t, parsed)
	}
	return err
}

func (t *trackers) String() string { return "" }

// Command is cg track.
func Command(s flags.Settings) *cli.Command {
	all := append(fileFlags(), append([]cli.Flag{
		&cli.StringFlag{Name: "id", Aliases: []string{"i"},
			Usage: "`ID` of the run, in every file; default: a random one"},
		&cli.Float64Flag{Name: "freq-write", Aliases: []string{"f"}, Value: 3600,
			Usage: "write after `N` readings at the latest; 0 for at the end, or after --flush if it is given"},
		&cli.StringFlag{Name: "flush", Value: "1s", Usage: "write after `TIME` at the latest"},
		&cli.BoolFlag{Name: "append", Usage: "add to files that are there"},
		&cli.StringFlag{Name: "duration", Usage: "stop after `TIME` (seconds, or such as 1m30s)"},
		&cli.IntFlag{Name: "until-pid", Usage: "stop when process `PID` ends"},
		flags.Level("l"), // WattAMeter's
		&cli.IntFlag{Name: "pairs", Value: 10, Usage: "bench: `N` pairs of runs"},
		flags.Sysroot(),
	}, brokerFlags()...)...)
	return &cli.Command{
		Name:      "track",
		Usage:     "record sensors to files until it is stopped",
		ArgsUsage: "[bench [CMD [ARGS...]]]",
		// The words that have flags of their own.
		Subcommands: []*cli.Command{filenameCommand(s), mergeCommand(), startCommand(s, all),
			stopCommand(), statusCommand()},
		HideHelpCommand: true,
		Description: `Each --tracker DT,METRIC[,METRIC...] is read at its own interval: DT in seconds,
or with a unit (100ms), 0.1 ms to 60 s. Metrics: ` + strings.Join(track.Names(), ", ") + `,
and pm:COUNTER for performance counters of NVIDIA GPUs (cg gpu metrics), of which each
row has the mean since the one before (10 ms or more).
It records until SIGINT, SIGTERM or SIGHUP, --duration, or the end of
--until-pid, then takes a last reading and writes it.

Files are named cg_DT_SUFFIX.csv or .jsonl, one for each tracker; with --format
wattameter they have the names, columns and units of WattAMeter's logs.

cg track bench measures how often each counter of the trackers changes, and how
much slower CMD is while it is tracked (default: arithmetic on all
processors), in pairs of runs in random order.

Exit status: 0 when it was stopped; 1 if nothing can be read, or not be written;
2 usage.`,
		Flags:  all,
		Action: run,
	}
}

// fileFlags are those that the names of the files depend on.
func fileFlags() []cli.Flag {
	return []cli.Flag{
		&cli.GenericFlag{Name: "tracker", Value: &trackers{},
			Usage: "read `DT,METRIC[,METRIC...]`; may be given several times (default: " + track.Default.String() +
				")"},
		&cli.StringFlag{Name: "suffix", Aliases: []string{"s"}, Usage: "`SUFFIX` of the files' names"},
		&cli.StringFlag{Name: "output-dir", Aliases: []string{"o"}, Value: ".",
			Usage: "write to `DIR`; made if it is not there"},
		&cli.StringFlag{Name: "format", Value: "csv", Usage: "`FORMAT` of the files: " +
			format.Alternatives(format.Of(track.Recording{}))},
	}
}

func run(c *cli.Context) error {
	config, err := configOf(c)
	if err != nil {
		return err
	}
	config.Log = tell.At
	duration, err := flags.Duration(c.String("duration"))
	if err != nil {
		return exit.Usage("--duration: %w", err)
	}
	if c.Args().Present() {
		return runBench(c, config)
	}
	if c.IsSet("pairs") {
		return exit.Usage("--pairs is for cg track bench")
	}
	ended, err := processEnd(c)
	if err != nil {
		return err
	}
	stop := make(chan os.Signal, 2)
	signal.Notify(stop, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	if err := os.MkdirAll(config.Dir, 0o777); err != nil {
		return exit.Failure("-o: %w", err)
	}
	broker, err := openBroker(c, &config)
	if err != nil {
		return err
	}
	defer closeBroker(broker, config.Log)
	session, err := track.Start(config)
	if errors.Is(err, track.ErrNothing) {
		return exit.Failure("%w\n--tracker DT,estimate records the estimate of a machine without sensors", err)
	} else if err != nil {
		return exit.Failure("%w", err)
	}
	if others := condition.Others(); len(others) > 0 {
		config.Log(slog.LevelInfo, "others measure here at the same time: "+
			strings.Join(condition.Names(others), ", "))
	}
	var after <-chan time.Time
	if duration > 0 {
		after = time.After(duration)
	}
	select {
	case <-stop:
	case <-after:
	case <-ended:
	case <-session.Failed():
	}
	summaries, err := session.Stop()
	for _, s := range summaries {
		config.Log(slog.LevelInfo, s.String())
	}
	if err != nil {
		return exit.Failure("writing: %w", err)
	}
	return nil
}

func configOf(c *cli.Context) (track.Config, error) {
	root, err := machine.Root(c)
	if err != nil {
		return track.Config{}, err
	}
	config := track.Config{
		Root: root, ID: c.String("id"), Rows: int(c.Float64("freq-write")), Append: c.Bool("append"),
	}
	if err := readFiles(c, &config); err != nil {
		return config, err
	}
	if !c.IsSet("id") {
		config.ID = flags.NewID()
	}
	if strings.ContainsAny(config.ID, "\r\n") {
		return config, exit.Usage("-i: an id is one line")
	}
	if n := c.Float64("freq-write"); !(n >= 1 && n <= 1e9) && n != 0 {
		return config, exit.Usage("-f: %v is no number of readings: use 1 or more, or 0", n)
	}
	if config.Flush, err = flags.Duration(c.String("flush")); err != nil || config.Flush <= 0 {
		return config, exit.Usage("--flush: %q is not a time: use seconds, or such as 500ms", c.String("flush"))
	}
	if config.Rows == 0 && !c.IsSet("flush") {
		config.Flush = 0
	}
	return config, nil
}

// readFiles reads what the names of the files depend on.
func readFiles(c *cli.Context, config *track.Config) error {
	config.Trackers, config.Dir = *c.Generic("tracker").(*trackers), c.String("output-dir")
	if config.Suffix = c.String("suffix"); strings.ContainsAny(config.Suffix, "/\r\n") {
		return exit.Usage("-s: %q cannot be part of a file's name", config.Suffix)
	}
	if len(config.Trackers) == 0 {
		config.Trackers = []track.Tracker{track.Default}
	}
	var err error
	if config.Layout, err = Layout(c.String("format")); err != nil {
		return exit.Usage("--format: %w", err)
	}
	return nil
}

func filenameCommand(s flags.Settings) *cli.Command {
	return &cli.Command{
		Name:  "filename",
		Usage: "print the name of the file to wait for",
		Description: `Prints the names of the files that cg track makes first with the same flags: one for
each tracker, or the file with the line of the run (--format wattameter). When
they are there, everything has been opened.`,
		Flags:        append(fileFlags(), s.Flag()),
		OnUsageError: flags.UsageError,
		Action: func(c *cli.Context) error {
			if err := s.Apply(c, "track"); err != nil {
				return err
			}
			if c.Args().Present() {
				return exit.Usage("track filename: %q: it takes only flags (cg track filename --help)",
					c.Args().First())
			}
			var config track.Config
			if err := readFiles(c, &config); err != nil {
				return err
			}
			for _, name := range config.Filenames() {
				if err := tell.Put("%s\n", name); err != nil {
					return exit.Failure("writing: %w", err)
				}
			}
			return nil
		},
	}
}

// Layout is how a format keeps what is recorded.
func Layout(name string) (*track.Layout, error) {
	f, err := format.Named(name, track.Recording{})
	if err != nil {
		return nil, err
	}
	w, err := f.Writer(track.Recording{})
	if err != nil {
		return nil, err
	}
	return w.Follow.(*track.Layout), nil
}

// processEnd is closed when the process of --until-pid ends.
func processEnd(c *cli.Context) (<-chan struct{}, error) {
	if !c.IsSet("until-pid") {
		return nil, nil
	}
	pid := c.Int("until-pid")
	if pid <= 0 {
		return nil, exit.Usage("--until-pid: %d is no process", pid)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, exit.Failure("--until-pid: process %d: %w", pid, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer unix.Close(fd)
		for {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
			if n > 0 || err != nil && err != unix.EINTR {
				return
			}
		}
	}()
	return ended, nil
}

// The counters are polled for so many updates, or so long.
const (
	benchUpdates = 100
	benchLimit   = 3 * time.Second
)

func runBench(c *cli.Context, config track.Config) error {
	if c.Args().First() != "bench" {
		word := c.Args().First()
		return exit.Usage("track: %q is not known: %s (cg track --help)", word,
			near.Or(word, []string{"bench", "filename", "merge", "start", "status", "stop"},
				"use bench, filename, merge, start, status, stop, or only flags"))
	}
	for _, name := range append([]string{"duration", "until-pid", "append", "output-dir"}, brokerOf...) {
		if flags.Given(c, name) {
			return exit.Usage("--%s: bench keeps no files and ends by itself", name)
		}
	}
	if c.Int("pairs") < 1 {
		return exit.Usage("--pairs: %d: use 1 or more", c.Int("pairs"))
	}
	command := c.Args().Tail()
	if len(command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return exit.Failure("%w", err)
		}
		command = []string{self, "load", "--rounds", "400", "--parent", strconv.Itoa(os.Getpid()), "cpu_stress"}
	}
	folder, err := folders.Run()
	if err != nil {
		return exit.Failure("%w", err)
	}
	defer folder.Remove()
	dir := folder.Path
	var metrics []string
	for _, t := range config.Trackers {
		metrics = append(metrics, t.Metrics...)
	}
	updates, err := track.Updates(config.Root, metrics, benchUpdates, benchLimit, tell.Say)
	if err != nil {
		return exit.Failure("bench: %w", err)
	}
	tell.Put("%-28s %8s %12s %12s %12s %12s %12s\n", "column", "updates", "median", "min", "max", "read", "read 99 %")
	for _, u := range updates {
		tell.Put("%-28s %8d %12s %12s %12s %12s %12s\n", u.Name, u.Seen, short(u.Median), short(u.Min), short(u.Max),
			short(u.ReadMedian), short(u.Read99))
	}
	config.Log = func(slog.Level, string) {}
	config.Dir, config.Append = filepath.Join(dir), true // the same files again
	s, err := track.Compare(config, command, c.Int("pairs"))
	if err != nil {
		return exit.Failure("bench: %w", err)
	}
	tell.Put("\n%d pairs of %s on %d processors, tracked against not tracked:\n", s.Pairs, strings.Join(command, " "),
		runtime.NumCPU())
	for _, line := range []struct {
		name   string
		change track.Change
	}{{"time", s.Wall}, {"processor time", s.CPU}} {
		tell.Put("%-15s %+.2f %% [%+.2f, %+.2f]\n", line.name, 100*line.change.Median, 100*line.change.Lo,
			100*line.change.Hi)
	}
	return nil
}

// short writes a duration with three digits; "?" for none.
func short(d time.Duration) string {
	switch {
	case d <= 0:
		return "?"
	case d < 10*time.Microsecond:
		return d.Round(10 * time.Nanosecond).String()
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(100 * time.Microsecond).String()
}

// CheckTracker refuses what is no tracker.
func CheckTracker(s string) error {
	_, err := track.Parse(s)
	return err
}
