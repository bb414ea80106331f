package attribute

import (
	"reflect"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
)

// The same words and samples give the same figures, also with many threads and
// functions that wait.
func TestSameFigures(t *testing.T) {
	run := func() Result {
		a := New([]nemb.Domain{counter}, 4)
		const threads = 6
		for at := checkpoint.Tick(0); at <= 200*ms; at += 10 * ms {
			s := nemb.Sample{At: at, Time: checkpoint.Instant(at), Energy: []nemb.Energy{nemb.Energy(at / 50)}}
			for id := range uint32(threads) {
				thread := checkpoint.Thread{PID: 1, TID: id + 1}
				if at > 0 {
					begin := at - 10*ms
					var words []checkpoint.Word
					for i := range checkpoint.Tick(9) {
						site := checkpoint.SiteID(1 + (uint64(i)*uint64(id+3)+uint64(at)/ms)%7)
						words = append(words, checkpoint.Pack(begin+i*ms, checkpoint.Enter, site),
							checkpoint.Pack(begin+i*ms+ms/2+checkpoint.Tick(id)*1000, checkpoint.Exit, site))
					}
					a.Fold(checkpoint.Run{Thread: thread, First: begin == 0, Words: words}, at, at)
				}
				cpu := time.Duration(at) / time.Duration(id+1)
				s.Usage.Program += cpu
				s.Usage.Threads = append(s.Usage.Threads, account.ThreadUsage{Thread: thread, CPU: cpu})
			}
			a.Close(s)
		}
		return a.Finish()
	}
	first := run()
	lawful(t, first)
	for range 20 {
		if again := run(); !reflect.DeepEqual(again, first) {
			t.Fatalf("%+v\nis not\n%+v", again.Costs, first.Costs)
		}
	}
}
