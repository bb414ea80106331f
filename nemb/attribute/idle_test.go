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

// A machine that draws less than its measured idle power shows how much it may be.
func TestBaseTooHigh(t *testing.T) {
	d := counter
	d.Base, d.BaseLo, d.BaseHi = 50, 45, 51
	a := New([]nemb.Domain{d}, 2)
	const samples = 400 // each 100 ms: 10 W for 20 s, and 200 W for 20 s
	energy := nemb.Energy(0)
	for i := range int64(samples + 1) {
		at := i * 100 * ms
		s := nemb.Sample{At: checkpoint.Tick(at), Time: checkpoint.Instant(at), Energy: []nemb.Energy{energy},
			Usage: account.Usage{Program: time.Duration(at)}}
		switch {
		case i == samples:
			a.Last(s)
		default:
			a.Close(s)
		}
		if i < samples/2 {
			energy += 1e6
		} else {
			energy += 20e6
		}
	}
	r := a.Finish()
	lawful(t, r)
	// The measured 45 W do not hold, and 10 W with a program are 10 W idle at most.
	want := nemb.IdlePower{Power: 10, Hi: 10, Method: nemb.IdleBaseline}
	if got := r.Idle[0]; math.Abs(got.Power-10) > 1e-9 || got.Lo != 0 || got.Method != want.Method || r.Total.Idle != 400e6 {
		t.Errorf("%+v, %d uJ idle, want %+v", got, r.Total.Idle, want)
	}
}

// Idle power is a constant: two functions of 20 and 5 W on a machine that draws 4 W idle
// differ by what they make it draw. The intervals hold the truth however the idle power was
// found, and so do those of what the run shows of it.
func TestConstantIdle(t *testing.T) {
	for _, tt := range []struct {
		name   string
		domain nemb.Domain
		spare  int
		nap    time.Duration
		method nemb.IdleMethod
		off    float64 // W, by which the idle power may be off
		part   float64 // by which the energy of a function may be off
	}{
		{"published", published, 3, 0, nemb.IdlePublished, 2, .3},
		{"the run", published, 3, 100 * time.Millisecond, nemb.IdleRun, .3, .1},
		{"remembered", publishedAnd(func(d *nemb.Domain) {
			d.Remembered = nemb.IdlePower{Power: 4, Lo: 3.9, Hi: 4.2, Method: nemb.IdleRemembered}
		}), 3, 0, nemb.IdleRemembered, .01, .05},
		{"bound", publishedAnd(func(d *nemb.Domain) {
			d.Remembered = nemb.IdlePower{Power: 4.3, Hi: 4.3, Method: nemb.IdleBound}
		}), 3, 0, nemb.IdleBound, .5, .1},
		{"baseline", publishedAnd(func(d *nemb.Domain) { d.Base, d.BaseLo, d.BaseHi = 4, 3.95, 4.05 }), 3, 0, nemb.IdleBaseline, .01, .05},
		// One processor of 64 that works is no idle machine: what it draws is not idle power.
		{"published, of 64", published, 63, 0, nemb.IdlePublished, 13, 1},
		{"the run, of 64", published, 63, 100 * time.Millisecond, nemb.IdleRun, .3, .1},
		{"remembered, of 64", publishedAnd(func(d *nemb.Domain) {
			d.Remembered = nemb.IdlePower{Power: 4, Lo: 3.9, Hi: 4.2, Method: nemb.IdleRemembered}
		}), 63, 0, nemb.IdleRemembered, .01, .05},
		// Something ran while the idle power was measured, and drew 0.5 W.
		{"baseline beside 0.04 processors", publishedAnd(func(d *nemb.Domain) {
			d.Base, d.BaseLo, d.BaseHi, d.BaseUse, d.BaseUseHi = 4.5, 4.45, 4.55, .01, .01
		}), 3, 0, nemb.IdleBaseline, .1, .05},
		// Nothing ran: what seemed to are the ticks in which the time of others is told.
		{"baseline beside a tick", publishedAnd(func(d *nemb.Domain) {
			d.Base, d.BaseLo, d.BaseHi, d.BaseUseHi = 4, 3.95, 4.05, .01
		}), 3, 0, nemb.IdleBaseline, .01, .05},
	} {
		for seed := range uint64(3) {
			p := truth{functions: 2, mean: 500 * time.Microsecond, threads: 1, spare: tt.spare, length: 20 * time.Second, seed: seed + 1,
				watts: []float64{20, 5}, idle: 4, nap: tt.nap, domain: tt.domain}.play()
			lawful(t, p.result)
			got := p.result.Idle[0]
			if got.Method != tt.method || math.Abs(got.Power-4) > tt.off || got.Lo > 4 || got.Hi < 4 {
				t.Errorf("%s: idle power %+v, want 4 W, %s", tt.name, got, tt.method)
			}
			for _, c := range p.result.Costs {
				if c.Site == asleep {
					continue
				}
				e := p.energy[c.Site]
				if math.Abs(c.Self.Energy.Joules()/e-1) > tt.part || c.Self.Lo.Joules() > e || c.Self.Hi.Joules() < e {
					t.Errorf("%s: %d has %.3f [%.3f, %.3f] J, want %.3f", tt.name, c.Site, c.Self.Energy.Joules(),
						c.Self.Lo.Joules(), c.Self.Hi.Joules(), e)
				}
			}
			truth := 0.0
			for _, e := range p.energy {
				truth += e
			}
			truth += p.outside
			l := p.result.Total
			if l.ProgramLo.Joules() > truth || l.ProgramHi.Joules() < truth {
				t.Errorf("%s: the program has [%.3f, %.3f] J, want %.3f", tt.name, l.ProgramLo.Joules(), l.ProgramHi.Joules(), truth)
			}
		}
	}
}

