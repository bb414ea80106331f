package codegreen

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The tables of cases that cg keeps are in the folder CASES.

func caseFile(t *testing.T, name string) string {
	t.Helper()
	if os.Getenv("CASES") == "" {
		t.Fatal("CASES names no folder of cases")
	}
	return filepath.Join(os.Getenv("CASES"), name)
}

// table reads one, calls f with each case, and says how many there are.
func table[T any](t *testing.T, name string, f func(t *testing.T, of T)) {
	t.Helper()
	b, err := os.ReadFile(caseFile(t, name))
	if err != nil {
		t.Fatal(err)
	}
	var all []T
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	for _, of := range all {
		f(t, of)
	}
	fmt.Printf("%s: %d cases\n", name, len(all))
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1e-3, math.Abs(a), math.Abs(b)) }

// TestBetween holds between to the figures of cg's own (nemb/shared_test.go of cg).
func TestBetween(t *testing.T) {
	f, err := os.Open(caseFile(t, "between.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var s *samples
	asked := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		switch line[:2] {
		case "se":
			d := domain{ID: "d", Lo: 1, Hi: 1}
			fmt.Sscanf(line, "series %d", &d.PeriodNs)
			s = newSamples([]domain{d})
		case "s ":
			var at int64
			var flags, micro uint64
			fmt.Sscanf(line, "s %d %d %d", &at, &flags, &micro)
			s.add(at, flags, []uint64{micro})
		case "b ":
			var from, to int64
			var joules, slack float64
			var method string
			asked++
			fmt.Sscanf(line, "b %d %d %g %g %s", &from, &to, &joules, &slack, &method)
			gotJ, gotSlack, got, ok := s.between(0, from, to)
			if strings.HasSuffix(line, "none") {
				if ok && got != methodSampled {
					t.Errorf("%s: got %v J by %s", line, gotJ, got)
				}
				continue
			}
			if !ok || got != method || !near(gotJ, joules) || !near(gotSlack, slack) {
				t.Errorf("%s: got %v J +- %v by %s", line, gotJ, gotSlack, got)
			}
		}
	}
	fmt.Printf("between.txt: %d cases\n", asked)
}

func TestNoise(t *testing.T) {
	table(t, "noise.json", func(t *testing.T, of struct {
		Name     string
		Interval int64 `json:"interval_ns"`
		Period   int64 `json:"period_ns"`
		Lasted   int64 `json:"lasted_ns"`
		Env      map[string]string
		Samples  [][3]int64
		Usual    int64    `json:"fast_period_ns"`
		Fast     []uint64 `json:"fast_uj"`
		Want     map[string]any
	}) {
		s := stretch{lasted: of.Lasted, interval: of.Interval, period: of.Period, usual: of.Usual}
		if len(of.Fast) > 0 {
			s.fast = of.Fast
		}
		for _, v := range of.Samples {
			s.times, s.flags, s.micro = append(s.times, v[0]), append(s.flags, uint64(v[1])), append(s.micro, uint64(v[2]))
		}
		l := limitsOf(func(name string) string { return of.Env[name] })
		n := s.noise(l)
		b, err := json.Marshal(struct {
			*Noise
			Reasons []string `json:"reasons"`
		}{n, append([]string{}, n.reasons(l)...)})
		var got map[string]any
		if err == nil {
			err = json.Unmarshal(b, &got)
		}
		if err != nil {
			t.Fatal(err)
		}
		for key, want := range of.Want {
			a, number := got[key].(float64)
			if b, is := want.(float64); number && is && near(a, b) || reflect.DeepEqual(got[key], want) {
				continue
			}
			t.Errorf("%s: %s is %v, want %v", of.Name, key, got[key], want)
		}
	})
}

func TestRing(t *testing.T) {
	writers := map[string]int{"self": os.Getpid(), "gone": 1<<22 + 1}
	zombie, err := strconv.Atoi(os.Getenv("ZOMBIE"))
	if err != nil {
		t.Fatal("ZOMBIE names no process: ", err)
	}
	writers["zombie"] = zombie
	type want struct {
		Domains  []string
		InTotal  []bool   `json:"in_total"`
		Steps    []uint64 `json:"steps_uj"`
		Interval int64    `json:"interval_ns"`
		Samples  [][]uint64
		Lost     int
		Ended    bool
	}
	table(t, "ring.json", func(t *testing.T, of struct {
		Name   string
		Size   int
		Texts  map[string]string
		Halves map[string]uint32
		Words  map[string]uint64
		Writer string
		Want   *want
	}) {
		b := make([]byte, max(of.Size, 48))
		offset := func(text string) int {
			at, _ := strconv.Atoi(text)
			return at
		}
		for at, text := range of.Texts {
			copy(b[offset(at):], text)
		}
		for at, v := range of.Halves {
			binary.NativeEndian.PutUint32(b[offset(at):], v)
		}
		for at, v := range of.Words {
			binary.NativeEndian.PutUint64(b[offset(at):], v)
		}
		binary.NativeEndian.PutUint64(b[40:], uint64(writers[of.Writer]))
		path := filepath.Join(t.TempDir(), "ring")
		if err := os.WriteFile(path, b[:of.Size], 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := openRing(path)
		if err != nil || of.Want == nil {
			if (err != nil) != (of.Want == nil) {
				t.Errorf("%s: %v, want %+v", of.Name, err, of.Want)
			}
			return
		}
		defer r.close()
		s := newSamples(r.Domains)
		r.read(s)
		got := want{Interval: r.intervalNs, Samples: [][]uint64{}, Lost: r.lost, Ended: r.ended()}
		for _, d := range r.Domains {
			got.Domains, got.InTotal, got.Steps = append(got.Domains, d.ID), append(got.InTotal, d.InTotal), append(got.Steps, d.StepUj)
		}
		for i, at := range s.times {
			row := []uint64{uint64(at), s.flags[i]}
			for d := range r.Domains {
				row = append(row, s.energies[d][i])
			}
			got.Samples = append(got.Samples, row)
		}
		if !reflect.DeepEqual(got, *of.Want) {
			t.Errorf("%s: got %+v, want %+v", of.Name, got, *of.Want)
		}
	})
}

// processes have the numbers of the processes that a case names, and their starts
// (proc_pid_stat(5), field 22).
func processes(t *testing.T) *strings.Replacer {
	t.Helper()
	numbers := map[string]string{
		"self": strconv.Itoa(os.Getpid()), "other": os.Getenv("OTHER"), "parent": strconv.Itoa(os.Getppid()),
		"zombie": os.Getenv("ZOMBIE"), "gone": strconv.Itoa(1<<22 + 1),
	}
	var pairs []string
	for name, number := range numbers {
		pairs = append(pairs, "{"+name+"}", number)
		b, err := os.ReadFile("/proc/" + number + "/stat")
		if err != nil && name != "gone" {
			t.Fatal(err)
		}
		if fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])); len(fields) > 19 {
			pairs = append(pairs, "{"+name+".start}", fields[19])
		}
	}
	return strings.NewReplacer(pairs...)
}

