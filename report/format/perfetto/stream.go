package perfetto

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"cg/report/format"
	"cg/report/stream"
)

// streamWriter writes a trace event by event.
type streamWriter struct {
	w       *bufio.Writer
	comma   bool
	process map[[2]string]int     // by clock and process
	thread  map[stream.Thread]int // a track each
	depth   map[trackKey]int      // of tasks that overlap others of their thread
}

// mostTracks is how many threads, and how many depths of tasks beside others, have a track of
// their own.
const mostTracks = 100_000

type trackKey struct {
	stream.Thread
	depth int
}

// writeStream writes the events of a stream: tasks as slices, every other event as an instant, all with their
// metadata, and the numbers in metadata as counters. A clock that is none of time is a process of its own, of which
// a step is shown as a nanosecond.
func writeStream(w io.Writer, s *stream.Stream, _ format.Options) error {
	t := streamWriter{w: bufio.NewWriter(w), process: map[[2]string]int{}, thread: map[stream.Thread]int{},
		depth: map[trackKey]int{}}
	other, err := json.Marshal(map[string]any{"exporter": "cg", "version": s.Version, "metadata": s.Metadata})
	if err != nil {
		return err
	}
	fmt.Fprintf(t.w, `{"displayTimeUnit":"ms","otherData":%s,"traceEvents":[`, other)
	if err := s.Replay(stream.Handler{Event: t.event, Span: t.span}); err != nil {
		return err
	}
	t.w.WriteString("]}\n")
	return t.w.Flush()
}

func (t *streamWriter) put(e traceEvent) error {
	if t.comma {
		t.w.WriteByte(',')
	}
	t.comma = true
	b, err := json.Marshal(e)
	t.w.Write(b)
	return err
}

// of numbers the process and the track of a thread; new ones get their names.
func (t *streamWriter) of(th stream.Thread) (pid, tid int, err error) {
	if t.thread[th] == 0 && len(t.thread) >= mostTracks {
		th = stream.Thread{Clock: th.Clock, Process: "others", Thread: "other threads"}
	}
	key := [2]string{th.Clock, th.Process}
	pid = t.process[key]
	if pid == 0 {
		pid = len(t.process) + 1
		t.process[key] = pid
		name := th.Process
		if name == "" {
			name = "stream"
		}
		if th.Clock != "" {
			name += ", in the order of " + th.Clock
		}
		err := t.put(traceEvent{Name: "process_name", Phase: "M", PID: pid, Args: map[string]any{"name": name}})
		if err != nil {
			return 0, 0, err
		}
	}
	tid = t.thread[th]
	if tid == 0 {
		tid, err = t.track(pid, th.Thread)
		t.thread[th] = tid
	}
	return pid, tid, err
}

// track makes a track of a process.
func (t *streamWriter) track(pid int, name string) (int, error) {
	tid := len(t.thread) + len(t.depth) + 1
	if name == "" {
		name = "events"
	}
	return tid, t.put(traceEvent{Name: "thread_name", Phase: "M", PID: pid, TID: tid,
		Args: map[string]any{"name": name}})
}

// event writes the counters of an event, and the event itself.
func (t *streamWriter) event(e *stream.Event, f stream.Facts) error {
	pid, tid, err := t.of(stream.Thread{Clock: e.Clock, Process: f.Process, Thread: f.Thread})
	if err != nil {
		return err
	}
	at := traceTime(e.At)
	for _, n := range f.Numbers {
		if err := t.put(traceEvent{Name: stream.CounterName(e, n), Phase: "C", PID: pid, At: &at,
			Args: map[string]any{"value": n.Value}}); err != nil {
			return err
		}
	}
	return t.put(traceEvent{Name: e.Name, Phase: "i", PID: pid, TID: tid, At: &at,
		Args: map[string]any{"metadata": e.Metadata, "timestamp": e.Time, "timeunit": e.Unit}})
}

// span writes a task. One that outlasts the task around it is on a track of its own depth.
func (t *streamWriter) span(s *stream.Span) error {
	pid, tid, err := t.of(s.Thread)
	if err == nil && s.Overlaps() {
		key := trackKey{s.Thread, s.Depth}
		if t.depth[key] == 0 && len(t.depth) >= mostTracks {
			key = trackKey{Thread: stream.Thread{Clock: s.Clock, Thread: "others"}}
		}
		if t.depth[key] == 0 {
			t.depth[key], err = t.track(pid, fmt.Sprintf("%s, beside others (%d)", key.Thread.Thread, key.depth))
		}
		tid = t.depth[key]
	}
	if err != nil {
		return err
	}
	at, long := traceTime(s.From), traceTime(s.To-s.From)
	args := map[string]any{"metadata": s.Metadata}
	if s.Ended != nil {
		args["ended"] = s.Ended
	}
	return t.put(traceEvent{Name: s.Name, Phase: "X", PID: pid, TID: tid, At: &at, Long: &long, Args: args})
}
