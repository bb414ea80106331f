package windows

import "slices"

// arrears are processor times that threads used and that the account of the program had not
// reported when they did: the kernel brings the two up to date at different moments. A window
// in which the account reports more than its threads used, and they used more than it
// reported before, divides energy for those times: it belongs to the call paths of then, which
// may be of processes that have ended, and not to those that happen to run now. That is so of a model, whose energy
// follows the account. What a counter shows in a window was used in it.
type arrears struct {
	owed []*threadTime // oldest first
	// Of the open window: what it reports late, as if it were of threads, and the sum of their
	// times in nanoseconds.
	paid []*threadTime
	late float64
}

// mostOwed bounds what is kept. The account reports a time within a few windows.
const mostOwed = 256

// close takes what the account reports of a window, what is known to have been used in it, both in
// nanoseconds, and its threads.
func (x *arrears) close(account, weight float64, threads []*threadTime) {
	switch missing := weight - account; {
	case missing > 1e-9*weight:
		x.owe(missing/weight, threads)
	case missing < 0:
		x.pay(-missing)
	}
}

// owe notes a part of what each thread used in the open window.
func (x *arrears) owe(part float64, threads []*threadTime) {
	for _, t := range threads {
		if t.used > 0 && t.hasShares() {
			x.owed = append(x.owed, &threadTime{id: t.id, used: part * t.used, parts: slices.Clone(t.parts),
				shares: slices.Clone(t.shares)})
		}
	}
	if more := len(x.owed) - mostOwed; more > 0 {
		x.owed = slices.Delete(x.owed, 0, more)
	}
}

// pay takes a time from what is owed, the oldest first.
func (x *arrears) pay(time float64) {
	n := 0
	for n < len(x.owed) && time > 0 {
		t := x.owed[n]
		part := min(time, t.used)
		x.paid = append(x.paid, &threadTime{id: t.id, used: part, parts: t.parts, shares: t.shares})
		x.late, time = x.late+part, time-part
		if t.used -= part; t.used <= 0 {
			n++
		}
	}
	x.owed = slices.Delete(x.owed, 0, n)
}
