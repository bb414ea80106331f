package attribute

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
)

// loaded is a program of known processor times on a machine with more work than processors, where a model tells the
// energy: each second of processor time has 10 W. What is not known is when its threads were on a processor.
type loaded struct {
	name      string
	functions int
	mean      time.Duration // processor time of a call
	once      bool          // each function is called once, and nothing else
	nested    bool          // the first half of the functions call the second
	waits     time.Duration // for which each call of the first function waits by itself
	load      float64       // programs for each processor beside the program
	threads   int
	late      bool // the kernel reports processor times late
	length    time.Duration
	seed      uint64
}

const (
	loadedWatts = 10
	loadedJiffy = 4 * ms // by which the kernel is late
	loadedEvery = 10 * ms
)

// onProcessor is the times of a thread on a processor.
type onProcessor struct {
	from, to []int64
	before   []int64 // processor time before each
	queued   []int64 // for how long it had waited for a processor until each began
}

func (o *onProcessor) run(at, d, queued int64) {
	used := int64(0)
	if n := len(o.from); n > 0 {
		used = o.before[n-1] + o.to[n-1] - o.from[n-1]
	}
	o.from, o.to, o.before, o.queued = append(o.from, at), append(o.to, at+d), append(o.before, used), append(o.queued, queued)
}

// at is the processor time at a moment, what the kernel reports of it, and of the time for which the thread was
// queued.
func (o *onProcessor) at(t int64) (used, told, queued int64) {
	i := sort.Search(len(o.from), func(i int) bool { return o.from[i] > t }) - 1
	if i < 0 {
		return 0, 0, 0
	}
	used = o.before[i] + min(t, o.to[i]) - o.from[i]
	if told = used; t < o.to[i] {
		told = o.before[i] + max(o.from[i], t-t%loadedJiffy) - o.from[i]
	}
	return used, told, o.queued[i]
}

// loadedThread is a thread of it.
type loadedThread struct {
	p      *loaded
	random *rand.Rand
	tape   *tape
	id     uint32
	at     int64
	queued int64
	slice  int64 // that it has left
	on     onProcessor
	stack  []checkpoint.SiteID
	used   map[checkpoint.SiteID]float64 // ns, by itself
	under  map[checkpoint.SiteID]float64
}

// wait is that for a processor.
func (t *loadedThread) wait() {
	if t.p.load > 0 {
		d := int64(t.random.ExpFloat64() * t.p.load * 2 * float64(ms))
		t.at, t.queued = t.at+d, t.queued+d
		t.slice = int64((1 + 4*t.random.Float64()) * float64(ms))
	}
}

func (t *loadedThread) run(d int64) {
	site := t.stack[len(t.stack)-1]
	t.used[site] += float64(d)
	for _, s := range t.stack {
		t.under[s] += float64(d)
	}
	for d > 0 {
		part := d
		if t.p.load > 0 {
			if t.slice <= 0 {
				t.wait()
			}
			part = min(d, t.slice)
		}
		t.on.run(t.at, part, t.queued)
		t.at, t.slice, d = t.at+part, t.slice-part, d-part
	}
}

func (t *loadedThread) enter(site checkpoint.SiteID) {
	t.tape.add(t.id, t.at, checkpoint.Enter, site)
	t.stack = append(t.stack, site)
}

func (t *loadedThread) exit() {
	t.tape.add(t.id, t.at, checkpoint.Exit, t.stack[len(t.stack)-1])
	t.stack = t.stack[:len(t.stack)-1]
}

func (t *loadedThread) call(f int) {
	d := int64(float64(t.p.mean) * (0.5 + t.random.Float64()))
	t.enter(checkpoint.SiteID(f + 1))
	switch half := t.p.functions / 2; {
	case f == 0 && t.p.waits > 0:
		t.run(d / 20)
		t.at += int64(t.p.waits)
		t.wait()
		t.run(d / 20)
	case t.p.nested && f < half:
		t.run(d / 2)
		t.call(half + t.random.IntN(t.p.functions-half))
		t.run(d / 2)
	default:
		t.run(d)
	}
	t.exit()
}

