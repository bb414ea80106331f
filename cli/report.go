package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/cli/exit"
	"cg/cli/output"
	"cg/cli/tell"
	"cg/footprint"
	"cg/report"
	"cg/report/cluster"
	"cg/report/compare"
	"cg/report/format"
	"cg/report/repeated"
	"cg/report/stream"
	"cg/report/usage"
	"cg/report/verdict"
	"cg/version"
)

func reportCommand() *cli.Command {
	var titles []string
	for _, f := range format.Of((*report.Run)(nil)) {
		several := ""
		if _, err := f.Writer(report.Several{}); err == nil {
			several = "; several runs side by side"
		}
		titles = append(titles, fmt.Sprintf("  %-11s %s%s (%s)", f.Name, f.Title, several,
			strings.Join(f.Endings, " ")))
	}
	timed := format.Names(formatsWith(func(f format.Format) bool { return f.Time }), "and")
	return &cli.Command{
		Name:      "report",
		Usage:     "show a saved run, or convert it for other tools",
		ArgsUsage: "RUN.json...",
		Description: `RUN.json is what cg measure -o saved, or a session (docs/session.md), - for
standard input. Nothing else is needed: a run that was saved elsewhere is shown
here. A run of many ranks is the folder of cg measure --ranks, or what cg merge
saved. What cg monitor -o saved is shown as text, Markdown, CSV or a page, what
cg gate or cg compare saved as text, Markdown, JUnit XML or a page, a trend over
commits (cg trend) as text, Markdown, a picture or a page.

Formats:
` + strings.Join(titles, "\n") + `

Exit status: 0; 1 if a run cannot be read or written down; 2 usage.`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "format", Aliases: []string{"f"},
				Usage: "write in `FORMAT`; default: as the name of -o ends, else text"},
			&cli.StringFlag{Name: "from", Value: "json",
				Usage: "read `FORMAT`: json, runs; hespas, a stream of events (a CounterEventStream); recorder, " +
					"the folder of a trace"},
			&cli.StringFlag{Name: "rate", Usage: "of streams: the unit cycles has `HZ` of them in a second " +
				"(2.4e9); without, such events are only in an order"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"},
				Usage: "write to `FILE` (- for standard output, the default); " +
					format.Names(folderFormats((*report.Run)(nil)), "and") + ": to a new folder of files"},
			&cli.StringFlag{Name: "events", Usage: "of " + timed +
				": show calls over time from the log `FILE` that cg measure --events kept; default: where the run " +
				"says it is"},
			&cli.IntFlag{Name: "slices", Usage: "of these: show the longest `N` stretches of calls (default: " +
				slicesByDefault() + ")"},
			&cli.BoolFlag{Name: "with-source", Usage: "of " +
				format.Names(formatsWith(func(f format.Format) bool { return f.Text }), "and") +
				": put the source of the functions into the page, as the files are now; a run of cg measure " +
				"--keep-source has its own"},
			&cli.BoolFlag{Name: "open",
				Usage: "show a page in the browser; without -o in a temporary file, which stays"},
			&cli.BoolFlag{Name: "watch",
				Usage: "show the run again whenever it is saved anew, until Ctrl-C, or until all ranks of a job have " +
					"ended; with -o, write the file anew"},
			&cli.BoolFlag{Name: "advice", Usage: "show what the run tells that could save energy, and between which " +
				"bounds, in place of the run"},
			&cli.BoolFlag{Name: "lsp", Usage: "write joules of functions as hints for editors: -f lsp"},
			&cli.BoolFlag{Name: "verbose", Usage: "show every function, test, skipped file and warning"},
		}, slices.Concat(footprintFlags(), traceFlags(), choiceFlags())...),
		Action: runReport,
	}
}

