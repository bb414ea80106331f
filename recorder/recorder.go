// Package recorder reads the traces of Recorder (github.com/uiuc-hpc/Recorder), which
// records the I/O, MPI and HDF5 calls of each rank of a parallel program.
//
// What comes in is the folder of a trace, of versions 2.3, 2.4, 2.5 and 3.x. What comes
// out is what the trace says of itself, and the records of each rank one after the
// other, in the order of the trace. A rank's calls are a grammar over a table of
// distinct calls; only these two are in memory, and the records are made while they are
// read, whatever their number.
//
// A file is not trusted: counts are held against the bytes that are there before memory
// is taken, a grammar may not contain itself, and the calls that it makes have to be as
// many as there are times. What does not agree is an error that names the file.
//
// The package knows nothing of reports.
package recorder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Meta is what a trace says of itself as a whole, in JSON by the names of Recorder's
// own GlobalMetadata.
type Meta struct {
	// Version is that of the Recorder that wrote the trace, such as 2.5.0.
	Version string `json:"version"`
	// Ranks is the number of ranks, 1 or more.
	Ranks int `json:"total_ranks"`
	// Start is when rank 0 began, in seconds since 1970. The times of each rank count from
	// its own beginning, which the trace does not tell.
	Start float64 `json:"start_ts"`
	// Resolution is the length of a tick in seconds.
	Resolution float64 `json:"time_resolution"`
	// Buffer is how many times the writer buffered.
	Buffer int `json:"ts_buffer_elements"`
	// Compression is how times are compressed: 0 not at all, 1 by zlib.
	Compression int `json:"ts_compression_algo"`
	// Shared says that all ranks have one table of calls, and ranks whose calls follow the
	// same pattern one grammar.
	Shared bool `json:"interprocess_compression"`
	// Patterns says that the offsets of calls are given relative to others (3.x: intraprocess
	// pattern recognition), so that those of the file are not known.
	Patterns bool `json:"intraprocess_pattern_recognition"`
}

// layout is how the files of a trace are laid out.
type layout int

const (
	plain23  layout = iota // tables without counts
	plain2                 // 2.4, 2.5: a file for each rank and kind
	packed3                // 3.x: zlib, one file for all times
	combined               // 3.x: all in recorder.dat
)

// Trace is an open trace.
type Trace struct {
	Meta
	// Functions are the names of what Recorder intercepts, by number.
	Functions []string

	perSecond float64 // ticks, if they are whole

	dir    string
	layout layout
	dat    *sections // of a combined trace
	shared *table    // of all ranks, once it was read
	unique []int     // number of each rank's grammar, where grammars are shared
	blocks [][]byte  // of 3.x: shared grammars, packed
	// grammars are those that were read of shared ones, and symbols how many they have.
	grammars map[int]*grammar
	symbols  int
	offsets  []int64 // where each rank's times begin in recorder.ts, and where the last end
}

// Dir is the folder of the trace.
func (t *Trace) Dir() string { return t.dir }

// Limits of what is taken into memory: real traces stay far below.
const (
	maxTable = 512 << 20 // bytes of a table or a grammar, unpacked
	maxLoose = 16 << 20  // of these, whatever the block has, and
	maxRatio = 64        // so many more for each byte of the block
	maxRanks = 1 << 20
	maxNames = 16 << 20 // bytes of metadata
	maxFuncs = 1 << 12  // names of functions; Recorder 3 has about a thousand
)

// ErrNoTrace is returned for a folder that holds no trace.
var ErrNoTrace = errors.New("no Recorder trace")

// Is reports whether a folder looks like a trace: it has recorder.mt or recorder.dat.
func Is(dir string) bool {
	for _, name := range []string{"recorder.mt", "recorder.dat"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// Open reads what a trace says of itself. An error begins with the file that it is of.
func Open(dir string) (*Trace, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, reason(err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%w: a trace is a folder, and this is a file", ErrNoTrace)
	}
	if !Is(dir) {
		return nil, missing(dir)
	}
	t := &Trace{dir: dir, grammars: map[int]*grammar{}}
	if err := t.readMeta(); err != nil {
		return nil, err
	}
	return t, nil
}

// missing says what a folder without a trace lacks.
func missing(dir string) error {
	old, _ := filepath.Glob(filepath.Join(escape(dir), "*.itf"))
	if len(old) > 0 {
		return errors.New("a trace of Recorder 2.2 or older, which cg does not read: it reads 2.3, 2.4, 2.5 and 3.x")
	}
	below, _ := filepath.Glob(filepath.Join(escape(dir), "*", "recorder.[md][ta]*"))
	if len(below) > 0 {
		return fmt.Errorf("%w: it has no recorder.mt and no recorder.dat, but %s has: name that folder", ErrNoTrace,
			filepath.Base(filepath.Dir(below[0])))
	}
	return fmt.Errorf("%w: it has no recorder.mt and no recorder.dat", ErrNoTrace)
}

// escape makes a pattern of a path that means the path.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// reason is an error of a file without the file's name.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Seconds is a number of ticks in seconds. Where a second has a whole number of them, it is
// the number that is nearest, which a product with the resolution often is not.
func (t *Trace) Seconds(ticks int64) float64 {
	if t.perSecond != 0 {
		return float64(ticks) / t.perSecond
	}
	return float64(ticks) * t.Resolution
}
