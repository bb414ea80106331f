package events

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute"
)

var (
	main1  = checkpoint.Thread{PID: 10, TID: 10}
	other1 = checkpoint.Thread{PID: 10, TID: 11}
)

const (
	enter   = checkpoint.Enter
	exit    = checkpoint.Exit
	suspend = checkpoint.Suspend
	resume  = checkpoint.Resume
	unwind  = checkpoint.Unwind
	strand  = checkpoint.Strand
)

type event struct {
	at   checkpoint.Tick
	kind checkpoint.Kind
	site checkpoint.SiteID
}

func words(events ...event) []checkpoint.Word {
	var out []checkpoint.Word
	for _, e := range events {
		out = append(out, checkpoint.Pack(e.at, e.kind, e.site))
	}
	return out
}

// log writes runs, with a window at the start and one at the end: a tick is 2 ns.
func log(t *testing.T, end checkpoint.Tick, runs ...checkpoint.Run) *Log {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, Info{RunID: "r", Tool: "cg"})
	w.Window(Window{At: 0, Time: 1000})
	for _, r := range runs {
		w.Run(r, len(r.Words), end)
	}
	w.Window(Window{At: end, Time: 1000 + 2*checkpoint.Instant(end)})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := Open(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if l.Cut != "" {
		t.Fatalf("cut: %s", l.Cut)
	}
	return l
}

