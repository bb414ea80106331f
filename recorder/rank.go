package recorder

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
)

// Record is a call of a rank with its times, in ticks since the rank began.
type Record struct {
	Start, End int64
	// Call is what was called. It is that of the table, and is not to be changed.
	Call *Call
}

// Rank reads the records of a rank.
type Rank struct {
	// Number is that of the rank, from 0 on.
	Number int
	trace  *Trace
	table  *table
	g      *grammar
	walk   walker
	times  *pairs
	clock  clock
	read   uint64
}

// Rank opens the records of a rank. Close has to be called. What the files of the rank
// disagree in is an error, as far as it shows without reading them to the end.
func (t *Trace) Rank(n int) (*Rank, error) {
	if n < 0 || n >= t.Ranks {
		return nil, fmt.Errorf("there is no rank %d: they are 0 to %d", n, t.Ranks-1)
	}
	r := &Rank{Number: n, trace: t}
	var err error
	if r.table, err = t.tableOf(n); err != nil {
		return nil, err
	}
	if r.g, err = t.grammarOf(n, len(r.table.calls)); err != nil {
		return nil, err
	}
	if err := r.rewind(); err != nil {
		return nil, err
	}
	if err := r.look(); err != nil {
		r.Close()
		return nil, fmt.Errorf("%s: %w", t.timesName(n), err)
	}
	return r, nil
}

// Records is the number of records of a rank, by its grammar: the times are not read.
func (t *Trace) Records(n int) (uint64, error) {
	if n < 0 || n >= t.Ranks {
		return 0, fmt.Errorf("there is no rank %d: they are 0 to %d", n, t.Ranks-1)
	}
	table, err := t.tableOf(n)
	if err != nil {
		return 0, err
	}
	g, err := t.grammarOf(n, len(table.calls))
	if err != nil {
		return 0, err
	}
	return g.length(), nil
}

// rewind goes to the first record.
func (r *Rank) rewind() error {
	times, size, err := r.trace.openTimes(r.Number)
	if err != nil {
		return err
	}
	if r.trace.Compression == 0 && uint64(size) != 8*r.g.length() {
		times.close()
		return fmt.Errorf("%s: %w", r.trace.timesName(r.Number), r.differ(fmt.Sprint(size/8)))
	}
	r.walk, r.times, r.read = r.g.walk(), times, 0
	r.clock = clock{signed: r.clock.signed}
	return nil
}

func (r *Rank) differ(times string) error {
	return fmt.Errorf("rank %d has times of %s calls, and its grammar makes %d: the trace is cut off or broken",
		r.Number, times, r.g.length())
}

// look reads the times once, to know how those have to be read that could be read in two
// ways, and goes back. Where there are none, nothing is lost but the reading.
func (r *Rank) look() error {
	n := uint64(0)
	for {
		begin, end, ok, err := r.times.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if n++; n > r.g.length() {
			return r.differ("more")
		}
		r.clock.next(begin, end)
	}
	if n != r.g.length() {
		return r.differ(fmt.Sprint(n))
	}
	r.times.close()
	return r.rewind()
}

// Close gives the files of the rank back.
func (r *Rank) Close() {
	if r.times != nil {
		r.times.close()
	}
}

// Total is the number of the rank's records.
func (r *Rank) Total() uint64 { return r.g.length() }

// Calls are the distinct calls by their numbers. Where ranks share a table, some of them
// may be of other ranks only.
func (r *Rank) Calls() []Call { return r.table.calls }

// Repairs is what the times needed, of the records that were read.
func (r *Rank) Repairs() Repairs { return r.clock.Repairs }

// Next reads a record; io.EOF is returned after the last one.
func (r *Rank) Next(out *Record) error {
	id := r.walk.next()
	if id < 0 {
		return io.EOF
	}
	begin, end, ok, err := r.times.next()
	if err == nil && !ok {
		err = r.differ(fmt.Sprint(r.read))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.trace.timesName(r.Number), err)
	}
	r.read++
	out.Start, out.End = r.clock.next(begin, end)
	out.Call = &r.table.calls[id]
	return nil
}

