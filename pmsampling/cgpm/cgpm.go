// Package cgpm reads and writes files of PM sampling (.cgpm), version 1; FORMAT.md describes them.
//
// It takes batches of a session and gives them back, one at a time, with what evaluates them elsewhere: the chip, the
// metrics, the image of counters, and the times. A file that is damaged, of a newer version, or no such file is refused
// with what is wrong and where; a file without its end is read as far as it goes. The package knows nothing of GPUs: it
// does not read images.
package cgpm

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"sync"

	"cg/checkpoint"
	"cg/pmsampling"
	"cg/pmsampling/cupti"
)

// Version is that of the format that is written, and the newest that is read.
const Version = 1

// Ending is how names of files end.
const Ending = ".cgpm"

const (
	mostText  = 1 << 20 // of JSON
	mostBlock = 1 << 30
	mostImage = 4 << 30
)

// castagnoli is made when it is used first: it takes 0.15 ms.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// Head says what was sampled.
type Head struct {
	CgVersion    string            `json:"cg_version"`
	CUPTIVersion uint32            `json:"cupti_version"`
	Chip         string            `json:"chip"`
	GPU          string            `json:"gpu"`
	Device       int               `json:"device"`
	StartedUnix  int64             `json:"started_unix_ns"`
	Config       pmsampling.Config `json:"config"`
}

// Tail says how a session went.
type Tail struct {
	Clock  pmsampling.Clock
	Counts pmsampling.Counts
}

// ErrCut is the error of a file without its end, after the last batch that is whole.
var ErrCut = errors.New("cgpm: the file has no end: the recording was cut off")

type pair struct {
	Mono        int64 `json:"mono_ns"`
	GPU         int64 `json:"gpu_ns"`
	Uncertainty int64 `json:"uncertainty_ns"`
}

type clock struct {
	Before pair `json:"before"`
	After  pair `json:"after"`
}

func pairOf(p cupti.Pair) pair { return pair{int64(p.Mono), p.GPU, p.Uncertainty} }
func (p pair) pair() cupti.Pair {
	return cupti.Pair{Mono: checkpoint.Instant(p.Mono), GPU: p.GPU, Uncertainty: p.Uncertainty}
}
func clockOf(c pmsampling.Clock) clock { return clock{pairOf(c.Before), pairOf(c.After)} }
func (c clock) clock() pmsampling.Clock {
	return pmsampling.Clock{Before: c.Before.pair(), After: c.After.pair()}
}

// data is the JSON of a DATA block.
type data struct {
	Total     int   `json:"total"`
	Populated int   `json:"populated"`
	Completed int   `json:"completed"`
	Good      int   `json:"good"`
	Reason    int32 `json:"reason"`
	Overflow  bool  `json:"overflow"`
	Image     int64 `json:"image_bytes"`
	Clock     clock `json:"clock"`
}

type tail struct {
	Clock  clock             `json:"clock"`
	Counts pmsampling.Counts `json:"counts"`
}

// Writer writes a file, block by block.
type Writer struct{ w io.Writer }

// NewWriter begins a file.
func NewWriter(w io.Writer, h Head) (*Writer, error) {
	if _, err := w.Write(binary.LittleEndian.AppendUint32([]byte("CGPM"), Version)); err != nil {
		return nil, err
	}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	cw := &Writer{w}
	return cw, cw.block("HEAD", text)
}

func (w *Writer) block(kind string, content []byte) error {
	if len(content) > mostBlock {
		return fmt.Errorf("cgpm: a block of %d bytes: %d are the most: sample for a shorter time at once",
			len(content), mostBlock)
	}
	head := binary.LittleEndian.AppendUint32([]byte(kind), crc32.Checksum(content, castagnoli()))
	head = binary.LittleEndian.AppendUint64(head, uint64(len(content)))
	if _, err := w.w.Write(head); err != nil {
		return err
	}
	_, err := w.w.Write(content)
	return err
}