// told lists slices: thread, site, from, to in ticks, and how they begin and end.
func told(t *testing.T, l *Log) []string {
	t.Helper()
	var out []string
	if err := l.Slices(func(s Slice) {
		marks := ""
		for _, m := range []struct {
			is   bool
			mark string
		}{{!s.Entered, " on"}, {s.Left, ""}, {!s.Left && !s.Cut, " off"}, {s.Cut, " cut"}} {
			if m.is {
				marks += m.mark
			}
		}
		who := fmt.Sprint(s.Thread.TID)
		if s.Strand != 0 {
			who += fmt.Sprintf("/%d", s.Strand)
		}
		out = append(out, fmt.Sprintf("%s: %d at %d, %d-%d%s", who, s.Site, s.Depth, (s.From-1000)/2, (s.To-1000)/2,
			marks))
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSlices(t *testing.T) {
	first := func(th checkpoint.Thread, start checkpoint.Tick, w []checkpoint.Word) checkpoint.Run {
		return checkpoint.Run{Thread: th, First: true, Start: start, Words: w}
	}
	tests := []struct {
		name string
		runs []checkpoint.Run
		want []string
	}{
		{"calls", []checkpoint.Run{first(main1, 1,
			words(event{10, enter, 1}, event{20, enter, 2}, event{30, exit, 2}, event{50, exit, 1}))},
			[]string{"10: 2 at 1, 20-30", "10: 1 at 0, 10-50"}},
		{"recursion", []checkpoint.Run{first(main1, 1,
			words(event{10, enter, 1}, event{20, enter, 1}, event{30, exit, 1}, event{50, exit, 1}))},
			[]string{"10: 1 at 1, 20-30", "10: 1 at 0, 10-50"}},
		{"an exit ends what is above", []checkpoint.Run{first(main1, 1,
			words(event{10, enter, 1}, event{20, enter, 2}, event{50, exit, 1}))},
			[]string{"10: 2 at 1, 20-50", "10: 1 at 0, 10-50"}},
		{"an exit of nobody", []checkpoint.Run{first(main1, 1,
			words(event{10, exit, 1}, event{20, enter, 2}, event{50, exit, 2}))},
			[]string{"10: 2 at 0, 20-50"}},
		{"a generator", []checkpoint.Run{first(main1, 1,
			words(event{10, enter, 1}, event{20, suspend, 1}, event{30, resume, 1}, event{40, exit, 1}))},
			[]string{"10: 1 at 0, 10-20 off", "10: 1 at 0, 30-40 on"}},
		{"an exception is handled", []checkpoint.Run{first(main1, 1,
			words(event{10, enter, 1}, event{20, enter, 2}, event{30, enter, 3}, event{40, unwind, 1},
				event{50, exit, 1}))},
			[]string{"10: 3 at 2, 30-40", "10: 2 at 1, 20-40", "10: 1 at 0, 10-50"}},
		{"open at the end", []checkpoint.Run{first(main1, 1, words(event{10, enter, 1}, event{20, enter, 2}))},
			[]string{"10: 2 at 1, 20-20 cut", "10: 1 at 0, 10-20 cut"}},
		{"exec", []checkpoint.Run{first(main1, 1, words(event{10, enter, 1}, event{20, enter, 2})), first(main1, 30,
			words(event{40, enter, 3}, event{50, exit, 3}))},
			[]string{"10: 2 at 1, 20-20 cut", "10: 1 at 0, 10-20 cut", "10: 3 at 0, 40-50"}},
		{"lost", []checkpoint.Run{first(main1, 1, words(event{10, enter, 1})), {Thread: main1, Lost: 3, Start: 30,
			Words: words(event{40, enter, 2}, event{50, exit, 2})}},
			[]string{"10: 1 at 0, 10-10 cut", "10: 2 at 0, 40-50"}},
		{"fork", []checkpoint.Run{
			first(main1, 1, words(event{10, enter, 1}, event{20, checkpoint.Fork, 0}, event{60, exit, 1})),
			{Thread: checkpoint.Thread{PID: 12, TID: 12}, First: true, Forked: true, Parent: main1, ForkTick: 20,
				Start: 25, Words: words(event{30, enter, 2}, event{40, exit, 2}, event{50, exit, 1}), Last: true}},
			[]string{"10: 1 at 0, 10-60", "12: 2 at 1, 30-40", "12: 1 at 0, 25-50 on"}},
		{"a strand goes to another thread", []checkpoint.Run{
			{Thread: main1, First: true, Image: true, Strands: true, Start: 1,
				Words: words(event{10, strand, 7}, event{11, enter, 1}, event{20, strand, 0}, event{40, strand, 8},
					event{41, enter, 2}, event{60, exit, 2})},
			{Thread: other1, First: true, Strands: true, Start: 2,
				Words: words(event{30, strand, 7}, event{50, exit, 1})}},
			[]string{"10/7: 1 at 0, 11-20 off", "11/7: 1 at 0, 30-50 on", "10/8: 2 at 0, 41-60"}},
		{"a strand comes back unannounced", []checkpoint.Run{
			{Thread: main1, First: true, Image: true, Strands: true, Start: 1,
				Words: words(event{10, strand, 7}, event{11, enter, 1}, event{50, exit, 1})},
			{Thread: other1, First: true, Strands: true, Start: 2,
				Words: words(event{20, strand, 7}, event{30, enter, 2}, event{40, exit, 2})}},
			[]string{"10/7: 1 at 0, 11-20 off", "11/7: 2 at 1, 30-40", "11/7: 1 at 0, 20-50 on off",
				"10/7: 1 at 0, 50-50 on"}},
		{"a thread ends, told before the one that its strand came from", []checkpoint.Run{
			{Thread: other1, First: true, Strands: true, Start: 2,
				Words: words(event{30, strand, 7}, event{50, exit, 1}), Last: true},
			{Thread: main1, First: true, Image: true, Strands: true, Start: 1,
				Words: words(event{10, strand, 7}, event{11, enter, 1}, event{20, strand, 0}), Last: true}},
			[]string{"10/7: 1 at 0, 11-20 off", "11/7: 1 at 0, 30-50 on"}},
		{"a wide number", []checkpoint.Run{{Thread: main1, First: true, Image: true, Strands: true, Start: 1,
			Words: append(append(
				words(event{10, strand, checkpoint.Wide | 5}), checkpoint.Pack(3, strand, checkpoint.Wide)),
				words(event{11, enter, 1}, event{20, exit, 1})...)}},
			[]string{fmt.Sprintf("10/%d: 1 at 0, 11-20", 5+3<<20)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := told(t, log(t, 1000, tt.runs...)); !slices.Equal(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// random makes the words of a thread that calls, suspends, handles exceptions
// and leaves calls without telling.
func random(r *rand.Rand, n int, at checkpoint.Tick) []checkpoint.Word {
	var out []checkpoint.Word
	var open []checkpoint.SiteID
	for range n {
		at += checkpoint.Tick(r.IntN(1000))
		site := checkpoint.SiteID(1 + r.IntN(20))
		kind := []checkpoint.Kind{enter, enter, exit, exit, suspend, resume, unwind, checkpoint.Close}[r.IntN(8)]
		if kind != enter && kind != resume && len(open) > 0 && r.IntN(10) > 0 {
			site = open[max(0, len(open)-1-r.IntN(3))]
		}
		switch kind {
		case enter, resume:
			if len(open) > 50 {
				continue
			}
			open = append(open, site)
		case exit, suspend:
			if i := slices.Index(open, site); i >= 0 {
				open = open[:i]
			}
		}
		out = append(out, checkpoint.Pack(at, kind, site))
	}
	return out
}

// What slices tell of a function's own time is what the attribution tells from
// the same words.
func TestSlicesAgree(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var runs []checkpoint.Run
		for i := range 1 + r.IntN(3) {
			runs = append(runs, checkpoint.Run{Thread: checkpoint.Thread{PID: 1, TID: uint32(1 + i)}, First: true,
				Start: 1, Words: random(r, 1+r.IntN(400), 1), Last: true})
		}
		const end = 1 << 20
		a := attribute.New([]nemb.Domain{{ID: "d", InTotal: true}}, 1)
		a.Begin(nemb.Sample{At: 0, Time: 1000, Energy: []nemb.Energy{0}})
		for _, r := range runs {
			a.Fold(r, end, end)
		}
		a.Last(nemb.Sample{At: end, Time: 1000 + 2*end, Energy: []nemb.Energy{1000}})
		want := map[checkpoint.SiteID]time.Duration{}
		for _, c := range a.Finish().Costs {
			want[c.Site] = c.SelfTime
		}
		got := map[checkpoint.SiteID]time.Duration{}
		l := log(t, end, runs...)
		inner := map[checkpoint.Thread]map[int]time.Duration{} // per depth: of the slices within
		if err := l.Slices(func(s Slice) {
			m := inner[s.Thread]
			if m == nil {
				m = map[int]time.Duration{}
				inner[s.Thread] = m
			}
			long := time.Duration(s.Lasted())
			got[s.Site] += long - m[s.Depth+1]
			m[s.Depth] += long
			m[s.Depth+1] = 0
		}); err != nil {
			t.Fatal(err)
		}
		for site, w := range want {
			if d := got[site] - w; d < -time.Microsecond || d > time.Microsecond {
				t.Fatalf("seed %d: site %d: slices tell %v, the attribution %v", seed, site, got[site], w)
			}
		}
		if l.Events == 0 {
			t.Fatal("no events")
		}
	}
}

func TestLogReadsBack(t *testing.T) {
	sites := []checkpoint.Site{
		{ID: 1, Language: "python", Func: "m.f", File: "/a b/m.py", Line: 3, Col: 2, EndLine: 9,
			Kind: checkpoint.Function},
		{}, {ID: 3, Func: "g", Kind: checkpoint.Task},
	}
	var b bytes.Buffer
	w := NewWriter(&b, Info{RunID: "abc", Tool: "cg", Clock: "tsc", PID: 5})
	w.Window(Window{At: 5, Time: 100})
	w.Sites(sites[:1])
	w.Sites(sites)
	// A tick beyond 40 bits, and one before that of the word before.
	r := checkpoint.Run{Thread: main1, First: true, Start: 1<<40 - 10,
		Words: words(event{1<<40 - 5, enter, 1}, event{1<<40 + 5, enter, 3}, event{1<<40 + 3, exit, 3})}
	w.Run(r, 3, 1<<40+100)
	threads := []ThreadTime{{main1, 77}, {other1, 0}}
	w.Window(Window{At: 1<<40 + 50, Time: 200, Threads: threads})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w.Bytes() != int64(b.Len()) || w.Events() != 3 {
		t.Errorf("%d bytes and %d events, want %d and 3", w.Bytes(), w.Events(), b.Len())
	}
	l, err := Open(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if l.Cut != "" || l.Info != (Info{"abc", "cg", "tsc", 5}) || l.Events != 3 {
		t.Errorf("log %+v", l)
	}
	if want := []checkpoint.Site{sites[0], sites[2]}; !reflect.DeepEqual(l.Sites, want) {
		t.Errorf("sites %+v, want %+v", l.Sites, want)
	}
	var got []ThreadTime
	if err := l.Threads(func(w Window) { got = append(got, w.Threads...) }); err != nil ||
		!reflect.DeepEqual(got, threads) {
		t.Errorf("threads %v (%v), want %v", got, err, threads)
	}
}

// A long run is several blocks, which together are the same words.
func TestLongRun(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	all := random(r, 1<<20, 1)
	end := all[len(all)-1].Tick(1<<41) + 1
	l := log(t, end, checkpoint.Run{Thread: main1, First: true, Start: 1, Words: all, Last: true})
	if l.Events != uint64(len(all)) {
		t.Fatalf("%d events, want %d", l.Events, len(all))
	}
	i := 0
	blocks := 0
	if err := l.blocks(func(kind byte, b []byte) error {
		if kind != blockRun {
			return nil
		}
		blocks++
		r, err := openRun(b)
		if r.First != (blocks == 1) {
			t.Errorf("block %d: first %v", blocks, r.First)
		}
		for {
			at, kind, site, ok := r.next()
			if !ok {
				break
			}
			if w := checkpoint.Pack(at, kind, checkpoint.SiteID(site)); w != all[i] {
				t.Fatalf("word %d is %x, want %x", i, w, all[i])
			}
			i++
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if blocks < 2 {
		t.Errorf("%d blocks", blocks)
	}
	t.Logf("%.2f bytes a word", float64(l.size)/float64(len(all)))
}

// Wherever a log is cut or changed, what stands before that is read.
func TestDamagedLog(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b, Info{RunID: "r"})
	w.Window(Window{At: 0, Time: 1})
	r := rand.New(rand.NewPCG(3, 4))
	at := checkpoint.Tick(1)
	for range 20 {
		all := random(r, 30, at)
		at += 30 * 1000
		w.Run(checkpoint.Run{Thread: main1, Start: 1, Words: all}, len(all), at)
		w.Window(Window{At: at, Time: checkpoint.Instant(at)})
	}
	w.Close()
	whole := b.Bytes()
	full, _ := Open(bytes.NewReader(whole), int64(len(whole)))
	last := uint64(0)
	for n := fileHead; n < len(whole); n++ {
		l, err := Open(bytes.NewReader(whole[:n]), int64(n))
		if err != nil {
			t.Fatal(err)
		}
		if l.Cut == "" || l.Events < last || l.Events > full.Events {
			t.Fatalf("cut after %d bytes: %q, %d events after %d", n, l.Cut, l.Events, last)
		}
		last = l.Events
		bad := slices.Clone(whole)
		bad[n] ^= 1 << r.IntN(8)
		if l, err = Open(bytes.NewReader(bad), int64(len(bad))); err != nil {
			t.Fatal(err)
		}
		if l.Cut == "" {
			t.Fatalf("byte %d changed and nobody noticed", n)
		}
		if err := l.Slices(func(Slice) {}); err != nil {
			t.Fatal(err)
		}
	}
	if last != full.Events {
		t.Errorf("%d events before the end block, want %d", last, full.Events)
	}
}

func TestNoLog(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "other": "{\"meta\": {}}", "short": "CGEV"} {
		if _, err := Open(strings.NewReader(text), int64(len(text))); err != ErrNoLog {
			t.Errorf("%s: %v", name, err)
		}
	}
	newer := "CGEVENTS\x02\x00\x00\x00\x00\x00\x00\x00"
	if _, err := Open(strings.NewReader(newer), int64(len(newer))); err == nil ||
		!strings.Contains(err.Error(), "version 2") {
		t.Errorf("newer: %v", err)
	}
}

type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, fmt.Errorf("no space left")
	}
	return len(b), nil
}

// A disk that is full ends the log and nothing else, and is reported at the end.
func TestFullDisk(t *testing.T) {
	w := NewWriter(&full{1 << 20}, Info{})
	all := random(rand.New(rand.NewPCG(1, 1)), 1<<20, 1)
	for range 4 {
		w.Run(checkpoint.Run{Thread: main1, Start: 1, Words: all}, len(all), 1<<40)
	}
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("%v", err)
	}
}

func TestLongest(t *testing.T) {
	var all []event
	at := checkpoint.Tick(10)
	for i := range 1000 { // each 4 ticks longer than the one before, within one of 1
		all = append(all, event{at, enter, 1}, event{at + 1, enter, 2})
		at += 4 * checkpoint.Tick(i+1)
		all = append(all, event{at, exit, 2}, event{at + 1, exit, 1})
		at += 10
	}
	l := log(t, at+10, checkpoint.Run{Thread: main1, First: true, Start: 1, Words: words(all...)})
	var got []Slice
	n, shortest, err := l.Longest(100, func(s Slice) { got = append(got, s) })
	if err != nil || n != 2000 {
		t.Fatalf("%d slices, %v", n, err)
	}
	if len(got) > 100 || len(got) < 50 {
		t.Errorf("%d slices, want nearly 100", len(got))
	}
	for _, s := range got {
		if s.Lasted() < shortest {
			t.Errorf("%d ns, and %d is said to be the shortest", s.Lasted(), shortest)
		}
	}
	got = got[:0]
	if n, shortest, err = l.Longest(5000, func(s Slice) { got = append(got, s) }); n != 2000 || shortest != 0 ||
		err != nil || len(got) != 2000 {
		t.Errorf("all: %d of %d, from %d on, %v", len(got), n, shortest, err)
	}
}

func TestClasses(t *testing.T) {
	before := -1
	for v := int64(0); v < 1<<20; v++ {
		c := size(v)
		if c < before || c > before+1 {
			t.Fatalf("%d ns is in class %d behind %d", v, c, before)
		}
		if c > before && lower(c) != v {
			t.Fatalf("class %d begins at %d, not %d", c, lower(c), v)
		}
		before = c
	}
	if c := size(1<<63 - 1); c >= 512 {
		t.Errorf("class %d", c)
	}
}

func FuzzLog(f *testing.F) {
	var b bytes.Buffer
	w := NewWriter(&b, Info{})
	w.Run(checkpoint.Run{Thread: main1, First: true, Strands: true, Start: 1,
		Words: words(event{10, strand, 7}, event{11, enter, 1})}, 2, 100)
	w.Window(Window{At: 5, Time: 5, Threads: []ThreadTime{{main1, 1}}})
	w.Close()
	f.Add(b.Bytes()[fileHead:])
	f.Fuzz(func(t *testing.T, payload []byte) {
		// As a payload of each kind with a good digest, and as a file.
		for kind := byte(0); kind < 7; kind++ {
			var b bytes.Buffer
			w := NewWriter(&b, Info{})
			w.put(kind, payload)
			w.put(blockWindow, []byte{1, 1, 0})
			w.flush()
			if l, err := Open(bytes.NewReader(b.Bytes()), int64(b.Len())); err == nil {
				l.Slices(func(Slice) {})
				l.Threads(func(Window) {})
			}
		}
		file := append([]byte("CGEVENTS\x01\x00\x00\x00\x00\x00\x00\x00"), payload...)
		if l, err := Open(bytes.NewReader(file), int64(len(file))); err == nil {
			l.Slices(func(Slice) {})
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	all := random(rand.New(rand.NewPCG(1, 1)), 8000, 1)
	r := checkpoint.Run{Thread: main1, Start: 1, Words: all}
	w := NewWriter(discard{}, Info{})
	for b.Loop() {
		w.Run(r, len(all), 1<<40)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(w.Events()), "ns/event")
	b.ReportMetric(float64(w.Bytes())/float64(w.Events()), "bytes/event")
}

func BenchmarkSlices(b *testing.B) {
	var file bytes.Buffer
	w := NewWriter(&file, Info{})
	all := random(rand.New(rand.NewPCG(1, 1)), 1<<20, 1)
	w.Window(Window{At: 0, Time: 1})
	w.Run(checkpoint.Run{Thread: main1, Start: 1, Words: all}, len(all), 1<<40)
	w.Window(Window{At: 1 << 32, Time: 1 << 32})
	w.Close()
	l, err := Open(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		l.Slices(func(Slice) { n++ })
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/slice")
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