// play is the result, and the processor times of functions by themselves and with what they called.
func (p loaded) play() (Result, map[checkpoint.SiteID]float64, map[checkpoint.SiteID]float64) {
	random := rand.New(rand.NewPCG(p.seed, 24))
	var tp tape
	used, under := map[checkpoint.SiteID]float64{}, map[checkpoint.SiteID]float64{}
	threads := make([]*loadedThread, max(1, p.threads))
	end := int64(0)
	for i := range threads {
		t := &loadedThread{p: &p, random: random, tape: &tp, id: uint32(i + 1), used: used, under: under}
		threads[i] = t
		t.enter(1000)
		t.run(20 * ms)
		for n := 0; p.once && n < p.functions || !p.once && t.at < int64(p.length); n++ {
			f := random.IntN(p.functions)
			if p.once {
				f = n
			}
			t.call(f)
			t.run(int64(p.mean / 20))
		}
		t.run(20 * ms)
		t.exit()
		end = max(end, t.at)
	}
	domain := nemb.Domain{ID: "machine", Method: nemb.Estimated, InTotal: true, Lo: 1, Hi: 1}
	a := New([]nemb.Domain{domain}, 2)
	read := func(at int64) (u account.Usage) {
		for _, t := range threads {
			cpu, told, queued := t.on.at(at)
			u.Program += time.Duration(cpu)
			late := time.Duration(0)
			if p.late {
				cpu, late = told, time.Duration(loadedJiffy)
			}
			u.Threads = append(u.Threads, account.ThreadUsage{Thread: checkpoint.Thread{PID: 1, TID: t.id}, CPU: time.Duration(cpu),
				Queued: time.Duration(queued), Late: late})
		}
		return u
	}
	// The account is read when cg gets a processor. What is sampled meanwhile lies between two readings.
	var before, after int64
	first, second := read(0), read(0)
	for at := int64(0); ; at += loadedEvery {
		at = min(at, end)
		for after < at {
			before, first = after, second
			after = min(end, at+int64((random.Float64()+random.ExpFloat64()*p.load/2)*float64(ms)))
			second = read(after)
		}
		s := nemb.Sample{At: checkpoint.Tick(origin + at), Time: checkpoint.Instant(origin + at), Usage: second}
		if at < after {
			s.Usage = usageBetween(first, second, float64(at-before)/float64(after-before))
			s.Usage.Read = [2]checkpoint.Instant{checkpoint.Instant(origin + before), checkpoint.Instant(origin + after)}
		}
		s.Energy = []nemb.Energy{nemb.Energy(s.Usage.Program.Seconds() * loadedWatts * 1e6)}
		for _, id := range slices.SortedFunc(maps.Keys(tp.words), account.CompareThreads) {
			words := tp.words[id]
			n := a.Fold(checkpoint.Run{Thread: id, First: at == 0, Start: tp.start[id], Words: words}, s.At+1000, s.At)
			tp.words[id] = words[n:]
		}
		if at == end {
			a.Last(s)
			return a.Finish(), used, under
		}
		a.Close(s)
	}
}

// usageBetween is what the sampler says of a moment between two readings.
func usageBetween(a, b account.Usage, part float64) account.Usage {
	between := func(a, b time.Duration) time.Duration { return a + time.Duration(float64(b-a)*part) }
	u := account.Usage{Program: between(a.Program, b.Program)}
	for i, t := range b.Threads {
		from := a.Threads[i]
		u.Threads = append(u.Threads, account.ThreadUsage{Thread: t.Thread, CPU: between(from.CPU, t.CPU),
			Queued: between(from.Queued, t.Queued), Turns: from.Turns + (t.Turns-from.Turns)*part, Within: t.CPU - from.CPU, Late: t.Late})
	}
	return u
}

