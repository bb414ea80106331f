package stream

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// simple is Replay's rule for one clock, a step at a time, however long that takes.
type simple struct {
	open  map[Thread][]*simpleTask
	since map[[2]string]int64 // when the first open task of a thread and name began
	begun int
	out   []string
}

type simpleTask struct {
	name, id      string
	number, depth int
	from          int64
	parent        string
	overlaps      bool
}

func (m *simple) begin(th Thread, name, id string, at int64) {
	t := &simpleTask{name: name, id: id, number: m.begun, depth: len(m.open[th]), from: at}
	if t.depth > 0 {
		t.parent = m.open[th][t.depth-1].name
	}
	m.begun++
	if !m.has(th, name) {
		m.since[[2]string{th.Thread, name}] = at
	}
	m.open[th] = append(m.open[th], t)
}

func (m *simple) end(th Thread, name, id string, at int64) {
	fits := func(t *simpleTask) bool { return t.name == name && (id == "" || t.id == "" || t.id == id) }
	k := -1
	for i, t := range m.open[th] {
		if fits(t) {
			k = i
		}
	}
	if k < 0 && th.Thread == "" && id != "" {
		number := -1
		for other, all := range m.open {
			for i, t := range all {
				if t.name == name && t.id == id && t.number > number {
					th, k, number = other, i, t.number
				}
			}
		}
	}
	if k >= 0 {
		m.close(th, k, at)
	}
}

func (m *simple) close(th Thread, k int, at int64) {
	t := m.open[th][k]
	for _, inner := range m.open[th][k+1:] {
		inner.overlaps = true
	}
	m.open[th] = slices.Delete(m.open[th], k, k+1)
	whole := int64(0)
	if !m.has(th, t.name) {
		whole = at - m.since[[2]string{th.Thread, t.name}]
	}
	m.out = append(m.out, line(th, t.name, t.parent, t.depth, t.from, at, t.overlaps, whole))
}

func (m *simple) has(th Thread, name string) bool {
	return slices.ContainsFunc(m.open[th], func(t *simpleTask) bool { return t.name == name })
}

func line(th Thread, name, parent string, depth int, from, to int64, overlaps bool, whole int64) string {
	return fmt.Sprintf("%q %s in %q at %d, %d to %d, %v, %d", th.Thread, name, parent, depth, from, to, overlaps, whole)
}

// finish ends what is open, the last that began first.
func (m *simple) finish(at int64) {
	for {
		var last Thread
		number := -1
		for th, all := range m.open {
			if n := len(all); n > 0 && all[n-1].number > number {
				last, number = th, all[n-1].number
			}
		}
		if number < 0 {
			return
		}
		m.close(last, len(m.open[last])-1, at)
	}
}