func runReport(c *cli.Context) error {
	if c.String("from") == fromTrace {
		return reportTrace(c)
	}
	names := c.Args().Slice()
	f, err := reportFormat(c, shownKind(c, names))
	if err != nil {
		return exit.Usage("%w", err)
	}
	reader, err := format.Reader(c.String("from"), fromTrace)
	if err != nil {
		return exit.Usage("--from: %w", err)
	}
	if len(names) == 0 {
		return exit.Usage("no run: cg report RUN.json, as cg measure -o RUN.json saves it")
	}
	o := format.Options{Terminal: output.Terminal(os.Stdout, c.Bool("verbose")), Names: shortNames(names),
		Chosen: map[string]string{}}
	for _, choice := range choices() {
		o.Chosen[choice.Flag] = c.String(choice.Flag)
	}
	if c.Bool("with-source") {
		o.Source = sourceFile
	}
	rates, err := footprintRates(c)
	if err != nil {
		return err
	}
	if c.Bool("watch") {
		if err := watchable(c, f, names); err != nil {
			return err
		}
		return watchReport(c, names, func() (format.Document, []byte, error) {
			o.Terminal = output.Terminal(os.Stdout, c.Bool("verbose"))
			return reportOnce(c, f, reader, o, rates)
		})
	}
	ctx, release := signal.NotifyContext(c.Context, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer release()
	to, err := reportTo(c, f, o.Names)
	if err != nil {
		return err
	}
	defer to.abandon()
	progress := tell.NewProgress()
	defer progress.End()
	err = exit.Interruptible(ctx, func() error {
		d, done, err := readDocument(c, f, reader, &o, progress)
		defer done()
		if err != nil {
			return err
		}
		if err := accountDocument(d, f, rates); err != nil {
			return err
		}
		if d, err = advised(c, d); err != nil {
			return err
		}
		progress.Say("writing %s", f.Name)
		return to.write(f, d, o)
	})
	progress.End()
	if err != nil {
		return err
	}
	release() // a reader that waits is ended by what ends cg
	if err := to.save(); err != nil {
		return err
	}
	if c.Bool("open") {
		return browse(to.file.Name)
	}
	return nil
}

// reportOnce reads what is saved now and lays it out: into the file of -o, or as text.
func reportOnce(c *cli.Context, f, reader format.Format, o format.Options, rates *footprint.Rates) (format.Document,
	[]byte, error) {
	to, err := reportTo(c, f, o.Names)
	if err != nil {
		return nil, nil, err
	}
	defer to.abandon()
	d, done, err := readDocument(c, f, reader, &o, &tell.Progress{})
	defer done()
	if err == nil {
		d, err = advised(c, d)
	}
	if _, is := d.(*stream.Stream); is && to.file.Part == nil {
		err = fmt.Errorf("%s is %s, which --watch writes to a file only (-o FILE)", o.Names[0], d.Kind())
	}
	if err == nil {
		err = accountDocument(d, f, rates)
	}
	if err == nil {
		err = to.write(f, d, o)
	}
	if err == nil && to.file.Part != nil {
		err = to.save()
	}
	return d, to.text.Bytes(), err
}

// kindOf is a document of the kind that files are.
func kindOf(names []string) format.Document {
	switch {
	case len(names) > 1:
		return report.Several{}
	case len(names) == 1 && ofRanks(names[0]):
		return (*cluster.Run)(nil)
	case len(names) == 1:
		return kindIn(names[0])
	}
	return (*report.Run)(nil)
}

// kindIn is a document of the kind that a file holds, as far as other formats show it than
// those of runs.
func kindIn(name string) format.Document {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() { // a pipe waits for its writer
		return (*report.Run)(nil)
	}
	f, err := os.Open(name)
	if err != nil {
		return (*report.Run)(nil)
	}
	defer f.Close()
	head, err := report.HeadOf(f)
	switch {
	case err == nil && head.Holds["comparison"]:
		return (*compare.Result)(nil)
	case err == nil && head.Holds["command"] && verdict.IsSaved(f):
		return (*verdict.Check)(nil)
	}
	return (*report.Run)(nil)
}

// reportOutput is where cg report writes to: a file, a folder, or standard output.
type reportOutput struct {
	file   *output.File
	folder *output.Folder // nil for a format that is one file
	made   string         // folder that was made for --open
	text   bytes.Buffer
}

// reportTo opens what -o names, or a file for --open.
func reportTo(c *cli.Context, f format.Format, names []string) (*reportOutput, error) {
	to := &reportOutput{file: &output.File{Flag: "-o", Name: c.String("output")}}
	if f.IsFolder(kindOf(c.Args().Slice())) {
		var err error
		to.folder, err = output.OpenFolder(f, to.file.Name)
		return to, err
	}
	if c.Bool("open") && to.file.Name == "" {
		dir, err := os.MkdirTemp("", "cg-report-")
		if err != nil {
			return nil, exit.Failure("--open: %w", err)
		}
		to.made = dir
		to.file.Name = filepath.Join(dir, filepath.Base(names[0])+f.Endings[0])
	}
	return to, to.file.Open()
}

func (to *reportOutput) write(f format.Format, d format.Document, o format.Options) error {
	if to.folder != nil {
		return f.WriteFolder(to.folder.Create, d, o)
	}
	if s, is := d.(*stream.Stream); is {
		return streamed(to.file, f, s, o)
	}
	return f.Write(&to.text, d, o)
}

func (to *reportOutput) save() (err error) {
	switch {
	case to.folder != nil:
		err = to.folder.Save()
	case to.file.Part == nil:
		_, err = os.Stdout.Write(to.text.Bytes())
		return err
	default:
		err = to.file.Save(to.text.Bytes())
	}
	if err != nil {
		return fmt.Errorf("-o: %w", err)
	}
	return nil
}

func (to *reportOutput) abandon() {
	if to.folder != nil {
		to.folder.Abandon()
		return
	}
	to.file.Abandon()
	if to.made != "" {
		os.Remove(to.made) // which a page in it prevents
	}
}

// sourceFile reads a file of a program, as much of it as a page can take and
// what tells that there is more.
func sourceFile(name string) ([]byte, time.Time, error) {
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no file")
	}
	var text []byte
	if err == nil {
		var f *os.File
		if f, err = os.Open(name); err == nil {
			text, err = io.ReadAll(io.LimitReader(f, report.MostSource+1))
			f.Close()
		}
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	if err != nil {
		return nil, time.Time{}, err
	}
	return text, info.ModTime(), nil
}

// large is the size of a file from which on memory is worth more than time.
const large = 32 << 20

// openSaved opens a file, or standard input for -, to be read several times; what
// is no file is read into memory. An error is without the name.
func openSaved(name string) (f io.ReadSeeker, done func(), err error) {
	file := os.Stdin
	if name != "-" {
		if file, err = os.Open(name); err != nil {
			return nil, nil, tell.Reason(err)
		}
	}
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		if at, err := file.Seek(0, io.SeekCurrent); err == nil && at == 0 {
			if info.Size() > large {
				debug.SetGCPercent(30)
			}
			return file, func() { file.Close() }, nil
		}
	}
	defer file.Close()
	b, err := io.ReadAll(file)
	return bytes.NewReader(b), func() {}, tell.Reason(err)
}

