package windows

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute/paths"
)

var updateShared = flag.Bool("update", false, "write ../../../runtimes/sdk/spec/cases/shares.json")

// sharedDivision is a case of ../../../runtimes/sdk/spec/cases/shares.json: samples, and what
// part of the energy is the program's in times that lie in them.
type sharedDivision struct {
	Name       string         `json:"name"`
	Processors int            `json:"processors"`
	GrainNs    int64          `json:"grain_ns"`
	Domains    []sharedDomain `json:"domains"`
	Samples    [][]int64      `json:"samples"` // ns, flags, processor times of program, cg and others in ns, uJ
	Asked      []askedShare   `json:"asked"`
}

type sharedDomain struct {
	ID            string  `json:"id"`
	Kind          string  `json:"kind"`
	Program       bool    `json:"program"`
	BaseW         float64 `json:"base_w"`
	BaseLoW       float64 `json:"base_lo_w"`
	BaseHiW       float64 `json:"base_hi_w"`
	IdleShare     float64 `json:"idle_share"`
	IdleShareMost float64 `json:"idle_share_most"`
}

// askedShare is of the time from From to To; Want is of each domain the part, and the least
// and the most that it may be, nil where the samples do not reach so far.
type askedShare struct {
	From int64        `json:"from_ns"`
	To   int64        `json:"to_ns"`
	Want [][3]float64 `json:"want"`
}

func (c *sharedDivision) domains() (all []nemb.Domain) {
	for _, d := range c.Domains {
		all = append(all, nemb.Domain{
			ID: d.ID, Kind: d.Kind, Method: nemb.Measured, InTotal: true, Program: d.Program, Lo: 1, Hi: 1,
			Base: d.BaseW, BaseLo: d.BaseLoW, BaseHi: d.BaseHiW, IdleShare: d.IdleShare, IdleShareMost: d.IdleShareMost,
		})
	}
	return all
}

// whole is what Windows says of all samples.
func (c *sharedDivision) whole() (all [][3]float64) {
	w := New(c.domains(), c.Processors, paths.NewTree())
	for i, row := range c.Samples {
		s := nemb.Sample{At: checkpoint.Tick(row[0]), Time: checkpoint.Instant(row[0]), Usage: account.Usage{
			Program: time.Duration(row[2]), Own: time.Duration(row[3]), Other: time.Duration(row[4])}}
		for _, e := range row[5:] {
			s.Energy = append(s.Energy, nemb.Energy(e))
		}
		switch {
		case row[1] != 0: // it is joined with the next window
		case i == 0:
			w.Begin(s)
		default:
			w.Close(s, false, nil)
		}
	}
	for _, d := range w.Domains {
		e := float64(d.Total)
		all = append(all, [3]float64{float64(d.Program) / e, d.ProgramLo / e, min(1, d.ProgramHi/e)})
	}
	return all
}

// sharedCase has so many samples, each 10 ms; of gives the processor times in ms and the
// energies in mJ of the window that ends with sample i.
func sharedCase(name string, n int, of func(i int) ([3]int64, []int64), domains ...sharedDomain) *sharedDivision {
	c := &sharedDivision{Name: name, Processors: 4, Domains: domains}
	row := make([]int64, 5+len(domains))
	for i := range n {
		if i > 0 {
			used, energy := of(i)
			row[0] += 10 * ms
			for k, v := range used {
				row[2+k] += v * ms
			}
			for k, v := range energy {
				row[5+k] += v * 1000
			}
		}
		c.Samples = append(c.Samples, append([]int64{}, row...))
	}
	return c
}

func (c *sharedDivision) ask(from, to int64, want ...[3]float64) *sharedDivision {
	c.Asked = append(c.Asked, askedShare{from * ms, to * ms, want})
	return c
}

// all asks of all samples, as Windows answers.
func (c *sharedDivision) all() *sharedDivision {
	return c.ask(0, c.Samples[len(c.Samples)-1][0]/ms, c.whole()...)
}

