package node

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/ranks"
)

// taker is a measurer that takes over from one that was killed, with what the board has.
func taker(t *testing.T, run *ranks.Folder, left *state) *measurer {
	t.Helper()
	m := &measurer{Config: Config{Run: run, Node: "n1", Version: run.Marker.CgVersion}, stride: 1, now: checkpoint.Monotime, clocks: clocks,
		domains: []nemb.Domain{{ID: "package-0", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1}}}
	m.divider = newDivider(m.domains, 2, left, make([]reading, 1))
	var err error
	if m.board, err = openBoard(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.board.close)
	return m
}

func newRun(t *testing.T) *ranks.Folder {
	t.Helper()
	run, err := ranks.Create(filepath.Join(t.TempDir(), "out"), "1.2.3", ranks.Identity{Size: 1})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// A record that cannot be read is written anew under its name: what the board has is in one
// record, whatever became of the first.
func TestTakeoverWithoutTheRecord(t *testing.T) {
	for what, spoil := range map[string]func(name string) error{
		"gone":      os.Remove,
		"cut":       func(name string) error { return os.WriteFile(name, []byte(`{"format":1,`), 0o644) },
		"of nobody": func(name string) error { return os.WriteFile(name, []byte(`{"format":1,"cg_version":"1.2.3"}`), 0o644) },
	} {
		run := newRun(t)
		old := ranks.Node{Format: ranks.Version, CgVersion: "1.2.3", Node: "n1", Record: "n1-00000001",
			Measurers: []ranks.Measurer{{PID: 7}}, Domains: []ranks.Domain{{ID: "package-0", TotalUj: 50, OtherUj: 50}}}
		if err := run.PutNode(old); err != nil {
			t.Fatal(err)
		}
		if err := spoil(filepath.Join(run.Dir, ranks.NodeFile(old.Record))); err != nil {
			t.Fatal(err)
		}
		m := taker(t, run, &state{mono: 5, unix: 6, ledgers: []ledger{{total: 70, other: 70}}})
		m.open(&about{Record: old.Record}, 9)
		if err := m.put(); err != nil {
			t.Fatal(err)
		}
		total, records := uint64(0), 0
		for n, err := range run.Nodes() {
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			total += n.Domains[0].TotalUj
			records++
			if n.Record != old.Record || len(n.Holes) != 1 || !strings.Contains(n.Holes[0].Text, "cannot be read") {
				t.Errorf("%s: record %s, holes %+v", what, n.Record, n.Holes)
			}
		}
		if total != 70 || records != 1 {
			t.Errorf("%s: %d uJ in %d records, want 70 in one", what, total, records)
		}
	}
}

// The samples of a record go on growing when a measurer takes over.
func TestSamplesOverTakeover(t *testing.T) {
	run := newRun(t)
	work := func(m *measurer, from time.Duration) {
		for k := range 6 {
			at := checkpoint.Instant(from + time.Duration(k)*time.Second)
			n := time.Duration(k)
			m.latest = nemb.Sample{At: checkpoint.Tick(at), Time: at, Energy: []nemb.Energy{nemb.Energy(k) * 1_000_000},
				Usage: account.Usage{Own: n * time.Millisecond, Other: n * time.Second}}
			if k == 0 {
				m.divider.begin(m.latest)
				continue
			}
			m.divider.close(m.latest, []reading{{program: int64(n * 300 * time.Millisecond), own: int64(n)}})
			m.divider.state.unix = int64(at)
			m.sample()
		}
		if err := m.put(); err != nil {
			t.Fatal(err)
		}
	}
	first := taker(t, run, &state{})
	first.fresh("n1-00000001", ranks.Measurer{PID: 7})
	work(first, 0)
	first.board.take(0, 1, 1)
	first.board.commit(first.divider.state)
	second := taker(t, run, first.board.committed(1))
	second.open(&about{Record: "n1-00000001"}, 0)
	work(second, time.Minute)
	n, err := run.Node("n1-00000001")
	if err != nil {
		t.Fatal(err)
	}
	before := n.Samples[0]
	for i, s := range n.Samples[1:] {
		if s.UnixNs <= before.UnixNs || s.EnergyUj[0] < before.EnergyUj[0] || s.RanksCPUNs < before.RanksCPUNs ||
			s.CgCPUNs < before.CgCPUNs || s.OtherCPUNs < before.OtherCPUNs {
			t.Errorf("sample %d, %+v, is less than %+v", i+1, s, before)
		}
		before = s
	}
	const each = 5 * time.Second // that others and the rank used under a measurer
	own, ranked := 2*(5*time.Millisecond+5), 2*5*300*time.Millisecond
	want := ranks.Sample{UnixNs: int64(time.Minute + 5*time.Second), EnergyUj: []uint64{10_000_000},
		RanksCPUNs: int64(ranked), CgCPUNs: int64(own), OtherCPUNs: int64(2*each - ranked - 10)}
	if len(n.Samples) != 10 || !reflect.DeepEqual(before, want) {
		t.Errorf("%d samples, the last %+v, want 10 and %+v", len(n.Samples), before, want)
	}
}

// What ranks that were killed have left is removed, and nothing of ranks that live.
func TestStaleBoards(t *testing.T) {
	place := t.TempDir()
	run := newRun(t)
	live := func(node string) (string, *os.File) {
		t.Helper()
		dir, err := boardFolder(place, run, node)
		if err != nil {
			t.Fatal(err)
		}
		b, err := openBoard(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer b.close()
		lock, err := held(b.lockOf(0), unix.LOCK_EX)
		if err != nil {
			t.Fatal(err)
		}
		return dir, lock
	}
	killed, lock := live("killed")
	lock.Close()
	rank, lock := live("rank")
	defer lock.Close()
	measured, lock := live("measured")
	lock.Close()
	lock, err := held(filepath.Join(measured, "measurer"), unix.LOCK_EX)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	empty, err := boardFolder(place, run, "empty")
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(filepath.Dir(killed), "a folder of the user")
	removing := fmt.Sprintf("%s%s%d", rank, gone, os.Getppid())
	for _, dir := range []string{other, removing, killed + gone + "999999999"} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	m, err := joinBoard(t.Context(), Joining{Run: run, Identity: ranks.Identity{Node: "mine"}}, place)
	if err != nil {
		t.Fatal(err)
	}
	defer m.board.close()
	defer m.alive.Close()
	for dir, want := range map[string]bool{killed: false, rank: true, measured: true, empty: false, other: true,
		removing: true, killed + gone + "999999999": false, m.board.dir: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", filepath.Base(dir), err == nil, want)
		}
	}
}

// Ranks that share processors, and other processes on the node, are said; and the idle power that
// was measured before is nobody's.
func TestWhatIsToBeKnownOfANode(t *testing.T) {
	m := taker(t, newRun(t), &state{})
	m.cpus = 1
	m.domains[0].Base, m.domains[0].BaseLo, m.domains[0].BaseHi = 4, 3, 5 // W
	m.divider = newDivider(m.domains, 2, &state{}, make([]reading, 2))
	m.fresh("n1-00000001", ranks.Measurer{PID: 7})
	m.record.CPUs = 2
	m.divider.begin(nemb.Sample{Energy: make([]nemb.Energy, 1)})
	slugs := func() (all []string) {
		m.warn()
		for _, w := range m.record.Warnings {
			all = append(all, w.Slug)
		}
		return all
	}
	at := checkpoint.Instant(2 * time.Second)
	m.divider.state.mono = int64(at)
	if got := slugs(); !reflect.DeepEqual(got, []string{"oversubscribed"}) {
		t.Errorf("two ranks on a processor: %q", got)
	}
	m.divider.close(nemb.Sample{At: checkpoint.Tick(at), Time: at, Energy: []nemb.Energy{20_000_000},
		Usage: account.Usage{Other: 3 * time.Second}}, []reading{{program: 1e9}, {program: 1e9}})
	if got := slugs(); !reflect.DeepEqual(got, []string{"oversubscribed", "node-shared"}) {
		t.Errorf("others used a quarter of the node: %q", got)
	}
	if l := m.divider.state.ledgers[0]; l.idle != 8_000_000 || l.ranks != 8_000_000 || l.other != 4_000_000 {
		t.Errorf("of 20 J in 2 s, 4 W of them idle: %+v", l)
	}
	m.cpus = 2
	if got := slugs(); !reflect.DeepEqual(got, []string{"node-shared"}) {
		t.Errorf("a processor for each rank: %q", got)
	}
}

// What is measured begins with the first program, and only once, whenever a measurer takes over.
func TestTakeoverBeforeTheFirstProgram(t *testing.T) {
	const begin, end = aSecond + 7*tick, 3 * aSecond
	for what, at := range map[string]checkpoint.Instant{"before": aSecond / 2, "after": 2 * aSecond} {
		e := evenNode(t, "")
		e.rank(t, 0, 1, 0, end)
		b, before := e.m.board, e.m
		b.store(slotWord(0, slotBegun), 0)
		e.events[begin] = func() {
			b.store(slotWord(0, slotAt), uint64(begin))
			b.store(slotWord(0, slotBegun), uint64(begin))
		}
		before.clock.Close()
		e.pass(time.Duration(20 * tick))
		if err := before.begin("ring"); err != nil {
			t.Fatal(err)
		}
		for e.at < at {
			e.pass(time.Duration(20 * tick))
			before.take(e.Poll())
		}
		before.clock.Close()
		e.pass(time.Duration(200 * tick)) // nobody samples
		e.Poll()
		e.pass(time.Duration(10 * tick))
		e.m = &measurer{Config: before.Config, board: b, stride: 1, cpus: 2, sampler: e, domains: before.domains,
			now: before.now, clocks: before.clocks, pause: before.pause}
		if err := e.m.begin("ring"); err != nil {
			t.Fatal(err)
		}
		if err := e.m.measure(); err != nil {
			t.Fatal(err)
		}
		n, err := e.m.Run.Node(before.record.Record)
		if err != nil || len(n.Measurers) != 2 || len(n.Holes) != 1 {
			t.Fatalf("%s: %v, measurers %+v, holes %+v", what, err, n.Measurers, n.Holes)
		}
		missing, second := int64(0), n.StartedUnixNs
		if what == "after" {
			missing, second = n.Holes[0].ToUnixNs-n.Holes[0].FromUnixNs, n.Holes[0].ToUnixNs
		}
		if early := int64(begin) - n.StartedUnixNs; early < 0 || early > int64(10*tick) || n.Measurers[1].StartedUnixNs != second {
			t.Errorf("%s: started at %d, want %d; %+v", what, n.StartedUnixNs, begin, n.Measurers)
		}
		if off := int64(n.Domains[0].TotalUj) - (n.EndedUnixNs-n.StartedUnixNs-missing)/1000; off < -1 || off > 1 {
			t.Errorf("%s: %d uJ of a watt from %d to %d ns without %d ns", what, n.Domains[0].TotalUj, n.StartedUnixNs,
				n.EndedUnixNs, missing)
		}
	}
}
