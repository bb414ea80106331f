package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cg/ranks"
)

// impatient lets ranks wait for a door for a moment only.
func impatient(t *testing.T) {
	patience := doorPatience
	t.Cleanup(func() { doorPatience = patience })
	doorPatience = 20 * time.Millisecond
}

// stopped is a rank that is stopped while it joins the board of a node: it goes no further than the door.
func stopped(t *testing.T, dir string) *os.File {
	t.Helper()
	door, err := enter(dir, 0, time.Sleep)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { door.Close() })
	return door
}

// A rank that is stopped while it joins stops no other that joins: that one ends with a line, makes no board elsewhere,
// and can be interrupted.
func TestJoinBesideAStoppedRank(t *testing.T) {
	impatient(t)
	place, run := t.TempDir(), newRun(t)
	t.Setenv(FolderVariable, place)
	j := Joining{Run: run, Identity: ranks.Identity{Node: "n1"}}
	dir, err := boardFolder(place, run, j.Node)
	if err != nil {
		t.Fatal(err)
	}
	door := stopped(t, dir)
	if _, err := Join(t.Context(), j); err == nil || !strings.Contains(err.Error(), "kill -CONT") ||
		strings.Contains(err.Error(), FolderVariable) {
		t.Errorf("while another rank has the door: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Join(ctx, j); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	door.Close()
	m, err := joinBoard(t.Context(), j, place)
	if err != nil {
		t.Fatal(err)
	}
	m.alive.Close()
	m.board.close()
}

// Ranks that come one after another are waited for: the door is no stopped rank's.
func TestDoorOfManyRanks(t *testing.T) {
	dir, n := t.TempDir(), 0
	door := stopped(t, dir)
	enters := func(time.Duration) {
		if n++; n == 50 {
			door.Close()
			return
		}
		at := time.Unix(int64(n), 0)
		if err := os.Chtimes(dir, at, at); err != nil {
			t.Fatal(err)
		}
	}
	mine, err := enter(dir, 30*time.Millisecond, enters)
	if err != nil {
		t.Fatal(err)
	}
	mine.Close()
}

// A rank that gives up beside a stopped one leaves the board to others.
func TestDiscardBesideAStoppedRank(t *testing.T) {
	impatient(t)
	dir := t.TempDir()
	b, err := openBoard(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	stopped(t, dir)
	(&Member{board: b}).discard()
	if _, err := os.Stat(filepath.Join(dir, "board")); err != nil {
		t.Error(err)
	}
}

// The record of a node is whole though a rank is stopped while it joins. That rank takes no slot of a board that nobody
// measures: when it goes on, it makes a board of its own.
func TestEndBesideAStoppedRank(t *testing.T) {
	for what, killed := range map[string]bool{"ended": false, "killed at its end": true} {
		t.Run(what, func(t *testing.T) {
			e := evenNode(t, "")
			place, j := t.TempDir(), Joining{Run: e.m.Run, Identity: ranks.Identity{Node: "n1", Rank: 1}}
			dir, err := boardFolder(place, j.Run, j.Node)
			if err != nil {
				t.Fatal(err)
			}
			e.m.board.close()
			if e.m.board, err = openBoard(dir); err != nil {
				t.Fatal(err)
			}
			e.m.Dir = dir
			e.rank(t, 0, 1, 0, aSecond)
			door := stopped(t, dir)
			if err := e.m.measure(); err != nil {
				t.Fatal(err)
			}
			n, err := e.m.Run.Node("n1-00000001")
			if err != nil || n.EndedUnixNs < int64(aSecond) || len(n.Unsound()) > 0 || len(n.Ranks) != 1 {
				t.Errorf("%v: %+v", err, n)
			}
			if off := int64(n.Domains[0].TotalUj) - n.EndedUnixNs/1000; off < -1 || off > 1 {
				t.Errorf("%d uJ of a watt until %d ns", n.Domains[0].TotalUj, n.EndedUnixNs)
			}
			if took := time.Duration(e.at - aSecond); took < endPatience || took > endPatience+2*time.Second {
				t.Errorf("the measurer ended after %v", took)
			}
			old := e.m.board
			if _, err := old.take(1, 1, 1); !errors.Is(err, errShut) {
				t.Errorf("it goes on after the door: %v", err)
			}
			if killed {
				old.store(wordEnded, 0)
			}
			lock, err := held(filepath.Join(dir, "measurer"), unix.LOCK_EX)
			if err != nil {
				t.Fatal(err)
			}
			door.Close()
			if killed { // a moment later
				impatient(t)
				if _, err := joinBoard(t.Context(), j, place); !errors.Is(err, errShut) {
					t.Errorf("while the measurer ends: %v", err)
				}
			}
			lock.Close()
			m, err := joinBoard(t.Context(), j, place)
			if err != nil {
				t.Fatal(err)
			}
			defer m.board.close()
			defer m.alive.Close()
			want := "slot 0 of 1"
			if killed { // and the next measurer has what was counted
				want = "slot 1 of 2"
			}
			if got := fmt.Sprintf("slot %d of %d", m.slot, m.board.slots()); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}