// text is the content of a file of tables or grammars: a plain file, or a block of
// Recorder 3's, or the section of a kind and rank of recorder.dat.
func (t *Trace) text(name string, kind, rank int) ([]byte, error) {
	var b []byte
	var err error
	if t.layout == combined {
		b, err = t.dat.read(kind, rank, maxTable)
	} else {
		b, err = readFile(filepath.Join(t.dir, name), maxTable)
	}
	if err == nil && t.layout >= packed3 && kind != sectionGrammars {
		b, _, err = block(b)
	}
	return b, err
}

// file is a name for messages.
func (t *Trace) file(name string) string {
	if t.layout == combined {
		return "recorder.dat: " + name
	}
	return name
}

// tableOf reads the table of a rank.
func (t *Trace) tableOf(rank int) (*table, error) {
	name, kind, of := fmt.Sprintf("%d.cst", rank), sectionRankTable, rank
	if t.Shared {
		if t.shared != nil {
			return t.shared, nil
		}
		name, kind, of = "0.cst", sectionTable, -1
		if t.layout >= packed3 {
			name = "recorder.cst"
		}
	}
	b, err := t.text(name, kind, of)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.file(name), err)
	}
	out, err := t.parseTable(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.file(name), err)
	}
	if t.Shared {
		t.shared = out
	}
	return out, nil
}

// mostSymbols is how many bytes of shared grammars are kept for other ranks.
const mostSymbols = 128 << 20

// grammarOf reads the grammar of a rank.
func (t *Trace) grammarOf(rank, calls int) (*grammar, error) {
	name := fmt.Sprintf("%d.cfg", rank)
	if !t.Shared {
		b, err := t.text(name, sectionRankGrammar, rank)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.file(name), err)
		}
		g, err := parseGrammar(b, calls)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.file(name), err)
		}
		return g, nil
	}
	if err := t.readUnique(); err != nil {
		return nil, fmt.Errorf("%s: %w", t.file("ug.mt"), err)
	}
	id := t.unique[rank]
	if g := t.grammars[id]; g != nil {
		return g, nil
	}
	if name = fmt.Sprintf("%d.cfg", id); t.layout >= packed3 {
		name = "ug.cfg"
	}
	b, err := t.sharedGrammar(name, id)
	var g *grammar
	if err == nil {
		g, err = parseGrammar(b, calls)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: grammar %d: %w", t.file(name), id, err)
	}
	if t.symbols += len(b); t.symbols > mostSymbols {
		clear(t.grammars)
		t.symbols = len(b)
	}
	t.grammars[id] = g
	return g, nil
}

// sharedGrammar is the text of a grammar that ranks share.
func (t *Trace) sharedGrammar(name string, id int) ([]byte, error) {
	if t.layout < packed3 {
		return t.text(name, sectionGrammars, -1)
	}
	if t.blocks == nil {
		b, err := t.text(name, sectionGrammars, -1)
		if err != nil {
			return nil, err
		}
		if t.blocks, err = cutBlocks(b, slices.Max(t.unique)+1); err != nil {
			return nil, err
		}
	}
	b, _, err := block(t.blocks[id])
	return b, err
}

// readUnique reads the number of each rank's grammar: i32 for each rank, then how many
// there are.
func (t *Trace) readUnique() error {
	if t.unique != nil {
		return nil
	}
	var b []byte
	var err error
	if t.layout == combined {
		b, err = t.dat.read(sectionUnique, -1, 4*maxRanks+4)
	} else {
		b, err = readFile(filepath.Join(t.dir, "ug.mt"), 4*maxRanks+4)
	}
	if err != nil {
		return err
	}
	if len(b) < 4*t.Ranks+4 {
		return fmt.Errorf("it has %d bytes, and %d ranks need %d", len(b), t.Ranks, 4*t.Ranks+4)
	}
	n := int32(little.Uint32(b[4*t.Ranks:]))
	unique := make([]int, t.Ranks)
	for i := range unique {
		id := int32(little.Uint32(b[4*i:]))
		if id < 0 || id >= n {
			return fmt.Errorf("rank %d has grammar %d, and there are %d", i, id, n)
		}
		unique[i] = int(id)
	}
	t.unique = unique
	return nil
}
