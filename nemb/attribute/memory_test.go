package attribute

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
)

// inUse is what is in use, in bytes.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// What a run keeps does not grow with its calls.
func TestMemoryIsBounded(t *testing.T) {
	a := New([]nemb.Domain{counter}, 2)
	a.Close(nemb.Sample{At: 1, Time: 1, Energy: []nemb.Energy{0}})
	run := checkpoint.Run{Thread: checkpoint.Thread{PID: 1, TID: 1}, First: true, Start: 1}
	at := checkpoint.Tick(1)
	play := func(windows int) uint64 {
		for range windows {
			run.Words = run.Words[:0]
			for i := range checkpoint.SiteID(5000) {
				at += 1000
				run.Words = append(run.Words, checkpoint.Pack(at, checkpoint.Enter, 1+i%50), checkpoint.Pack(at+500, checkpoint.Exit, 1+i%50))
			}
			at += 1000
			a.Fold(run, at, at)
			run.First = false
			a.Close(nemb.Sample{At: at, Time: checkpoint.Instant(at), Energy: []nemb.Energy{nemb.Energy(at / 100)}, Usage: alone(int64(at))})
		}
		return inUse()
	}
	few := play(100)
	many := play(400)
	if grown := math.Max(0, float64(many)-float64(few)); grown > 2<<20 {
		t.Errorf("four million events more take %.1f MiB more", grown/(1<<20))
	}
	lawful(t, a.Finish())
}

// BenchmarkClose closes windows of 10 ms in which 200 functions ran on some
// thousand call paths, of a counter that is updated each millisecond. With
// -benchtime 100000x it is 10^9 events.
func BenchmarkClose(b *testing.B) {
	d := counter
	d.Period = time.Millisecond
	a := New([]nemb.Domain{d}, 2)
	id := checkpoint.Thread{PID: 1, TID: 1}
	a.Close(nemb.Sample{At: 1, Time: 1, Energy: []nemb.Energy{0}})
	rng := rand.New(rand.NewPCG(3, 4))
	run := checkpoint.Run{Thread: id, First: true, Start: 1}
	at := checkpoint.Tick(1)
	var stack []checkpoint.SiteID
	b.ResetTimer()
	var closing time.Duration
	for i := range b.N {
		run.Words = run.Words[:0]
		for range 10000 {
			at += 1000
			if len(stack) == 0 || len(stack) < 8 && rng.IntN(2) == 0 {
				site := checkpoint.SiteID(1)
				if len(stack) > 0 {
					site = (stack[len(stack)-1]*7+checkpoint.SiteID(rng.IntN(3)))%200 + 1
				}
				stack = append(stack, site)
				run.Words = append(run.Words, checkpoint.Pack(at, checkpoint.Enter, site))
			} else {
				run.Words = append(run.Words, checkpoint.Pack(at, checkpoint.Exit, stack[len(stack)-1]))
				stack = stack[:len(stack)-1]
			}
		}
		a.Fold(run, at+1, at+1)
		run.First = false
		begin := time.Now()
		a.Close(nemb.Sample{At: at + 1, Time: checkpoint.Instant(at + 1), Energy: []nemb.Energy{nemb.Energy(i+1) * 200_000}, Usage: account.Usage{Program: time.Duration(at), Threads: []account.ThreadUsage{{Thread: id, CPU: time.Duration(at)}}}})
		closing += time.Since(begin)
	}
	b.ReportMetric(float64(closing.Microseconds())/float64(b.N), "us/window")
	b.ReportMetric(float64(a.stacks.Tree.Len()), "paths")
	b.ReportMetric(float64(b.N)*10000, "events")
	b.StopTimer()
	b.ReportMetric(float64(inUse())/(1<<20), "MiB")
	runtime.KeepAlive(a)
}

// BenchmarkManyPaths folds windows of a thread that adds up and was in each of 100,000 call
// paths in each of them: ns for a path of a window.
func BenchmarkManyPaths(b *testing.B) {
	const n = 100_000
	tally := checkpoint.Tally{Paths: 1, Nodes: make([]checkpoint.Node, checkpoint.FirstNode)}
	parts := make([]checkpoint.Part, n)
	for i := range n {
		node := uint32(checkpoint.FirstNode + i)
		parent := uint32(checkpoint.RootNode)
		if i > 0 {
			parent = checkpoint.FirstNode + uint32(i-1)/8
		}
		tally.Nodes = append(tally.Nodes, checkpoint.Node{Site: checkpoint.SiteID(1 + i%1000), Parent: parent, Born: 2})
		parts[i] = checkpoint.Part{Node: node, Ticks: 1000, Calls: 2}
	}
	a := New([]nemb.Domain{counter}, 2)
	run := checkpoint.Run{Thread: checkpoint.Thread{PID: 1, TID: 1}, First: true, Start: 1, Cost: 40, Tally: &tally}
	at := checkpoint.Tick(1)
	a.Close(nemb.Sample{At: at, Time: checkpoint.Instant(at), Energy: []nemb.Energy{0}})
	for b.Loop() {
		w := checkpoint.Window{Epoch: at, Begin: at, Last: at + 1000*n, Top: checkpoint.FirstNode, Parts: parts}
		tally.Windows = []checkpoint.Window{w}
		at = w.Last + 10
		a.Fold(run, at, at)
		run.First = false
		a.Close(nemb.Sample{At: at, Time: checkpoint.Instant(at), Energy: []nemb.Energy{nemb.Energy(at / 100)},
			Usage: alone(int64(at))})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/path")
}