// A program that runs for a twelfth of each 18 ms, and nothing else, shows no time without it: the idle power is not what
// the machine drew then, but may be anything below.
func TestIdlePowerBesideALittleUse(t *testing.T) {
	const end, every, part = 18_000 * ms, 18 * ms, 3 * ms / 2
	used := func(at int64) int64 { return at/every*part + min(part, at%every) }
	var p tape
	p.add(1, 0, checkpoint.Enter, 1)
	p.add(1, end-1, checkpoint.Exit, 1)
	d := packageOf(published)
	r := p.play([]nemb.Domain{d}, end, ms,
		func(at int64) []nemb.Energy { return []nemb.Energy{nemb.Energy((4*at + 12*used(at)) / 1000)} },
		func(at int64) account.Usage { return account.Usage{Program: time.Duration(used(at))} })
	lawful(t, r)
	if got := r.Idle[0]; got.Method == nemb.IdleRun || got.Lo > 4 || got.Hi < 4 {
		t.Errorf("idle power %+v, want 4 W in its interval", got)
	}
	if truth := nemb.Energy(12 * used(end) / 1000); r.Total.ProgramLo > truth || r.Total.ProgramHi < truth {
		t.Errorf("the program has [%d, %d] uJ, want %d", r.Total.ProgramLo, r.Total.ProgramHi, truth)
	}
}

// Others use a twelfth of a processor all the time, and the kernel tells that in ticks of 10 ms: stretches without a tick
// are not without use. The program works in every other half second.
func TestIdlePowerBesideTicks(t *testing.T) {
	const end, half = 20_000 * ms, 500 * ms
	used := func(at int64) int64 { return at/(2*half)*half + min(half, at%(2*half)) }
	var p tape
	p.add(1, 0, checkpoint.Enter, 1)
	p.add(1, end-1, checkpoint.Exit, 1)
	d := packageOf(published)
	r := p.play([]nemb.Domain{d}, end, ms,
		func(at int64) []nemb.Energy { return []nemb.Energy{nemb.Energy((4*at + 12*used(at) + at) / 1000)} },
		func(at int64) account.Usage {
			others := time.Duration(at / 12)
			return account.Usage{Program: time.Duration(used(at)), Other: others.Truncate(account.Tick),
				Threads: []account.ThreadUsage{{Thread: checkpoint.Thread{PID: 1, TID: 1}, CPU: time.Duration(used(at))}}}
		})
	lawful(t, r)
	if got := r.Idle[0]; got.Method != nemb.IdleRun || got.Lo > 4 || got.Hi < 4 || math.Abs(got.Power-4) > .3 {
		t.Errorf("idle power %+v, want 4 W", got)
	}
	if seen := r.Seen[0]; seen.Lo > 4 || seen.Hi < 4 {
		t.Errorf("%+v is told to later runs, want 4 W", seen)
	}
	if truth := nemb.Energy(12 * used(end) / 1000); r.Total.ProgramLo > truth || r.Total.ProgramHi < truth {
		t.Errorf("the program has [%d, %d] uJ, want %d", r.Total.ProgramLo, r.Total.ProgramHi, truth)
	}
}

