package attribute

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/processor"
)

// shape is a machine on virtual time, to a tenth of a millisecond, and what runs on it.
type shape struct {
	cpus   int
	idle   float64 // W
	every  int64   // between samples
	meters []meter
	uses   []use
	// stays is set where a thread stays in its function while others run in its place.
	stays bool
}

// meter is a counter of the machine, which has moved last so long before the run.
type meter struct {
	domain        nemb.Domain
	period, since int64
	step          nemb.Energy
	still         [2]int64 // it stands still between these moments
}

// use is what uses a processor for some time: a function of a thread of the program, or one of these.
type use struct {
	from, to int64
	thread   uint32
	site     checkpoint.SiteID
	watts    float64
}

const (
	others checkpoint.SiteID = 1 << 20
	itself checkpoint.SiteID = 1<<20 + 1 // cg

	grain = ms / 10
)

// level is something that goes up and down, and then its sum up to each grain.
type level []float64

func (l level) add(from, to int64, by float64) {
	l[from/grain] += by
	l[to/grain] -= by
}

func (l level) sum() {
	now, all := 0.0, 0.0
	for i := range l {
		now += l[i]
		l[i], all = all, all+now*grain
	}
}

// play measures the machine until end. truth is the energy of each function in joules, and that of the program as 0's.
func (s shape) play(t *testing.T, end int64) (r Result, truth map[checkpoint.SiteID]float64) {
	t.Helper()
	fresh := func() level { return make(level, end/grain+2) }
	watts, program, beside, own := fresh(), fresh(), fresh(), fresh()
	threads, in := map[uint32]level{}, map[uint32]checkpoint.SiteID{}
	truth = map[checkpoint.SiteID]float64{}
	p := tape{cpus: s.cpus}
	for _, u := range s.uses {
		u.to = min(u.to, end)
		watts.add(u.from, u.to, u.watts)
		switch u.site {
		case others:
			beside.add(u.from, u.to, 1)
			continue
		case itself:
			own.add(u.from, u.to, 1)
			continue
		}
		if threads[u.thread] == nil {
			threads[u.thread] = fresh()
		}
		program.add(u.from, u.to, 1)
		threads[u.thread].add(u.from, u.to, 1)
		for _, site := range []checkpoint.SiteID{0, u.site} {
			truth[site] += u.watts * float64(u.to-u.from) * 1e-9
		}
		if before := in[u.thread]; before != u.site {
			if before != 0 {
				p.add(u.thread, u.from, checkpoint.Exit, before)
			}
			p.add(u.thread, u.from, checkpoint.Enter, u.site)
		}
		if in[u.thread] = u.site; !s.stays {
			p.add(u.thread, u.to-1, checkpoint.Exit, u.site)
			in[u.thread] = 0
		}
	}
	for _, l := range slices.Concat([]level{watts, program, beside, own}, slices.Collect(maps.Values(threads))) {
		l.sum()
	}
	var domains []nemb.Domain
	for _, m := range s.meters {
		domains = append(domains, m.domain)
	}
	r = p.play(domains, end, s.every, func(at int64) (all []nemb.Energy) {
		for _, m := range s.meters {
			all = append(all, m.read(at, s.idle, watts))
		}
		return all
	}, func(at int64) account.Usage {
		told := func(l level) time.Duration { return time.Duration(l[at/grain]) }
		u := account.Usage{Program: told(program), Other: told(beside), Own: told(own)}
		for _, id := range slices.Sorted(maps.Keys(threads)) {
			u.Threads = append(u.Threads, account.ThreadUsage{Thread: checkpoint.Thread{PID: 1, TID: id}, CPU: told(threads[id])})
		}
		return u
	})
	lawful(t, r)
	return r, truth
}

