// Checkpoints, added to package testing: each test, example and benchmark is a
// span.

package testing

import (
	"container/ring"
	"runtime"
)

var codegreenPackage string

// codegreenTest begins the span of a test, or of a fuzz target's input. What it
// returns ends it.
func codegreenTest(c *common) func() {
	if c.name == "" || c.parent != nil && c.parent.name == c.name { // the root, or a bubble in a test
		return func() {}
	}
	c.codegreenSite = ring.CodegreenSpan(codegreenPackage, c.name, false)
	return codegreenRun(c.codegreenSite)
}

// codegreenPause is called where a parallel test begins to wait, and codegreenContinue
// where it goes on.
func codegreenPause(c *common) { ring.CodegreenPause(c.codegreenSite) }

func codegreenContinue(c *common) { ring.CodegreenContinue(c.codegreenSite) }

func codegreenExample(name string) func() {
	return codegreenRun(ring.CodegreenSpan(codegreenPackage, name, false))
}

// codegreenRun begins a span. What it returns ends it.
func codegreenRun(site uint32) func() {
	if site == 0 {
		return func() {}
	}
	begin := highPrecisionTimeNow()
	outer, exit := ring.CodegreenSpanEnter(site)
	return func() {
		ring.CodegreenSpanExit(site, outer, exit)
		ring.CodegreenMeasured(site, 1, int64(highPrecisionTimeSince(begin)))
	}
}

// codegreenBench is the span of a benchmark's run since its timer was reset.
type codegreenBench struct {
	site, outer uint32
	exit        func()
	on          bool
}

func (c *codegreenBench) start(b *B) {
	if c.on || !b.timerOn {
		return
	}
	if c.site == 0 {
		c.site = ring.CodegreenSpan(codegreenPackage, benchmarkName(b.name, runtime.GOMAXPROCS(0)), true)
	}
	c.on = true
	c.outer, c.exit = ring.CodegreenSpanEnter(c.site)
}

func (c *codegreenBench) stop() {
	if c.on {
		ring.CodegreenSpanExit(c.site, c.outer, c.exit)
		c.on = false
	}
}

// reset forgets what has been done, as the timer does.
func (c *codegreenBench) reset(b *B) {
	c.stop()
	c.site = 0
	c.start(b)
}

// reported says that the run was the one whose result is reported.
func (c *codegreenBench) reported(b *B) {
	if !b.failed && c.site != 0 {
		ring.CodegreenMeasured(c.site, int64(b.N), int64(b.duration))
	}
	c.site = 0
}
