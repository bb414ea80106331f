package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"cg/cli/exit"
	"cg/shown"
)

// progress says on a terminal what is being done, once it has taken a while; on
// anything else it says nothing.
type progress struct {
	to io.Writer // nil for nothing

	mu    sync.Mutex
	said  bool
	what  string
	timer *time.Timer
}

// patience is how long work goes on before there is a word of it.
const patience = 300 * time.Millisecond

func newProgress() *progress {
	p := &progress{}
	if showsProgress() {
		p.to = os.Stderr
	}
	return p
}

// say names what is done next.
func (p *progress) say(format string, args ...any) {
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

func (p *progress) show() { shown.Fprintf(p.to, "\r\x1b[K%s", p.what) }

// end takes the words back.
func (p *progress) end() {
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

// waitPatience is how long a program waits for files that are new to cg before there is a word of it.
const waitPatience = 2 * time.Second

// newFiles says on a terminal how many files a program has waited for. It is nil for anything else.
func newFiles() func(files int) {
	if !showsProgress() {
		return nil
	}
	return func(files int) {
		shown.Fprintf(os.Stderr, "cg: the program waits for its checkpoints: %d files so far were new to cg (the "+
			"next run finds them in the cache)\n", files)
	}
}

// until does work that no context reaches, and comes back with what it gives or,
// when the context ends before, with an interruption: the work then goes on until
// cg exits, so it has to leave nothing behind.
func until(ctx context.Context, work func() error) error {
	done := make(chan error, 1)
	go func() { done <- work() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return exit.With(128+int(exit.Interrupted(ctx)), "interrupted: nothing was written")
	}
}
