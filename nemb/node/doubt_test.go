package node

import (
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
)

// work divides the energy of a second among two ranks. What they used is what they had read so long
// ago; power is the machine's in each window of 50 ms.
func divideLate(t *testing.T, age time.Duration, grain time.Duration, power func(window int) nemb.Energy,
	busy func(window, rank int) time.Duration) (shares, less, more, truth [2]float64) {
	t.Helper()
	const window = 50 * time.Millisecond
	domains := []nemb.Domain{{ID: "package-0", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1}}
	x := newDivider(domains, 2, &state{}, nil)
	x.begin(nemb.Sample{Energy: make([]nemb.Energy, 1)})
	energy := nemb.Energy(0)
	var used [2]time.Duration
	for k := range 21 {
		at := checkpoint.Instant(k+1) * checkpoint.Instant(window)
		var now [2]time.Duration
		all := time.Duration(0)
		for r := range now {
			if k < 20 {
				now[r] = busy(k, r)
				all += now[r]
			}
		}
		e := power(k)
		if k == 20 {
			e = 0
		}
		energy += e
		slots := make([]reading, 2)
		for r := range slots {
			if all > 0 {
				truth[r] += float64(e) * float64(now[r]) / float64(all)
			}
			used[r] += now[r]
			late := min(age, now[r])
			if k == 20 {
				late = 0
			}
			slots[r] = reading{program: int64(used[r] - late), at: at - checkpoint.Instant(age), grain: int64(grain)}
		}
		x.close(nemb.Sample{At: checkpoint.Tick(at), Time: at, Energy: []nemb.Energy{energy},
			Usage: account.Usage{Other: used[0] + used[1]}}, slots)
	}
	for r, result := range x.state.results {
		shares[r], less[r], more[r] = float64(result.shares[0]), float64(result.less[0]), float64(result.more[0])
	}
	return shares, less, more, truth
}

// Where nothing tells what others used, a share may be nothing.
func TestDoubtOfOthersUnknown(t *testing.T) {
	x := newDivider([]nemb.Domain{{ID: "package-0", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1}}, 2, &state{}, nil)
	x.othersUnknown = true
	x.begin(nemb.Sample{Energy: make([]nemb.Energy, 1)})
	for k := range int64(20) {
		at := (k + 1) * 50_000_000
		x.close(nemb.Sample{At: checkpoint.Tick(at), Time: checkpoint.Instant(at), Energy: []nemb.Energy{nemb.Energy(k+1) * 1001}},
			[]reading{{program: at / 3, at: checkpoint.Instant(at)}, {program: at, at: checkpoint.Instant(at)}})
	}
	for i, r := range x.state.results {
		if r.shares[0] == 0 || r.less[0] < r.shares[0] {
			t.Errorf("rank %d has %d uJ, less %d", i, r.shares[0], r.less[0])
		}
	}
}

// The true share lies within the doubt of dividing, which grows with the age of processor times and
// with how much power changes, and is small where nothing changes.
func TestDoubtOfDividing(t *testing.T) {
	steady := func(int) nemb.Energy { return 1_000_000 }
	half := func(int, int) time.Duration { return 25 * time.Millisecond }
	turns := func(k, r int) time.Duration { // the one that computes draws more
		if (k/2+r)%2 == 0 {
			return 40 * time.Millisecond
		}
		return 10 * time.Millisecond
	}
	jumps := func(k int) nemb.Energy { return nemb.Energy(500_000 + 1_000_000*(k/3%2)) }
	width := func(what string, age, grain time.Duration, power func(int) nemb.Energy,
		busy func(int, int) time.Duration) float64 {
		shares, less, more, truth := divideLate(t, age, grain, power, busy)
		for r := range shares {
			if truth[r] < shares[r]-less[r]-1 || truth[r] > shares[r]+more[r]+1 {
				t.Errorf("%s: rank %d used %.0f uJ, and has %.0f, less %.0f, more %.0f", what, r, truth[r], shares[r], less[r],
					more[r])
			}
		}
		return (less[0] + more[0]) / shares[0]
	}
	same := width("nothing changes", 10*time.Millisecond, 0, steady, half)
	ten := width("power jumps", 10*time.Millisecond, 0, jumps, turns)
	twenty := width("power jumps, older times", 20*time.Millisecond, 0, jumps, turns)
	coarse := width("power jumps, coarse times", 10*time.Millisecond, 10*time.Millisecond, jumps, turns)
	if same > 0.06 || ten < 2*same || twenty <= ten || coarse <= ten {
		t.Errorf("doubts %.4f, %.4f, %.4f, %.4f of the share", same, ten, twenty, coarse)
	}
	t.Logf("doubts %.4f, %.4f, %.4f, %.4f of the share", same, ten, twenty, coarse)
}

// Where hardly anybody uses the processors, what may be left over is more than all that was used: the doubt
// of two windows is within what there was to divide in them.
func TestDoubtIsOfWhatIsDivided(t *testing.T) {
	const active = 500 // uJ of each window
	shares, less, more, _ := divideLate(t, 10*time.Millisecond, 0, func(int) nemb.Energy { return active },
		func(k, r int) time.Duration { // by turns
			if (k+r)%2 == 0 {
				return 90 * time.Microsecond
			}
			return time.Microsecond
		})
	for r := range shares {
		if less[r] > 2*shares[r] || more[r] > 2*20*active-shares[r] || more[r] == 0 {
			t.Errorf("rank %d has %.0f uJ of %d, less %.0f, more %.0f", r, shares[r], 20*active, less[r], more[r])
		}
	}
}
