package nemb

import (
	"time"

	"cg/checkpoint"
)

// AskEvery is how often the drivers of GPUs are asked who uses them while a program runs: more often than they take
// samples, so that it is known whose a process is before it is over.
const AskEvery = 250 * time.Millisecond

// The last samples of drivers are waited for so long, and looked for after each pause.
const (
	LastSamples = LongestUseSample + 200*time.Millisecond
	lastPause   = 20 * time.Millisecond
)

// AskUntil asks each AskEvery, from then on, until stop is closed.
func AskUntil(stop <-chan struct{}, ask func()) {
	tick := time.NewTicker(AskEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			ask()
		}
	}
}

// Clock is the time and how it passes.
type Clock struct {
	Now   func() checkpoint.Instant
	Pause func(time.Duration)
}

// WallClock is that of the machine.
var WallClock = Clock{checkpoint.Monotime, time.Sleep}

// AskLast asks those for their last samples of which that is awaited, for up to LastSamples. One that tells nothing
// more does not keep the others from being asked.
func AskLast[GPU any](clock Clock, all []GPU, awaits func(GPU) bool, ask func(GPU)) {
	for deadline := clock.Now() + checkpoint.Instant(LastSamples); clock.Now() < deadline; clock.Pause(lastPause) {
		waiting := false
		for _, g := range all {
			if awaits(g) {
				ask(g)
				waiting = true
			}
		}
		if !waiting {
			return
		}
	}
}
