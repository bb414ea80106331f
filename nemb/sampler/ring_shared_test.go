package sampler

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

var updateShared = flag.Bool("update", false, "write ../../runtimes/sdk/spec/cases/ring.json")

// sharedRing is a case of ../../runtimes/sdk/spec/cases/ring.json: a file that is put
// where a ring is looked for, as bytes that are not 0, and what a reader has to say
// of it. Numbers are in the machine's byte order.
type sharedRing struct {
	Name   string            `json:"name"`
	Size   int               `json:"size"`
	Texts  map[string]string `json:"texts"` // by their offset
	Halves map[string]uint32 `json:"halves"`
	Words  map[string]uint64 `json:"words"`
	Writer string            `json:"writer"` // the process at offset 40: self, zombie, gone
	About  bool              `json:"about"`  // what it is about is the JSON that only packages for sessions read
	Want   *sharedRingWant   `json:"want"`   // null: it is refused
}

type sharedRingWant struct {
	Domains  []string   `json:"domains"`
	InTotal  []bool     `json:"in_total"`
	Steps    []uint64   `json:"steps_uj"`
	Interval int64      `json:"interval_ns"`
	Samples  [][]uint64 `json:"samples"` // time, flags, energies
	Lost     uint64     `json:"lost"`
	Ended    bool       `json:"ended"`
}

const sharedRingAt = 1024 // of slot 0: behind a header, two domains and JSON

// goodRing is one of two domains, four slots and three samples.
func goodRing(name string, change func(c *sharedRing)) *sharedRing {
	c := &sharedRing{Name: name, Size: sharedRingAt + 4*72 + 72, Writer: "self"} // a word of reserve behind it
	c.Texts = map[string]string{"0": "CGSAMPLE", "64": "package-0", "128": "cpu_package", "160": "measured", "192": "core-0", "256": "nested", "288": "measured"}
	c.Halves = map[string]uint32{"8": 1, "12": sharedRingAt, "16": 2, "20": 2, "24": 4, "28": 72}
	c.Words = map[string]uint64{"32": 1_000_000, "56": 0, "176": 1}
	for k := range uint64(3) {
		c.sample(k, k%4)
	}
	c.Want = &sharedRingWant{Domains: []string{"package-0", "core-0"}, InTotal: []bool{true, false}, Steps: []uint64{0, 0}, Interval: 1_000_000}
	for k := range uint64(3) {
		c.Want.Samples = append(c.Want.Samples, c.shown(k))
	}
	if change != nil {
		change(c)
	}
	return c
}

func (c *sharedRing) shown(k uint64) []uint64 {
	return []uint64{5_000_000_000 + k*1_000_000, k % 2 * 2, k * 20_000, k * 8_000}
}

// sample writes sample k into a slot.
func (c *sharedRing) sample(k, slot uint64) {
	at := sharedRingAt + 72*slot
	s := c.shown(k)
	for i, v := range []uint64{2*k + 2, k, s[0], s[1], 1, 2, 3, s[2], s[3]} {
		c.Words[fmt.Sprint(at+uint64(8*i))] = v
	}
	c.Words["56"] = max(c.Words["56"], k+1)
}

func (c *sharedRing) file(writer int) []byte {
	b := make([]byte, c.Size)
	offset := func(text string) int {
		at, _ := strconv.Atoi(text)
		return at
	}
	for at, text := range c.Texts {
		copy(b[offset(at):], text)
	}
	for at, v := range c.Halves {
		binary.NativeEndian.PutUint32(b[offset(at):], v)
	}
	for at, v := range c.Words {
		binary.NativeEndian.PutUint64(b[offset(at):], v)
	}
	if len(b) >= 48 {
		binary.NativeEndian.PutUint64(b[40:], uint64(writer))
	}
	return b
}