func TestNeighbours(t *testing.T) {
	is := processes(t)
	table(t, "neighbours.json", func(t *testing.T, of struct {
		Name, File, Left   *string
		Mine, Link, Folder bool
		Others             []string
	}) {
		dir := t.TempDir()
		t.Setenv("XDG_RUNTIME_DIR", dir)
		path := neighboursPath()
		file := path
		if of.Link {
			file = filepath.Join(dir, "file")
			if err := os.Symlink(file, path); err != nil {
				t.Fatal(err)
			}
		}
		if of.File != nil {
			if err := os.WriteFile(file, []byte(is.Replace(*of.File)), 0o600); err != nil {
				t.Fatal(err)
			}
		} else if of.Folder {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		others := meet(of.Mine)
		want := []string{}
		for _, name := range of.Others {
			want = append(want, is.Replace("{"+name+"}"))
		}
		if !slices.Equal(others, want) {
			t.Errorf("%s: others are %q, want %q", *of.Name, others, want)
		}
		b, err := os.ReadFile(path)
		if of.Left == nil {
			if err == nil {
				t.Errorf("%s: left %q, want no file", *of.Name, b)
			}
			return
		}
		if got, want := string(b), is.Replace(*of.Left); got != want {
			t.Errorf("%s: left %q, want %q (%v)", *of.Name, got, want, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: the file's mode is %v (%v)", *of.Name, info.Mode(), err)
		}
	})
}

func TestPowercap(t *testing.T) {
	type power struct {
		ID, Kind string
		Step     uint64 `json:"step_uj"`
		Zone     string
	}
	table(t, "powercap.json", func(t *testing.T, of struct {
		Name, CPU       string
		Files           map[string]string
		Domains         []power
		Doubted, Failed []string
	}) {
		root := t.TempDir()
		cpu := strings.Fields(of.CPU)
		cpuinfo := fmt.Sprintf("vendor_id\t: %s\ncpu family\t: %s\nmodel\t\t: %s\n", cpu[0], cpu[1], cpu[2])
		files := map[string]string{"proc/cpuinfo": cpuinfo}
		for name, text := range of.Files {
			files["sys/class/powercap/"+name] = text + "\n"
		}
		for name, text := range files {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		found := findPowercap(root)
		got := []power{}
		for i, d := range found.domains {
			got = append(got, power{d.ID, d.Kind, d.StepUj, filepath.Base(filepath.Dir(d.Source))})
			found.files[i].file.Close()
		}
		if !reflect.DeepEqual(got, of.Domains) {
			t.Errorf("%s: got %+v, want %+v", of.Name, got, of.Domains)
		}
		for _, list := range []struct{ got, want []string }{{found.doubts, of.Doubted}, {found.failed, of.Failed}} {
			met := len(list.got) == len(list.want)
			for i, want := range list.want {
				met = met && strings.Contains(list.got[i], want)
			}
			if !met {
				t.Errorf("%s: got %q, want %q", of.Name, list.got, list.want)
			}
		}
	})
}

func TestUnwrap(t *testing.T) {
	table(t, "unwrap.json", func(t *testing.T, of [6]any) {
		n := func(i int) uint64 { return uint64(of[i].(float64)) }
		want, known := of[5].(float64)
		if got, ok := unwrapped(n(1), n(2), n(3), int64(n(4))); ok != known || known && got != uint64(want) {
			t.Errorf("%s: got %d, %v, want %v", of[0], got, ok, of[5])
		}
	})
}

// wantGPU is whose the energy of a GPU was in a task, in uJ.
type wantGPU struct {
	Method  string `json:"gpu_method"`
	Reason  string `json:"reason"`
	Total   int64  `json:"uj"`
	Program int64  `json:"program_uj"`
	Other   int64  `json:"other_uj"`
	Idle    int64  `json:"idle_uj"`
	Rest    int64  `json:"unattributed_uj"`
	Lo      int64  `json:"lo_uj"`
	Hi      int64  `json:"hi_uj"`
	Known   bool   `json:"known"`
}

func TestTasks(t *testing.T) {
	type want struct {
		Total   int64            `json:"uj"`
		Lo      int64            `json:"lo_uj"`
		Hi      int64            `json:"hi_uj"`
		Method  string           `json:"method"`
		Domains map[string]int64 `json:"domains"`
		GPUs    []wantGPU        `json:"gpus,omitempty"`
	}
	table(t, "tasks.json", func(t *testing.T, of struct {
		Name    string
		Domains []domain
		Samples [][]int64
		GPUs    map[string]struct { // by the domain's place
			State   uint64
			Asked   int64
			Pieces  [][11]int64 // from, to, total, program, other, idle, unattributed, lo, hi, off, reason
			Reasons []gpuReason
		}
		Tasks     [][]json.RawMessage // from, to, energy and GPUs, the times that others have a part in
		Awaited   map[string]bool     // by the end of a task
		Deadlines map[string]int64    // the same
	}) {
		s := newSamples(of.Domains)
		for at, g := range of.GPUs {
			d, _ := strconv.Atoi(at)
			s.gpus[d] = &gpuOf{state: g.State, asked: g.Asked, reasons: g.Reasons}
			for _, v := range g.Pieces {
				s.gpus[d].add(gpuPiece{from: v[0], to: v[1], reason: uint64(v[10]), of: gpuSums{total: float64(v[2]),
					program: float64(v[3]), other: float64(v[4]), idle: float64(v[5]), unattributed: float64(v[6]),
					lo: float64(v[7]), hi: float64(v[8]), squares: float64(v[9]) * float64(v[9])}})
			}
		}
		for _, row := range of.Samples {
			var micro []uint64
			for _, v := range row[2:] {
				micro = append(micro, uint64(v))
			}
			s.add(row[0], uint64(row[1]), micro)
		}
		for at, want := range of.Awaited {
			end, _ := strconv.ParseInt(at, 10, 64)
			if got := s.awaitsGPU(end, end); got != want {
				t.Errorf("%s: awaited up to %d: %v, want %v", of.Name, end, got, want)
			}
		}
		for at, want := range of.Deadlines {
			end, _ := strconv.ParseInt(at, 10, 64)
			if !s.awaitsGPU(end, want-1) || s.awaitsGPU(end, want) {
				t.Errorf("%s: %d is not waited for up to %d", of.Name, end, want)
			}
		}
		for _, task := range of.Tasks {
			var start, end int64
			var wanted, got *want
			var wantedGPUs, gpus []wantGPU
			for i, v := range []any{&start, &end, &wanted} {
				if err := json.Unmarshal(task[i], v); err != nil {
					t.Fatal(err)
				}
			}
			if wanted != nil {
				wantedGPUs, wanted.GPUs = wanted.GPUs, nil
			}
			e, uses := energyOf(s, start, end, partsOfCase(t, start, end, task[3:]))
			if e != nil {
				got = &want{e.total, e.lo, e.hi, e.method, e.domains, nil}
			} else if wanted != nil && wanted.Method == "" { // only what GPUs used is told
				wanted = nil
			}
			for _, u := range uses {
				gpus = append(gpus, wantGPU{u.method, u.reason, u.total, u.program, u.other, u.idle, u.rest, u.lo, u.hi, u.known})
				if u.program+u.other+u.idle+u.rest != u.total {
					t.Errorf("%s: the parts of %+v are not its total", of.Name, u)
				}
			}
			if !reflect.DeepEqual(got, wanted) || !reflect.DeepEqual(gpus, wantedGPUs) {
				a, _ := json.Marshal(got)
				b, _ := json.Marshal(gpus)
				t.Errorf("%s: got %s, %s, want %+v, %+v", of.Name, a, b, wanted, wantedGPUs)
			}
		}
	})
}

// partsOfCase are the parts of a task of which a case has those that it shared.
func partsOfCase(t *testing.T, start, end int64, of []json.RawMessage) (parts []part) {
	t.Helper()
	if len(of) == 0 {
		return nil
	}
	var shared [][3]float64
	if err := json.Unmarshal(of[0], &shared); err != nil {
		t.Fatal(err)
	}
	at := start
	for _, p := range shared {
		if from := int64(p[0]); from > at {
			parts = append(parts, part{at, from, 1})
		}
		at = int64(p[1])
		parts = append(parts, part{int64(p[0]), at, p[2]})
	}
	if at < end {
		parts = append(parts, part{at, end, 1})
	}
	return parts
}

func TestShares(t *testing.T) {
	table(t, "shares.json", func(t *testing.T, of struct {
		Name string
		divides
		Domains []domain
		Samples [][]int64
		Asked   []struct {
			From int64 `json:"from_ns"`
			To   int64 `json:"to_ns"`
			Want [][3]float64
		}
	}) {
		text, err := json.Marshal(of.divides)
		if err != nil {
			t.Fatal(err)
		}
		x, err := newDivision(of.Domains, text)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range of.Samples {
			var words []uint64
			for _, v := range row[2:] {
				words = append(words, uint64(v))
			}
			x.add(row[0], uint64(row[1]), [3]uint64(words), words[3:])
		}
		var edges []int64
		ask := func(when string) {
			for _, one := range of.Asked {
				edges = append(edges, one.From, one.To)
				if x.known(one.From, one.To) != (one.Want != nil) {
					t.Errorf("%s: from %d to %d: known is %v", of.Name, one.From, one.To, one.Want == nil)
				}
				for d, want := range one.Want {
					own, lo, hi := x.part(d, []part{{one.From, one.To, 1}})
					for i, got := range []float64{own, lo, hi} {
						if math.Abs(got-want[i]) > 1e-5 {
							t.Errorf("%s: from %d to %d%s: %v, %v, %v, want %v", of.Name, one.From, one.To, when, own, lo, hi, want)
						}
					}
				}
			}
		}
		ask("")
		x.prune(edges)
		ask(", pruned")
	})
}

// countCall is a call of Count: [N, UNIT], where N may be a text.
type countCall struct {
	n    amount
	unit string
}

type amount float64

func (a *amount) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	*a = amount(v)
	return err
}

func (c *countCall) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&c.n, &c.unit})
}

