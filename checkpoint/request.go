package checkpoint

import (
	"cmp"
	"errors"
	"slices"
	"sync/atomic"
)

// ErrFull says that no chunk is free.
var ErrFull = errors.New("checkpoint: the channel is full")

// Request asks for a chunk on behalf of a writer; the fields are as in Run.
type Request struct {
	Thread   Thread
	First    bool
	Parent   Thread // of a thread that fork(2) made, else zero
	ForkTick Tick
	Lost     uint64 // since the thread's last chunk
	New      uint64 // of these, since its last request
	Sums     bool   // words are sums, and ForkTick is in nanoseconds
}

// TakeChunk reserves a chunk on behalf of a writer that has no atomic operations
// and returns the offset of its header in the file. The writer stores state 2
// when it has done with it.
func (c *Channel) TakeChunk(r Request) (offset int, err error) {
	offsets, err := c.TakeChunks(r, 1)
	if err != nil {
		return 0, err
	}
	return offsets[0], nil
}

// TakeChunks is TakeChunk for a writer that will fill several chunks, one behind the
// other, in the order of the offsets: at most n, and only one while other
// threads may need what is left.
func (c *Channel) TakeChunks(r Request, n int) (offsets []int, err error) {
	err = ErrFull
	c.touch(func() { offsets, err = c.takeSome(r, n) })
	return offsets, err
}

func (c *Channel) takeSome(r Request, n int) (offsets []int, err error) {
	c.AddLost(r.New)
	// A thread asks again when a signal handler kept it from hearing the
	// answer: the chunks it does not know of would hold up its later ones.
	type held struct {
		seq    uint64
		offset int
	}
	var unheard []held
	free := 0
	for i := range c.state {
		switch atomic.LoadUint32(&c.state[i]) {
		case stateFree:
			free++
		case stateOwned:
			h, words := c.chunk(i), c.words(i)
			own := r.Sums && !r.First && h.flags&flagSums != 0 && h.pid == r.Thread.PID && h.tid == r.Thread.TID
			if own && words[0] == 0 && words[1] == 0 {
				unheard = append(unheard, held{h.seq, c.offset(i)})
			}
		}
	}
	if len(unheard) > 0 {
		slices.SortFunc(unheard, func(a, b held) int { return cmp.Compare(a.seq, b.seq) })
		for _, u := range unheard {
			offsets = append(offsets, u.offset)
		}
		return offsets, nil
	}
	if free < len(c.state)*3/4 {
		n = 1
	}
	for i := range c.state {
		if len(offsets) == n {
			break
		}
		if !atomic.CompareAndSwapUint32(&c.state[i], stateFree, stateOwned) {
			continue
		}
		h := c.chunk(i)
		h.tick, h.pid, h.tid = uint64(c.clock.Now()), r.Thread.PID, r.Thread.TID
		h.pidSpace = c.space
		h.flags = flagTaken
		if r.Sums {
			h.flags |= flagSums
		}
		if len(offsets) == 0 {
			if r.First {
				h.flags |= flagFirst
			}
			if r.First && r.Parent != (Thread{}) {
				h.flags |= flagForked
				h.parentPID, h.parentTID, h.forkTick = r.Parent.PID, r.Parent.TID, uint64(r.ForkTick)
			}
			if r.Lost > 0 {
				h.flags |= flagResync
				h.lost = r.Lost
			}
		}
		atomic.StoreUint64(&h.seq, atomic.AddUint64(&c.head.head, 1))
		offsets = append(offsets, c.offset(i))
	}
	if len(offsets) == 0 {
		return nil, ErrFull
	}
	return offsets, nil
}

// AddLost adds to the number of events that writers could not write.
func (c *Channel) AddLost(n uint64) { c.touch(func() { atomic.AddUint64(&c.head.lost, n) }) }