func sharedDivisions() []*sharedDivision {
	always := func(program, own, other, energy int64) func(int) ([3]int64, []int64) {
		return func(int) ([3]int64, []int64) { return [3]int64{program, own, other}, []int64{energy} }
	}
	counter := sharedDomain{ID: "package-0", Kind: "cpu_package"}
	with := func(change func(*sharedDomain)) sharedDomain {
		d := counter
		change(&d)
		return d
	}
	idles := with(func(d *sharedDomain) { d.IdleShare, d.IdleShareMost = .3, .5 })
	measured := with(func(d *sharedDomain) { d.BaseW, d.BaseLoW, d.BaseHiW = 10, 9, 12 })
	model := with(func(d *sharedDomain) { d.BaseW = 5 })
	gpu := sharedDomain{ID: "gpu0", Kind: nemb.KindGPU}
	own := sharedDomain{ID: "memory", Kind: "dram", Program: true}
	uneven := func(i int) ([3]int64, []int64) {
		return [3]int64{int64(i % 3 * 7), 1, int64(i % 4 * 5)}, []int64{200 + int64(i%5*80)}
	}
	half := func(name string) *sharedDivision { return sharedCase(name, 21, always(10, 0, 10, 400), counter) }
	grain := half("processor times that may be late")
	grain.GrainNs = 10 * ms
	step := sharedCase("a program that waits from some moment on", 11, func(i int) ([3]int64, []int64) {
		if i <= 5 {
			return [3]int64{10, 0, 0}, []int64{300}
		}
		return [3]int64{0, 0, 10}, []int64{300}
	}, counter)
	failed := sharedCase("a reading that failed", 5, always(5, 0, 15, 400), counter)
	failed.Samples[2] = []int64{20 * ms, 2, 0, 0, 0, 0}
	often := &sharedDivision{Name: "samples that are closer than a window", Processors: 4, Domains: []sharedDomain{counter}}
	for i := range int64(15) {
		often.Samples = append(often.Samples, []int64{i * 4 * ms, 0, i * ms, 0, i * 3 * ms, i * 100_000})
	}
	return []*sharedDivision{
		half("half of the time").all().ask(20, 180, [3]float64{.5, .5, .5}).ask(33, 34, [3]float64{.5, .5, .5}),
		sharedCase("the program alone", 11, always(10, 0, 0, 300), counter).all(),
		sharedCase("nobody ran", 11, always(0, 0, 0, 300), counter).all(),
		sharedCase("no energy", 11, always(10, 0, 0, 0), counter).ask(0, 100, [3]float64{0, 0, 1}),
		sharedCase("uneven", 51, uneven, counter).all(),
		sharedCase("a published idle power, uneven", 51, uneven, idles).all(),
		sharedCase("a published idle power, nobody ran", 11, always(0, 0, 0, 300), idles).all(),
		sharedCase("a measured idle power, uneven", 51, uneven, measured).all(),
		sharedCase("a measured idle power above what was used", 11, always(3, 1, 2, 60), measured).all(),
		sharedCase("the idle power of a model", 51, uneven, model).all(),
		sharedCase("a GPU, and memory of the program alone", 51, func(i int) ([3]int64, []int64) {
			used, e := uneven(i)
			return used, append(e, 900, 40)
		}, idles, gpu, own).all(),
		grain.ask(0, 200, [3]float64{.5, .475, .525}).ask(50, 150, [3]float64{.5, .45, .55}).
			ask(50, 70, [3]float64{.5, .25, .75}).ask(50, 55, [3]float64{.5, 0, 1}).ask(50, 50, [3]float64{0, 0, 1}),
		step.all().ask(0, 50, [3]float64{1, 1, 1}).ask(50, 100, [3]float64{}).ask(45, 55, [3]float64{.5, .5, .5}).
			ask(40, 100, [3]float64{1. / 6, 1. / 6, 1. / 6}),
		failed.all(),
		often.ask(0, 56, [3]float64{.25, .25, .25}).ask(49, 55, [3]float64{.25, .25, .25}),
		sharedCase("others unknown, beside a measured idle power", 11, always(10, 1, 0, 300), with(func(d *sharedDomain) {
			d.BaseW, d.BaseLoW, d.BaseHiW = 10, 9, 1e9
		})).all(),
		sharedCase("others unknown, without an idle power", 11, always(10, 1, 0, 300), with(func(d *sharedDomain) {
			d.IdleShare, d.IdleShareMost = 1e-9, 1
		})).all(),
		half("beyond the samples").ask(100, 201).ask(-1, 100),
	}
}

// TestShared keeps the table of cases that the packages for sessions are held to.
func TestShared(t *testing.T) {
	const file = "../../../runtimes/sdk/spec/cases/shares.json"
	var b bytes.Buffer
	for i, c := range sharedDivisions() {
		if want := c.Asked[0].Want; strings.HasPrefix(c.Name, "others unknown") && (want[0][0] == 0 || want[0][1] != 0) {
			t.Errorf("%s: %v", c.Name, want)
		}
		line, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(map[bool]string{true: "[", false: ",\n"}[i == 0])
		b.Write(line)
	}
	b.WriteString("]\n")
	if *updateShared {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var was, is []*sharedDivision
	if err := errors.Join(json.Unmarshal(kept, &was), json.Unmarshal(b.Bytes(), &is)); err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(was, is, (*sharedDivision).same) {
		t.Error("shares.json is not what Windows says (go test ./nemb/attribute/windows -run Shared -update)")
	}
}

// same compares two cases; processors differ in how they round.
func (c *sharedDivision) same(with *sharedDivision) bool {
	a, b := *c, *with
	a.Asked, b.Asked = nil, nil
	return reflect.DeepEqual(a, b) && slices.EqualFunc(c.Asked, with.Asked, func(a, b askedShare) bool {
		return a.From == b.From && a.To == b.To && slices.EqualFunc(a.Want, b.Want, func(a, b [3]float64) bool {
			return near(a[0], b[0]) && near(a[1], b[1]) && near(a[2], b[2])
		})
	})
}
