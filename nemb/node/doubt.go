package node

import (
	"math"

	"cg/checkpoint"
	"cg/nemb/account"
)

// A rank writes its processor time every sampling interval, so what it used since the last
// time is counted in the next window. The doubt of a share follows from that.
//
// In a window, a rank i that used u of the U nanoseconds that all used has r*u of the
// energy, r being energy by processor time. A nanosecond of its own is worth r*(1 - u/U) to it,
// and one of another costs it r*u/U. So time d that was used in one window and is counted
// in the next moves d times the difference of these slopes. d is at least 0, and at most what
// the processors of the node can do in the age of the reading, at most what the next
// window has, and what the account of the rank is behind by itself. At the end of a
// rank its time is final and nothing is left over. While power is steady the slopes
// are equal, and the doubt is small. A rank cannot have had less than nothing of the two
// windows, nor more than all who used the processors: there the slopes do not hold.

// Where nothing tells what other processes used, the doubt reaches down to nothing.

// slope is what a nanosecond of processor time is worth to a rank in a window, in
// microjoules: of its own, and of another.
type slope struct {
	own, others float64
	active      float64 // microjoules of all who used the processors in that window
	share       float64 // of them, the rank's
	known       bool
}

// late sets what each rank may lack at the end of a window: nothing for one that has written
// nothing yet.
func (x *divider) late(end checkpoint.Instant, slots []reading) {
	for i, now := range slots {
		x.behind[i] = 0
		if now.at != 0 {
			x.behind[i] = max(0, float64(end-now.at))*float64(x.cpus) + float64(now.grain)
		}
	}
}

// doubt adds the doubt that a domain's window gives the shares: the energy of all who used
// the processors, and how long they did.
func (x *divider) doubt(d int, active, busy float64, used []float64) {
	if busy <= 0 {
		return // nobody's: the slopes stay as they are
	}
	all := float64(account.Tick) // that the machine's own figures are behind
	behind := make([]float64, len(used))
	for i, u := range used {
		behind[i] = min(x.behind[i], u) // what was left over is in this window
		all += behind[i]
	}
	for i, u := range used {
		before, r := &x.powers[i][d], active/busy
		part := min(1, u/busy)
		now := slope{own: r * (1 - part), others: r * part, active: active, share: part * active, known: true}
		if x.othersUnknown {
			x.state.results[i].less[d] += uint64(math.Ceil(now.share))
		}
		if result := &x.state.results[i]; before.known && result.state == stateRunning {
			own, others := behind[i]*(before.own-now.own), (all-behind[i])*(now.others-before.others)
			share := before.share + now.share
			result.more[d] += uint64(min(max(0, own)+max(0, others), max(0, before.active+now.active-share)))
			result.less[d] += uint64(min(max(0, -own)+max(0, -others), max(0, share)))
		}
		*before = now
	}
}
