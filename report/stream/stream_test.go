package stream

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"cg/long"
)

// ofHespas is what CounterEventStream.to_json_str of HESPAS' own package gives (its class variable left out of the
// fields, without which it raises KeyError).
const ofHespas = `{"version": "0.0.1", "metadata": {"tool": "cg", "host": "node1", "unit": "J"}, "events": [{"event_name": "enter:train", "timestamp": 1, "timeunit": "s", "metadata": {"energy_j": 12.4, "domain": "package-0"}}, {"event_name": "exit:train", "timestamp": 2.5, "timeunit": "s", "metadata": {}}, {"event_name": "tick", "timestamp": 3, "timeunit": "", "metadata": {}}, {"event_name": "q", "timestamp": 4, "timeunit": "ns", "metadata": {}}]}`

func open(t testing.TB, text string) *Stream {
	t.Helper()
	s, err := Open(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return s
}

func event(name, at, unit, metadata string) string {
	return fmt.Sprintf(`{"event_name": %q, "timestamp": %s, "timeunit": %q, "metadata": {%s}}`, name, at, unit, metadata)
}

func streamOf(events ...string) string {
	return `{"version": "0.0.1", "metadata": {}, "events": [` + strings.Join(events, ", ") + `]}`
}

func TestSpell(t *testing.T) {
	for text, want := range map[string]string{
		ofHespas: ofHespas,
		"{\n \"version\":\"0.0.1\",\"metadata\":{\"a\\\"\\\\\":\"é, : 😀\\ud800\x7f\"},\n\t\"events\":[]}\n": `{"version": "0.0.1", "metadata": {"a\"\\": "\u00e9, : \ud83d\ude00\ud800\u007f"}, "events": []}`,
	} {
		var b bytes.Buffer
		if err := open(t, text).Spell(&b); err != nil || b.String() != want {
			t.Errorf("%s, %v, want\n%s", b.String(), err, want)
		}
	}
}

// spans are the tasks of a stream: clock name depth from to thread.
func spans(t *testing.T, s *Stream) (all string, left int) {
	t.Helper()
	err := s.Replay(Handler{Left: func(*Event) { left++ }, Span: func(p *Span) error {
		clock := p.Clock
		if clock == "" {
			clock = "time"
		}
		all += fmt.Sprintf("%s %s %d %d %d %s|", clock, p.Name, p.Depth, p.From, p.To, p.Thread.Thread)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return all, left
}

func TestReplay(t *testing.T) {
	for _, c := range []struct {
		events []string
		rate   float64
		want   string
		left   int
	}{
		{[]string{event("enter:a", "1", "s", ""), event("exit:a", `"2.5"`, "s", "")}, 0, "time a 0 1000000000 2500000000 |", 0},
		// in any order, in units of several lengths, with every digit
		{[]string{event("exit:a", "12.0", "ms", ""), event("enter:a", "3", "us", "")}, 0, "time a 0 3000 12000000 |", 0},
		{[]string{event("a_begin", "1714155600123456789", "ns", ""), event("a_end", `"1714155600123456790"`, "ns", "")}, 0,
			"time a 0 1714155600123456789 1714155600123456790 |", 0},
		// the seed's default unit is an order, and fractions keep theirs
		{[]string{event("begin:a", "1", "", ""), event("end:a", "7", "", "")}, 0, "timestamp a 0 1 7 |", 0},
		{[]string{event("begin:a", "1.5", "", ""), event("end:a", "7", "", "")}, 0, "timestamp a 0 1500 7000 |", 0},
		{[]string{event("a.start", "10", "cycles", ""), event("a.stop", "30", "cycles", "")}, 0, "cycles a 0 10 30 |", 0},
		{[]string{event("a.start", "10", "cycles", ""), event("a.stop", "30", "cycles", "")}, 1e9, "time a 0 10 30 |", 0},
		// times that no clock of 64 bits has are an order, too
		{[]string{event("enter:a", "1", "s", ""), event("exit:a", "9223372037", "s", "")}, 0, "s a 0 1 9223372037 |", 0},
		{[]string{event("exit:a", "1e300", "s", ""), event("enter:a", "-5e299", "s", "")}, 0,
			"s a 0 -2305843009213693440 4611686018427386880 |", 0},
		{[]string{event("enter:a", "1e19", "", ""), event("exit:a", "2e19", "", "")}, 0,
			"timestamp a 0 2305843009213693440 4611686018427386880 |", 0},
		{[]string{event("enter:a", "-9223372036854775807", "", ""), event("exit:a", "9223372036854775807", "", "")}, 0,
			"timestamp a 0 -4611686018427386880 4611686018427386880 |", 0},
		// threads, and calls of one name
		{[]string{event("call:f", "1", "ns", `"tid": 1`), event("call:f", "2", "ns", `"tid": 2`), event("return:f", "3", "ns", `"tid": 1`),
			event("return:f", "4", "ns", `"tid": 2`)}, 0, "time f 0 1 3 tid 1|time f 0 2 4 tid 2|", 0},
		{[]string{event("enter:f", "1", "ns", `"task": 0`), event("enter:f", "2", "ns", `"task": 1`), event("exit:f", "3", "ns", `"task": 0`),
			event("exit:f", "4", "ns", `"task": 1`)}, 0, "time f 0 1 3 |time f 1 2 4 |", 0},
		{[]string{event("call:f", "1", "ns", `"tid": 1, "call": 7`), event("return:f", "3", "ns", `"call": 7`)}, 0, "time f 0 1 3 tid 1|", 0},
		// halves
		{[]string{event("enter:f", "1", "ns", ""), event("exit:f", "2", "ns", ""), event("exit:f", "3", "ns", ""),
			event("enter:f", "4", "ns", ""), event("x", "9", "ns", "")}, 0, "time f 0 1 2 |time f 0 4 9 |", 2},
		{[]string{event("warm_start", "1", "ns", "")}, 0, "", 0},
	} {
		s := open(t, streamOf(c.events...))
		s.Rate = c.rate
		if got, left := spans(t, s); got != c.want || left != c.left {
			t.Errorf("%v:\n%s, %d left, want\n%s, %d", c.events, got, left, c.want, c.left)
		}
	}
}

func TestSums(t *testing.T) {
	s := open(t, streamOf(event("enter:a", "0", "ns", ""), event("enter:b", "10", "ns", `"power": {"cpu": 3}`),
		event("exit:b", "40", "ns", `"energy_j": 2`), event("exit:a", "100", "ns", `"energy_j": 5`), event("q", "7", "", `"n": -1`)))
	sums, err := s.Sums()
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(sums.Names, sums.Paths, sums.Spans, sums.Left); got !=
		"[{ a 1 100 70 5 1} { b 1 30 30 2 1}] [{ a -1 1 70} { b 0 1 30}] 2 0" {
		t.Error(got)
	}
	var names []string
	for _, c := range sums.Counters {
		names = append(names, fmt.Sprint(c.Name, c.N, c.Min, c.Max))
	}
	if got := strings.Join(names, " "); got != "a.energy_j1 5 5 b.energy_j1 2 2 b.power.cpu1 3 3 q.n1 -1 -1" {
		t.Error(got)
	}
	r, err := s.Run()
	if err != nil || len(r.Functions) != 2 || len(r.Tasks) != 3 || r.Tasks[0].LastedNs() != 100 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	good := event("a", "1", "ns", "")
	for want, text := range map[string]string{
		"it ends in the middle":                      streamOf(good)[:60],
		"version is no text: 1":                      `{"version": 1, "metadata": {}, "events": []}`,
		"it has no version":                          `{"metadata": {}, "events": []}`,
		`version "1.0" is not three numbers`:         `{"version": "1.0", "metadata": {}, "events": []}`,
		"it has no object metadata":                  `{"version": "0.0.1", "metadata": [], "events": []}`,
		"it has no events":                           `{"version": "0.0.1", "metadata": {}}`,
		"events is no list":                          `{"version": "0.0.1", "metadata": {}, "events": {}}`,
		`unknown field "more"`:                       `{"version": "0.0.1", "metadata": {}, "events": [], "more": 1}`,
		"something follows it":                       streamOf(good) + "{",
		"it is no object":                            "[]",
		"byte 1: no JSON":                            "text",
		"events[0] is no object":                     streamOf("1"),
		"events[0] has no event_name":                streamOf(`{"timestamp": 1, "timeunit": "ns", "metadata": {}}`),
		"events[1] has no timeunit":                  streamOf(good, `{"event_name": "x", "timestamp": 1, "metadata": {}}`),
		"events[0] has no object metadata":           streamOf(`{"event_name": "x", "timestamp": 1, "timeunit": "ns", "metadata": null}`),
		"events[0].event_name is no text":            streamOf(`{"event_name": 1, "timestamp": 1, "timeunit": "ns", "metadata": {}}`),
		`events[0]: unknown field "more"`:            streamOf(`{"event_name": "x", "more": 1}`),
		"events[0].timestamp: null is not a number":  streamOf(event("x", "null", "ns", "")),
		`events[0].timestamp: "nan" is not a number`: streamOf(event("x", `"nan"`, "s", "")),
		"events[0].timestamp: 1e400 is not a number": streamOf(event("x", "1e400", "", "")),
	} {
		if s, err := Open(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %q", text, s, err, want)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte(ofHespas))
	f.Add([]byte(streamOf(event("exit:a", "1.5", "", `"tid": 3`), event("enter:a", `"2"`, "cycles", `"a": {"b": [1]}`))))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Open(bytes.NewReader(b))
		if err != nil {
			return
		}
		sums, err := s.Sums()
		if err != nil {
			return // a time beyond the range of a clock
		}
		// What is spelled is the same stream, and is spelled so again.
		var once, twice bytes.Buffer
		if err := s.Spell(&once); err != nil {
			t.Fatal(err)
		}
		again := open(t, once.String())
		if err := again.Spell(&twice); err != nil || once.String() != twice.String() {
			t.Fatalf("%v:\n%s\n%s", err, once.String(), twice.String())
		}
		other, err := again.Sums()
		if err != nil || other.Spans != sums.Spans || again.Count != s.Count || len(other.Counters) != len(sums.Counters) {
			t.Fatalf("%v: %+v, before %+v", err, other, sums)
		}
		if _, err := s.Run(); err != nil {
			t.Fatal(err)
		}
	})
}

// endless is a file of a stream with so many events that nothing could keep it.
type endless struct {
	at, size int64
	count    int64
}

const (
	endlessHead = `{"version": "0.0.1", "metadata": {}, "events": [`
	endlessTail = `{"event_name": "end", "timestamp": 9e9, "timeunit": "ns", "metadata": {}}]}`
	endlessUnit = 160 // bytes of two events
)

func newEndless(events int64) *endless {
	return &endless{count: events / 2, size: int64(len(endlessHead)) + events/2*endlessUnit + int64(len(endlessTail))}
}

func (e *endless) Seek(offset int64, whence int) (int64, error) {
	e.at = offset
	return e.at, nil
}

func (e *endless) Read(b []byte) (int, error) {
	if e.at >= e.size {
		return 0, io.EOF
	}
	n := 0
	for n < len(b) && e.at < e.size {
		var part string
		switch at := e.at - int64(len(endlessHead)); {
		case at < 0:
			part = endlessHead[e.at:]
		case at < e.count*endlessUnit:
			k := at / endlessUnit
			unit := fmt.Sprintf(`{"event_name":"enter:f","timestamp":%d,"timeunit":"ns","metadata":{"w":%d}},{"event_name":"exit:f","timestamp":%d,"timeunit":"ns","metadata":{}},`, k*2, k%7, k*2+1)
			part = fmt.Sprintf("%-*s", endlessUnit, unit)[at%endlessUnit:]
		default:
			part = endlessTail[at-e.count*endlessUnit:]
		}
		m := copy(b[n:], part)
		n += m
		e.at += int64(m)
	}
	return n, nil
}

// A stream of many events takes no more memory than one of few.
func TestBoundedMemory(t *testing.T) {
	events := int64(long.Rounds(t, 1_001_000, 1_200_000))
	s, err := Open(newEndless(events))
	if err != nil {
		t.Fatal(err)
	}
	var most uint64
	n := 0
	look := func(*Event, Facts) error {
		if n++; n%200_000 == 0 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
		}
		return nil
	}
	tasks := 0
	if err := s.Replay(Handler{Event: look, Span: func(*Span) error { tasks++; return nil }}); err != nil {
		t.Fatal(err)
	}
	if int64(n) != events+1 || int64(tasks) != events/2 || s.Count != n {
		t.Errorf("%d events, %d tasks", n, tasks)
	}
	if most > 64<<20 {
		t.Errorf("%d bytes in use", most)
	}
}