func TestCounts(t *testing.T) {
	table(t, "counts.json", func(t *testing.T, of struct {
		Name    string
		Calls   []countCall
		Refused []int
		Want    map[string]float64
	}) {
		task, refused := &Task{session: &Session{}}, []int{}
		for i, c := range of.Calls {
			if err := task.Count(float64(c.n), c.unit); err != nil {
				refused = append(refused, i)
			}
		}
		if !slices.Equal(refused, of.Refused) || !maps.Equal(task.Units(), of.Want) {
			t.Errorf("%s: refused %v, counted %v; want %v and %v", of.Name, refused, task.Units(), of.Refused, of.Want)
		}
	})
}

func TestCells(t *testing.T) {
	table(t, "cells.json", func(t *testing.T, of [2]string) {
		if got := cell(of[0]); got != of[1] {
			t.Errorf("%q: got %q, want %q", of[0], got, of[1])
		}
	})
}

func TestRequests(t *testing.T) {
	table(t, "requests.json", func(t *testing.T, of struct {
		Name   string
		ID     int64
		Route  *string
		At     int64 `json:"at_us"`
		Thread int   `json:"tid"`
		CPU    int64 `json:"cpu_ns"`
		Want   map[string]any
	}) {
		line := requestLine(of.ID, of.Route, of.At, of.Thread, of.CPU)
		var got map[string]any
		if err := json.Unmarshal(line, &got); err != nil || bytes.Count(line, []byte("\n")) != 1 {
			t.Errorf("%s: %q: %v", of.Name, line, err)
		}
		if !reflect.DeepEqual(got, of.Want) {
			t.Errorf("%s: %v, want %v", of.Name, got, of.Want)
		}
	})
}

