package meter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"cg/shown"
	"cg/tool"
)

// What a command may take for a reading, and print.
const (
	answerWithin = 4 * time.Second
	largest      = 64 << 10
	toldMost     = 200 // of what it says on standard error
	// So long a process that has left the command's group may hold its output after the command has ended.
	holdsOn = time.Second
)

// once is a command that is run for each reading.
type once struct {
	figure figure
	ctx    context.Context
	end    context.CancelFunc
	within time.Duration
}

func newOnce(f figure) *once {
	ctx, end := context.WithCancel(context.Background())
	return &once{f, ctx, end, answerWithin}
}

func (o *once) read() (reading, error) {
	ctx, cancel := context.WithTimeout(o.ctx, o.within)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", o.figure.meter.Where)
	out, said := &capped{most: largest, full: cancel}, &tail{}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, said, holdsOn
	err := tool.Run(cmd)
	switch {
	case out.over:
		return reading{}, fmt.Errorf("it prints more than %d kB for a reading", largest>>10)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return reading{}, fmt.Errorf("it has printed no reading within %v, and was ended", o.within)
	case err != nil:
		return reading{}, said.explain(err)
	}
	return o.figure.of(out.text.Bytes())
}

func (o *once) close() { o.end() }

// lines is a process that goes on and prints a reading in each line.
type lines struct {
	*latest
	end   context.CancelFunc
	ended chan struct{}
	part  []byte // of a line that has not ended
	long  bool   // it is too long, and what is left of it is not read
}

func newLines(f figure) *lines {
	ctx, end := context.WithCancel(context.Background())
	l := &lines{latest: newLatest(f), end: end, ended: make(chan struct{})}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", f.meter.Where)
	said := &tail{}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = l, said, holdsOn
	go func() {
		defer close(l.ended)
		err := tool.Run(cmd)
		if err == nil {
			err = errors.New("it has ended by itself")
		}
		l.fail(said.explain(err))
	}()
	return l
}

// Write takes what the process prints.
func (l *lines) Write(text []byte) (int, error) {
	for rest := text; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			l.keep(rest)
			break
		}
		l.keep(rest[:i])
		switch {
		case l.long:
			l.fail(fmt.Errorf("it prints a line of more than %d kB", largest>>10))
		case len(bytes.TrimSpace(l.part)) > 0:
			l.set(l.part)
		}
		l.part, l.long, rest = l.part[:0], false, rest[i+1:]
	}
	return len(text), nil
}

func (l *lines) keep(text []byte) {
	if l.long = l.long || len(l.part)+len(text) > largest; !l.long {
		l.part = append(l.part, text...)
	}
}

func (l *lines) close() {
	l.end()
	<-l.ended
}

// capped keeps what is written to it, up to an amount. It calls full where there is more.
type capped struct {
	text bytes.Buffer
	most int
	over bool
	full func()
}

func (c *capped) Write(text []byte) (int, error) {
	if c.text.Len()+len(text) > c.most {
		c.over = true
		c.full()
		return 0, errors.New("too much")
	}
	return c.text.Write(text)
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, text...)
	t.text = t.text[max(0, len(t.text)-toldMost):]
	return len(text), nil
}

// explain adds to an error what the command said last.
func (t *tail) explain(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	said := strings.TrimSpace(string(t.text))
	said = said[strings.LastIndexByte(said, '\n')+1:]
	if said == "" {
		return fmt.Errorf("the command failed: %w", err)
	}
	return fmt.Errorf("the command failed: %w: %s", err, shown.Line(said))
}
