package measure

import (
	"sync"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute/gpus"
	"cg/nemb/gpuuse"
)

// watch asks drivers who uses their GPUs while a program runs.
type watch struct {
	of     []*watched
	owner  func(pid int) gpus.Owner
	teller *gpuuse.Teller // tells the program's own sessions
	stop   chan struct{}
	asking sync.WaitGroup
}

// watched is a GPU.
type watched struct {
	sensor nemb.Occupied
	at     int // of its domain among those of the sampler
	domain string
	log    gpus.Log
}

// newWatch finds the GPUs among sensors whose drivers tell who uses them. nil where there are
// none, and where it cannot be told which processes are the program's.
func newWatch(sensors []nemb.Sensor, of *account.Account, ring gpuuse.Ring) *watch {
	if of == nil {
		return nil
	}
	w := &watch{owner: gpuuse.OwnerBy(of), stop: make(chan struct{})}
	at := 0
	for _, s := range sensors {
		if o, ok := s.(nemb.Occupied); ok {
			w.of = append(w.of, &watched{sensor: o, at: at, domain: s.Domains()[0].ID})
		}
		at += len(s.Domains())
	}
	if len(w.of) == 0 {
		return nil
	}
	w.teller = gpuuse.New(ring, sensors, w.owner)
	return w
}

// begin asks once, and then at the period until end.
func (w *watch) begin() {
	if w == nil {
		return
	}
	w.ask()
	w.asking.Go(func() { nemb.AskUntil(w.stop, w.ask) })
}

// abandon stops asking.
func (w *watch) abandon() {
	if w == nil {
		return
	}
	close(w.stop)
	w.asking.Wait()
}

// end stops asking. The last samples of GPUs that the program used end at until or later,
// unless the driver has none.
func (w *watch) end(until checkpoint.Instant) {
	if w == nil {
		return
	}
	w.abandon()
	w.ask()
	nemb.AskLast(nemb.WallClock, w.of, func(g *watched) bool {
		return g.log.Samples() && g.log.IsUsed() && g.log.SeenUntil() < until
	}, w.askOne)
}

func (w *watch) ask() {
	for _, g := range w.of {
		w.askOne(g)
	}
}

func (w *watch) askOne(g *watched) {
	o := g.sensor.Occupants()
	g.log.Add(o, w.owner)
	w.teller.Answer(g.at, o)
}

// show tells the program's sessions what the counters of GPUs showed.
func (w *watch) show(samples []nemb.Sample) {
	if w != nil {
		w.teller.Take(samples)
	}
}

// divide divides the energies of the GPUs of a run: per domain, nil for one that is no GPU, or
// whose driver was not asked.
func (w *watch) divide(series nemb.Series, domains []nemb.Domain) []*gpus.Division {
	all := make([]*gpus.Division, len(domains))
	if len(series.Samples) < 2 {
		return all
	}
	for d := range domains {
		domain := &domains[d]
		if domain.FollowsProcessors() {
			continue
		}
		var log gpus.Log
		if w != nil {
			for i := range w.of {
				if w.of[i].domain == domain.ID {
					log = w.of[i].log
				}
			}
		}
		var base nemb.IdlePower
		if domain.BaseHi > 0 && domain.BaseMethod != nemb.IdleRemembered {
			base = nemb.IdlePower{Power: domain.Base, Lo: domain.BaseLo, Hi: domain.BaseHi, Method: nemb.IdleBaseline}
		}
		curve := curveOf(series, d)
		division := log.Divide(curve, base)
		division.Hidden = 1e6 * domain.Habits.Off(curve.Knots, float64(curve.From), float64(curve.To))
		all[d] = &division
	}
	return all
}
