package tell

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"cg/shown"
)

// Progress says on a terminal what is being done, once it has taken a while; on
// anything else it says nothing.
type Progress struct {
	to io.Writer // nil for nothing

	mu    sync.Mutex
	said  bool
	what  string
	timer *time.Timer
}

// patience is how long work goes on before there is a word of it.
const patience = 300 * time.Millisecond

// NewProgress is one that says nothing where nobody looks.
func NewProgress() *Progress {
	p := &Progress{}
	if ShowsProgress() {
		p.to = os.Stderr
	}
	return p
}

// Say names what is done next.
func (p *Progress) Say(format string, args ...any) {
	if p.to == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what = fmt.Sprintf(format, args...)
	switch {
	case p.said:
		p.show()
	case p.timer == nil:
		p.timer = time.AfterFunc(patience, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.what != "" {
				p.said = true
				p.show()
			}
		})
	}
}

func (p *Progress) show() { shown.Fprintf(p.to, "\r\x1b[K%s", p.what) }

// End takes the words back.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what = ""
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	if p.said {
		p.said = false
		shown.Fprintf(p.to, "\r\x1b[K")
	}
}

// WaitPatience is how long a program waits for files that are new to cg before there is a word of it.
const WaitPatience = 2 * time.Second

// NewFiles says on a terminal how many files a program has waited for. It is nil for anything else.
func NewFiles() func(files int) {
	if !ShowsProgress() {
		return nil
	}
	return func(files int) {
		shown.Fprintf(os.Stderr, "cg: the program waits for its checkpoints: %d files so far were new to cg (the "+
			"next run finds them in the cache)\n", files)
	}
}
