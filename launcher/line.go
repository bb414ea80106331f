package launcher

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mattn/go-runewidth"
	"golang.org/x/sys/unix"
)

// Line is a line on a terminal, below what the program prints there. It stands only while the program's cursor is at
// the beginning of a line, and is taken away before the program's next output, which is unchanged. It needs all that
// the program prints on the terminal, so it stands behind a pty only. A program that moves the cursor, by any control
// sequence but those of colours and of erasing its line, or that reads key by key, has the terminal for itself.
type Line struct {
	fd      int
	usable  atomic.Bool    // term is set
	drawing atomic.Bool    // a text is on its way to the terminal
	drawers sync.WaitGroup // at most one

	mu     sync.Mutex // held while the terminal takes what is written, which may be long
	term   *terminal  // nil: it is not shown
	there  bool
	open   bool // the program's last line has no end yet
	moved  bool // the program moves the cursor
	within int  // a control sequence: 1 behind ESC, 2 behind ESC [
	last   time.Time
	now    func() time.Time
}

// linePatience is how long the program has to be silent before its terminal shows the line again.
const linePatience = 200 * time.Millisecond

const erased = "\r\x1b[K"

// NewLine is a line on a terminal, nil for a file that is none.
func NewLine(f *os.File) *Line {
	fd := descriptor(f)
	if fd < 0 || !isTerminal(fd) {
		return nil
	}
	return &Line{fd: fd, now: time.Now}
}

// begin lets the line be shown on the terminal of a program.
func (l *Line) begin(t *terminal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.term, l.there, l.open, l.moved, l.within = t, false, false, false, 0
	l.usable.Store(true)
}

// Usable says whether the line of a program that was started can be shown.
func (l *Line) Usable() bool { return l.usable.Load() }

// Show shows a text, as much of it as there is room for, where the line may stand now. The
// text has to be harmless to terminals. Show returns at once, whatever the terminal does: while one that takes
// nothing (Ctrl-S) holds a text back, those that follow are dropped.
func (l *Line) Show(text string) { l.ShowFitted(func(int) string { return text }) }

// ShowFitted is Show for a text that is made for so many columns.
func (l *Line) ShowFitted(text func(columns int) string) {
	if !l.usable.Load() || !l.drawing.CompareAndSwap(false, true) {
		return
	}
	l.drawers.Go(func() {
		defer l.drawing.Store(false)
		l.draw(text)
	})
}

func (l *Line) draw(text func(columns int) string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.term == nil || l.open || l.moved || l.within != 0 || l.now().Sub(l.last) < linePatience {
		return
	}
	if !l.term.foreground() {
		return
	}
	modes, err := unix.IoctlGetTermios(l.term.master, unix.TCGETS)
	size, sized := unix.IoctlGetWinsize(l.fd, unix.TIOCGWINSZ)
	if err != nil || modes.Lflag&unix.ICANON == 0 || sized != nil || size.Col < 20 {
		l.erase()
		return
	}
	l.there = writeAll(l.fd, []byte(erased+runewidth.Truncate(text(int(size.Col)-1), int(size.Col)-1, "…"))) == nil
}

// Clear takes the line away until it is shown next.
func (l *Line) Clear() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.erase()
}

// End takes the line away for good.
func (l *Line) End() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.erase()
	l.term = nil
	l.usable.Store(false)
}

func (l *Line) erase() {
	if l.there {
		l.there = false
		writeAll(l.fd, []byte(erased))
	}
}

// write puts output of the program in the line's place.
func (l *Line) write(fd int, p []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(p) == 0 {
		return nil
	}
	l.erase()
	l.follow(p)
	l.last = l.now()
	return writeAll(fd, p)
}

// follow finds out where output leaves the cursor.
func (l *Line) follow(p []byte) {
	for _, b := range p {
		switch {
		case l.within == 1:
			if l.within = 2; b != '[' {
				l.within, l.moved = 0, true
			}
		case l.within == 2:
			if b >= 0x40 && b <= 0x7e { // the last byte of a control sequence (ECMA-48, 5.4)
				l.within, l.moved = 0, l.moved || b != 'm' && b != 'K'
			}
		case b == 0x1b:
			l.within = 1
		case b == '\n':
			l.open = false
		case b != '\a' && b != '\r':
			l.open = true
		}
	}
}