// read is what the meter shows on a machine of that idle power, since it moved last before the run.
func (m meter) read(at int64, idle float64, watts level) nemb.Energy {
	if m.still[0] < at && at < m.still[1] {
		at = m.still[0]
	}
	seen := (at+m.since)/m.period*m.period - m.since
	e := nemb.Energy((idle*float64(seen+m.since) + watts[max(0, seen)/grain]) / 1000)
	return e / max(1, m.step) * max(1, m.step)
}

// misses counts which intervals do not have the truth, of the program and of its functions.
func misses(t *testing.T, name string, r Result, truth map[checkpoint.SiteID]float64) (n int) {
	t.Helper()
	check := func(what checkpoint.SiteID, v Value) {
		word, want := "holds", truth[what]
		if v.Lo.Joules() > want+1e-6 || want-1e-6 > v.Hi.Joules() {
			n++
			word = "does not hold"
		}
		t.Logf("%s: %d has %.3f [%.3f, %.3f] J, want %.3f: %s", name, what, v.Energy.Joules(), v.Lo.Joules(), v.Hi.Joules(), want, word)
	}
	check(0, Value{Energy: r.Total.Program(), Lo: r.Total.ProgramLo, Hi: r.Total.ProgramHi})
	for _, c := range r.Costs {
		if _, ok := truth[c.Site]; ok {
			check(c.Site, c.Self)
		}
	}
	return n
}

// slowMeter is one that moves each period and has moved last so long before the run. It is measured if d is not derived.
func slowMeter(d nemb.Domain, period, since int64) meter {
	method := cmp.Or(d.Method, nemb.Measured)
	d = packageOf(d)
	d.ID, d.Method, d.Period = "bmc", method, time.Duration(period)
	return meter{domain: d, period: period, since: since}
}

// derived is a domain whose energy is that of powers that are read.
func derived(d nemb.Domain) nemb.Domain {
	d.Method = nemb.Derived
	return d
}

// based is a domain whose idle power was measured before the run.
func based(watts float64) nemb.Domain {
	return publishedAnd(func(d *nemb.Domain) { d.Base, d.BaseLo, d.BaseHi = watts, 0.995*watts, 1.005*watts })
}

// Sixteen threads run beside thirty others on sixteen processors, each for 4 ms in turn, and others draw far less for each
// processor than the program. By processor time most of the program's energy is theirs. The intervals of the program and
// of its functions have it all the same: of what others may not have drawn a function has its part by its power.
func TestOthersThatDrawLess(t *testing.T) {
	const processors, threads, all, turn, end = 16, 16, 46, 4 * ms, 5_000 * ms
	missed := 0
	for seed := range uint64(4) {
		for _, power := range []float64{0.5, 2, 5} {
			for _, domain := range []nemb.Domain{published, based(40)} {
				s := shape{cpus: processors, idle: 40, every: 10 * ms, stays: true, meters: []meter{slowMeter(domain, ms, 0)}}
				rng := rand.New(rand.NewPCG(seed, 1))
				in, left := make([]int, threads), make([]int64, threads)
				for from := int64(0); from < end; from += turn {
					for _, k := range rng.Perm(all)[:processors] {
						if k >= threads {
							s.uses = append(s.uses, use{from: from, to: from + turn, site: others, watts: power})
							continue
						}
						for at := from; at < from+turn; {
							if left[k] <= 0 {
								in[k], left[k] = rng.IntN(3), int64(5*ms*(0.5+rng.Float64()))/grain*grain
							}
							d := min(left[k], from+turn-at)
							s.uses = append(s.uses, use{at, at + d, uint32(k + 1), checkpoint.SiteID(in[k] + 1), []float64{20, 5, 12}[in[k]]})
							at, left[k] = at+d, left[k]-d
						}
					}
				}
				r, truth := s.play(t, end)
				missed += misses(t, "crowd", r, truth)
			}
		}
	}
	if missed > 0 {
		t.Errorf("%d of 96 intervals do not hold", missed)
	}
}

