package gpu

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/machine"
	"cg/cli/output"
	"cg/cli/tell"
	"cg/launcher"
	"cg/pmsampling"
	"cg/pmsampling/cgpm"
	"cg/pmsampling/cupti"
	"cg/pmsampling/rows"
	"cg/shown"
	"cg/version"
)

func sampleCommand() *cli.Command {
	return &cli.Command{
		Name:      "sample",
		Usage:     "sample metrics of a GPU for a time, or while a command runs",
		ArgsUsage: "[CMD] [ARGS...]",
		Description: `Samples until CMD ends, --duration is over, or SIGINT, SIGTERM or SIGHUP. Whatever uses
the GPU is sampled, CMD or not. All metrics have to fit into one pass of the hardware:
cg gpu metrics --sets lists sets that do.

-o FILE.csv, .jsonl or .json has the value of each metric in each sample, with times
of CLOCK_MONOTONIC and of the GPU; FILE.cgpm has the counters themselves, which
cg gpu decode turns into values, here or elsewhere. Samples that are missing are
counted and said.

Sampling may change the GPU's clocks: compare no energy of such a run with that of
another.

Exit status: 0; that of CMD, 128+n if signal n ended it, 126, 127 if it cannot be run,
or is not found; 1 (125 with CMD) if sampling fails; 2 usage.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "metrics", Usage: "sample `A,B,...` (cg gpu metrics lists them)"},
			&cli.StringFlag{Name: "interval", Value: "10us",
				Usage: "one sample each `TIME`; with cycles, such as 20000cycles, by the GPU's system clock, on GPUs " +
					"that have no samples by time (Turing, A100)"},
			&cli.StringFlag{Name: "duration", Aliases: []string{"d"},
				Usage: "stop after `TIME` (seconds, or such as 1m30s)"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"},
				Usage: "write to `FILE` (.csv, .jsonl, .json, .cgpm; - for CSV on standard output)"},
			numberFlag(),
			&cli.StringFlag{Name: "hardware-buffer", Value: "512MiB",
				Usage: "`SIZE` of the GPU's buffer (MiB, KiB, or bytes)"},
			&cli.StringFlag{Name: "append", Value: "oldest",
				Usage: "what a full buffer keeps, the oldest samples (`WHICH`), or the latest"},
			&cli.StringFlag{Name: "set", Usage: "the metrics are of the `SET` that fits into one pass"},
			flags.Sysroot(),
		},
		OnUsageError: flags.UsageError,
		Action:       runSample,
	}
}

// sampleConfig is what the flags say is sampled.
func sampleConfig(c *cli.Context) (set pmsampling.Config, err error) {
	set = pmsampling.Config{Set: c.String("set"), Trigger: pmsampling.GPUTimeInterval}
	if set.Metrics = metricNames(c.String("metrics")); len(set.Metrics) == 0 {
		return set, exit.Usage("gpu sample: name what is sampled: --metrics A,B (cg gpu metrics lists them)")
	}
	if err := readInterval("interval", c.String("interval"), &set); err != nil {
		return set, err
	}
	if set.Buffer, err = bytesOf(c.String("hardware-buffer")); err != nil {
		return set, exit.Usage("--hardware-buffer: %w", err)
	}
	switch c.String("append") {
	case "oldest":
	case "latest":
		set.Append = pmsampling.KeepLatest
	default:
		return set, exit.Usage("--append: %q: use oldest or latest", c.String("append"))
	}
	return set, nil
}

// metricNames are the names in a list with commas.
func metricNames(list string) (names []string) {
	for m := range strings.SplitSeq(list, ",") {
		if m = strings.TrimSpace(m); m != "" {
			names = append(names, m)
		}
	}
	return names
}

// readInterval reads how often a sample is taken: a time, or cycles.
func readInterval(flag, interval string, set *pmsampling.Config) error {
	if cycles, ok := strings.CutSuffix(interval, "cycles"); ok {
		n, err := strconv.ParseUint(strings.TrimSpace(cycles), 10, 63)
		if err != nil || n == 0 {
			return exit.Usage("--%s: %q is no number of cycles: use such as 20000cycles", flag, interval)
		}
		set.Trigger, set.Interval = pmsampling.GPUSysclkInterval, n
		return nil
	}
	d, err := time.ParseDuration(interval)
	if err != nil || d <= 0 {
		return exit.Usage("--%s: %q is not a time: use such as 10us, 1ms, or 20000cycles", flag, interval)
	}
	set.Interval = uint64(d)
	return nil
}

// bytesOf is a size: bytes, KiB, MiB or GiB.
func bytesOf(text string) (uint64, error) {
	number, shift := text, 0
	for i, unit := range []string{"KiB", "MiB", "GiB"} {
		if n, ok := strings.CutSuffix(text, unit); ok {
			number, shift = n, 10*(i+1)
		}
	}
	n, err := strconv.ParseUint(strings.TrimSpace(number), 10, 63-shift)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is no size: use such as 512MiB, 64KiB, or a number of bytes", text)
	}
	return n << shift, nil
}

// recording is where samples go.
type recording struct {
	out   *output.File
	to    io.Writer
	raw   *cgpm.Writer // of .cgpm
	rows  rows.Writer  // of other files
	sums  *rows.Sums
	head  cgpm.Head
	never bool // nothing is evaluated
}

// openRecording opens the file of -o, "" for none. endings are those that it may have.
func openRecording(c *cli.Context, endings []string) (*recording, error) {
	r := &recording{out: &output.File{Flag: "-o", Name: c.String("output")}}
	if ending := filepath.Ext(r.out.Name); r.out.Name != "" && r.out.Name != "-" && !slices.Contains(endings, ending) {
		return nil, exit.Usage("-o: %s: the name has to end in %s or %s", r.out.Name,
			strings.Join(endings[:len(endings)-1], ", "), endings[len(endings)-1])
	}
	if r.out.Name == "-" && launcher.Closed(1) {
		return nil, exit.Usage("standard output is closed and the samples would be lost: name a file with -o")
	}
	return r, r.out.Open()
}

// begin writes the beginning of the file.
func (r *recording) begin(h cgpm.Head) (err error) {
	r.head, r.sums = h, &rows.Sums{Metrics: h.Config.Metrics}
	ending := filepath.Ext(r.out.Name)
	switch {
	case r.out.Name == "-":
		r.to, ending = os.Stdout, rows.Endings[0]
	case r.out.Part != nil:
		r.to = r.out.Part
	default:
		return nil
	}
	if ending == cgpm.Ending {
		r.never = true
		r.raw, err = cgpm.NewWriter(r.to, h)
	} else {
		r.rows, err = rows.New(r.to, ending, h)
	}
	return err
}

// take writes a batch.
func (r *recording) take(b *pmsampling.Batch) error {
	if r.raw != nil {
		return r.raw.Add(b)
	}
	samples, err := b.Samples()
	if err != nil {
		return err
	}
	r.sums.Add(samples)
	if r.rows == nil {
		return nil
	}
	if err := r.rows.Add(samples); err != nil {
		return fmt.Errorf("-o: %w", err)
	}
	return nil
}

// end completes the file; t is nil for a recording that was cut off.
func (r *recording) end(t *cgpm.Tail) (err error) {
	if r.rows != nil {
		err = r.rows.End(t)
	} else if r.raw != nil && t != nil {
		err = r.raw.End(*t)
	}
	if err == nil {
		err = r.out.Save(nil)
	}
	if err != nil {
		return fmt.Errorf("-o: %w", err)
	}
	return nil
}

// tell says what was sampled, and what is missing.
func (r *recording) tell(t *cgpm.Tail) {
	if t != nil {
		for _, flaw := range t.Counts.Flaws() {
			tell.Warn(flaw)
		}
		tell.Notef("%d samples of %s (%s): %s", t.Counts.Samples, r.head.GPU, r.head.Chip, t.Clock)
	}
	if !r.never && tell.ReportsTo(r.out.Name) {
		shown.Fprintf(os.Stderr, "\n%s", shown.Safe(r.sums.String()))
	}
}

func runSample(c *cli.Context) error {
	config, err := sampleConfig(c)
	if err != nil {
		return err
	}
	limit, err := flags.Duration(c.String("duration"))
	if err != nil {
		return exit.Usage("--duration: %w", err)
	}
	status := exit.StatusFailure
	if c.Args().Present() {
		status = exit.StatusSelf
	}
	r, err := openRecording(c, append(slices.Clone(rows.Endings), cgpm.Ending))
	if err != nil {
		return err
	}
	defer r.out.Abandon()
	l, err := openCUPTI(c)
	if err != nil {
		return exit.With(status, "%w", err)
	}
	s, err := pmsampling.Begin(l, c.Int("gpu"), config)
	if err != nil {
		return exit.With(status, "%w", err)
	}
	defer s.Close()
	if err := r.begin(headOf(l, s, c.Int("gpu"))); err != nil {
		return exit.With(status, "-o: %w", err)
	}
	return sampleWhile(c.Args().Slice(), limit, s, r)
}

// headOf describes a session.
func headOf(l *cupti.Library, s *pmsampling.Session, device int) cgpm.Head {
	h := cgpm.Head{CgVersion: version.Cg, CUPTIVersion: l.Version, Chip: s.Chip(), Device: device,
		StartedUnix: time.Now().UnixNano(), Config: s.Config}
	if devices, err := l.Devices(); err == nil {
		h.GPU = devices[device].Name
	}
	return h
}

// sampleWhile samples while a command runs, or until it is stopped without one, and for limit at most.
func sampleWhile(args []string, limit time.Duration, s *pmsampling.Session, r *recording) error {
	var child *launcher.Child
	var ended <-chan struct{}
	asked := make(chan os.Signal, 2)
	status := exit.StatusFailure
	if len(args) > 0 {
		command := launcher.Cmd{Args: args}
		if r.out.Name == "-" {
			command.Stdout = os.Stderr // standard output is the samples'
		}
		var err error
		if child, err = launcher.Start(command); err != nil {
			return exit.Refused(err)
		}
		ended, status = child.Ended(), exit.StatusSelf
	} else {
		signal.Notify(asked, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	}
	stop := make(chan struct{})
	go func() {
		var after <-chan time.Time
		if limit > 0 {
			after = time.After(limit)
		}
		select {
		case <-ended:
		case <-asked:
		case <-after:
		}
		close(stop)
	}()
	ticker := time.NewTicker(s.Period())
	defer ticker.Stop()
	err := s.Run(stop, ticker.C, r.take)
	var result launcher.Result
	if child != nil {
		result = child.Wait()
	}
	tail := &cgpm.Tail{Clock: s.Whole, Counts: s.Counts}
	if err != nil {
		err = errors.Join(fmt.Errorf("sampling ended: %w", err), r.end(nil))
	} else {
		err = r.end(tail)
	}
	r.tell(tail)
	if err != nil {
		return exit.With(status, "%w", err)
	}
	return exit.Like(result)
}

func decodeCommand() *cli.Command {
	return &cli.Command{
		Name:      "decode",
		Usage:     "compute the values of a .cgpm file",
		ArgsUsage: "FILE.cgpm",
		Description: `Computes what cg gpu sample -o FILE.cgpm recorded. It needs CUPTI, one that knows the
chip, and no GPU. NVIDIA's library reads the counters, in a process of its own: decode
files of people whom you trust.

Exit status: 0; 1 if the file cannot be read, or is not whole (what it has is
written), or nothing computes it; 2 usage.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"},
				Usage: "write to `FILE` (.csv, .jsonl, .json; - for CSV on standard output)"},
			flags.Sysroot(),
		},
		OnUsageError: flags.UsageError,
		Action:       runDecode,
	}
}

