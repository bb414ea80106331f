package checkpoint

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// summing is a channel whose programs add up and write no words. Its trees may be
// fewer and smaller than a run's.
func summing(t testing.TB, trees, nodes int) *Channel {
	t.Helper()
	c, err := New(SystemClock(), 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.forest.close()
	if c.forest = newForest(trees, nodes, treeFunctions); c.forest == nil {
		t.Fatal("no memory for trees")
	}
	c.head.trees = uint32(c.forest.fd)
	return c
}

// grownTree is what the reader was told of a thread.
type grownTree struct {
	thread       Thread
	lost         uint64
	nodes        []Node
	calls, ticks []uint64 // by node
	others       map[uint32]int64
	span         uint64 // of its windows, to their last events
	long         []LongCall
	times        map[SiteID]Times
	Tally        // the counts of all
}

// sites is the path of a node.
func (g *grownTree) sites(n uint32) (path []SiteID) {
	for ; n != RootNode; n = g.nodes[n].Parent {
		path = append([]SiteID{g.nodes[n].Site}, path...)
	}
	return path
}

// bySite is how often each site was called.
func (g *grownTree) bySite() map[SiteID]uint64 {
	calls := map[SiteID]uint64{}
	for i, n := range g.nodes {
		if n.Site != 0 {
			calls[n.Site] += g.calls[i]
		}
	}
	return calls
}

// time is the ticks of all nodes.
func (g *grownTree) time() (sum uint64) {
	for _, ticks := range g.ticks {
		sum += ticks
	}
	return sum
}

// grove is the trees of a channel, in the order in which they were taken.
type grove struct {
	t     testing.TB
	trees []*grownTree
	of    map[Thread]*grownTree
}

func (g *grove) fold(r Run) int {
	if r.Tally == nil {
		g.t.Errorf("%d words of %s", len(r.Words), r.Thread)
		return len(r.Words)
	}
	if r.First {
		tree := &grownTree{thread: r.Thread, lost: r.Lost, others: map[uint32]int64{}, times: map[SiteID]Times{}}
		if g.of == nil {
			g.of = map[Thread]*grownTree{}
		}
		g.of[r.Thread], g.trees = tree, append(g.trees, tree)
	}
	y, from := g.of[r.Thread], r.Tally
	if len(from.Windows) == 0 && len(from.Nodes) == 0 {
		return 0
	}
	y.nodes = append(y.nodes, from.Nodes[len(y.nodes):]...)
	y.calls = append(y.calls, make([]uint64, len(y.nodes)-len(y.calls))...)
	y.ticks = append(y.ticks, make([]uint64, len(y.nodes)-len(y.ticks))...)
	for _, w := range from.Windows {
		for _, p := range w.Parts {
			y.calls[p.Node] += p.Calls
			y.ticks[p.Node] += p.Ticks
			y.others[p.Node] += p.Others
		}
		y.span += uint64(w.Last - w.Begin)
		y.long = append(y.long, w.Long...)
	}
	for _, c := range from.Times {
		y.times[c.Site] = c
	}
	y.Used = max(y.Used, from.Used)
	y.Events += from.Events
	y.Unwound += from.Unwound
	y.Closed += from.Closed
	y.Joined += from.Joined
	y.LongLost += from.LongLost
	return len(from.Windows)
}

// add runs testdata/adder.c, and reads its trees: meanwhile, or when it has ended.
func add(t testing.TB, c *Channel, meanwhile bool, args ...string) (grove, string) {
	t.Helper()
	g := grove{t: t}
	cmd := program(t, c, "adder", args...)
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := wait(c, cmd, meanwhile, g.fold); err != nil {
		t.Fatal(err)
	}
	c.Finish(g.fold)
	if c.RefusedTrees() != 0 {
		t.Errorf("%d trees are refused", c.RefusedTrees())
	}
	for i, state := range c.forest.state {
		if state != stateFree {
			t.Errorf("tree %d is not free at the end", i)
		}
	}
	return g, out.String()
}

func wait(c *Channel, cmd *exec.Cmd, meanwhile bool, fold func(Run) int) error {
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for meanwhile {
		select {
		case err := <-done:
			return err
		default:
			c.Drain(fold)
		}
	}
	return <-done
}

// one is the only tree of a grove, with a path at least.
func (g *grove) one() *grownTree {
	g.t.Helper()
	if len(g.trees) != 1 || len(g.trees[0].nodes) <= FirstNode {
		g.t.Fatalf("%d trees", len(g.trees))
	}
	y := g.trees[0]
	if y.time() != y.span {
		g.t.Errorf("%d ticks in the nodes, %d in the windows", y.time(), y.span)
	}
	return y
}

// A thread maps more of its tree as its paths become more.
func TestManyPaths(t *testing.T) {
	const paths = 100_000
	c := summing(t, trees, treeNodes)
	g, _ := add(t, c, false, "wide", strconv.Itoa(paths))
	y := g.one()
	if len(y.nodes) != FirstNode+1+paths || y.Events != 2*(paths+1) || y.Joined != 0 {
		t.Fatalf("%d nodes, %d events, %d joined", len(y.nodes), y.Events, y.Joined)
	}
	for i := FirstNode + 1; i < len(y.nodes); i++ {
		if n := y.nodes[i]; n.Site != SiteID(i-FirstNode+1) || n.Parent != FirstNode || y.calls[i] != 1 {
			t.Fatalf("node %d: %+v, %d calls", i, n, y.calls[i])
		}
	}
}

// Recursion has a path for each function of the cycle, not for each depth. A function
// between that is in no cycle stays on the path, and keeps what it called.
func TestRecursionIsFolded(t *testing.T) {
	const deep = 100_000
	c := summing(t, trees, treeNodes)
	g, _ := add(t, c, false, "recursion", strconv.Itoa(deep))
	y := g.one()
	if n := len(y.nodes); n > FirstNode+130 || y.Joined != 0 || y.Unwound != 0 || y.Events != 2*(deep+2) {
		t.Errorf("%d nodes, %d joined, %d unwound, %d events", n, y.Joined, y.Unwound, y.Events)
	}
	calls := y.bySite()
	if calls[1] != 1 || calls[2] != deep/2 || calls[3] != deep/2 || calls[4] != 1 {
		t.Errorf("calls %v", calls)
	}
	between, below := 0, uint64(0)
	for i, n := range y.nodes {
		if n.Site == 4 {
			between++
		} else if path := fmt.Sprint(y.sites(uint32(i))); strings.Contains(path, " 4 ") {
			below += y.calls[i]
		}
	}
	if between != 1 || below != deep/2 {
		t.Errorf("%d paths of the function between, %d calls below it", between, below)
	}
}

// Where nodes are few, paths are joined, and each site keeps its calls.
func TestPathsAreJoined(t *testing.T) {
	const nodes = 4096
	c := summing(t, 1, nodes)
	g, out := add(t, c, false, "few", "100000")
	y := g.one()
	if len(y.nodes) < nodes/8*7 || len(y.nodes) >= nodes || y.Joined == 0 || y.Unwound != 0 {
		t.Errorf("%d nodes, %d joined, %d unwound", len(y.nodes), y.Joined, y.Unwound)
	}
	calls := y.bySite()
	for line := range strings.Lines(out) {
		var site, want uint64
		fmt.Sscan(line, &site, &want)
		if calls[SiteID(site)] != want {
			t.Errorf("site %d: %d calls, want %d", site, calls[SiteID(site)], want)
		}
	}
	for i := FirstNode; i < len(y.nodes); i++ {
		if path := y.sites(uint32(i)); path[0] != 1 {
			t.Errorf("path %v", path)
		}
	}
}

// Where there is no node left, a call counts as its caller's.
func TestNoNodeIsLeft(t *testing.T) {
	const nodes, sites = 64, 200
	c := summing(t, 1, nodes)
	g, _ := add(t, c, false, "wide", strconv.Itoa(sites))
	y := g.one()
	if want := uint64(sites - (nodes - FirstNode - 1)); len(y.nodes) != nodes || y.Joined != want {
		t.Errorf("%d nodes, %d joined, want %d", len(y.nodes), y.Joined, want)
	}
	if y.Events != 2*(sites+1) || y.calls[FirstNode] != 1 || y.Unwound != 0 {
		t.Errorf("%d events, %d calls of the caller, %d unwound", y.Events, y.calls[FirstNode], y.Unwound)
	}
}

// Records of long calls are overwritten, and counted, where the reader is late.
func TestLongCallsOfAWriter(t *testing.T) {
	for _, calls := range []int{40, 1000} {
		c := summing(t, 1, 1024)
		c.SetLong(1)
		g, _ := add(t, c, false, "long", strconv.Itoa(calls))
		y := g.one()
		kept := min(calls+1, longRecords-1)
		if len(y.long) != kept || y.LongLost != uint64(calls+1-kept) {
			t.Fatalf("%d calls: %d records, %d lost", calls+1, len(y.long), y.LongLost)
		}
		for i, l := range y.long[:kept-1] {
			if l.Node != FirstNode+1 || l.Exit > y.long[i+1].Exit || i > 0 && l.Enter < y.long[i-1].Exit {
				t.Errorf("record %d: %+v", i, l)
			}
		}
		if outer := y.long[kept-1]; outer.Node != FirstNode || outer.Enter > y.long[0].Enter {
			t.Errorf("the caller's record: %+v", outer)
		}
	}
}

// What a node owes to its checkpoints is known: events are two for each of its calls, and
// its others.
func TestOtherEvents(t *testing.T) {
	c := summing(t, 1, 1024)
	g, _ := add(t, c, false, "others")
	y := g.one()
	got := [4]int64{}
	for i := range got {
		got[i] = y.others[uint32(FirstNode+i)]
	}
	if got != [4]int64{1, 1, -1, 0} || len(y.nodes) != FirstNode+4 || y.Events != 2*4+1 || y.Unwound != 2 {
		t.Errorf("others %d of %d nodes, %d events, %d unwound", got, len(y.nodes), y.Events, y.Unwound)
	}
}

// Threads that find no tree count what they do not add up.
func TestMoreThreadsThanTrees(t *testing.T) {
	const threads, calls, have = 8, 700, 3
	c := summing(t, have, 1024)
	g, _ := add(t, c, false, "threads", strconv.Itoa(threads), strconv.Itoa(calls))
	if len(g.trees) != have || c.Lost() != (threads-have)*calls*2 {
		t.Errorf("%d trees, %d events lost", len(g.trees), c.Lost())
	}
	for _, y := range g.trees {
		if y.Events != 2*calls || y.lost != 0 || y.bySite()[7] != calls {
			t.Errorf("%d events, %d lost before, calls %v", y.Events, y.lost, y.bySite())
		}
	}
}

// A thread that gets a tree late says what it lacks, and the exits of calls that
// it does not know end nothing.
func TestTreeIsTakenLate(t *testing.T) {
	c := summing(t, 1, 1024)
	g, out := add(t, c, true, "late")
	if len(g.trees) != 2 {
		t.Fatalf("%d trees", len(g.trees))
	}
	y := g.trees[1]
	all, _ := strconv.ParseUint(strings.TrimSpace(out), 10, 64)
	if y.lost == 0 || y.lost != c.Lost() || y.lost%512 != 0 || g.trees[0].Events+y.Events+y.lost != all {
		t.Errorf("%d events and %d, %d lost, of %d", g.trees[0].Events, y.Events, y.lost, all)
	}
	if y.Closed != 0 || y.Unwound != 0 || y.bySite()[8] != 10 {
		t.Errorf("%d closed, %d unwound, calls %v", y.Closed, y.Unwound, y.bySite())
	}
}

// What a child does before its first event is the time of the function in which it was forked, also where it
// forks itself meanwhile. The child says what processor time that was.
func TestForkedBeforeItsFirstEvent(t *testing.T) {
	const deep, ticks = 3, 3_000_000
	for _, what := range []string{"fork", "forks"} {
		g, _ := add(t, summing(t, trees, treeNodes), false, what, strconv.Itoa(deep), strconv.Itoa(ticks))
		if len(g.trees) != 2 {
			t.Fatalf("%s: %d trees", what, len(g.trees))
		}
		child := g.trees[1]
		if innermost := FirstNode + deep - 1; child.nodes[innermost].Site != deep || child.ticks[innermost] < ticks ||
			child.time() != child.span {
			t.Errorf("%s: %+v: %v ticks", what, child.nodes, child.ticks)
		}
		if g.trees[0].Used != 0 || child.Used <= 0 || child.Used > time.Minute {
			t.Errorf("%s: the child used %v before its first event, the parent %v", what, child.Used, g.trees[0].Used)
		}
	}
}

// A process that was forked begins in the path in which its parent was, without a
// call.
func TestForkInDeepFrames(t *testing.T) {
	const deep = 6000 // more than the stack has room for at first
	c := summing(t, 16, 1<<15)
	c.SetLong(1)
	g, _ := add(t, c, false, "fork", strconv.Itoa(deep))
	if len(g.trees) != 2 || g.trees[0].thread.PID == g.trees[1].thread.PID {
		t.Fatalf("%d trees", len(g.trees))
	}
	for i, y := range g.trees {
		called, events := uint64(1-i), uint64(2+deep*(2-i))
		if len(y.nodes) != FirstNode+deep+1 || y.Events != events || y.Unwound+y.Closed != 0 || y.time() != y.span {
			t.Errorf("%d nodes, %d events, %d unwound, %d closed", len(y.nodes), y.Events, y.Unwound, y.Closed)
		}
		for n := FirstNode; n < FirstNode+deep; n++ {
			want := Node{SiteID(n - FirstNode + 1), uint32(n - 1), y.nodes[n].Born}
			if n == FirstNode {
				want.Parent = RootNode
			}
			if y.nodes[n] != want || y.calls[n] != called {
				t.Fatalf("tree %d, node %d: %+v, %d calls", i, n, y.nodes[n], y.calls[n])
			}
		}
		if last := y.nodes[FirstNode+deep]; last.Site != 7 || last.Parent != RootNode || y.bySite()[7] != called+1 {
			t.Errorf("tree %d: %+v, %d calls", i, last, y.bySite()[7])
		}
		if records := len(y.long) + int(y.LongLost); records != 1+deep*(1-i) {
			t.Errorf("tree %d: %d long calls", i, records)
		}
	}
}

// Threads that begin after the program changed its user or its root have trees, and
// so have those of a program that limits its addresses.
func TestTreesWithoutTheirPath(t *testing.T) {
	for _, mode := range []string{"pathless", "limited"} {
		const threads = 6
		c := summing(t, trees, treeNodes)
		g, _ := add(t, c, false, mode, strconv.Itoa(threads))
		if len(g.trees) != threads || c.Lost() != 0 {
			t.Errorf("%s: %d trees, %d events lost", mode, len(g.trees), c.Lost())
		}
		for _, y := range g.trees {
			if y.Events != 6 || y.bySite()[7] != 3 {
				t.Errorf("%s: %d events, calls %v", mode, y.Events, y.bySite())
			}
		}
	}
}

// Five times, at a random moment: what a killed program has added up is there, to the
// last event.
func TestKilledAdder(t *testing.T) {
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	for round := range 5 {
		c := summing(t, trees, treeNodes)
		g := grove{t: t}
		said := killed(t, c, killTime{uint64(rng.IntN(300_000)), rng.IntN(3000)}, g.fold)
		if len(g.trees) == 0 && said == 0 {
			continue
		}
		y := g.trees[0]
		calls := uint64(0)
		for _, n := range y.calls {
			calls += n
		}
		if y.Events < said || y.Events > said+1 || calls < y.Events/2 || calls > (y.Events+1)/2 || c.RefusedTrees() != 0 {
			t.Errorf("round %d: %d events and %d calls, %d events published", round, y.Events, calls, said)
		}
	}
}