// bursty is a program that works for up to 600 ms and waits for up to 3 s, by turns, beside cg.
func bursty(seed uint64, end int64, watts ...float64) (all []use) {
	rng := rand.New(rand.NewPCG(seed, 2))
	for at := int64(0); at < end; {
		d, f := int64(ms*(20+rng.IntN(580))), rng.IntN(len(watts))
		all = append(all, use{at, min(end, at+d), 1, checkpoint.SiteID(f + 1), watts[f]})
		at += d + int64(rng.IntN(3000))*ms
	}
	for at := int64(0); at < end; at += 10 * ms {
		all = append(all, use{from: at, to: at + grain, site: itself, watts: 10})
	}
	return all
}

// Each counter tells by itself what was drawn since it moved, whatever others do: beside one that moves at other moments,
// one that moves in each sample, and one of the same period.
func TestSlowCounterBesideOthers(t *testing.T) {
	const second, end = 1000 * ms, 60_000 * ms
	for name, beside := range map[string]meter{
		"fast": slowMeter(based(20), ms, 0), "the same period": slowMeter(based(20), second, 700*ms),
		"five seconds": slowMeter(based(20), 5*second, 2300*ms), "derived": slowMeter(derived(based(20)), second, 700*ms),
	} {
		for seed := range uint64(2) {
			s := shape{cpus: 2, idle: 20, every: 10 * ms, meters: []meter{slowMeter(based(20), second, 0), beside}, uses: bursty(seed, end, 20, 8)}
			for total := range 2 { // which of the two is the machine's
				s.meters[total].domain.InTotal, s.meters[1-total].domain.InTotal = true, false
				r, truth := s.play(t, end)
				if misses(t, name, r, truth) > 0 {
					t.Errorf("%s: intervals do not hold", name)
				}
				for d, l := range r.Domains {
					// A counter that moved before the run shows what was drawn since then, too.
					m, off := s.meters[d], math.Abs(l.Program().Joules()/truth[0]-1)
					if off > 0.08 && m.since == 0 || off > 0.02 && m.period < second {
						t.Errorf("%s: the counter of %v has %v uJ for the program, want %.1f J", name,
							time.Duration(m.period), l.Program(), truth[0])
					}
				}
			}
		}
	}
}

// A machine that draws three fourths of its full power idle, more than nine in ten of those that are published, runs a
// program without a pause: nothing shows the idle power. The intervals have the truth all the same, whether one of its
// processors is in use or all, and so of its memory, of which the program makes next to nothing be drawn.
func TestPublishedShareOfAMachineOfMuchIdlePower(t *testing.T) {
	const idle, full, end = 75.0, 100.0, 4_000 * ms
	for _, cpu := range []processor.CPU{{}, {March: "Haswell", Year: 2013}, {March: "Skylake", Year: 2017}} {
		for _, of := range []struct {
			kind       string
			cpus, busy int
			added      float64 // by all processors
		}{{"cpu_package", 2, 1, full - idle}, {"cpu_package", 2, 2, full - idle}, {"cpu_package", 64, 1, full - idle}, {"dram", 2, 2, 0.1}} {
			d := nemb.Domain{ID: "package-0", Kind: of.kind, Method: nemb.Measured, InTotal: true, Period: time.Millisecond, Lo: 1, Hi: 1}
			d.ShareIdle(cpu)
			s := shape{cpus: of.cpus, idle: idle, every: 10 * ms, meters: []meter{{domain: d, period: ms}}}
			for thread := range uint32(of.busy) {
				for at := int64(0); at < end; at += 5 * ms {
					f := checkpoint.SiteID(uint32(at/(5*ms))*7%3%2 + thread%2)
					s.uses = append(s.uses, use{at, at + 5*ms, thread + 1, f + 1, of.added / float64(of.cpus)})
				}
			}
			r, truth := s.play(t, end)
			name := fmt.Sprintf("%s of %d, %d of %d processors", of.kind, cpu.Year, of.busy, of.cpus)
			if misses(t, name, r, truth) > 0 {
				t.Errorf("%s: intervals do not hold: idle power %+v", name, r.Idle[0])
			}
			if of.kind != "dram" && r.Total.ProgramLo <= 0 {
				t.Errorf("%s: the program has %v J at least", name, r.Total.ProgramLo)
			}
		}
	}
}

