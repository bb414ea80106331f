package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/tell"
	"cg/nemb"
	"cg/nemb/condition"
)

// coolDown is what cg run waits for between two runs.
type coolDown struct {
	celsius *float64      // the processors are not hotter than this; nil for no such limit
	pause   time.Duration // at least
	most    time.Duration // for the temperature
}

// coolestLimit and hottestLimit bound the temperature that can be asked for.
const (
	coolestLimit = 10
	hottestLimit = 120
	coolMost     = 5 * time.Minute
	coolLook     = 200 * time.Millisecond
)

// coolDownOf reads --cool-down: 60C, 60C,10m (for so long at most), 30s, or 30s,60C,10m.
func coolDownOf(text string) (c coolDown, err error) {
	c.most = coolMost
	if text == "" {
		return c, nil
	}
	wrong := fmt.Errorf("%q: want a temperature of %d to %d degrees, for how long at most, or a time: 60C, 60C,10m, "+
		"30s or 30s,60C", text, coolestLimit, hottestLimit)
	for part := range strings.SplitSeq(text, ",") {
		if number, is := strings.CutSuffix(part, "C"); is {
			t, err := strconv.ParseFloat(number, 64)
			if err != nil || c.celsius != nil || !(t >= coolestLimit && t <= hottestLimit) {
				return c, wrong
			}
			c.celsius = &t
			continue
		}
		d, err := flags.Duration(part)
		switch {
		case err != nil || d <= 0:
			return c, wrong
		case c.celsius != nil:
			c.most = d
		case c.pause > 0:
			return c, wrong
		default:
			c.pause = d
		}
	}
	return c, nil
}

// check refuses a temperature that no sensor tells.
func (c coolDown) check(root nemb.Root) error {
	if _, ok := condition.Temperature(root); c.celsius != nil && !ok {
		return exit.Usage("--cool-down: no sensor here tells the temperature of the processors: use a time, " +
			"such as --cool-down 30s")
	}
	return nil
}

// wait waits before the next run. It tells what it could not wait for.
func (c coolDown) wait(ctx context.Context, root nemb.Root, say func(string, ...any)) {
	pause := func(d time.Duration) {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
	if c.pause > 0 {
		say("waiting for %v", c.pause)
		pause(c.pause)
	}
	for end := time.Now().Add(c.most); c.celsius != nil && ctx.Err() == nil; {
		now, ok := condition.Temperature(root)
		switch {
		case !ok:
			say("")
			tell.Warnf("--cool-down: the temperature is not told any more, so the next run does not wait for it")
			return
		case now <= *c.celsius:
			return
		case time.Now().After(end):
			say("")
			tell.Warnf("--cool-down: the processors have %.0f degrees after %v, and the next run begins all the same: "+
				"allow more time (--cool-down %gC,TIME), or a higher temperature", now, c.most, *c.celsius)
			return
		}
		say("cooling down: %.0f degrees, waiting for %g", now, *c.celsius)
		pause(coolLook)
	}
}