// Where nothing tells what other processes use, as in a sandbox without /proc/stat, all that they draw is the program's
// as far as cg can tell: its interval, and those of its functions, reach down to nothing, and no time counts as idle.
func TestOthersUnknown(t *testing.T) {
	const end, half = 20_000 * ms, 500 * ms
	for name, domain := range map[string]nemb.Domain{
		"published": published, "none": {},
		"remembered": publishedAnd(func(d *nemb.Domain) {
			d.Remembered = nemb.IdlePower{Power: 4, Lo: 3.9, Hi: 4.2, Method: nemb.IdleRemembered}
		}),
		"baseline": publishedAnd(func(d *nemb.Domain) { d.Base, d.BaseLo, d.BaseHi = 4, 3.95, 4.05 }),
	} {
		for _, nap := range []int64{0, half} {
			used := func(at int64) int64 { return at/(half+nap)*half + min(half, at%(half+nap)) }
			p := tape{othersUnknown: true}
			p.add(1, 0, checkpoint.Enter, 1)
			p.add(1, end-1, checkpoint.Exit, 1)
			d := domain
			d.ID, d.Method, d.InTotal, d.Period, d.Lo, d.Hi = "package-0", nemb.Measured, true, time.Millisecond, 1, 1
			// Another process computes all the time.
			r := p.play([]nemb.Domain{d}, end, ms,
				func(at int64) []nemb.Energy { return []nemb.Energy{nemb.Energy((4*at + 12*used(at) + 12*at) / 1000)} },
				func(at int64) account.Usage {
					return account.Usage{Program: time.Duration(used(at)), Threads: []account.ThreadUsage{
						{Thread: checkpoint.Thread{PID: 1, TID: 1}, CPU: time.Duration(used(at))}}}
				})
			lawful(t, r)
			if got := r.Idle[0]; got.Method == nemb.IdleRun || r.Seen[0].Method == nemb.IdleRun {
				t.Errorf("%s, naps of %d ms: idle power %+v, and %+v for later runs", name, nap/ms, got, r.Seen[0])
			}
			truth := nemb.Energy(12 * used(end) / 1000)
			if r.Total.ProgramLo > truth || r.Total.ProgramHi < truth {
				t.Errorf("%s, naps of %d ms: the program has [%d, %d] uJ, want %d", name, nap/ms, r.Total.ProgramLo,
					r.Total.ProgramHi, truth)
			}
			if c := cost(t, r, 1); c.Self.Lo > truth || c.Self.Hi < truth || c.Inclusive.Lo > truth {
				t.Errorf("%s, naps of %d ms: the function has %+v uJ, want %d", name, nap/ms, c.Self, truth)
			}
		}
	}
}

// A run that is too short for classes of use tells by itself what something drew while its idle power was measured.
func TestBaselineOfAShortRun(t *testing.T) {
	const end = 60 * ms
	var p tape
	p.add(1, 0, checkpoint.Enter, 1)
	p.add(1, end-1, checkpoint.Exit, 1)
	d := packageOf(published)
	d.Base, d.BaseLo, d.BaseHi, d.BaseUse, d.BaseUseHi = 4.48, 4.45, 4.5, .02, .02 // of two processors: 12 W each
	r := p.play([]nemb.Domain{d}, end, ms,
		func(at int64) []nemb.Energy { return []nemb.Energy{nemb.Energy(16 * at / 1000)} },
		func(at int64) account.Usage { return account.Usage{Program: time.Duration(at)} })
	lawful(t, r)
	if got := r.Idle[0]; math.Abs(got.Power-4) > .03 || got.Lo > 4 || got.Hi < 4 {
		t.Errorf("idle power %+v, want 4 W", got)
	}
}

// The first processor that works may cost as much as all others together.
func TestFirstProcessorCostsMost(t *testing.T) {
	const end = 2_000 * ms
	var p tape
	p.add(1, 0, checkpoint.Enter, 1)
	p.add(1, end-1, checkpoint.Exit, 1)
	d := packageOf(published)
	// The first processor draws 25 W, and each of the others 3 W. While idle power was measured 0.15 were in use.
	p.cpus = 64
	d.Base, d.BaseLo, d.BaseHi, d.BaseUse, d.BaseUseHi = 7.75, 7.7, 7.8, .0375, .0375
	r := p.play([]nemb.Domain{d}, end, ms,
		func(at int64) []nemb.Energy { return []nemb.Energy{nemb.Energy((4 + 25 + 63*3) * at / 1000)} },
		func(at int64) account.Usage { return account.Usage{Program: time.Duration(64 * at)} })
	lawful(t, r)
	if got := r.Idle[0]; got.Lo > 4 || got.Hi < 4 {
		t.Errorf("idle power %+v, want 4 W in its interval", got)
	}
}

// packageOf is a domain that a counter of a millisecond measures.
func packageOf(d nemb.Domain) nemb.Domain {
	d.ID, d.Method, d.InTotal, d.Period, d.Lo, d.Hi = "package-0", nemb.Measured, true, time.Millisecond, 1, 1
	return d
}

// The idle power is off by chance, as it was measured. The intervals of two functions of 20 and 5 W hold as often as they say.
func TestIdlePowerOffByChance(t *testing.T) {
	const seeds, end = 60, 3000 * ms
	missed := 0
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 8))
		measured := 4 + 0.3/1.96*rng.NormFloat64()
		s := shape{cpus: 2, idle: 4, every: ms, meters: []meter{slowMeter(publishedAnd(func(d *nemb.Domain) {
			d.Base, d.BaseLo, d.BaseHi = measured, measured-0.3, measured+0.3
		}), ms, 0)}}
		for at := int64(0); at < end; {
			u := use{from: at, to: at + ms/2 + int64(rng.IntN(10))*grain, thread: 1, site: 1, watts: 20}
			if rng.IntN(2) == 0 {
				u.site, u.watts = 2, 5
			}
			s.uses = append(s.uses, u)
			at = u.to
		}
		r, truth := s.play(t, end)
		missed += misses(t, "chance", r, truth)
	}
	if missed > 3*seeds*8/100 {
		t.Errorf("%d of %d intervals do not hold", missed, 3*seeds)
	}
}