var loads = []loaded{
	{name: "five, 500 us, nothing else runs, late", functions: 5, mean: 500 * time.Microsecond, late: true},
	{name: "five, 500 us, nothing else runs", functions: 5, mean: 500 * time.Microsecond},
	{name: "five, 500 us, load 3", functions: 5, mean: 500 * time.Microsecond, load: 3},
	{name: "five, 500 us, load 30", functions: 5, mean: 500 * time.Microsecond, load: 30},
	{name: "five, 20 ms, load 30, late", functions: 5, mean: 20 * time.Millisecond, load: 30, late: true},
	{name: "six, 200 us, call trees, load 30, late", functions: 6, mean: 200 * time.Microsecond, nested: true, load: 30, late: true},
	{name: "five, 3 ms, two threads, load 10, late", functions: 5, mean: 3 * time.Millisecond, threads: 2, load: 10, late: true},
	{name: "fifty that run once, 3 ms, nothing else runs", functions: 50, mean: 3 * time.Millisecond, once: true},
	{name: "fifty that run once, 3 ms, load 3", functions: 50, mean: 3 * time.Millisecond, once: true, load: 3},
	{name: "fifty that run once, 3 ms, load 30", functions: 50, mean: 3 * time.Millisecond, once: true, load: 30},
	{name: "three, 3 ms, one waits 12 ms, nothing else runs", functions: 3, mean: 3 * time.Millisecond, waits: 12 * time.Millisecond},
	{name: "three, 3 ms, one waits 12 ms, load 10", functions: 3, mean: 3 * time.Millisecond, waits: 12 * time.Millisecond, load: 10},
	{name: "three, 500 us, one waits 5 ms, load 10, three threads, late", functions: 3, mean: 500 * time.Microsecond, waits: 5 * time.Millisecond, load: 10, threads: 3, late: true},
}

// Where a model tells the energy, a function's interval knows that nobody saw when its thread was on a processor.
func TestLoadedTruth(t *testing.T) {
	seeds := *truthSeeds
	var lines []string
	told, held := 0, 0
	for _, p := range loads {
		p.length = 10 * time.Second
		var n, in, exact int
		var off, width []float64
		for seed := range seeds {
			p.seed = seed + 1
			r, used, under := p.play()
			lawful(t, r)
			for _, c := range r.Costs {
				for _, v := range []struct {
					told Value
					true float64
				}{{c.Self, used[c.Site]}, {c.Inclusive, under[c.Site]}} {
					truth := v.true * loadedWatts * 1e-3
					n++
					if float64(v.told.Lo) <= truth*1.001+1 && truth*0.999-1 <= float64(v.told.Hi) { // to 0.1 %
						in++
					}
					e := float64(v.told.Energy)
					if e > 0.999*truth && e < 1.001*truth {
						exact++
					}
					off = append(off, 100*(max(e/truth, truth/max(1, e))-1))
					width = append(width, 100*float64(v.told.Hi-v.told.Lo)/2/max(1, e))
				}
			}
		}
		told, held = told+n, held+in
		slices.Sort(off)
		slices.Sort(width)
		lines = append(lines, fmt.Sprintf("| %s | %d | %.1f | %.1f | %.1f | %.0f | %.1f |", p.name, n, off[len(off)/2], off[len(off)-1],
			width[len(width)/2], 100*float64(exact)/float64(n), 100*float64(in)/float64(n)))
		// Self and inclusive come in pairs that are right or wrong together.
		if float64(in) < 0.9*float64(n)-3*math.Sqrt(2*0.09*float64(n)) {
			t.Errorf("%s: %d of %d intervals hold the truth", p.name, in, n)
		}
	}
	t.Logf("in percent\n| program | values | median error | worst error | median half interval | exact to 0.1 %% | intervals that hold |\n%s\n%d of %d "+
		"intervals hold the truth", strings.Join(lines, "\n"), held, told)
	if float64(held) < 0.95*float64(told) {
		t.Errorf("%d of %d intervals hold the truth", held, told)
	}
}