// Random streams of three names, threads and ids give the tasks that the rule gives.
func TestReplayKeepsTheRule(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		model := simple{open: map[Thread][]*simpleTask{}, since: map[[2]string]int64{}}
		all := []string{event("enter:a", "0", "ns", ""), event("exit:a", "0", "ns", ""), event("enter:b", "0", "ns", ""),
			event("exit:b", "0", "ns", ""), event("enter:c", "0", "ns", ""), event("exit:c", "0", "ns", "")}
		for i, e := range all {
			name := string("abc"[i/2])
			if strings.Contains(e, "enter") {
				model.begin(Thread{}, name, "", 0)
			} else {
				model.end(Thread{}, name, "", 0)
			}
		}
		at := int64(0)
		for range 120 {
			at += r.Int64N(2)
			name, facts, id := string("abc"[r.IntN(3)]), "", ""
			th := Thread{}
			if n := r.IntN(3); n > 0 {
				th.Thread = fmt.Sprint("tid ", n)
				facts = fmt.Sprintf(`"tid": %d`, n)
			}
			if n := r.IntN(4); n > 0 {
				id = fmt.Sprint("task ", n)
				facts = strings.TrimPrefix(facts+fmt.Sprintf(`, "task": %d`, n), ", ")
			}
			if r.IntN(2) == 0 {
				model.begin(th, name, id, at)
				all = append(all, event("enter:"+name, fmt.Sprint(at), "ns", facts))
			} else {
				model.end(th, name, id, at)
				all = append(all, event("exit:"+name, fmt.Sprint(at), "ns", facts))
			}
		}
		model.finish(at)
		var got []string
		err := open(t, streamOf(all...)).Replay(Handler{Span: func(s *Span) error {
			parent := ""
			if s.Parent != nil {
				parent = s.Parent.Name
			}
			got = append(got, line(s.Thread, s.Name, parent, s.Depth, s.From, s.To, s.Overlaps(), s.Whole))
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		want := model.out
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d:\n%s\nwant\n%s", seed, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// generated is the file of a stream that is made while it is read: of each k a text of the same
// length.
type generated struct {
	at, size   int64
	unit       int64
	head, tail string
	part       func(k int64) string
	k          int64  // of text
	text       string // the last part that was made
}

func newGenerated(n int64, part func(k int64) string) *generated {
	g := &generated{head: endlessHead, tail: endlessTail, part: part, k: -1}
	g.unit = int64(len(part(0)))
	g.size = int64(len(g.head)) + n*g.unit + int64(len(g.tail))
	return g
}

func (g *generated) Seek(offset int64, whence int) (int64, error) {
	g.at = offset
	return g.at, nil
}

func (g *generated) Read(b []byte) (int, error) {
	if g.at >= g.size {
		return 0, io.EOF
	}
	n := 0
	for n < len(b) && g.at < g.size {
		part := g.head
		at := g.at - int64(len(g.head))
		end := g.size - int64(len(g.tail))
		switch {
		case at < 0:
			part = part[g.at:]
		case g.at >= end:
			part = g.tail[g.at-end:]
		default:
			if k := at / g.unit; k != g.k {
				g.k, g.text = k, g.part(k)
			}
			part = g.text[at%g.unit:]
		}
		m := copy(b[n:], part)
		n += m
		g.at += int64(m)
	}
	return n, nil
}

// overlapping is a stream in which each of n tasks begins before those that began up to depth
// before it have ended.
func overlapping(n, depth int64) *generated {
	return newGenerated(n, func(k int64) string {
		one := fmt.Sprintf(`{"event_name": "enter:f", "timestamp": %d, "timeunit": "ns", "metadata": {"task": %d}},`, 2*k, k)
		if k >= depth {
			one += fmt.Sprintf(`{"event_name": "exit:f", "timestamp": %d, "timeunit": "ns", "metadata": {"task": %d}},`,
				2*k+1, k-depth)
		}
		return fmt.Sprintf("%-200s", one)
	})
}

// Tasks that overlap in a row leave nothing behind but what is open.
func TestOverlapsLeaveNothing(t *testing.T) {
	s := openFile(t, overlapping(150_000, 3))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n := 0
	err := s.Replay(Handler{Span: func(p *Span) error {
		if n++; n == 149_990 {
			runtime.GC()
			runtime.ReadMemStats(&after)
		}
		return nil
	}})
	if err != nil || n != 150_000 {
		t.Fatal(n, err)
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 2<<20 {
		t.Errorf("%d bytes are kept of %d tasks", grown, n)
	}
	sums, err := s.Sums()
	if err != nil || len(sums.Paths) > 8 || sums.Names[0].Calls != 150_000 || sums.Names[0].Total != 9_000_000_000 {
		t.Errorf("%d paths, %+v, %v", len(sums.Paths), sums.Names, err)
	}
}

func openFile(t testing.TB, f io.ReadSeeker) *Stream {
	t.Helper()
	s, err := Open(f)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What begins while as much is open as is kept is told as a half, and nothing else is lost.
func TestOpenTasksAreBounded(t *testing.T) {
	o := newOpened()
	big := make([]byte, 1<<20)
	for k := range mostHeld>>20 - 1 {
		if !o.begin(&Span{Name: "f", Metadata: big}, fmt.Sprint(k)) {
			t.Fatalf("no room after %d MiB", k)
		}
	}
	one := &Span{Name: "f", Metadata: big}
	if o.begin(one, "no") {
		t.Error("there is room for everything")
	}
	last := o.find(Thread{}, "f", "3")
	o.end(last)
	if last.open.id != "3" || !o.begin(one, "yes") || o.find(Thread{}, "f", "yes") != one || o.find(Thread{}, "f", "no") != nil {
		t.Error("room is not given back")
	}
	for span := o.last(); span != nil; span = o.last() {
		o.end(span)
	}
	if o.held != 0 || len(o.threads) != 0 || len(o.byID) != 0 {
		t.Errorf("%+v", o)
	}
}

// Ten million events, of tasks that nest, that overlap in a row, and that are all open at a time.
//
//	go test ./report/stream -run xxx -bench Tasks -benchtime 1x
func BenchmarkTasks(b *testing.B) {
	const events = 10_000_000
	for _, c := range []struct {
		name string
		file func() io.ReadSeeker
	}{
		{"nested", func() io.ReadSeeker { return newEndless(events) }},
		{"overlapping=3", func() io.ReadSeeker { return overlapping(events/2, 3) }},
		{"overlapping=250000", func() io.ReadSeeker { return overlapping(events/2, 250_000) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := openFile(b, c.file()).Sums(); err != nil {
					b.Fatal(err)
				}
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/events, "ns/event")
			b.ReportMetric(float64(m.Sys)/(1<<20), "MiB-at-most")
		})
	}
}
