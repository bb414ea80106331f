package attribute

import (
	"math"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
)

// A program that works for 110 ms of each second has the energy that a counter shows for it at the end of the second, as
// a board's controller does, while cg alone runs then: it is divided by who ran since the counter moved before.
func TestSlowCounterOfAProgramThatWaits(t *testing.T) {
	const end, second, works = 60_000 * ms, 1000 * ms, 110 * ms
	used := func(at int64) int64 { return at/second*works + min(works, at%second) }
	for name, domain := range map[string]nemb.Domain{
		"published": published,
		"baseline":  publishedAnd(func(d *nemb.Domain) { d.Base, d.BaseLo, d.BaseHi = 4, 3.99, 4.01 }),
	} {
		var p tape
		for at := int64(0); at < end; at += second {
			p.add(1, at, checkpoint.Enter, 1)
			p.add(1, at+works, checkpoint.Exit, 1)
			p.add(1, at+works, checkpoint.Enter, asleep)
			p.add(1, at+second-1, checkpoint.Exit, asleep)
		}
		d := domain
		d.ID, d.Method, d.InTotal, d.Period, d.Lo, d.Hi = "bmc", nemb.Measured, true, time.Second, 1, 1
		r := p.play([]nemb.Domain{d}, end, 10*ms,
			func(at int64) []nemb.Energy {
				seen := at / second * second
				return []nemb.Energy{nemb.Energy((4*seen + 12*used(seen)) / 1000)}
			},
			func(at int64) account.Usage {
				one := checkpoint.Thread{PID: 1, TID: 1}
				return account.Usage{Program: time.Duration(used(at)), Own: time.Duration(at / 1000),
					Threads: []account.ThreadUsage{{Thread: one, CPU: time.Duration(used(at))}}}
			})
		lawful(t, r)
		truth := float64(12*used(end)) * 1e-9
		if l := r.Total; l.ProgramLo.Joules() > truth || l.ProgramHi.Joules() < truth || l.Program().Joules() < truth/2 {
			t.Errorf("%s: the program has %v [%v, %v] uJ, want %.1f J", name, l.Program(), l.ProgramLo, l.ProgramHi, truth)
		}
		c := cost(t, r, 1)
		if c.Self.Lo.Joules() > truth || c.Self.Hi.Joules() < truth {
			t.Errorf("%s: the function has %+v, want %.1f J", name, c.Self, truth)
		}
		cpu := time.Duration(0)
		for _, path := range r.Paths {
			if path.Site == 1 {
				cpu += path.CPUTime
			}
		}
		if off := math.Abs(cpu.Seconds()/(float64(used(end))*1e-9) - 1); off > .1 {
			t.Errorf("%s: the function has %v of processor time, want %v", name, cpu, time.Duration(used(end)))
		}
		if name == "baseline" && math.Abs(c.Self.Energy.Joules()/truth-1) > .1 {
			t.Errorf("the function has %v uJ, want %.1f J", c.Self.Energy, truth)
		}
	}
}

// A run of 1.9 s has one second of a counter that moves once a second: the idle power of the rest is in no energy that is
// shown, and is not set aside. What the counter has not shown yet at the end, and shows of the time before, is in the
// interval.
func TestSlowCounterAtTheEnds(t *testing.T) {
	const second = 1000 * ms
	for _, end := range []int64{1900 * ms, 5500 * ms} {
		for _, before := range []int64{0, 300 * ms, 900 * ms} { // how long before the run it moved last
			var p tape
			p.add(1, 0, checkpoint.Enter, 1)
			p.add(1, end-1, checkpoint.Exit, 1)
			d := publishedAnd(func(d *nemb.Domain) { d.Base, d.BaseLo, d.BaseHi = 100, 99.9, 100.1 })
			d.ID, d.Method, d.InTotal, d.Period, d.Lo, d.Hi = "bmc", nemb.Measured, true, time.Second, 1, 1
			r := p.play([]nemb.Domain{d}, end, 10*ms,
				func(at int64) []nemb.Energy {
					seen := (at + before) / second * second // since it moved last before the run
					return []nemb.Energy{nemb.Energy((100*seen + 12*max(0, seen-before)) / 1000)}
				}, alone)
			lawful(t, r)
			truth := nemb.Energy(12 * end / 1000)
			if r.Total.ProgramLo > truth || r.Total.ProgramHi < truth || r.Total.Program() == 0 {
				t.Errorf("%d ms, moved %d ms before: the program has %v [%v, %v] uJ, want %v", end/ms, before/ms,
					r.Total.Program(), r.Total.ProgramLo, r.Total.ProgramHi, truth)
			}
			if c := cost(t, r, 1); c.Self.Lo > truth || c.Self.Hi < truth {
				t.Errorf("%d ms, moved %d ms before: the function has %+v, want %v", end/ms, before/ms, c.Self, truth)
			}
		}
	}
}

