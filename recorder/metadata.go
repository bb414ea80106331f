package recorder

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
)

var little = binary.LittleEndian

// readMeta finds the version and reads the metadata and the names of functions:
//
//	2.3       VERSION; recorder.mt: i32 ranks, pad, f64 start, f64 resolution, i32 buffer, i32 compression; names
//	2.4, 2.5  VERSION; the same, i32 shared, pad; names
//	3.0       VERSION; i32 ranks, 8 bools, pad, f64 start, f64 resolution, i32 buffer, 4 bools; at 1024 names
//	3.x       i32 major, minor, patch, ranks, functions, 8 bools, pad, the same as 3.0 from start on; names of 64
//	          bytes
//
// Names end in a line end each but in the last, where they are padded with zeros.
func (t *Trace) readMeta() error {
	if _, err := os.Stat(filepath.Join(t.dir, "recorder.dat")); err == nil {
		t.layout = combined
		if t.dat, err = openSections(filepath.Join(t.dir, "recorder.dat")); err != nil {
			return fmt.Errorf("recorder.dat: %w", err)
		}
		b, err := t.dat.read(sectionMeta, -1, maxNames)
		if err != nil {
			return fmt.Errorf("recorder.dat: %w", err)
		}
		if err := t.meta3(b); err != nil {
			return fmt.Errorf("recorder.dat: metadata: %w", err)
		}
		return nil
	}
	b, err := readFile(filepath.Join(t.dir, "recorder.mt"), maxNames)
	if err != nil {
		return fmt.Errorf("recorder.mt: %w", err)
	}
	version, err := readFile(filepath.Join(t.dir, "VERSION"), 64)
	if os.IsNotExist(err) {
		t.layout = packed3
		err = t.meta3(b)
	} else if err == nil {
		err = t.metaOf(b, string(bytes.TrimSpace(version)))
	} else {
		return fmt.Errorf("VERSION: %w", err)
	}
	if err != nil {
		return fmt.Errorf("recorder.mt: %w", err)
	}
	return nil
}

// metaOf reads the metadata of a trace that has a file VERSION.
func (t *Trace) metaOf(b []byte, version string) error {
	var major, minor int
	if n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor); n < 2 {
		return fmt.Errorf("VERSION is %q and no number such as 2.5.0", version)
	}
	t.Version = version
	switch {
	case major == 2 && minor == 3:
		t.layout = plain23
	case major == 2 && (minor == 4 || minor == 5):
		t.layout = plain2
	case major == 3:
		t.layout = packed3
	default:
		return fmt.Errorf("version %s of Recorder: cg reads traces of 2.3, 2.4, 2.5 and 3.x", version)
	}
	if len(b) < 40 {
		return fmt.Errorf("it ends after %d bytes, within the metadata", len(b))
	}
	t.Ranks = int(int32(little.Uint32(b)))
	if t.layout == packed3 {
		t.rest3(b[16:])
		return t.finishMeta(lines(b[min(1024, len(b)):]))
	}
	t.Start, t.Resolution = float(b[8:]), float(b[16:])
	t.Buffer = int(int32(little.Uint32(b[24:])))
	t.Compression = int(int32(little.Uint32(b[28:])))
	names := b[32:]
	if t.layout == plain2 {
		t.Shared = little.Uint32(b[32:]) != 0
		names = b[40:]
	}
	if len(names) > 1024 && names[0] == 0 { // a block of 1024 bytes before the names
		names = b[1024:]
	}
	if t.Compression != 0 {
		return fmt.Errorf("times are compressed by method %d, which no Recorder %s wrote", t.Compression, version)
	}
	return t.finishMeta(lines(names))
}

// meta3 reads the metadata that begin with a version.
func (t *Trace) meta3(b []byte) error {
	const size, name = 56, 64
	if len(b) < size {
		return fmt.Errorf("it ends after %d bytes, within the metadata", len(b))
	}
	number := func(at int) int { return int(int32(little.Uint32(b[at:]))) }
	t.Version = fmt.Sprintf("%d.%d.%d", number(0), number(4), number(8))
	if number(0) != 3 || number(4) < 0 || number(8) < 0 {
		return fmt.Errorf("version %s of Recorder: cg reads traces of 2.3, 2.4, 2.5 and 3.x", t.Version)
	}
	t.Ranks = number(12)
	t.rest3(b[32:])
	n := number(16)
	if n < 0 || n > (len(b)-size)/name {
		return fmt.Errorf("it has %d names of functions and room for %d", n, (len(b)-size)/name)
	}
	var names []string
	for i := range n {
		text, _, _ := bytes.Cut(b[size+i*name:size+(i+1)*name], []byte{0})
		names = append(names, string(text))
	}
	return t.finishMeta(names)
}

// rest3 is what the metadata of 3.x have in common, from the start on.
func (t *Trace) rest3(b []byte) {
	t.Start, t.Resolution = float(b), float(b[8:])
	t.Buffer = int(int32(little.Uint32(b[16:])))
	t.Compression = min(int(b[20]), 1)
	t.Shared, t.Patterns = b[21] != 0, b[23] != 0
}

// finishMeta holds the metadata against what can be.
func (t *Trace) finishMeta(names []string) error {
	t.Functions = names
	if n := math.Round(1 / t.Resolution); n >= 1 && n < 1<<53 && math.Abs(n*t.Resolution-1) < 1e-12 {
		t.perSecond = n
	}
	switch {
	case t.Ranks < 1 || t.Ranks > maxRanks:
		return fmt.Errorf("%d ranks: a trace has 1 to %d", t.Ranks, maxRanks)
	case !(t.Resolution > 0) || t.Resolution > 1:
		return fmt.Errorf("a tick of %g s is none: Recorder's are 1e-7 s", t.Resolution)
	case math.IsNaN(t.Start) || math.Abs(t.Start) > 1e11:
		return fmt.Errorf("a start of %g s since 1970 is none", t.Start)
	case len(names) > maxFuncs:
		return fmt.Errorf("it has %d names of functions, and at most %d are read", len(names), maxFuncs)
	case len(names) == 0:
		return fmt.Errorf("it has no names of functions")
	}
	return nil
}

func float(b []byte) float64 { return math.Float64frombits(little.Uint64(b)) }

// lines are the lines of a text, without what follows the last line end, and no more than are
// one too many.
func lines(b []byte) []string {
	at := bytes.LastIndexByte(b, '\n')
	if at < 0 {
		return nil
	}
	return strings.SplitN(string(b[:at]), "\n", maxFuncs+2)
}