// Add writes a batch.
func (w *Writer) Add(b *pmsampling.Batch) error {
	if len(b.Starts) != b.Completed || len(b.Ends) != b.Completed {
		return fmt.Errorf("cgpm: a batch of %d samples has %d times", b.Completed, len(b.Starts))
	}
	text, err := json.Marshal(data{b.Total, b.Populated, b.Completed, len(b.Good), int32(b.Reason), b.Overflow,
		int64(len(b.Image)), clockOf(b.Clock)})
	if err != nil {
		return err
	}
	var content bytes.Buffer
	content.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(text))))
	content.Write(text)
	for _, times := range [][]int64{b.Starts, b.Ends} {
		for _, t := range times {
			content.Write(binary.LittleEndian.AppendUint64(nil, uint64(t)))
		}
	}
	for _, i := range b.Good {
		content.Write(binary.LittleEndian.AppendUint64(nil, uint64(i)))
	}
	z, err := gzip.NewWriterLevel(&content, gzip.BestSpeed) // images are sparse
	if err != nil {
		return err
	}
	if _, err := z.Write(b.Image); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return w.block("DATA", content.Bytes())
}

// End writes the end of the file.
func (w *Writer) End(t Tail) error {
	text, err := json.Marshal(tail{clockOf(t.Clock), t.Counts})
	if err != nil {
		return err
	}
	return w.block("TAIL", text)
}

// Reader reads a file, batch by batch.
type Reader struct {
	Head Head
	Tail *Tail // nil until Next has given io.EOF

	r     io.Reader
	at    int64 // bytes that were read
	ended error // what Next gives from now on
}

// NewReader reads the beginning of a file.
func NewReader(r io.Reader) (*Reader, error) {
	cr := &Reader{r: r}
	var magic [8]byte
	if err := cr.read(magic[:]); err != nil || string(magic[:4]) != "CGPM" {
		return nil, errors.New("cgpm: this is no file of cg gpu sample: it does not begin with CGPM")
	}
	if v := binary.LittleEndian.Uint32(magic[4:]); v < 1 || v > Version {
		return nil, fmt.Errorf("cgpm: the file has version %d of its format; this cg reads 1 to %d: take a newer cg", v,
			Version)
	}
	kind, content, err := cr.block()
	if err != nil {
		return nil, err
	}
	if kind != "HEAD" {
		return nil, cr.wrong("the first block is %q, not HEAD", kind)
	}
	if err := decode(content, &cr.Head); err != nil {
		return nil, cr.wrong("HEAD: %v", err)
	}
	if cr.Head.Chip == "" || len(cr.Head.Config.Metrics) == 0 {
		return nil, cr.wrong("HEAD names no chip, or no metrics")
	}
	return cr, nil
}

func (r *Reader) wrong(format string, args ...any) error {
	return fmt.Errorf("cgpm: up to byte %d: %s", r.at, fmt.Sprintf(format, args...))
}

func (r *Reader) read(b []byte) error {
	n, err := io.ReadFull(r.r, b)
	r.at += int64(n)
	return err
}

// block reads one block. Its error is ErrCut where the file ends before the block does.
func (r *Reader) block() (kind string, content []byte, err error) {
	var head [16]byte
	if err := r.read(head[:]); err != nil {
		return "", nil, cut(err)
	}
	kind = string(head[:4])
	length := binary.LittleEndian.Uint64(head[8:])
	most := uint64(mostBlock)
	if kind != "DATA" {
		most = mostText
	}
	if length > most {
		return "", nil, r.wrong("block %q is %d bytes long, %d are the most", kind, length, most)
	}
	// It grows with what is there, not with what the length promises.
	var b bytes.Buffer
	n, err := io.CopyN(&b, r.r, int64(length))
	if r.at += n; err != nil {
		return "", nil, cut(err)
	}
	if sum := crc32.Checksum(b.Bytes(), castagnoli()); sum != binary.LittleEndian.Uint32(head[4:]) {
		return "", nil, r.wrong("the check sum of block %q is wrong: the file is damaged", kind)
	}
	return kind, b.Bytes(), nil
}

