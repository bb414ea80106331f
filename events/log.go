package events

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"cg/checkpoint"
)

// ErrNoLog says that a file is no event log.
var ErrNoLog = errors.New("not an event log of cg (cg measure --events writes one)")

// Log reads a log. It is read from its start as often as needed and is never
// in memory as a whole.
type Log struct {
	Info   Info
	Sites  []checkpoint.Site // in the order of their numbers, which may have gaps
	Events uint64            // words
	// Cut says why the log ends before its end, "" for a whole one: what stands before is as
	// good as any.
	Cut string

	from    io.ReaderAt
	size    int64 // that is good
	windows []moment
}

// moment is one moment on both clocks.
type moment struct {
	tick checkpoint.Tick
	time checkpoint.Instant
}

// Open looks through a log of size bytes.
func Open(from io.ReaderAt, size int64) (*Log, error) {
	head := make([]byte, fileHead)
	if _, err := from.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if string(head[:8]) != magic {
		return nil, ErrNoLog
	}
	if v := binary.LittleEndian.Uint32(head[8:]); v != Version {
		return nil, fmt.Errorf("an event log of version %d, and this cg reads %d", v, Version)
	}
	l := &Log{from: from, size: size}
	ended := false
	good := int64(fileHead)
	err := l.blocks(func(kind byte, b []byte) error {
		switch kind {
		case blockInfo:
			if err := json.Unmarshal(b, &l.Info); err != nil {
				return err
			}
		case blockSites:
			var some []site
			if err := json.Unmarshal(b, &some); err != nil {
				return err
			}
			for _, s := range some {
				l.Sites = append(l.Sites, checkpoint.Site(s))
			}
		case blockRun:
			r, err := openRun(b)
			if err != nil {
				return err
			}
			for {
				if _, _, _, ok := r.next(); !ok {
					break
				}
				l.Events++
			}
			if r.bad {
				return errors.New("a word is cut off")
			}
		case blockWindow:
			w, err := window(b)
			if err != nil {
				return err
			}
			if n := len(l.windows); n == 0 || w.At > l.windows[n-1].tick && w.Time > l.windows[n-1].time {
				l.windows = append(l.windows, moment{w.At, w.Time})
			}
		case blockEnd:
			ended = true
		}
		good += int64(blockHead + len(b))
		return nil
	})
	switch {
	case err != nil:
		l.Cut = fmt.Sprintf("it is damaged %d bytes after its start: %v", good, err)
	case good < size:
		l.Cut = fmt.Sprintf("its last block is cut off, %d bytes after its start", good)
	case !ended:
		l.Cut = "it has no end: cg was ended before it could write it"
	}
	l.size = good
	return l, nil
}

// blocks reads the blocks that are good.
func (l *Log) blocks(each func(kind byte, payload []byte) error) error {
	r := bufio.NewReaderSize(io.NewSectionReader(l.from, fileHead, max(0, l.size-fileHead)), int(min(1<<20, l.size+64)))
	var payload []byte
	var head [blockHead]byte
	for {
		if _, err := io.ReadFull(r, head[:]); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return nil
			}
			return err
		}
		n := int(binary.LittleEndian.Uint32(head[0:]))
		if n > blockMost*2 {
			return fmt.Errorf("a block of %d bytes", n)
		}
		if cap(payload) < n {
			payload = make([]byte, n)
		}
		payload = payload[:n]
		if _, err := io.ReadFull(r, payload); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return nil
			}
			return err
		}
		if digest(head[8:], payload) != binary.LittleEndian.Uint32(head[4:]) {
			return errors.New("the digest of a block is another")
		}
		if err := each(head[8], payload); err != nil {
			return err
		}
	}
}

// run is a block of words that is being read.
type run struct {
	checkpoint.Run // without Words
	at             checkpoint.Tick
	b              []byte
	bad            bool // a word is cut off
}

var errShort = errors.New("a block is too short for what it is")

// numbers takes a payload apart. The first that is missing is an error, and all behind it are 0.
type numbers struct {
	b   []byte
	err error
}

func (p *numbers) take() uint64 {
	v, n := binary.Uvarint(p.b)
	if n <= 0 {
		p.b, p.err = nil, errShort
		return 0
	}
	p.b = p.b[n:]
	return v
}

func (p *numbers) thread() checkpoint.Thread {
	return checkpoint.Thread{PID: uint32(p.take()), TID: uint32(p.take())}
}

func openRun(b []byte) (r run, err error) {
	p := numbers{b: b}
	flags := p.take()
	r.Thread = p.thread()
	r.Start = checkpoint.Tick(p.take())
	r.First, r.Forked, r.Strands = flags&runFirst != 0, flags&runForked != 0, flags&runStrands != 0
	r.Image, r.Last = flags&runImage != 0, flags&runLast != 0
	if r.Forked {
		r.Parent = p.thread()
		r.ForkTick = checkpoint.Tick(p.take())
	}
	r.Lost = p.take()
	r.at = checkpoint.Tick(p.take())
	r.b = p.b
	return r, p.err
}

// next is the next word, its tick complete. Of a wide strand word site is the
// whole number.
func (r *run) next() (at checkpoint.Tick, kind checkpoint.Kind, site uint64, ok bool) {
	if len(r.b) == 0 {
		return 0, 0, 0, false
	}
	delta, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0, 0, 0, false
	}
	r.b = r.b[n:]
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0, 0, 0, false
	}
	r.b = r.b[n:]
	r.at += checkpoint.Tick(delta)
	kind, site = checkpoint.Kind(v&7), v>>3
	if kind == checkpoint.Strand && checkpoint.SiteID(site)&checkpoint.Wide != 0 {
		other, n := binary.Uvarint(r.b)
		if n <= 0 {
			r.bad, r.b = true, nil
			return 0, 0, 0, false
		}
		r.b = r.b[n:]
		site = checkpoint.WideStrand(site, checkpoint.Word(other))
	}
	return r.at, kind, site, true
}

func window(b []byte) (w Window, err error) {
	p := numbers{b: b}
	w.At, w.Time = checkpoint.Tick(p.take()), checkpoint.Instant(p.take())
	for n := p.take(); n > 0 && p.err == nil; n-- {
		w.Threads = append(w.Threads, ThreadTime{p.thread(), int64(p.take())})
	}
	return w, p.err
}

// instant places a tick on CLOCK_MONOTONIC, by the windows around it. near is
// where to begin looking, and is moved.
func (l *Log) instant(t checkpoint.Tick, near *int) checkpoint.Instant {
	w := l.windows
	switch len(w) {
	case 0:
		return 0
	case 1:
		return w[0].time
	}
	i := min(max(*near, 1), len(w)-1)
	for i < len(w)-1 && w[i].tick < t {
		i++
	}
	for i > 1 && w[i-1].tick > t {
		i--
	}
	*near = i
	a, b := w[i-1], w[i]
	d := float64(int64(t - a.tick)) // before the first window and after the last the same rate holds
	return a.time + checkpoint.Instant(d*float64(b.time-a.time)/float64(b.tick-a.tick))
}
