package cli

import (
	"context"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"cg/cli/exit"
	"cg/cli/tell"
	"cg/ranks"
	"cg/report/cluster"
	"cg/report/format"
	"cg/shown"
)

// watchPause is the time between two looks at what is watched. Files are looked at: the nodes of a job write over
// network file systems, which tell nobody of a change.
const watchPause = 250 * time.Millisecond

// watchable refuses what cannot be shown again and again.
func watchable(c *cli.Context, f format.Format, names []string) error {
	onTerminal := c.String("output") == ""
	switch {
	case slices.Contains(names, "-"):
		return exit.Usage("--watch: standard input is read once: name the file")
	case c.String("output") == "-":
		return exit.Usage("--watch -o -: without -o it shows the run on the terminal")
	case f.IsFolder(kindOf(names)):
		return exit.Usage("--watch shows text, or writes one file: %s is a folder", f.Name)
	case onTerminal && c.Bool("open"):
		return exit.Usage("--watch --open needs -o FILE, which is written anew at each change")
	case onTerminal && f.Name != format.Default:
		return exit.Usage("--watch -f %s needs -o FILE, which is written anew at each change", f.Name)
	case onTerminal && !term.IsTerminal(int(os.Stdout.Fd())):
		return exit.Usage("--watch shows runs on a terminal: with -o FILE it writes them elsewhere")
	}
	return nil
}

// watcher shows what is saved, and shows it again when it has changed.
type watcher struct {
	c     *cli.Context
	names []string
	// read reads what is there now and lays it out: for the terminal, or into the file of -o.
	read func() (d format.Document, text []byte, err error)
	text []byte // that was shown last
}

// watchReport goes on until it is interrupted, or until the run of many ranks that it shows is over.
func watchReport(c *cli.Context, names []string, read func() (format.Document, []byte, error)) error {
	ctx, stop := signal.NotifyContext(c.Context, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	looks := time.NewTicker(watchPause)
	defer looks.Stop()
	return (&watcher{c: c, names: names, read: read}).follow(ctx, looks.C)
}

// follow looks at once and then whenever it is told to.
func (w *watcher) follow(ctx context.Context, looks <-chan time.Time) error {
	seen := ^uint64(0)
	opened := false
	var failed error // in what was seen last, as long as it may be half written
	for {
		now, newest := lookAt(w.names)
		switch {
		case now != seen:
			seen, failed = now, nil
			d, err := w.look(ctx, newest)
			if ctx.Err() != nil {
				return nil
			}
			failed = err
			if err == nil && w.c.Bool("open") && !opened {
				opened = true
				if err := browse(w.c.String("output")); err != nil {
					return err
				}
			}
			if run, is := d.(*cluster.Run); is && err == nil && allEnded(run) {
				return nil
			}
		case failed != nil: // it stays as it is
			if err := w.complain(failed); err != nil {
				return err
			}
			failed = nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-looks:
		}
	}
}

// look shows what is there, and says what is waited for where there is nothing yet. The error is of a file that
// cannot be read.
func (w *watcher) look(ctx context.Context, newest time.Time) (d format.Document, err error) {
	for _, name := range w.names {
		if _, err := os.Stat(name); os.IsNotExist(err) {
			return nil, w.frame(nil, fmt.Sprintf("%s is not there yet; watched until Ctrl-C", name))
		}
	}
	var text []byte
	err = exit.Interruptible(ctx, func() (err error) {
		d, text, err = w.read()
		return err
	})
	if err != nil {
		return nil, err
	}
	w.text = text
	return d, w.frame(text, fmt.Sprintf("saved %s; watched until Ctrl-C",
		newest.Local().Format("2006-01-02 15:04:05")))
}

// complain tells of a file that cannot be read, below what was shown before.
func (w *watcher) complain(err error) error {
	return w.frame(w.text, err.Error()+"; watched until Ctrl-C")
}

// frame fills the terminal with a text, as much of it as there is room for, and a line below it. With -o the line
// alone is told.
func (w *watcher) frame(text []byte, state string) error {
	if name := w.c.String("output"); name != "" {
		tell.Notef("%s: %s", name, state)
		return nil
	}
	width, height, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		width, height = 80, 24
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	if room := max(1, height-2); len(lines) > room {
		more := fmt.Sprintf("and %d more lines: a higher window shows them", len(lines)-room+1)
		lines = append(lines[:room-1], more)
	}
	body := strings.Join(lines, "\n") + "\n"
	if len(text) == 0 {
		body = ""
	}
	short := []rune(shown.Line(state))
	return tell.Put("\x1b[H\x1b[J%s%s", shown.Safe(body), string(short[:min(len(short), max(1, width-1))]))
}

// allEnded reports whether all ranks of a job have come and ended.
func allEnded(d *cluster.Run) bool {
	return d.Meta.Size > 0 && len(d.Ranks) >= d.Meta.Size &&
		!slices.ContainsFunc(d.Ranks, func(r cluster.Rank) bool { return r.State != ranks.Ended })
}

// lookAt tells files, and folders with all in them, apart from what they were: by names, sizes and times. newest is
// when the last of them was written.
func lookAt(names []string) (state uint64, newest time.Time) {
	sum := fnv.New64a()
	for _, name := range names {
		filepath.WalkDir(name, func(path string, _ fs.DirEntry, err error) error {
			info, statErr := os.Stat(path)
			if err != nil || statErr != nil {
				fmt.Fprintf(sum, "%s\x00-", path)
				return nil
			}
			fmt.Fprintf(sum, "%s\x00%d %d %d", path, info.Size(), info.ModTime().UnixNano(), inode(info))
			if info.ModTime().After(newest) {
				newest = info.ModTime()
			}
			return nil
		})
	}
	return sum.Sum64(), newest
}

// inode tells a file from one that takes its place, 0 where the system does not say.
func inode(info fs.FileInfo) uint64 {
	if s, is := info.Sys().(*syscall.Stat_t); is {
		return s.Ino
	}
	return 0
}
