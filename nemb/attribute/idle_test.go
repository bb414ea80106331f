package attribute

import (
	"math/rand/v2"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
)

// A machine of two processors draws 8 W idle, 12 W more for each that is busy,
// and noise. The idle power was measured before. The idle line is that power
// over the run, also where windows hold less than it, and the function gets what
// it made the machine draw.
func TestMeasuredBase(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for _, noise := range []float64{0, 1, 6} {
		const end = 20_000 * ms
		// The program runs for the first half and sleeps in the second.
		busy := func(at int64) float64 { return float64(min(at, end/2)) }
		energy := map[int64]nemb.Energy{}
		sum := 0.0
		for at := int64(0); at <= end; at += 10 * ms {
			if at > 0 {
				sum += (8*10*ms + 12*(busy(at)-busy(at-10*ms))) * 1e-3
				sum += noise * (2*rng.Float64() - 1) * 10 * ms * 1e-3
			}
			energy[at] = nemb.Energy(sum)
		}
		var p tape
		p.add(1, 0, checkpoint.Enter, 1)
		p.add(1, end-1, checkpoint.Exit, 1)
		d := counter
		d.Base, d.BaseLo, d.BaseHi = 8, 7.9, 8.1
		d.IdleShare, d.IdleShareMost = .2, .4 // which the measured power replaces
		r := p.play([]nemb.Domain{d}, end, 10*ms,
			func(at int64) []nemb.Energy { return []nemb.Energy{energy[at]} },
			func(at int64) account.Usage {
				return account.Usage{Program: time.Duration(busy(at)), Own: time.Duration(at / 1000)}
			})
		lawful(t, r)
		if !near(r.Total.Idle, 160e6, .01) {
			t.Errorf("noise %g W: idle %d uJ, want 160 J", noise, r.Total.Idle)
		}
		truth := nemb.Energy(120e6)
		if p := r.Total.Program(); !near(p, truth, .02) {
			t.Errorf("noise %g W: program %d uJ, want 120 J", noise, p)
		}
		// 0.1 W over 10 s.
		if r.Total.ProgramLo > truth || r.Total.ProgramHi < truth || r.Total.ProgramHi-r.Total.ProgramLo > 8e6 {
			t.Errorf("noise %g W: [%d, %d]", noise, r.Total.ProgramLo, r.Total.ProgramHi)
		}
	}
}

// A machine that draws less than it did idle leaves nothing owing for long.
func TestBaseTooHigh(t *testing.T) {
	d := counter
	d.Base, d.BaseLo, d.BaseHi = 50, 0, 51
	a := New([]nemb.Domain{d}, 2)
	at := func(ms int64, uj nemb.Energy) nemb.Sample {
		return nemb.Sample{At: checkpoint.Tick(ms * 1e6), Time: checkpoint.Instant(ms * 1e6), Energy: []nemb.Energy{uj}, Usage: account.Usage{Program: time.Duration(ms * 1e6)}}
	}
	a.Close(at(1, 0))
	a.Close(at(10_001, 100e6))       // 10 W: all of it is idle
	a.Last(at(20_001, 100e6+2000e6)) // 200 W: 50 W are idle, and one second of what was missing
	r := a.Finish()
	lawful(t, r)
	if want := nemb.Energy(100e6 + 500e6 + 50e6); r.Total.Idle != want {
		t.Errorf("idle %d, want %d", r.Total.Idle, want)
	}
	if r.Total.ProgramHi < 2000e6-1 { // it may have been no idle power at all
		t.Errorf("program up to %d", r.Total.ProgramHi)
	}
}