func TestBudgets(t *testing.T) {
	table(t, "budgets.json", func(t *testing.T, of struct {
		Text   string
		Joules *float64
		Name   string
		Budget float64 `json:"budget_j"`
		Limit  int
		Runs   [][3]float64
		Want   string
		Mean   [3]float64
	}) {
		if of.Name == "" {
			got, err := parseBudget(of.Text)
			if (err == nil) != (of.Joules != nil) || err == nil && math.Abs(got-*of.Joules) > 1e-12*got {
				t.Errorf("%q: got %v, %v", of.Text, got, err)
			}
			return
		}
		got := judge(of.Runs, of.Budget, of.Limit)
		for i, v := range []float64{got.energy, got.lo, got.hi} {
			if math.Abs(v-of.Mean[i]) > 1e-9*(1+of.Mean[i]) {
				t.Errorf("%s: got %+v, want %v", of.Name, got, of.Mean)
			}
		}
		if got.verdict != of.Want {
			t.Errorf("%s: got %s, want %s", of.Name, got.verdict, of.Want)
		}
	})
}

// TestLags holds by how much an energy may be off since a counter is late to cg's own rule (nemb/lags_shared_test.go of
// cg).
func TestLags(t *testing.T) {
	table(t, "lags.json", func(t *testing.T, of struct {
		Name    string
		Period  int64 `json:"period_ns"`
		Habits  habits
		Samples [][2]int64
		Spans   [][4]float64
		Parts   [][2]json.RawMessage
	}) {
		s := newSamples([]domain{{ID: "d", Kind: kindGpu, PeriodNs: of.Period, Lo: 1, Hi: 1, Habits: of.Habits}})
		for _, sample := range of.Samples {
			s.add(sample[0], 0, []uint64{uint64(sample[1])})
		}
		for _, span := range of.Spans {
			if got := s.lag(0, int64(span[0]), int64(span[1])); !near(got, span[2]) {
				t.Errorf("%s: %v, got %v", of.Name, span, got)
			}
			if got := s.hidden(0, []part{{int64(span[0]), int64(span[1]), 1}}); !near(got, span[3]) {
				t.Errorf("%s: %v, it hides %v", of.Name, span, got)
			}
		}
		for _, task := range of.Parts {
			var spans [][2]int64
			var want float64
			if err := errors.Join(json.Unmarshal(task[0], &spans), json.Unmarshal(task[1], &want)); err != nil {
				t.Fatal(err)
			}
			var parts []part
			for _, v := range spans {
				parts = append(parts, part{v[0], v[1], 1})
			}
			if got := s.hidden(0, parts); !near(got, want) {
				t.Errorf("%s: of parts %v it hides %v, want %v", of.Name, spans, got, want)
			}
		}
	})
}
