package attribute

import (
	"math/rand/v2"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
)

// A machine of 1 kW whose idle power varies by 10 W from one tenth of a second to the next runs a program that adds 5 W.
// How well the mean of its idle power is known says little of what it drew in the program's two seconds: the interval
// of the program's energy has that, too, whether idle power was measured for long before, or seen in the run.
func TestNoiseOfAnIdlePowerFarAboveTheProgram(t *testing.T) {
	const length = 2000 * ms
	for _, tt := range []struct {
		name string
		nap  int64 // after it
		base time.Duration
	}{{"baseline of 200 s", 0, 200 * time.Second}, {"20 s idle in the run", 20_000 * ms, 0}} {
		held, seeds := 0, 40
		for seed := range uint64(seeds) {
			rng := rand.New(rand.NewPCG(seed, 3))
			end := length + tt.nap
			energy := make([]float64, end/ms+1)
			level := 0.0
			for i := int64(1); i <= end/ms; i++ {
				if i%100 == 1 {
					level = 10 * rng.NormFloat64()
				}
				watts := 1000 + level
				if i*ms <= length {
					watts += 5
				}
				energy[i] = energy[i-1] + watts*1e3
			}
			d := published
			d.ID, d.Method, d.InTotal, d.Period, d.Lo, d.Hi = "wall", nemb.Measured, true, time.Millisecond, 1, 1
			if tt.base > 0 { // the mean of 2,000 independent levels, which is off by its error at most
				d.Base, d.BaseLo, d.BaseHi, d.BaseSpan = 1000, 999.5, 1000.5, tt.base
			}
			var p tape
			p.add(1, 0, checkpoint.Enter, 1)
			p.add(1, length, checkpoint.Exit, 1)
			r := p.play([]nemb.Domain{d}, end, 5*ms, func(at int64) []nemb.Energy { return []nemb.Energy{nemb.Energy(energy[at/ms])} },
				func(at int64) account.Usage {
					used := time.Duration(min(at, length))
					return account.Usage{Program: used, Own: time.Duration(at / 1000),
						Threads: []account.ThreadUsage{{Thread: checkpoint.Thread{PID: 1, TID: 1}, CPU: used}}}
				})
			lawful(t, r)
			truth, c := nemb.Energy(10e6), cost(t, r, 1) // the function has all of it
			if r.Total.ProgramLo <= truth && r.Total.ProgramHi >= truth && c.Self.Lo <= truth && c.Self.Hi >= truth {
				held++
			}
		}
		if held < seeds*90/100 {
			t.Errorf("%s: %d of %d intervals of the program and its function hold", tt.name, held, seeds)
		}
		t.Logf("%s: %d of %d intervals of the program and its function hold", tt.name, held, seeds)
	}
}
