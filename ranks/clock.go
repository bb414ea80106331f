package ranks

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The exchange of moments between two nodes, through files (FORMAT.md, Clocks).
const (
	pings      = 5                // of an exchange
	againEvery = 10 * time.Second // from one exchange to the next
	patience   = 2 * time.Second  // for an answer
	quick      = 2 * time.Second  // for so long the reference looks at each step, after a message
	slow       = 500 * time.Millisecond
	recent     = 2 * time.Second // an exchange that is no older is the last one, too
	lastWait   = time.Second     // at the end, for the reference's answers
	lingering  = 500 * time.Millisecond
)

// endedName is the file that says that the reference answers no more.
const endedName = "reference-ended"

// message is a file of the exchange.
type message struct {
	N  int   `json:"n"`
	T1 int64 `json:"t1"`           // the asker's clock when it wrote
	T2 int64 `json:"t2,omitempty"` // the reference's when it saw that
	T3 int64 `json:"t3,omitempty"` // and when it answered
}

// Clocks are what an exchange goes by, in nanoseconds. Wall is what it compares (CLOCK_REALTIME),
// which may be set at any time. Steady never jumps (CLOCK_MONOTONIC): waiting goes by it.
type Clocks struct{ Wall, Steady func() int64 }

// Exchange bounds the clock of a node. Step is to be called every few milliseconds; it
// returns at once. Moments without another word are of Clocks.Steady.
type Exchange struct {
	dir, node, record string
	reference         string
	mine              bool // this node is the reference
	ntp               func() (bound int64, ok bool)

	answered map[string]int // the reference's: number of the last message, by name
	busy     int64          // until then it looks at each step
	looked   int64

	n       int   // of the last ping
	left    int   // pings of this exchange
	asked   int64 // by Clocks.Wall, when the last one was written; 0 for none that is open
	since   int64 // the same moment
	next    int64 // when the next exchange begins
	best    *Offset
	offsets []Offset
	kept    []int64 // when each of them was
}

