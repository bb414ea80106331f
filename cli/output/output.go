// Package output has the files and folders that a command writes its documents to, as its flags name them, and how
// documents are laid out for a terminal.
package output

import (
	"bytes"
	"errors"
	"fmt"
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

// OnStdout reports whether flags put the report, as JSON, on standard output.
func OnStdout(c *cli.Context) bool { return c.Bool("json") || c.String("output") == "-" }

// PutReport prints a document as JSON.
func PutReport(d interface{ JSON() ([]byte, error) }) error {
	b, err := d.JSON()
	if err == nil {
		_, err = os.Stdout.Write(b)
	}
	return err
}

// File is where the report goes. A file is made before the program runs, so
// that a place that cannot be written is known at once, and gets its name when
// the report is whole.
type File struct {
	json  bool
	Flag  string // that names it, for messages
	Name  string
	Part  *os.File // what is written, nil for none
	bench *File    // of --benchfmt, nil for none
}

// OpenReport makes the files of -o and --benchfmt, for a command that runs a program.
func OpenReport(c *cli.Context) (*File, error) {
	o := &File{json: OnStdout(c), Flag: "-o", Name: c.String("output")}
	if o.json && launcher.Closed(1) {
		return nil, exit.Usage("standard output is closed and the report would be lost: save it with -o FILE")
	}
	if err := Different(c, "output", "benchfmt", "export-plot", "events"); err != nil {
		return nil, err
	}
	if name := c.String("benchfmt"); name != "" {
		o.bench = &File{Flag: "--benchfmt", Name: name}
		if err := o.bench.Open(); err != nil {
			return nil, err
		}
	}
	if err := o.Open(); err != nil {
		o.Abandon()
		return nil, err
	}
	return o, nil
}

// Different refuses two flags that name one file.
func Different(c *cli.Context, flags ...string) error {
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

// Open makes the file that a flag names, aside under another name; none for ""
// and -, which is standard output and has one flag.
func (o *File) Open() error {
	if o.Name == "-" && o.Flag != "-o" && o.Flag != "--output" {
		return exit.Usage("%s: standard output is not for this: name a file", o.Flag)
	}
	if o.Name == "" || o.Name == "-" {
		return nil
	}
	if to, err := filepath.EvalSymlinks(o.Name); err == nil {
		o.Name = to // the file that a link names, not the link
	}
	if info, err := os.Stat(o.Name); err == nil && info.IsDir() {
		return exit.Usage("%s: %s is a directory", o.Flag, o.Name)
	} else if err == nil && !info.Mode().IsRegular() { // a pipe, /dev/null
		f, err := os.OpenFile(o.Name, os.O_WRONLY, 0)
		if err != nil {
			return exit.Usage("%s: %w", o.Flag, err)
		}
		o.Part = f
		return nil
	}
	f, err := scratch.NewFile(o.Name)
	if err != nil {
		return exit.Usage("%s: %s cannot be written: %w", o.Flag, o.Name, tell.Reason(err))
	}
	mode := 0o666 &^ umask()
	if info, err := os.Stat(o.Name); err == nil {
		mode = int(info.Mode().Perm())
	}
	f.Chmod(os.FileMode(mode))
	o.Part = f
	return nil
}

// umask is the mask that new files get; it can only be read by setting it.
func umask() int {
	m := unix.Umask(0)
	unix.Umask(m)
	return m
}

// Abandon removes what was written aside.
func (o *File) Abandon() {
	if o.bench != nil {
		o.bench.Abandon()
	}
	if o.Part != nil && o.Part.Name() != o.Name {
		o.Part.Close()
		os.Remove(o.Part.Name())
	}
}

// Write puts the report where it belongs. When the file cannot be written, the
// text still goes to standard error: nothing measured is lost unseen.
func (o *File) Write(r *report.Run, verbose bool) error {
	b, err := r.JSON()
	if err != nil {
		return err
	}
	failed := o.Save(b)
	if o.bench != nil {
		lines, err := Formatted("benchfmt", r, format.Options{})
		if err != nil {
			return err
		}
		failed = errors.Join(failed, o.bench.Save(lines))
	}
	if !o.json && tell.ReportsTo(o.Name) {
		laid, err := Text(r, os.Stderr, verbose)
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

// Again writes a report that was written before to its file anew.
func (o *File) Again(r *report.Run) error {
	b, err := r.JSON()
	if err != nil || o.Name == "" || o.Name == "-" {
		return err
	}
	if err := o.Open(); err != nil {
		return err
	}
	return o.Save(b)
}

// plotFormat is the format of a picture of a document that -o saves, by how the name of its
// file ends.
func plotFormat(name string, d format.Document) (format.Format, error) {
	f, err := PictureFormat(name, d)
	if err != nil {
		return f, exit.Usage("%w; cg report makes other formats of what -o saves", err)
	}
	return f, nil
}

// PictureFormat is the format of a picture of a document.
func PictureFormat(name string, d format.Document) (format.Format, error) {
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

// Formatted is a document in a format that is known by its name.
func Formatted(name string, d format.Document, o format.Options) ([]byte, error) {
	f, err := format.Named(name, d)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = f.Write(&b, d, o)
	return b.Bytes(), err
}

// Text is a document for people, as f takes it.
func Text(d format.Document, f *os.File, verbose bool) (shown.Safe, error) {
	b, err := Formatted(format.Default, d, format.Options{Terminal: Terminal(f, verbose)})
	return shown.Safe(b), err
}

// OpenPlot makes the file of --export-plot, nil without one.
func OpenPlot(c *cli.Context) (*File, format.Format, error) {
	name := c.String("export-plot")
	if name == "" {
		return &File{}, format.Format{}, nil
	}
	f, err := plotFormat(name, (*report.Run)(nil))
	if err != nil {
		return nil, f, err
	}
	o := &File{Flag: "--export-plot", Name: name}
	return o, f, o.Open()
}

// Export puts a run into a file in a format, with its event log, if it has one.
func (o *File) Export(f format.Format, r *report.Run) error {
	if o.Part == nil {
		return nil
	}
	var options format.Options
	var b bytes.Buffer
	var err error
	if f.Time && r.Events != nil {
		var done func()
		if options.Events, done, err = OpenEvents(r.Events.File, r); err == nil {
			defer done()
		}
	}
	if err == nil {
		err = f.Write(&b, r, options)
	}
	if err == nil {
		err = o.Save(b.Bytes())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", o.Flag, err)
	}
	return nil
}

// NoWidth is the width of text that goes to no terminal.
const NoWidth = 100

// Terminal says how text is laid out that goes to f.
func Terminal(f *os.File, verbose bool) format.Terminal {
	t := format.Terminal{Width: NoWidth, Verbose: verbose}
	if fd := int(f.Fd()); term.IsTerminal(fd) {
		if w, _, err := term.GetSize(fd); err == nil && w > 0 {
			t.Width = w
		}
		t.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return t
}

// Save completes the file of -o.
func (o *File) Save(b []byte) error {
	if o.Part == nil {
		return nil
	}
	if _, err := o.Part.Write(b); err != nil {
		return err
	}
	if err := o.Part.Close(); err != nil {
		return err
	}
	if o.Part.Name() != o.Name {
		if err := os.Rename(o.Part.Name(), o.Name); err != nil {
			return err
		}
	}
	o.Part = nil
	return nil
}
