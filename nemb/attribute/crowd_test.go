package attribute

import (
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
)

// Sixty-four threads on two processors: each is there all the time and runs 4 ms of 128. Their checkpoints cost what
// they cost in processor time, and not a part of it by the share of the time for which the threads run; also where
// the times of threads are read at long intervals, and some threads end before they are read again.
func TestCheckpointsOfManyThreads(t *testing.T) {
	const threads, slice, cost, own, rounds = 64, 4 * ms, 400, 600, 4
	for _, every := range []int64{10 * ms, 50 * ms} { // readings of the threads' times
		p := &costly{cost: cost, now: map[uint32]int64{}, self: map[checkpoint.SiteID]int64{}}
		p.each = cost
		used := func(thread uint32, at int64) time.Duration {
			sum := int64(0)
			for round := range int64(rounds) {
				from := (round*threads/2 + int64(thread-1)/2) * slice
				sum += min(max(0, at-from), slice)
			}
			return time.Duration(sum)
		}
		end := int64(0)
		for thread := uint32(1); thread <= threads; thread++ {
			for round := range int64(rounds) {
				from := (round*threads/2 + int64(thread-1)/2) * slice
				p.now[thread] = max(p.now[thread], from)
				for p.now[thread] < from+slice-2*(cost+own) {
					p.event(thread, checkpoint.Enter, 1)
					p.work(thread, 1, own)
					p.event(thread, checkpoint.Exit, 1)
					p.work(thread, 0, own)
				}
				end = max(end, from+slice)
			}
		}
		usage := func(at int64) account.Usage {
			before := at / every * every
			part := float64(at-before) / float64(every)
			u := account.Usage{Program: time.Duration(2 * at)}
			for thread := uint32(1); thread <= threads; thread++ {
				a, b := used(thread, before), used(thread, before+every)
				u.Threads = append(u.Threads, account.ThreadUsage{Thread: checkpoint.Thread{PID: 1, TID: thread},
					CPU: a + time.Duration(part*float64(b-a))})
			}
			return u
		}
		r := p.play([]nemb.Domain{counter}, end, 10*ms, constant(20), usage)
		lawful(t, r)
		spent := time.Duration(p.events * cost)
		if off := (r.CheckpointCPU - spent).Abs(); off > spent/20 {
			t.Errorf("readings each %v: checkpoints took %v, want %v", time.Duration(every), r.CheckpointCPU, spent)
		}
		if every > 10*ms {
			continue // of what is read so seldom it is not known when the function ran
		}
		if c, want := known(r, 1), nemb.Energy(p.self[1]*10/1000); !near(c.Self.Energy, want, .25) {
			t.Errorf("readings each %v: the function has %d uJ, want %d", time.Duration(every), c.Self.Energy, want)
		}
	}
}
