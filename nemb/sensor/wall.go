package sensor

import (
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/processor"
)

// wallBand: servers tell their input power within 5 % (ENERGY STAR Program Requirements for
// Computer Servers 3.0, section 6.1, "Input power").
const wallBand = 0.05

// WallEvery is how often a BMC is asked: it brings its readings up to date about once a second.
const WallEvery = time.Second

// wallMost is the largest power in watts that DCMI can tell, in 16 bits.
const wallMost = 65535

// Wall is the domain of what a machine draws from its power supplies, as its management
// controller (BMC) tells it. It includes everything: fans, disks and losses, too.
func Wall(source string, cpu processor.CPU) nemb.Domain {
	d := nemb.Domain{ID: "wall", Kind: "psys", Whole: true, Source: source, Most: wallMost,
		Lo: 1 - wallBand, Hi: 1 + wallBand}
	d.IdleShare, d.IdleShareMost = cpu.IdleShare()
	return d
}

// Seldom is a meter that is not asked more often than once in a period: in between it shows
// what it showed.
type Seldom struct {
	Meter
	Every time.Duration
	Now   func() checkpoint.Instant // nil is the clock

	at    checkpoint.Instant
	asked bool
	watts float64
	err   error
}

// Watts is the power at most a period ago. It is called from one goroutine at a time.
func (s *Seldom) Watts() (float64, error) {
	now := checkpoint.Monotime
	if s.Now != nil {
		now = s.Now
	}
	// The next reading of who keeps to the period may come a little early.
	if at := now(); !s.asked || time.Duration(at-s.at) > s.Every-s.Every/10 {
		s.asked, s.at = true, at
		s.watts, s.err = s.Meter.Watts()
	}
	return s.watts, s.err
}