func sharedRingCases() []*sharedRing {
	half := func(at string, v uint32) func(*sharedRing) {
		return func(c *sharedRing) { c.Halves[at], c.Want = v, nil }
	}
	about := func(text string, steps ...uint64) func(*sharedRing) {
		return func(c *sharedRing) {
			c.Texts["320"], c.About, c.Want.Steps = text, true, steps
			if steps == nil {
				c.Want = nil
			}
		}
	}
	const one = `{"id":"package-0","kind":"cpu_package","parent":"","in_total":true,"method":"measured","source":"","period_ns":1000000,"lo":1,"hi":1`
	const two = `{"id":"core-0","kind":"nested","parent":"package-0","in_total":false,"method":"measured","source":"","period_ns":1000000,"lo":1,"hi":1`
	return []*sharedRing{
		goodRing("three samples", nil),
		goodRing("no sample yet", func(c *sharedRing) { c.Words["56"], c.Want.Samples = 0, [][]uint64{} }),
		goodRing("it came round, and the oldest is lost", func(c *sharedRing) {
			for k := range uint64(6) {
				c.sample(k, k%4)
			}
			c.Want.Samples = [][]uint64{c.shown(2), c.shown(3), c.shown(4), c.shown(5)}
		}),
		goodRing("the oldest is being written over", func(c *sharedRing) {
			c.sample(3, 3)
			c.Words[fmt.Sprint(sharedRingAt)] = 2*4 + 1
			c.Want.Samples, c.Want.Lost = [][]uint64{c.shown(1), c.shown(2), c.shown(3)}, 1
		}),
		goodRing("one between was written over", func(c *sharedRing) {
			c.Words[fmt.Sprint(sharedRingAt+72)] = 2*5 + 2
			c.Want.Samples, c.Want.Lost = [][]uint64{c.shown(0), c.shown(2)}, 1
		}),
		goodRing("it says that it has ended", func(c *sharedRing) { c.Words["48"], c.Want.Ended = 1, true }),
		goodRing("the writer is gone", func(c *sharedRing) { c.Writer, c.Want.Ended = "gone", true }),
		goodRing("the writer is a zombie", func(c *sharedRing) { c.Writer, c.Want.Ended = "zombie", true }),
		goodRing("a size that is no multiple of 8", func(c *sharedRing) { c.Size += 3 }),
		goodRing("another magic", func(c *sharedRing) { c.Texts["0"], c.Want = "CGSAMPLF", nil }),
		goodRing("another version", half("8", 2)),
		goodRing("slots that do not begin at a word", half("12", sharedRingAt+4)),
		goodRing("slots that begin inside the domains", half("12", 312)),
		goodRing("slots that begin behind the file", half("12", 4096)),
		goodRing("no slots", half("24", 0)),
		goodRing("more slots than there is room for", half("24", 6)),
		goodRing("as many slots as 32 bits count", half("24", 1<<32-1)),
		goodRing("slots of another size", half("28", 80)),
		goodRing("more domains than slots have energies", half("20", 3)),
		goodRing("as many domains as 32 bits count", half("20", 1<<32-1)),
		goodRing("a file that is shorter than a header", func(c *sharedRing) {
			c.Size, c.Want = 63, nil
			c.Texts, c.Halves, c.Words = map[string]string{"0": "CGSAMPLE"}, map[string]uint32{"8": 1}, map[string]uint64{}
		}),
		goodRing("an interval of 0", func(c *sharedRing) { c.Words["32"], c.Want.Interval = 0, 0 }),
		goodRing("JSON about the domains", about(`{"writer":"/usr/bin/cg","domains":[`+one+`,"step_uj":61},`+two+`,"step_uj":15}]}`, 61, 15)),
		goodRing("JSON without steps", about(`{"domains":[`+one+`},`+two+`}]}`, 0, 0)),
		goodRing("JSON with more than is known", about(`{"colour":[1],"domains":[`+one+`,"colour":"red"},`+two+`}]}`, 0, 0)),
		goodRing("JSON without domains", about(`{"writer":"/usr/bin/cg"}`, 0, 0)),
		goodRing("JSON of one domain of two", about(`{"domains":[`+one+`}]}`)),
		goodRing("JSON of three domains of two", about(`{"domains":[`+one+`},`+two+`},`+two+`}]}`)),
		goodRing("JSON of no domain", about(`{"domains":[]}`)),
		goodRing("JSON with a program", about(`{"domains":[`+one+`,"idle_share":0.3},`+two+`}],"division":{"processors":2,"grain_ns":10000000}}`, 0, 0)),
		goodRing("JSON with a program that is no object", about(`{"domains":[`+one+`},`+two+`}],"division":7}`)),
		goodRing("no JSON", about(`{"domains":[`)),
	}
}

// writers are the processes that a case may name.
func writers(t *testing.T) map[string]int {
	t.Helper()
	zombie := exec.Command("true")
	if err := zombie.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { zombie.Wait() })
	if err := unix.Waitid(unix.P_PID, zombie.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	return map[string]int{"self": os.Getpid(), "zombie": zombie.Process.Pid, "gone": 1<<22 + 1}
}

// TestRingIsShared holds the table by which the packages for sessions read rings,
// and cg's own reader to it.
func TestRingIsShared(t *testing.T) {
	const file = "../../runtimes/sdk/spec/cases/ring.json"
	var b bytes.Buffer
	pids := writers(t)
	for i, c := range sharedRingCases() {
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString([]string{"[", ",\n"}[min(i, 1)])
		b.Write(text)
		if c.About {
			continue
		}
		path := filepath.Join(t.TempDir(), "ring")
		if err := os.WriteFile(path, c.file(pids[c.Writer]), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readTable(path); fmt.Sprint(got) != fmt.Sprint(c.Want.withoutSteps()) {
			t.Errorf("%s: got %v (%v), want %v", c.Name, got, err, c.Want.withoutSteps())
		}
	}
	b.WriteString("]\n")
	if *updateShared {
		if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if saved, err := os.ReadFile(file); err != nil || !bytes.Equal(saved, b.Bytes()) {
		t.Errorf("%s is not the table of this test (%v): go test ./nemb/sampler -run RingIsShared -update", file, err)
	}
}

// withoutSteps is what a reader says that does not read the JSON.
func (w *sharedRingWant) withoutSteps() any {
	if w == nil {
		return nil
	}
	without := *w
	without.Steps = nil
	return without
}

func readTable(path string) (any, error) {
	r, err := OpenRing(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	w := sharedRingWant{Interval: int64(r.Interval), Samples: [][]uint64{}}
	for _, d := range r.Domains {
		w.Domains, w.InTotal = append(w.Domains, d.ID), append(w.InTotal, d.InTotal)
	}
	for _, s := range r.Next() {
		row := []uint64{uint64(s.Time), 0}
		if s.Failed { // Gap is also the reader's own
			row[1] = 2
		}
		for _, e := range s.Energy {
			row = append(row, uint64(e))
		}
		w.Samples = append(w.Samples, row)
	}
	w.Lost, w.Ended = r.Lost, r.Ended()
	return w, nil
}
