package attribute

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute/regression"
)

// filtered is what becomes of a run of 6 s and 10 W in which function 1 calls function 2 for 3 s, where a regression found a
// filter of 10 ms before the counter: in a fit that tells functions apart or, with noisy, in one that tells none. The
// windows are too few for a regression, so its result is put in.
func filtered(noisy bool) *outcome {
	const second = checkpoint.Tick(time.Second)
	domain := nemb.Domain{ID: "package-0", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1, Period: time.Millisecond}
	a := New([]nemb.Domain{domain}, 1)
	sample := func(at checkpoint.Tick) nemb.Sample {
		return nemb.Sample{At: at + 1, Time: checkpoint.Instant(at + 1), Energy: []nemb.Energy{nemb.Energy(at / 100)},
			Usage: account.Usage{Program: time.Duration(at)}}
	}
	words := map[checkpoint.Tick][]checkpoint.Word{
		1: {checkpoint.Pack(1, checkpoint.Enter, 1)},
		3: {checkpoint.Pack(2*second+2, checkpoint.Enter, 2)},
		5: {checkpoint.Pack(5*second, checkpoint.Exit, 2)},
	}
	a.Close(sample(0))
	for i := checkpoint.Tick(1); i <= 6; i++ {
		run := checkpoint.Run{Thread: checkpoint.Thread{PID: 1, TID: 1}, First: i == 1, Start: 1, Words: words[i]}
		a.Fold(run, i*second+1, i*second+1)
		a.Close(sample(i * second))
	}
	a.windows.End()
	o := &outcome{explanation: a.explain(), stacks: a.stacks, tree: a.stacks.Tree}
	k := o.contexts.function(2)
	fit := &regression.Fit{Lag: 10e6, Quantile: 2,
		Columns: map[regression.Column]*regression.Estimate{k: {Reason: Noisy, HalfWidth: 16e6, Energy: 20e6}}}
	o.scale[0] = 1
	if o.fits[0] = fit; noisy {
		o.fits[0], o.noisy[0] = nil, fit
	}
	o.ledger(0)
	return o
}

// costsOf are the costs of a run, by site.
func costsOf(o *outcome) map[checkpoint.SiteID]Cost {
	costs := map[checkpoint.SiteID]Cost{}
	for _, c := range o.costs(o.sumSubtrees(), New(nil, 1).calls, nemb.Energy(o.windows.Domains[0].ProgramHi)) {
		costs[c.Site] = c
	}
	return costs
}

// A filter that was found before a counter counts in bounds, verdicts and the calls of which the energy is told, whether
// or not the fit tells functions apart.
func TestFilterOfAnyFit(t *testing.T) {
	for _, noisy := range []bool{false, true} {
		o := filtered(noisy)
		if lag := o.lagOfCalls(); lag != 10e6 {
			t.Errorf("noisy %v: calls are told by a filter of %g ns, want 10 ms", noisy, lag)
		}
		c := costsOf(o)[2]
		if c.Self.Energy == 0 || c.Self.Lo != 0 || c.Self.Hi != 60e6 || c.Reason != Noisy {
			t.Errorf("noisy %v: %+v, %q, want 0 to 60 J, and %q", noisy, c.Self, c.Reason, Noisy)
		}
	}
}

// What is drawn of a function that is not resolved is as wide as the fit says, where a filtered counter's windows are no
// bounds. Of one that has no column it is not as wide as all of the program's energy: its callers would be unknown, too.
func TestUnresolvedOnFilteredCounter(t *testing.T) {
	for _, has := range []bool{true, false} {
		o, want := filtered(false), 16e6/2 // the half-width by the quantile
		if !has {
			clear(o.fits[0].Columns)
			want = 40e6 / 4 // from 0 to what was used while it ran, in four deviations
		}
		const energy = 20e6
		squares := 0.0
		for _, f := range o.drawUnresolved(0, o.contexts.function(2), energy, rand.New(rand.NewPCG(1, 2))) {
			squares += (f - 1) * (f - 1) * energy * energy / regression.Replicas
		}
		if got := math.Sqrt(squares); math.Abs(got/want-1) > 0.15 {
			t.Errorf("with a column %v: a deviation of %.1f J, want %.1f J", has, got*1e-6, want*1e-6)
		}
	}
}
