package measure

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute"
	"cg/nemb/processor"
)

// The lines around a result block.
const (
	BlockStart = "--- CODEGREEN_RESULT_START ---"
	BlockEnd   = "--- CODEGREEN_RESULT_END ---"
)

// useBlocks takes the functions from the blocks of a program that has its
// own checkpoints.
func (o *Outcome) useBlocks() {
	if len(o.Blocks) == 0 || o.Attributed.Stats.Events > 0 {
		return
	}
	if rise(o.Blocks...) > 0 && !o.counted() { // what the program read is better than what cg estimates
		told := OfBlocks(o.Blocks)
		o.Attributed, o.BlockSites, o.Series = told.Attributed, told.BlockSites, told.Series
		o.Domains, o.Faults, o.Baseline = told.Domains, nil, nil
		return
	}
	o.addPlaces(o.fromBlocks(o.Series, o.Attributed))
}

// counted tells whether cg itself read a counter of the machine's energy that moved.
func (o *Outcome) counted() bool {
	for d, domain := range o.Domains {
		if domain.InTotal && domain.Method != nemb.Estimated && o.Attributed.Domains[d].Total > 0 {
			return true
		}
	}
	return false
}

// Block is a result block: what a program with checkpoints of its own says at
// its end (docs/formats.md).
type Block struct {
	Measurements []Measurement `json:"measurements"`
	Dropped      int           `json:"dropped"`
	Places       []BlockPlace  `json:"places"`
}

// Measurement is one checkpoint of a block.
type Measurement struct {
	// CheckpointID is "kind:name:id", with "#inv_N_tTHREAD" behind it.
	CheckpointID string   `json:"checkpoint_id"`
	Timestamp    int64    `json:"timestamp"` // CLOCK_MONOTONIC, ns
	Joules       *float64 `json:"joules"`
	Watts        *float64 `json:"watts"`
}

func (r *recorder) block(text []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, err := ReadBlock(text)
	if err != nil {
		if r.outcome.BlockFault == nil {
			r.outcome.BlockFault = fmt.Errorf("a result block in the program's output is no JSON: %w", err)
		}
		return
	}
	r.outcome.Blocks = append(r.outcome.Blocks, b)
}

// ReadBlock decodes what stands between the two lines of a result block.
func ReadBlock(text []byte) (b Block, err error) {
	err = json.Unmarshal(text, &b)
	b.settle()
	return b, err
}

var kinds = map[string]checkpoint.Kind{
	"enter": checkpoint.Enter, "exit": checkpoint.Exit, "suspend": checkpoint.Suspend,
	"resume": checkpoint.Resume, "unwind": checkpoint.Unwind, "close": checkpoint.Close,
}

var errID = errors.New("not a checkpoint id")

// blockPoint is what the id of a checkpoint says.
type blockPoint struct {
	kind   checkpoint.Kind
	name   string
	number int    // of the function, or of the checkpoint; 0 where the id does not tell it
	thread uint64 // 0 where the id does not tell it
}

// parseID splits "enter:shop.fib:7#inv_1_t7f00" into its parts.
func parseID(id string) (p blockPoint, err error) {
	what, rest, ok := strings.Cut(id, ":")
	kind, known := kinds[what]
	if !ok || !known {
		return p, errID
	}
	p.kind = kind
	p.name, id, _ = strings.Cut(rest, "#")
	if i := strings.LastIndexByte(p.name, ':'); i >= 0 {
		p.number, _ = strconv.Atoi(p.name[i+1:])
		p.name = p.name[:i]
	}
	if i := strings.LastIndex(id, "_t"); i >= 0 {
		p.thread, _ = strconv.ParseUint(id[i+2:], 16, 64)
	}
	return p, nil
}

// fromBlocks attributes a series to the checkpoints of the run's blocks. Their times and
// those of the samples are nanoseconds of one clock, which serve as ticks.
// like is what is known of the same run without them.
func (o *Outcome) fromBlocks(series nemb.Series, like attribute.Result) blockFunctions {
	a := attribute.New(series.Domains, processor.Online())
	a.Background = like.Background
	a.Assign(like.GPUs)
	functions := blockFunctions{}
	type history struct {
		run   checkpoint.Run
		words []checkpoint.Word
		times []checkpoint.Tick
	}
	runs := map[checkpoint.Thread]*history{}
	var order []*history
	for b, block := range o.Blocks {
		threads, placed := map[uint64]uint32{}, block.placed()
		for _, m := range block.Measurements {
			p, err := parseID(m.CheckpointID)
			if err != nil || m.Timestamp <= 0 {
				continue
			}
			site := functions.add(&o.BlockSites, placed, p)
			if threads[p.thread] == 0 {
				threads[p.thread] = uint32(len(threads) + 1)
			}
			t := checkpoint.Thread{PID: uint32(b + 1), TID: threads[p.thread]}
			at := checkpoint.Tick(m.Timestamp)
			h := runs[t]
			if h == nil {
				h = &history{run: checkpoint.Run{Thread: t, First: true, Start: at}}
				runs[t] = h
				order = append(order, h)
			}
			h.words = append(h.words, checkpoint.Pack(at, p.kind, site))
			h.times = append(h.times, at)
		}
	}
	for i, s := range series.Samples {
		s.At = checkpoint.Tick(s.Time)
		s.Usage.Threads = nil
		for _, h := range order {
			n := 0
			for n < len(h.times) && h.times[n] < s.At {
				n++
			}
			if n > 0 && i > 0 {
				h.run.Words, h.run.Last = h.words[:n], n == len(h.words)
				a.Fold(h.run, s.At, s.At)
				h.words, h.times = h.words[n:], h.times[n:]
			}
		}
		if i == len(series.Samples)-1 {
			a.Last(s)
		} else {
			a.Close(s)
		}
	}
	o.Attributed = a.Finish()
	return functions
}
