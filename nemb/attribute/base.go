package attribute

import (
	"math"
	"time"

	"cg/nemb"
)

// mostOwed is how long a machine may seem to draw less than its idle power
// before what is missing is let go.
const mostOwed = time.Second

// base is the part of a window's energy that a measured idle power (BaseHi)
// tells. Power varies around its mean, so a window may hold less than that:
// what is missing is taken from the next ones, or the mean would come out too
// low. lo and hi bound the rest by the interval of the idle power; of a window that is all
// idle, slack is what somebody may have used all the same.
func (a *Attributor) base(d int, e nemb.Energy, wall float64) (idle nemb.Energy, lo, hi float64) {
	domain := a.domains[d]
	if a.owed == nil {
		a.owed = make([]float64, len(a.domains))
	}
	micro := wall * 1e-3 // W * ns = 1e-3 uJ
	owed := a.owed[d] + domain.Base*micro
	idle = min(e, nemb.Energy(math.Round(owed)))
	a.owed[d] = min(owed-float64(idle), domain.Base*float64(mostOwed)*1e-3)
	rest := float64(e - idle)
	if rest <= 0 {
		a.slack = float64(idle) * (1 - domain.BaseLo/domain.Base)
		return idle, 1, 1
	}
	lo = max(0, rest-float64(idle)*(domain.BaseHi/domain.Base-1)) / rest
	hi = min(float64(e), rest+float64(idle)*(1-domain.BaseLo/domain.Base)) / rest
	return idle, lo, hi
}