func runDecode(c *cli.Context) error {
	if c.NArg() != 1 {
		return exit.Usage("gpu decode: name one file: cg gpu decode FILE.cgpm")
	}
	name := c.Args().First()
	f, err := os.Open(name)
	if err != nil {
		return exit.Failure("%w", err)
	}
	defer f.Close()
	file, err := cgpm.NewReader(f)
	if err != nil {
		return exit.Failure("%s: %w", name, err)
	}
	r, err := openRecording(c, rows.Endings)
	if err != nil {
		return err
	}
	defer r.out.Abandon()
	if _, err := openCUPTI(c); err != nil {
		return err
	}
	root, err := machine.Root(c)
	if err != nil {
		return err
	}
	if err := r.begin(file.Head); err != nil {
		return exit.Failure("-o: %w", err)
	}
	e, err := newEvaluation(root.Dir)
	if err != nil {
		return exit.Failure("gpu decode: %w", err)
	}
	defer e.Close()
	for {
		b, err := file.Next()
		if err == nil {
			b.EvaluateWith(e)
			err = r.take(b)
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, io.EOF), errors.Is(err, cgpm.ErrCut):
			if e := r.end(file.Tail); e != nil {
				return exit.Failure("%w", e)
			}
			if r.tell(file.Tail); errors.Is(err, cgpm.ErrCut) {
				return exit.Failure("%s: %w; what it has is decoded", name, err)
			}
			return nil
		}
		return exit.Failure("%s: %w", name, err)
	}
}
