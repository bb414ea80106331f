package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"cg/cli/exit"
	"cg/cli/tell"
	"cg/launcher"
	"cg/report"
	"cg/report/format"
	"cg/scratch"
	"cg/shown"
)

func jsonOnStdout(c *cli.Context) bool { return c.Bool("json") || c.String("output") == "-" }

// putReport prints a document as JSON.
func putReport(d interface{ JSON() ([]byte, error) }) error {
	b, err := d.JSON()
	if err == nil {
		_, err = os.Stdout.Write(b)
	}
	return err
}

// output is where the report goes. A file is made before the program runs, so
// that a place that cannot be written is known at once, and gets its name when
// the report is whole.
type output struct {
	json  bool
	flag  string // that names it, for messages
	name  string
	part  *os.File
	bench *output // of --benchfmt, nil for none
}

func openOutput(c *cli.Context) (*output, error) {
	o := &output{json: jsonOnStdout(c), flag: "-o", name: c.String("output")}
	if o.json && launcher.Closed(1) {
		return nil, exit.Usage("standard output is closed and the report would be lost: save it with -o FILE")
	}
	if err := differentOutputs(c, "output", "benchfmt", "export-plot", "events"); err != nil {
		return nil, err
	}
	if name := c.String("benchfmt"); name != "" {
		o.bench = &output{flag: "--benchfmt", name: name}
		if err := o.bench.open(); err != nil {
			return nil, err
		}
	}
	if err := o.open(); err != nil {
		o.abandon()
		return nil, err
	}
	return o, nil
}

// differentOutputs refuses two flags that name one file.
func differentOutputs(c *cli.Context, flags ...string) error {
	by := map[string]string{}
	for _, flag := range flags {
		name := c.String(flag)
		if name == "" || name == "-" {
			continue
		}
		if other := by[filepath.Clean(name)]; other != "" {
			return exit.Usage("--%s and --%s both write to %s", other, flag, name)
		}
		by[filepath.Clean(name)] = flag
	}
	return nil
}

// open makes the file that a flag names, aside under another name; none for ""
// and -, which is standard output and has one flag.
func (o *output) open() error {
	if o.name == "-" && o.flag != "-o" && o.flag != "--output" {
		return exit.Usage("%s: standard output is not for this: name a file", o.flag)
	}
	if o.name == "" || o.name == "-" {
		return nil
	}
	if to, err := filepath.EvalSymlinks(o.name); err == nil {
		o.name = to // the file that a link names, not the link
	}
	if info, err := os.Stat(o.name); err == nil && info.IsDir() {
		return exit.Usage("%s: %s is a directory", o.flag, o.name)
	} else if err == nil && !info.Mode().IsRegular() { // a pipe, /dev/null
		f, err := os.OpenFile(o.name, os.O_WRONLY, 0)
		if err != nil {
			return exit.Usage("%s: %w", o.flag, err)
		}
		o.part = f
		return nil
	}
	f, err := scratch.NewFile(o.name)
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return exit.Usage("%s: %s cannot be written: %w", o.flag, o.name, err)
	}
	mode := 0o666 &^ umask()
	if info, err := os.Stat(o.name); err == nil {
		mode = int(info.Mode().Perm())
	}
	f.Chmod(os.FileMode(mode))
	o.part = f
	return nil
}

// umask is the mask that new files get; it can only be read by setting it.
func umask() int {
	m := unix.Umask(0)
	unix.Umask(m)
	return m
}

func (o *output) abandon() {
	if o.bench != nil {
		o.bench.abandon()
	}
	if o.part != nil && o.part.Name() != o.name {
		o.part.Close()
		os.Remove(o.part.Name())
	}
}

