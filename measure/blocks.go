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
		o.SharedPlaces = told.SharedPlaces
		o.Domains, o.Faults, o.Baseline = told.Domains, nil, nil
		return
	}
	o.Attributed, o.BlockSites = fromBlocks(o.Blocks, o.Series, o.Attributed)
	o.addPlaces()
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

// parseID splits "enter:shop.fib:7#inv_1_t7f00" into its parts; thread is 0
// where the id does not tell it.
func parseID(id string) (kind checkpoint.Kind, name string, thread uint64, err error) {
	what, rest, ok := strings.Cut(id, ":")
	kind, known := kinds[what]
	if !ok || !known {
		return 0, "", 0, errID
	}
	rest, tail, _ := strings.Cut(rest, "#")
	if i := strings.LastIndexByte(rest, ':'); i >= 0 {
		rest = rest[:i]
	}
	if i := strings.LastIndex(tail, "_t"); i >= 0 {
		thread, _ = strconv.ParseUint(tail[i+2:], 16, 64)
	}
	return kind, rest, thread, nil
}

// fromBlocks attributes a series to the checkpoints of blocks. Their times and
// those of the samples are nanoseconds of one clock, which serve as ticks.
// like is what is known of the same run without them.
func fromBlocks(blocks []Block, series nemb.Series, like attribute.Result) (attribute.Result, []checkpoint.Site) {
	a := attribute.New(series.Domains, processor.Online())
	a.Background = like.Background
	a.Assign(like.GPUs)
	var sites []checkpoint.Site
	numbers := map[string]checkpoint.SiteID{}
	type history struct {
		run   checkpoint.Run
		words []checkpoint.Word
		times []checkpoint.Tick
	}
	runs := map[checkpoint.Thread]*history{}
	var order []*history
	for b, block := range blocks {
		threads := map[uint64]uint32{}
		for _, m := range block.Measurements {
			kind, name, thread, err := parseID(m.CheckpointID)
			if err != nil || m.Timestamp <= 0 {
				continue
			}
			if numbers[name] == 0 {
				id := checkpoint.SiteID(len(sites) + 1)
				numbers[name] = id
				sites = append(sites, checkpoint.Site{ID: id, Func: name, Kind: checkpoint.Function})
			}
			if threads[thread] == 0 {
				threads[thread] = uint32(len(threads) + 1)
			}
			t := checkpoint.Thread{PID: uint32(b + 1), TID: threads[thread]}
			at := checkpoint.Tick(m.Timestamp)
			h := runs[t]
			if h == nil {
				h = &history{run: checkpoint.Run{Thread: t, First: true, Start: at}}
				runs[t] = h
				order = append(order, h)
			}
			h.words = append(h.words, checkpoint.Pack(at, kind, numbers[name]))
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
	return a.Finish(), sites
}
