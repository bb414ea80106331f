package windows

import (
	"math"
	"time"

	"cg/nemb"
)

// idleEnergy is the part of a window's energy that a domain draws whoever runs. lo
// and hi bound the rest, as factors of it; slack is what somebody may have used
// all the same in a window that is all idle, in microjoules.
type idleEnergy struct {
	energy nemb.Energy
	lo, hi float64
	slack  float64
}

// idle is that of a window in which e was used, where it is set aside window by window (see
// Windows.Constant). Where no model gives the idle
// power, and nobody measured it, in this run or before, it is the published share: power then grows from
// the share, with idle processors, to 1, with all of them in use. Nothing set
// aside is the one bound, the most that the share may be the other.
func (w *Windows) idle(d int, e nemb.Energy, wall, busy float64) idleEnergy {
	domain := &w.Domains[d].Domain
	if w.isConstant(d) {
		return idleEnergy{lo: 1, hi: 1}
	}
	domain.UseRemembered()
	if domain.BaseHi > 0 {
		return w.Domains[d].measuredIdle(e, wall)
	}
	if domain.Base > 0 {
		return idleEnergy{energy: min(e, roundedEnergy(domain.Base, wall)), lo: 1, hi: 1}
	}
	if domain.IdleShare <= 0 || w.cpus <= 0 || wall <= 0 {
		return idleEnergy{lo: 1, hi: 1}
	}
	use := min(1, max(0, busy)/(w.cpus*wall))
	running := func(share float64) float64 { return (1 - share) * use / (share + (1-share)*use) }
	part := running(domain.IdleShare)
	if part <= 0 {
		return idleEnergy{energy: e, lo: 1, hi: 1}
	}
	return idleEnergy{
		energy: e - nemb.Energy(math.Round(float64(e)*part)),
		lo:     running(max(domain.IdleShare, domain.IdleShareMost)) / part, hi: 1 / part,
	}
}

// mostIdleDebt is how long a machine may seem to draw less than its idle power
// before what is missing is let go: a counter that moves seldom shows nothing for two of its periods.
func mostIdleDebt(period time.Duration) time.Duration { return max(time.Second, 2*period) }

// measuredIdle is the part of a window's energy that a measured idle power (BaseHi)
// gives. Power varies around its mean, so a window may hold less than that: what
// is missing is a debt of the next ones, or the mean would come out too low. The
// bounds follow from the interval of the idle power.
func (b *Domain) measuredIdle(e nemb.Energy, wall float64) idleEnergy {
	domain := &b.Domain
	micro := wall * 1e-3 // W * ns = 1e-3 uJ
	due := b.idleDebt + domain.Base*micro
	idle := min(e, nemb.Energy(math.Round(due)))
	b.idleDebt = min(due-float64(idle), domain.Base*float64(mostIdleDebt(domain.Period))*1e-3)
	rest := float64(e - idle)
	if rest <= 0 {
		return idleEnergy{energy: idle, lo: 1, hi: 1, slack: float64(idle) * (1 - domain.BaseLo/domain.Base)}
	}
	lo := max(0, rest-float64(idle)*(domain.BaseHi/domain.Base-1)) / rest
	hi := min(float64(e), rest+float64(idle)*(1-domain.BaseLo/domain.Base)) / rest
	return idleEnergy{energy: idle, lo: lo, hi: hi}
}