// write puts the report where it belongs. When the file cannot be written, the
// text still goes to standard error: nothing measured is lost unseen.
func (o *output) write(r *report.Run, verbose bool) error {
	b, err := r.JSON()
	if err != nil {
		return err
	}
	failed := o.save(b)
	if o.bench != nil {
		lines, err := formatted("benchfmt", r, format.Options{})
		if err != nil {
			return err
		}
		failed = errors.Join(failed, o.bench.save(lines))
	}
	if !o.json && tell.ReportsTo(o.name) {
		laid, err := text(r, os.Stderr, verbose)
		if err != nil {
			return err
		}
		shown.Fprintf(os.Stderr, "\n%s", laid)
	}
	if o.json {
		if _, err := os.Stdout.Write(b); err != nil {
			return fmt.Errorf("writing the report to standard output: %w", err)
		}
	}
	if failed != nil {
		return fmt.Errorf("writing the report: %w", failed)
	}
	return nil
}

// again writes a report that was written before to its file anew.
func (o *output) again(r *report.Run) error {
	b, err := r.JSON()
	if err != nil || o.name == "" || o.name == "-" {
		return err
	}
	if err := o.open(); err != nil {
		return err
	}
	return o.save(b)
}

// plotFormat is the format of a picture of a document that -o saves, by how the name of its
// file ends.
func plotFormat(name string, d format.Document) (format.Format, error) {
	f, err := pictureFormat(name, d)
	if err != nil {
		return f, exit.Usage("%w; cg report makes other formats of what -o saves", err)
	}
	return f, nil
}

// pictureFormat is the format of a picture of a document.
func pictureFormat(name string, d format.Document) (format.Format, error) {
	f, err := format.For(name, d)
	if err == nil && f.Picture {
		return f, nil
	}
	var endings []string
	for _, f := range format.Of(d) {
		if f.Picture {
			endings = append(endings, f.Endings...)
		}
	}
	return f, fmt.Errorf("--export-plot: %s is no picture: its name has to end in %s", name,
		strings.Join(endings[:len(endings)-1], ", ")+" or "+endings[len(endings)-1])
}

// formatted is a document in a format that is known by its name.
func formatted(name string, d format.Document, o format.Options) ([]byte, error) {
	f, err := format.Named(name, d)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = f.Write(&b, d, o)
	return b.Bytes(), err
}

// text is a document for people, as f takes it.
func text(d format.Document, f *os.File, verbose bool) (shown.Safe, error) {
	b, err := formatted(format.Default, d, format.Options{Terminal: terminal(f, verbose)})
	return shown.Safe(b), err
}

// openPlot makes the file of --export-plot, nil without one.
func openPlot(c *cli.Context) (*output, format.Format, error) {
	name := c.String("export-plot")
	if name == "" {
		return &output{}, format.Format{}, nil
	}
	f, err := plotFormat(name, (*report.Run)(nil))
	if err != nil {
		return nil, f, err
	}
	o := &output{flag: "--export-plot", name: name}
	return o, f, o.open()
}

// export puts a run into a file in a format, with its event log, if it has one.
func (o *output) export(f format.Format, r *report.Run) error {
	if o.part == nil {
		return nil
	}
	var options format.Options
	var b bytes.Buffer
	var err error
	if f.Time && r.Events != nil {
		var done func()
		if options.Events, done, err = openEvents(r.Events.File, r); err == nil {
			defer done()
		}
	}
	if err == nil {
		err = f.Write(&b, r, options)
	}
	if err == nil {
		err = o.save(b.Bytes())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", o.flag, err)
	}
	return nil
}

// noWidth is the width of text that goes to no terminal.
const noWidth = 100

// terminal says how text is laid out that goes to f.
func terminal(f *os.File, verbose bool) format.Terminal {
	t := format.Terminal{Width: noWidth, Verbose: verbose}
	if fd := int(f.Fd()); term.IsTerminal(fd) {
		if w, _, err := term.GetSize(fd); err == nil && w > 0 {
			t.Width = w
		}
		t.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return t
}

// save completes the file of -o.
func (o *output) save(b []byte) error {
	if o.part == nil {
		return nil
	}
	if _, err := o.part.Write(b); err != nil {
		return err
	}
	if err := o.part.Close(); err != nil {
		return err
	}
	if o.part.Name() != o.name {
		if err := os.Rename(o.part.Name(), o.name); err != nil {
			return err
		}
	}
	o.part = nil
	return nil
}
