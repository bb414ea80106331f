package report

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"cg/checkpoint"
	"cg/measure"
	"cg/nemb"
	"cg/pattern"
	"cg/runtimes/sdk/spec"
)

// bareBlock is how a file begins that is the line of JSON of a result block alone.
var bareBlock = pattern.Later(`^\s*\{\s*"measurements"\s*:\s*\[\s*(\{\s*"checkpoint_id"|\])`)

// savedRun is how a file begins that cg wrote of a run or a session.
var savedRun = pattern.Later(`^\s*\{\s*"meta"\s*:\s*\{\s*"schema_version"`)

// blocksIn finds the result blocks in a text: a saved output, a log whose lines may have
// something in front, or the JSON of a block alone.
func blocksIn(text []byte) (blocks []measure.Block, err error) {
	if bareBlock().Match(text) {
		b, err := measure.ReadBlock(text)
		return []measure.Block{b}, err
	}
	for {
		_, rest, found := bytes.Cut(text, []byte(measure.BlockStart))
		if !found {
			return blocks, err
		}
		inside, after, whole := bytes.Cut(rest, []byte(measure.BlockEnd))
		from, to := bytes.IndexByte(inside, '{'), bytes.LastIndexByte(inside, '}')
		switch {
		case !whole:
			return blocks, fmt.Errorf("a result block that does not end: no line %s", measure.BlockEnd)
		case from < 0 || to < from:
			return blocks, fmt.Errorf("a result block without measurements")
		}
		b, err := measure.ReadBlock(inside[from : to+1])
		if err != nil {
			return blocks, fmt.Errorf("a result block that is no JSON: %w", err)
		}
		blocks, text = append(blocks, b), after
	}
}

// ReadBlocks reads a run from a file that has result blocks; nil where it has none. The
// file is then at its beginning.
func ReadBlocks(f io.ReadSeeker) (*Run, error) {
	var head [4096]byte
	n, _ := io.ReadFull(f, head[:])
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	first := bytes.TrimLeft(head[:n], " \t\r\n")
	if len(first) == 0 || savedRun().Match(first) {
		return nil, nil
	}
	if first[0] == '{' && !bareBlock().Match(first) { // lines of JSON that a program wrote, or another tool's file
		has, err := holds(f, []byte(measure.BlockStart))
		if _, back := f.Seek(0, io.SeekStart); err == nil {
			err = back
		}
		if !has || err != nil {
			return nil, err
		}
	}
	text, err := io.ReadAll(f)
	if _, back := f.Seek(0, io.SeekStart); err == nil {
		err = back
	}
	if err != nil {
		return nil, err
	}
	blocks, err := blocksIn(text)
	if err != nil || len(blocks) == 0 {
		return nil, err
	}
	r := ofBlocks(blocks)
	if len(r.Functions) == 0 {
		return nil, fmt.Errorf("the result block has no checkpoint of a function")
	}
	return r, nil
}

// holds reports whether a file has some bytes somewhere from where it is read, and keeps no more of it than a part.
func holds(f io.Reader, what []byte) (bool, error) {
	part := make([]byte, 1<<16)
	kept := 0
	for {
		n, err := f.Read(part[kept:])
		kept += n
		if bytes.Contains(part[:kept], what) {
			return true, nil
		}
		if err == io.EOF {
			return false, nil
		} else if err != nil {
			return false, err
		}
		if last := len(what) - 1; kept > last {
			copy(part, part[kept-last:kept])
			kept = last
		}
	}
}

// ofBlocks is the run that result blocks tell.
func ofBlocks(blocks []measure.Block) *Run {
	o := measure.OfBlocks(blocks)
	r := &Run{Skipped: []Skip{}, Warnings: []Warning{}}
	r.Meta = Meta{SchemaVersion: SchemaVersion, Tool: "cg", Argv: []string{}, CgEnv: map[string]string{},
		Granularity: "fine", OutlierMethod: spec.OutlierMethod, IsoTimestampFormat: "rfc3339_utc"}
	r.granularityOf(o.BlockSites)
	r.Attributed(o.Domains, o.Attributed, o.BlockSites)
	r.sampled(o.Series)
	r.Program("program", o, time.Unix(0, 0), time.Unix(0, int64(o.Attributed.Wall)))
	r.Process, r.Sampler.Counters = Process{PIDsLeft: []int{}}, []Counter{}
	r.Totals.SampleIntervalMs = 0
	for i := range r.Samples {
		if r.Totals.EnergyJ == nil {
			r.Samples[i].EnergyJ, r.Samples[i].PowerW = nil, nil
		}
	}
	if len(o.Domains) == 0 {
		r.Meta.MeasurementQuality = QualityOnlyCalls
	}
	if r.Totals.Kind == nemb.Unavailable {
		r.Warn("energy-unknown", "the result block tells no joules: calls and times are known, and no energy")
	}
	r.noteDropped(blocks)
	r.judge()
	return r
}

// noteDropped warns of checkpoints that a program did not keep.
func (r *Run) noteDropped(blocks []measure.Block) {
	dropped := uint64(0)
	for _, b := range blocks {
		dropped += uint64(max(b.Dropped, 0))
	}
	if dropped == 0 {
		return
	}
	message := fmt.Sprintf("%d checkpoints are missing at the end, because the program had no room for "+
		"them: calls are missing, and what ran then counts as the functions in which it was before", dropped)
	for i := range r.Warnings {
		if w := &r.Warnings[i]; w.Slug == "events-lost" { // of the channel
			w.Message += "; " + message
			return
		}
	}
	r.Warn("events-lost", message)
}

// granularityOf is that of a program with checkpoints of its own which tell lines or blocks.
func (r *Run) granularityOf(sites []checkpoint.Site) {
	for _, s := range sites {
		switch s.Kind {
		case checkpoint.LinePlace:
			r.Meta.Granularity = "line"
		case checkpoint.BlockPlace:
			r.Meta.Granularity = "block"
		}
	}
}
