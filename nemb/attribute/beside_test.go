package attribute

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
)

// A function of 10 W runs for a second, and beside it others for half of that, always: nothing shows what of the energy
// is theirs. Its interval has the truth, and so has the program's, with or without enough windows for a regression.
func TestBesideIsInTheInterval(t *testing.T) {
	const second = checkpoint.Tick(time.Second)
	for _, every := range []checkpoint.Tick{second / 100, second / 4} {
		for _, others := range []float64{0, 10, 19} { // W
			domain := nemb.Domain{ID: "package-0", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1,
				Period: time.Millisecond}
			a := New([]nemb.Domain{domain}, 2)
			sample := func(at checkpoint.Tick) nemb.Sample {
				used := time.Duration(at)
				return nemb.Sample{At: at + 1, Time: checkpoint.Instant(at + 1),
					Energy: []nemb.Energy{nemb.Energy((10 + others/2) * float64(at) / 1000)},
					Usage:  account.Usage{Program: used, Other: used / 2}}
			}
			a.Close(sample(0))
			run := checkpoint.Run{Thread: checkpoint.Thread{PID: 1, TID: 1}, First: true, Start: 1,
				Words: []checkpoint.Word{checkpoint.Pack(1, checkpoint.Enter, 1)}}
			for at := every; at <= second; at += every {
				a.Fold(run, at+1, at+1)
				run = checkpoint.Run{Thread: run.Thread}
				a.Close(sample(at))
			}
			r := a.Finish()
			if len(r.Costs) != 1 {
				t.Fatalf("%+v", r.Costs)
			}
			const truth = nemb.Energy(10e6)
			for _, v := range []Value{r.Costs[0].Self, r.Costs[0].Inclusive,
				{Energy: r.Total.Program(), Lo: r.Total.ProgramLo, Hi: r.Total.ProgramHi}} {
				if v.Lo > truth || truth > v.Hi || v.Lo > v.Energy || v.Energy > v.Hi {
					t.Errorf("others draw %g W, windows of %d ms: %+v, want %d in it", others, every/1e6, v, truth)
				}
			}
		}
	}
}

// A program of 10 W runs in the last fourth of a run, or in all of it, and cg itself draws 10 W now and then in all of
// it. What cg used while the program did not run is none of the program's energy.
func TestQuietProgram(t *testing.T) {
	const ms, last = checkpoint.Tick(time.Millisecond), 8000
	for _, begin := range []int{1, last*3/4 + 1} {
		domain := nemb.Domain{ID: "package-0", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1, Period: time.Millisecond}
		a := New([]nemb.Domain{domain}, 2)
		var program, own time.Duration
		var energy, want nemb.Energy
		sample := func(at checkpoint.Tick) nemb.Sample {
			return nemb.Sample{At: at + 1, Time: checkpoint.Instant(at + 1), Energy: []nemb.Energy{energy},
				Usage: account.Usage{Program: program, Own: own}}
		}
		a.Close(sample(0))
		random := rand.New(rand.NewPCG(1, 2))
		run := checkpoint.Run{Thread: checkpoint.Thread{PID: 1, TID: 1}}
		busy, left := false, 0
		for i := 1; i <= last; i++ {
			at := checkpoint.Tick(i) * ms
			if left--; left < 0 {
				busy, left = !busy, 10+random.IntN(60)
			}
			if busy {
				own, energy = own+time.Millisecond, energy+10_000
			}
			if i >= begin {
				program, energy, want = program+time.Millisecond, energy+10_000, want+10_000
				run.First, run.Words = i == begin, nil
				if run.First {
					run.Start, run.Words = at-ms+1, []checkpoint.Word{checkpoint.Pack(1, checkpoint.Enter, 1)}
				}
				a.Fold(run, at+1, at+1)
			}
			a.Close(sample(at))
		}
		r := a.Finish()
		if got := float64(r.Total.Program()); math.Abs(got/float64(want)-1) > 0.05 {
			t.Errorf("from %d ms on: %.1f J, want %.1f J", begin, got/1e6, float64(want)/1e6)
		}
		if c := cost(t, r, 1); math.Abs(float64(c.Self.Energy)/float64(want)-1) > 0.05 {
			t.Errorf("from %d ms on: the function has %.1f J, want %.1f J", begin, float64(c.Self.Energy)/1e6, float64(want)/1e6)
		}
	}
}