// A program that waits for as long as many periods of a counter that moves seldom has none of what is shown of that time.
func TestSlowCounterOfALongWait(t *testing.T) {
	const second, end = 1000 * ms, 100_000 * ms
	for _, domain := range []nemb.Domain{based(20), derived(based(20))} {
		s := shape{cpus: 2, idle: 20, every: 10 * ms, meters: []meter{slowMeter(domain, second, 0)}}
		for _, at := range []int64{0, 85_000 * ms} {
			s.uses = append(s.uses, use{at, at + 10*second, 1, 1, 20})
		}
		r, truth := s.play(t, end)
		if misses(t, "a long wait", r, truth) > 0 {
			t.Errorf("%s: intervals do not hold", s.meters[0].domain.Method)
		}
	}
}

// What a counter shows of a second is that of all who ran in it, and not of those in its last sample alone: so for energy
// that is made of powers, too.
func TestSlowCounterOfFunctionsInTurn(t *testing.T) {
	const second, turn, end = 1000 * ms, 30 * ms, 30_000 * ms
	for _, domain := range []nemb.Domain{based(20), derived(based(20))} {
		s := shape{cpus: 2, idle: 20, every: 10 * ms, meters: []meter{slowMeter(domain, second, 0)}}
		for at, f := int64(0), 0; at < end; at, f = at+turn, 1-f {
			s.uses = append(s.uses, use{at, min(end, at+turn), 1, checkpoint.SiteID(f + 1), []float64{20, 5}[f]})
		}
		r, truth := s.play(t, end)
		if misses(t, string(s.meters[0].domain.Method), r, truth) > 0 {
			t.Errorf("%s: intervals do not hold", s.meters[0].domain.Method)
		}
	}
}

// A counter that moves each millisecond stands still for seconds, and then shows all that was drawn meanwhile: those
// who ran then have it, also where the program waits when it moves again, and whatever another counter of the same
// period does.
func TestCounterThatStandsStill(t *testing.T) {
	const second, end = 1000 * ms, 20_000 * ms
	all := map[string][]use{
		"waits":  {{0, 9 * second, 1, 1, 20}, {15 * second, end, 1, 2, 5}},
		"phases": {{0, 9 * second, 1, 1, 20}, {9 * second, end, 1, 2, 5}},
		"bursts": bursty(1, end, 20, 8),
	}
	for name, uses := range all {
		for _, idle := range []float64{20, 0} {
			for beside, still := range map[string][2]int64{
				"alone": {}, "beside one that goes on": {1, 1}, "beside one that stands still": {10 * second, 14 * second},
			} {
				for _, domain := range []nemb.Domain{published, based(idle), derived(published), derived(based(idle))} {
					s := shape{cpus: 4, idle: idle, every: 10 * ms, meters: []meter{slowMeter(domain, ms, 0)}, uses: uses}
					if s.meters[0].still = [2]int64{8 * second, 18 * second}; idle > 0 {
						s.meters[0].still[1] = 10 * second
					}
					if beside != "alone" {
						s.meters = append(s.meters, slowMeter(domain, ms, 0))
						s.meters[1].domain.InTotal, s.meters[1].still = false, still
					}
					if name == "waits" || name == "phases" {
						for at := int64(0); at < end; at += 10 * ms {
							s.uses = append(s.uses, use{from: at, to: at + grain, site: itself, watts: 10})
						}
					}
					r, truth := s.play(t, end)
					of := fmt.Sprintf("%s, %s, %g W idle, %s", name, s.meters[0].domain.Method, idle, beside)
					if misses(t, of, r, truth) > 0 {
						t.Errorf("%s: intervals do not hold", of)
					}
				}
			}
		}
	}
}
