package attribute

import (
	"math/rand/v2"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
)

// hostile reads numbers out of bytes, small and extreme ones.
type hostile struct{ b []byte }

func (h *hostile) next(n int) (v uint64) {
	for range n {
		v <<= 8
		if len(h.b) > 0 {
			v |= uint64(h.b[0])
			h.b = h.b[1:]
		}
	}
	return v
}

func (h *hostile) number(most uint64) uint64 {
	switch v := h.next(1); {
	case v < 128:
		return v % (most + 1)
	case v < 144:
		return 0
	case v < 160:
		return most
	default:
		return h.next(8) % (most + 1)
	}
}

// FuzzAttributor: whatever words and samples come, in whatever order, every
// microjoule has its line and nothing panics: clocks that go backwards,
// counters that fall, threads out of nothing, samples that are missing.
func FuzzAttributor(f *testing.F) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 8 {
		b := make([]byte, 400)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h := &hostile{b}
		domains := []nemb.Domain{counter, counter, counter}
		domains[1].ID, domains[1].InTotal, domains[1].Program = "memory", false, h.next(1)&1 == 0
		domains[2].ID, domains[2].Method = "dram-0", nemb.Estimated
		switch h.next(1) % 3 {
		case 0:
			domains[0].Base = float64(h.number(1000))
		case 1:
			domains[0].IdleShare, domains[0].IdleShareMost = .2, .4
		}
		domains[2].Lo, domains[2].Hi = .5, 1.5
		a := New(domains, int(h.next(1)%5))
		a.MaxDepth = int(h.next(1) % 4)
		a.Background = []string{"gc", "jit"}[:h.next(1)%3]
		at, clock := checkpoint.Tick(1<<20), checkpoint.Instant(1<<20)
		energy := [3]nemb.Energy{}
		sample := func() nemb.Sample {
			if h.next(1)%8 == 0 { // a clock that stands, jumps or goes backwards
				at, clock = checkpoint.Tick(h.number(1<<50)), checkpoint.Instant(h.number(1<<50))
			} else {
				step := h.number(1 << 24)
				at, clock = at+checkpoint.Tick(step), clock+checkpoint.Instant(step)
			}
			for d := range energy {
				if h.next(1)%16 == 0 {
					energy[d] = nemb.Energy(h.number(1 << 40))
				} else {
					energy[d] += nemb.Energy(h.number(1 << 20))
				}
			}
			s := nemb.Sample{At: at, Time: clock, Energy: energy[:], Failed: h.next(1)%8 == 0, Gap: h.next(1)%8 == 0}
			s.Energy = append([]nemb.Energy(nil), s.Energy...)
			s.Usage = account.Usage{Program: time.Duration(h.number(1 << 40)), Own: time.Duration(h.number(1 << 30)), Other: time.Duration(h.number(1 << 30))}
			for range h.next(1) % 3 {
				s.Usage.Background = append(s.Usage.Background, time.Duration(h.number(1<<30)))
			}
			for range h.next(1) % 4 {
				s.Usage.Threads = append(s.Usage.Threads, account.ThreadUsage{
					Thread: checkpoint.Thread{PID: 1, TID: uint32(h.next(1) % 4)}, CPU: time.Duration(h.number(1 << 40)),
				})
			}
			return s
		}
		if h.next(1)&1 == 0 {
			a.Close(sample())
		}
		for len(h.b) > 0 {
			switch h.next(1) % 8 {
			case 0, 1:
				a.Close(sample())
			case 2:
				a.Merge()
			default:
				flags := h.next(1)
				r := checkpoint.Run{
					Thread: checkpoint.Thread{PID: uint32(h.next(1) % 3), TID: uint32(h.next(1) % 4)},
					First:  flags&1 != 0, Last: flags&2 != 0, Strands: flags&4 != 0, Image: flags&8 != 0, Forked: flags&16 != 0,
					Parent: checkpoint.Thread{PID: 1, TID: uint32(h.next(1) % 4)}, ForkTick: checkpoint.Tick(h.number(1 << 50)),
					Start: checkpoint.Tick(h.number(1 << 50)), Lost: h.next(1) / 128, Cost: float64(h.number(1 << 12)),
				}
				for range h.next(1) % 16 {
					w := checkpoint.Word(h.next(8))
					switch h.next(1) % 4 {
					case 0:
						w = checkpoint.Pack(at+checkpoint.Tick(h.next(2)), checkpoint.Kind(w), checkpoint.SiteID(w>>8&7))
					case 1:
						w = checkpoint.Pack(at+checkpoint.Tick(h.next(2)), checkpoint.Kind(w), checkpoint.OwnSite)
					}
					if w != 0 {
						r.Words = append(r.Words, w)
					}
				}
				until := at + checkpoint.Tick(h.number(1<<30))
				if n := a.Fold(r, until, until); n < 0 || n > len(r.Words) {
					t.Fatalf("%d of %d words", n, len(r.Words))
				}
			}
		}
		a.Last(sample())
		r := a.Finish()
		lawful(t, r)
		for _, c := range r.Costs {
			if c.SelfTime < 0 || c.InclusiveTime < 0 || c.CPUTime < 0 || c.Suspended < 0 {
				t.Errorf("%+v", c)
			}
		}
		if r.Wall < 0 || r.CPU < 0 {
			t.Errorf("%v, %v", r.Wall, r.CPU)
		}
		if r.Total.Total > 1<<56 {
			t.Errorf("%d uJ", r.Total.Total)
		}
	})
}