func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrCut
	}
	return err
}

func decode(text []byte, to any) error {
	if len(text) > mostText {
		return fmt.Errorf("%d bytes of JSON, %d are the most", len(text), mostText)
	}
	return json.Unmarshal(text, to)
}

// Next is the next batch; io.EOF after the last, ErrCut where the file ends without its end.
func (r *Reader) Next() (b *pmsampling.Batch, err error) {
	if r.ended != nil {
		return nil, r.ended
	}
	defer func() { r.ended = err }()
	kind, content, err := r.block()
	if err != nil {
		return nil, err
	}
	switch kind {
	case "DATA":
		return r.batch(content)
	case "TAIL":
		var t tail
		if err := decode(content, &t); err != nil {
			return nil, r.wrong("TAIL: %v", err)
		}
		var more [1]byte
		if err := r.read(more[:]); err == nil {
			return nil, r.wrong("something follows the end")
		} else if !errors.Is(err, io.EOF) {
			return nil, err
		}
		r.Tail = &Tail{t.Clock.clock(), t.Counts}
		return nil, io.EOF
	}
	return nil, r.wrong("a block of the kind %q, where DATA or TAIL is to be", kind)
}

// batch takes a DATA block apart.
func (r *Reader) batch(content []byte) (*pmsampling.Batch, error) {
	if len(content) < 4 {
		return nil, r.wrong("DATA has %d bytes", len(content))
	}
	length := uint64(binary.LittleEndian.Uint32(content))
	content = content[4:]
	if length > uint64(len(content)) {
		return nil, r.wrong("DATA: %d bytes of JSON in %d", length, len(content))
	}
	var d data
	if err := decode(content[:length], &d); err != nil {
		return nil, r.wrong("DATA: %v", err)
	}
	content = content[length:]
	switch {
	case d.Completed < 0 || d.Completed > d.Populated || d.Populated > d.Total || d.Good < 0 || d.Good > d.Completed:
		return nil, r.wrong("DATA: %d of %d samples of %d are complete and %d count", d.Completed, d.Populated, d.Total,
			d.Good)
	case d.Completed > len(content)/16 || len(content) < 8*(2*d.Completed+d.Good):
		return nil, r.wrong("DATA: %d bytes are too few for the times of %d samples", len(content), d.Completed)
	case d.Image < 0 || d.Image > mostImage:
		return nil, r.wrong("DATA: an image of %d bytes, %d are the most", d.Image, int64(mostImage))
	}
	numbers := func(n int) (all []int64) {
		all = make([]int64, n)
		for i := range all {
			all[i] = int64(binary.LittleEndian.Uint64(content[8*i:]))
		}
		content = content[8*n:]
		return all
	}
	b := &pmsampling.Batch{CounterData: &pmsampling.CounterData{Metrics: r.Head.Config.Metrics, Chip: r.Head.Chip,
		Total: d.Total, Populated: d.Populated, Completed: d.Completed, Reason: pmsampling.DecodeStopReason(d.Reason),
		Overflow: d.Overflow, Starts: numbers(d.Completed), Ends: numbers(d.Completed)}, Clock: d.Clock.clock()}
	last := int64(-1)
	for _, i := range numbers(d.Good) {
		if i <= last || i >= int64(d.Completed) || i > math.MaxInt32 {
			return nil, r.wrong("DATA: sample %d counts after %d, of %d", i, last, d.Completed)
		}
		last = i
		b.Good = append(b.Good, int(i))
	}
	z, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, r.wrong("DATA: the image: %v", err)
	}
	var image bytes.Buffer
	if n, err := io.Copy(&image, io.LimitReader(z, d.Image+1)); err != nil || n != d.Image {
		return nil, r.wrong("DATA: the image has not the %d bytes that it should have (%d, %v)", d.Image, n, err)
	}
	b.Image = image.Bytes()
	return b, nil
}