// NewExchange begins the exchange of a node whose record has this name. The first node
// of a run is the reference.
func NewExchange(dir, node, record string) (*Exchange, error) {
	x := &Exchange{dir: dir, node: node, record: record, answered: map[string]int{}, looked: -int64(slow),
		ntp: ntp}
	f := &Folder{Dir: dir}
	if err := f.first("reference", record); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	for range 50 {
		if load(filepath.Join(dir, "reference"), &x.reference) == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if x.mine = x.reference == record; x.mine { // it may be that of a measurer that was killed
		os.Remove(filepath.Join(dir, endedName))
	}
	return x, nil
}

// Step does what is due.
func (x *Exchange) Step(now Clocks) {
	if x.mine {
		x.answer(now)
		return
	}
	t := now.Steady()
	switch {
	case x.asked != 0:
		x.listen(now)
	case x.left > 0:
		x.ask(now)
	case t >= x.next:
		x.left, x.best, x.next = pings, nil, t+int64(againEvery)
		x.ask(now)
	}
}

func (x *Exchange) ask(now Clocks) {
	x.n++
	x.left--
	x.asked, x.since = now.Wall(), now.Steady()
	x.write(x.record+".ping", message{N: x.n, T1: x.asked})
}

func (x *Exchange) listen(now Clocks) {
	var m message
	err := load(filepath.Join(x.dir, x.record+".pong"), &m)
	t4, t := now.Wall(), now.Steady()
	switch {
	case err == nil && m.N == x.n && m.T1 == x.asked:
		lo, hi := m.T3-t4, m.T2-m.T1
		x.asked = 0
		if lo <= hi && (x.best == nil || hi-lo < *x.best.HiNs-*x.best.LoNs) {
			x.best = &Offset{Reference: x.referenceNode(), LoNs: &lo, HiNs: &hi, AtUnixNs: t4, Method: ByPing}
		}
		if x.left == 0 && x.best != nil {
			x.keep(*x.best, t)
		}
	case t-x.since > int64(patience):
		x.asked, x.left = 0, 0
		if x.best != nil {
			x.keep(*x.best, t)
		}
	}
}

// keep keeps the first offset, the last, and the narrowest one for each minute between.
func (x *Exchange) keep(o Offset, t int64) {
	n := len(x.offsets)
	if n >= 2 {
		last := x.offsets[n-1]
		if x.kept[n-1]-x.kept[n-2] < int64(time.Minute) && *o.HiNs-*o.LoNs <= *last.HiNs-*last.LoNs {
			x.offsets[n-1], x.kept[n-1] = o, t
			return
		}
	}
	x.offsets, x.kept = append(x.offsets, o), append(x.kept, t)
}

// referenceNode is the node of the reference's record.
func (x *Exchange) referenceNode() string {
	if i := strings.LastIndexByte(x.reference, '-'); i > 0 {
		return x.reference[:i]
	}
	return x.reference
}

// answer answers the messages that came since.
func (x *Exchange) answer(now Clocks) {
	t := now.Steady()
	if t > x.busy && t-x.looked < int64(slow) {
		return
	}
	x.looked = t
	all, err := os.ReadDir(x.dir)
	if err != nil {
		return
	}
	for _, e := range all {
		name, is := strings.CutSuffix(e.Name(), ".ping")
		if !is || strings.HasPrefix(name, ".") {
			continue
		}
		var m message
		if load(filepath.Join(x.dir, e.Name()), &m) != nil || m.N <= x.answered[name] {
			continue
		}
		m.T2 = now.Wall()
		x.answered[name], x.busy = m.N, t+int64(quick)
		m.T3 = now.Wall()
		x.write(name+".pong", m)
	}
}

// write replaces a file as a whole. An exchange that fails leaves the clocks unbounded, and
// that is said.
func (x *Exchange) write(name string, m message) {
	f := &Folder{Dir: x.dir}
	_ = f.put(name, m)
}

// Offsets is what is known so far: for the reference itself what its kernel knows.
func (x *Exchange) Offsets() []Offset {
	if len(x.offsets) > 0 {
		return append([]Offset{}, x.offsets...)
	}
	o := Offset{Reference: "UTC", AtUnixNs: time.Now().UnixNano(), Method: ByNobody}
	if bound, ok := x.ntp(); ok {
		lo, hi := -bound, bound
		o.LoNs, o.HiNs, o.Method = &lo, &hi, ByNTP
	} else if x.mine {
		return []Offset{}
	}
	return []Offset{o}
}

// Finish makes the last exchange, unless one was made just now. The reference answers until
// the others have left, for a while. wait returns after some milliseconds. The exchange may go
// on after that, where the node has ranks again.
func (x *Exchange) Finish(now Clocks, wait func()) {
	t := now.Steady()
	if x.mine {
		for end := t + int64(lingering); x.awaited() && now.Steady() < end; wait() {
			x.busy = end
			x.answer(now)
		}
		return
	}
	n := len(x.kept)
	if x.asked == 0 && n > 0 && t-x.kept[n-1] < int64(recent) {
		return
	}
	if _, err := os.Stat(filepath.Join(x.dir, endedName)); err == nil {
		return
	}
	if x.asked == 0 && x.left == 0 {
		x.next = 0
	}
	for end := t + int64(lastWait); now.Steady() < end; wait() {
		if x.Step(now); x.asked == 0 && x.left == 0 {
			return
		}
	}
	if x.best != nil {
		x.keep(*x.best, now.Steady())
	}
	x.asked, x.left = 0, 0
}

// awaited reports whether a node may ask again.
func (x *Exchange) awaited() bool {
	left, _ := filepath.Glob(filepath.Join(x.dir, "*.ping"))
	return len(left) > 0
}

// Close ends the exchange, and removes the node's messages. The reference leaves its name, and
// tells the others that nobody answers any more.
func (x *Exchange) Close() {
	if x.mine {
		x.write(endedName, message{})
	}
	for _, ending := range []string{".ping", ".pong"} {
		os.Remove(filepath.Join(x.dir, x.record+ending)) // if it asked at all
	}
}

// ntp is what the kernel knows of its clock: the most by which it is off from UTC, in
// nanoseconds; false where it is not synchronised (adjtimex(2), maxerror).
func ntp() (bound int64, ok bool) {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil || state == unix.TIME_ERROR || t.Status&unix.STA_UNSYNC != 0 {
		return 0, false
	}
	return t.Maxerror * 1000, true
}

// BootID names the running kernel, "" where it has no name.
func BootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
}