// inputName is what messages call a file that is read.
func inputName(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

// verified tells what differs in a saved run.
func verified(name string) ([]string, error) {
	if ofRanks(name) {
		return verifiedRanks(name)
	}
	f, done, err := openSaved(name)
	if err != nil {
		return nil, exit.Failure("%s: %w", inputName(name), err)
	}
	defer done()
	if usage.IsSaved(f) {
		faults, err := usage.Verify(f)
		if err != nil {
			err = exit.Failure("%s: %w", name, err)
		}
		return faults, err
	}
	head, err := report.HeadOf(f)
	if err == nil && head.Holds["command"] && !head.Holds["ledger"] {
		faults, err := repeated.Verify(f, version.Cg)
		if err != nil {
			err = exit.Failure("%s: %w", inputName(name), err)
		}
		return faults, err
	}
	r, err := report.ReadFrom(f)
	if err != nil {
		return nil, exit.Failure("%s: %w", inputName(name), err)
	}
	checked := make(chan []string)
	go func() { checked <- r.Check() }()
	err = report.ValidateFrom(f)
	faults := <-checked
	if err != nil {
		faults = append([]string{err.Error()}, faults...)
	}
	return faults, nil
}

// shortNames leaves out of paths what they have in common.
func shortNames(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = strings.TrimSuffix(filepath.Base(n), ".json")
	}
	if len(slices.Compact(slices.Sorted(slices.Values(out)))) < len(out) {
		return names
	}
	return out
}

func verifyCommand() *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "recompute a saved run from its parts",
		ArgsUsage: "RUN.json...",
		Flags: []cli.Flag{&cli.StringFlag{Name: "from", Value: "json",
			Usage: "the files are in `FORMAT`, json or hespas: of a stream of events, its form against " +
				"docs/hespas.schema.json, and what its events tell"}},
		Description: `Recomputes every sum of energies, share, average and number of calls from its
parts in the file. Checks that each value lies in its interval, the fields
against the schema, and the whole against its digest. Of repeated runs, the
means, spreads and intervals are computed anew from the runs.

Exit status: 0 if everything agrees; 1 if something differs, each on a line
that begins with the field; 2 usage.`,
		Action: func(c *cli.Context) error {
			if !c.Args().Present() {
				return exit.Usage("no run: cg verify RUN.json")
			}
			verify, err := verifier(c.String("from"))
			if err != nil {
				return err
			}
			differs := false
			for _, name := range c.Args().Slice() {
				faults, err := verify(name)
				if err != nil {
					return err
				}
				for _, f := range faults {
					tell.Put("%s: %s\n", name, f)
				}
				if len(faults) == 0 {
					tell.Put("%s: everything agrees\n", name)
				}
				differs = differs || len(faults) > 0
			}
			if differs {
				return exit.Of(exit.StatusFailure)
			}
			return nil
		},
	}
}