// A GPU's counter that moves in each sample loses nothing while the board's is waited for.
func TestGPUBesideASlowCounter(t *testing.T) {
	const end, second = 10_000 * ms, 1000 * ms
	board := publishedAnd(func(d *nemb.Domain) { d.Base, d.BaseLo, d.BaseHi = 4, 3.99, 4.01 })
	board.ID, board.Method, board.InTotal, board.Period, board.Lo, board.Hi = "bmc", nemb.Measured, true, time.Second, 1, 1
	gpu := nemb.Domain{ID: "gpu-0", Kind: nemb.KindGPU, Method: nemb.Measured, InTotal: true, Period: 10 * time.Millisecond, Lo: 1, Hi: 1}
	var p tape
	p.add(1, 0, checkpoint.Enter, 1)
	p.add(1, end-1, checkpoint.Exit, 1)
	r := p.play([]nemb.Domain{board, gpu}, end, 10*ms, func(at int64) []nemb.Energy {
		return []nemb.Energy{nemb.Energy(16 * (at / second * second) / 1000), nemb.Energy(50 * at / 1000)}
	}, alone)
	lawful(t, r)
	if got := r.Domains[1].Total; got != 500e6 {
		t.Errorf("the GPU has %d uJ, want 500 J", got)
	}
	if got := r.Domains[0].Total; got != 160e6 {
		t.Errorf("the board has %d uJ, want 160 J", got)
	}
}

// A meter that is to move each second, and moves when it has counted 3.6 kJ, is waited for as long as that takes: the
// idle power of all the time is in what it shows, and the program has what it added, though cg was held up now and then.
func TestMeterInLargeSteps(t *testing.T) {
	const end, works, step = 600_000 * ms, 100 * ms, 3_600_000_000
	used := func(at int64) int64 { return at/(1000*ms)*works + min(works, at%(1000*ms)) }
	d := publishedAnd(func(d *nemb.Domain) { d.Base, d.BaseLo, d.BaseHi = 100, 99.9, 100.1 })
	d.ID, d.Method, d.InTotal, d.Period, d.Lo, d.Hi, d.Step = "meter", nemb.Measured, true, time.Second, 1, 1, step
	var p tape
	p.add(1, 0, checkpoint.Enter, 1)
	p.add(1, end-1, checkpoint.Exit, 1)
	r := p.playAt([]nemb.Domain{d}, end, func(at int64) int64 {
		if at/(10*ms)%500 == 250 {
			return 300 * ms
		}
		return 10 * ms
	}, func(at int64) []nemb.Energy {
		return []nemb.Energy{nemb.Energy((100*at + 200*used(at)) / 1000 / step * step)}
	}, func(at int64) account.Usage {
		return account.Usage{Program: time.Duration(used(at)), Own: time.Duration(at / 1000)}
	})
	lawful(t, r)
	truth := float64(200*used(end)) * 1e-9
	if l := r.Total; l.ProgramLo.Joules() > truth || l.ProgramHi.Joules() < truth || math.Abs(l.Program().Joules()/truth-1) > .4 {
		t.Errorf("the program has %v [%v, %v] uJ, want %.0f J", l.Program(), l.ProgramLo, l.ProgramHi, truth)
	}
}
