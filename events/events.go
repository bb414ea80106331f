// Package events writes and reads the log of a run's events: every word that the program
// wrote into the checkpoint channel, in a file.
//
// A Writer takes runs of words as they are read from the channel. A Log reads them back
// and turns them into slices: which call was on each thread, from when to when. FORMAT.md
// specifies the file. The package knows neither languages nor energy. It refuses a file
// that is no log. Of a log that was cut off or damaged it returns what lies before that
// place.
package events

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"

	"cg/checkpoint"
)

// Extension is how names of logs end.
const Extension = ".cgev"

// Version is that of FORMAT.md. A Log refuses any other.
const Version = 1

const (
	magic     = "CGEVENTS"
	fileHead  = 16
	blockHead = 9
	// A block is no larger than this; the words of a longer run are divided.
	blockMost = 1 << 20
	wordMost  = 2 * binary.MaxVarintLen64
)

// Kinds of blocks.
const (
	blockInfo   = 1
	blockSites  = 2
	blockRun    = 3
	blockWindow = 4
	blockEnd    = 5
)

// digest is that of a block: of its kind and its payload.
func digest(kind, payload []byte) uint32 {
	castagnoli := crc32.MakeTable(crc32.Castagnoli) // made once, by crc32
	return crc32.Update(crc32.Update(0, castagnoli, kind), castagnoli, payload)
}

// Info is what a log is of.
type Info struct {
	RunID string `json:"run_id"` // meta.run_id of the saved run
	Tool  string `json:"tool"`
	Clock string `json:"clock"` // of the ticks
	PID   int    `json:"pid"`   // of cg
}

// ThreadTime is the processor time of a thread since it began, in nanoseconds.
type ThreadTime struct {
	Thread checkpoint.Thread
	CPU    int64
}

// Window ends what was drained at one moment: every word of an earlier tick
// stands before it in the log. Time is that tick on CLOCK_MONOTONIC.
type Window struct {
	At      checkpoint.Tick
	Time    checkpoint.Instant
	Threads []ThreadTime
}

// Writer writes a log. The first error is kept and ends the writing: what
// measures goes on. Its methods are for one goroutine.
type Writer struct {
	to      *bufio.Writer
	block   []byte
	err     error
	written []bool // per number of a site
	events  uint64
	bytes   int64
	flushed checkpoint.Instant
}

// NewWriter begins a log.
func NewWriter(to io.Writer, info Info) *Writer {
	w := &Writer{to: bufio.NewWriterSize(to, 256<<10)}
	head := make([]byte, fileHead)
	copy(head, magic)
	binary.LittleEndian.PutUint32(head[8:], Version)
	w.write(head)
	w.json(blockInfo, info)
	return w
}

func (w *Writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.to.Write(b)
		w.bytes += int64(len(b))
	}
}

