package node

import (
	"math/rand/v2"
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
	"cg/nemb/leaks"
	"cg/ranks"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }

// Whatever ranks use, and whenever a measurer is replaced by another, the ledger adds up to what
// the counters showed while somebody looked.
func TestDivisionIsExact(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	domains := []nemb.Domain{
		{ID: "package-0", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1, Base: 3},
		{ID: "dram-0", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1},
	}
	var slots []reading
	total := make([]uint64, len(domains))
	left := &state{}
	at := checkpoint.Instant(0)
	for range 5 { // measurers
		x := newDivider(domains, 4, left, append([]reading{}, slots...))
		s := nemb.Sample{At: checkpoint.Tick(at), Time: at, Energy: make([]nemb.Energy, len(domains))}
		x.begin(s)
		var own, busy time.Duration
		for range 200 {
			if random.IntN(20) == 0 && len(slots) < 7 {
				slots = append(slots, reading{})
			}
			span := time.Duration(1+random.IntN(100)) * time.Millisecond
			at += checkpoint.Instant(span)
			for i := range slots {
				slots[i].program += random.Int64N(int64(span))
				slots[i].own += random.Int64N(int64(span) / 100)
			}
			own += time.Duration(random.Int64N(int64(span) / 50))
			busy += time.Duration(random.Int64N(4 * int64(span)))
			s = nemb.Sample{At: checkpoint.Tick(at), Time: at, Energy: append([]nemb.Energy{}, s.Energy...),
				Usage: account.Usage{Own: own, Other: busy}}
			for d := range domains {
				e := uint64(random.IntN(2_000_000))
				s.Energy[d] += nemb.Energy(e)
				total[d] += e
			}
			x.close(s, slots)
		}
		left = x.state
		at += checkpoint.Instant(time.Second)
		for i := range slots { // which nobody counted
			slots[i].program += int64(time.Second)
		}
	}
	for d, l := range left.ledgers {
		sum := uint64(0)
		for _, r := range left.results {
			sum += r.shares[d]
		}
		if l.total != total[d] || sum != l.ranks || l.total != l.ranks+l.other+l.idle+l.own+l.unattributed {
			t.Errorf("%s: %+v: the shares are %d, and the counter moved by %d", domains[d].ID, l, sum, total[d])
		}
		if sum == 0 || l.other == 0 || l.own == 0 {
			t.Errorf("%s: %+v: somebody has nothing", domains[d].ID, l)
		}
	}
	if len(left.results) < 2 {
		t.Error("only one rank came")
	}
}

// A rank that came when no measurer was there is measured by the next one.
func TestRankThatCameBetween(t *testing.T) {
	domains := []nemb.Domain{{ID: "package-0", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1}}
	before := &state{results: []result{newResult(1), newResult(1)}}
	before.results[0].state, before.results[1].state = stateSettled, stateFree
	x := newDivider(domains, 2, before, make([]reading, 2))
	if got := x.state.results; got[0].state != stateSettled || got[1].state != stateRunning {
		t.Errorf("%+v", got)
	}
}

// What is committed is read as it was written, and a commit that did not end is not seen.
func TestBoard(t *testing.T) {
	dir := t.TempDir()
	b, err := openBoard(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	for rank := range 3 {
		if slot, err := b.take(10+rank, 100+rank, 3); err != nil || slot != rank {
			t.Fatalf("slot %d, %v, want %d", slot, err, rank)
		}
	}
	want := &state{mono: 5, unix: 6, own: 7, other: 8, ledgers: []ledger{{21, 6, 5, 4, 3, 3}, {1, 1, 0, 0, 0, 0}}, results: []result{
		{stateSettled, 7, []uint64{1, 0}, []uint64{0, 0}, []uint64{4, 0}}, {stateRunning, 8, []uint64{2, 1}, []uint64{1, 1}, []uint64{0, 3}}, {stateLost, 9, []uint64{3, 0}, []uint64{0, 0}, []uint64{0, 0}}}}
	b.commit(&state{mono: 1, ledgers: make([]ledger, 2), results: want.results})
	b.commit(want)
	other, err := openBoard(dir) // of another process
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	if got := other.committed(2); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	other.store(stateAt(other.load(wordCommits)+1), 99) // a measurer that was killed meanwhile
	if got := b.committed(2); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if r, ok := b.result(1, 2); !ok || !reflect.DeepEqual(r, want.results[1]) {
		t.Errorf("result %+v", r)
	}
	b.store(wordMagic, 77)
	if _, err := openBoard(dir); err == nil {
		t.Error("a file that is no board was opened")
	}
	b.store(wordSlots, maxSlots)
	if _, err := b.take(1, 1, 1); err == nil {
		t.Error("a node has no end of slots")
	}
}

// The door is shut while somebody is in, and it is another one when the folder was removed.
func TestDoor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "board")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	door, err := enter(dir, 0, time.Sleep)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := held(filepath.Join(dir, "door"), unix.LOCK_EX|unix.LOCK_NB); !taken(err) {
		t.Errorf("the door is open: %v", err)
	}
	waiting := make(chan error)
	go func() {
		_, err := enter(dir, time.Minute, time.Sleep)
		waiting <- err
	}()
	if err := removeBoard(dir); err != nil {
		t.Fatal(err)
	}
	door.Close()
	if err := <-waiting; !os.IsNotExist(err) {
		t.Errorf("through the door of a folder that was removed: %v", err)
	}
}

// One rank has what it claims until it leaves; the others are told which.
func TestClaim(t *testing.T) {
	dir := t.TempDir()
	member := func(rank int) *Member {
		b, err := openBoard(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.close)
		return &Member{board: b, joining: Joining{Identity: ranks.Identity{Rank: rank}}}
	}
	a, b := member(3), member(4)
	for _, step := range []struct {
		who  *Member
		what string
		want int
	}{{a, "gpu-1", 3}, {b, "gpu-1", 3}, {b, "gpu-2", 4}, {a, "gpu-2", 4}} {
		if got, err := step.who.Claim(step.what); got != step.want || err != nil {
			t.Errorf("rank %d, %s: rank %d, %v", step.who.Rank(), step.what, got, err)
		}
	}
	a.releaseClaims()
	if got, err := b.Claim("gpu-1"); got != 4 || err != nil {
		t.Errorf("after it left: rank %d, %v", got, err)
	}
	// Nothing is left of who had it before: not of one that was killed either.
	if err := os.WriteFile(filepath.Join(dir, "claim-gpu-3"), []byte("7"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, who := range []*Member{a, b} {
		if got, err := who.Claim("gpu-3"); got != 3 || err != nil {
			t.Errorf("rank %d, which another had: rank %d, %v", who.Rank(), got, err)
		}
	}
	// What is of no use to a rank is another's.
	a.Release("gpu-3")
	a.Release("gpu-9")
	if got, err := b.Claim("gpu-3"); got != 4 || err != nil {
		t.Errorf("after it was released: rank %d, %v", got, err)
	}
	b.releaseClaims()
	// A rank that is stopped while it claims does not stop others.
	door, err := enter(dir, 0, time.Sleep)
	if err != nil {
		t.Fatal(err)
	}
	impatient(t)
	if _, err := b.Claim("gpu-3"); err == nil || !strings.Contains(err.Error(), "kill -CONT") {
		t.Errorf("while another has the door: %v", err)
	}
	door.Close()
	if got, err := b.Claim("gpu-3"); got != 4 || err != nil {
		t.Errorf("after the door was left: rank %d, %v", got, err)
	}
	b.releaseClaims()
}