// put writes a block.
func (w *Writer) put(kind byte, payload []byte) {
	var head [blockHead]byte
	head[8] = kind
	binary.LittleEndian.PutUint32(head[0:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(head[4:], digest(head[8:], payload))
	w.write(head[:])
	w.write(payload)
}

func (w *Writer) json(kind byte, v any) {
	b, err := json.Marshal(v)
	if err != nil { // of plain structs
		panic(err)
	}
	w.put(kind, b)
}

// Bits of a run's flags.
const (
	runFirst = 1 << iota
	runForked
	runStrands
	runImage
	runLast
)

// Run takes the first n words of a run. now is a reading of the clock not before
// the last of them.
func (w *Writer) Run(r checkpoint.Run, n int, now checkpoint.Tick) {
	if w.err != nil {
		return
	}
	words := r.Words[:n]
	w.events += uint64(n)
	last := r.Last && n == len(r.Words)
	for begin := true; begin || len(words) > 0; begin = false {
		flags := uint64(0)
		set := func(bit uint64, is bool) {
			if is {
				flags |= bit
			}
		}
		set(runFirst, r.First && begin)
		set(runForked, r.Forked && begin)
		set(runImage, r.Image && begin)
		set(runStrands, r.Strands)
		set(runLast, last)
		b := w.block[:0]
		b = binary.AppendUvarint(b, flags)
		b = binary.AppendUvarint(b, uint64(r.Thread.PID))
		b = binary.AppendUvarint(b, uint64(r.Thread.TID))
		b = binary.AppendUvarint(b, uint64(r.Start))
		if flags&runForked != 0 {
			b = binary.AppendUvarint(b, uint64(r.Parent.PID))
			b = binary.AppendUvarint(b, uint64(r.Parent.TID))
			b = binary.AppendUvarint(b, uint64(r.ForkTick))
		}
		lost := r.Lost
		if !begin {
			lost = 0
		}
		b = binary.AppendUvarint(b, lost)
		at := r.Start
		if len(words) > 0 {
			at = max(r.Start, words[0].Tick(now))
		}
		b = binary.AppendUvarint(b, uint64(at))
		var took int
		b, took = encode(b, words, at.Low())
		words = words[took:]
		if len(words) > 0 {
			b[0] &^= runLast // not the last block yet
		}
		w.block = b
		w.put(blockRun, b)
	}
}

// encode appends words, as many as a block takes: of each the ticks since the
// one before (zigzag) and kind and site; the second half of a wide strand word
// as it is.
func encode(b []byte, words []checkpoint.Word, low checkpoint.Tick) ([]byte, int) {
	i := 0
	for i < len(words) && len(b) < blockMost-2*wordMost {
		word := words[i]
		delta := int64(word.Low()-low) << 24 >> 24 // modulo 2^40, signed
		low = word.Low()
		b = binary.AppendVarint(b, delta)
		b = binary.AppendUvarint(b, uint64(word.Site())<<3|uint64(word.Kind()))
		i++
		if word.IsWide() && i < len(words) {
			b = binary.AppendUvarint(b, uint64(words[i]))
			i++
		}
	}
	return b, i
}

// Window ends a window. What is written goes to the file at least once a second.
func (w *Writer) Window(m Window) {
	if w.err != nil {
		return
	}
	b := w.block[:0]
	b = binary.AppendUvarint(b, uint64(m.At))
	b = binary.AppendUvarint(b, uint64(m.Time))
	b = binary.AppendUvarint(b, uint64(len(m.Threads)))
	for _, t := range m.Threads {
		b = binary.AppendUvarint(b, uint64(t.Thread.PID))
		b = binary.AppendUvarint(b, uint64(t.Thread.TID))
		b = binary.AppendUvarint(b, uint64(max(0, t.CPU)))
	}
	w.block = b
	w.put(blockWindow, b)
	if m.Time-w.flushed > 1e9 {
		w.flushed = m.Time
		w.flush()
	}
}

// site is checkpoint.Site as a log has it.
type site struct {
	ID       checkpoint.SiteID   `json:"id"`
	Language string              `json:"language,omitempty"`
	Func     string              `json:"func"`
	File     string              `json:"file,omitempty"`
	Line     int                 `json:"line,omitempty"`
	Col      int                 `json:"column,omitempty"`
	EndLine  int                 `json:"end_line,omitempty"`
	Kind     checkpoint.SiteKind `json:"kind"`
}

// sitesMost is how many sites a block has at most.
const sitesMost = 1000

// Sites takes all sites that are known, each with its number, or 0 for none. It
// writes nothing for sites that it has written before.
func (w *Writer) Sites(all []checkpoint.Site) {
	var some []site
	for _, s := range all {
		if int(s.ID) >= len(w.written) {
			w.written = append(w.written, make([]bool, int(s.ID)+1-len(w.written))...)
		}
		if s.ID == 0 || w.written[s.ID] {
			continue
		}
		w.written[s.ID] = true
		some = append(some, site(s))
		if len(some) == sitesMost {
			w.json(blockSites, some)
			some = some[:0]
		}
	}
	if len(some) > 0 {
		w.json(blockSites, some)
	}
}

func (w *Writer) flush() {
	if err := w.to.Flush(); w.err == nil {
		w.err = err
	}
}

// end is what stands in a log's last block.
type end struct {
	Events uint64 `json:"events"`
}

// Close ends the log and returns the first error of the writing.
func (w *Writer) Close() error {
	w.json(blockEnd, end{w.events})
	w.flush()
	if w.err != nil {
		return fmt.Errorf("events: %w", w.err)
	}
	return nil
}

// Events is how many words were taken, Bytes how large the log is.
func (w *Writer) Events() uint64 { return w.events }
func (w *Writer) Bytes() int64   { return w.bytes }
