package measure

import (
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute"
)

// livePause is how long a Progress is valid.
const livePause = 500 * time.Millisecond

// live tells of a run that goes on. A nil one does nothing.
type live struct {
	tell        func(Progress)
	domains     []nemb.Domain
	first, last nemb.Sample
	begun       bool
	told        Progress
	at          checkpoint.Instant // of the sample that was told last
	shown       checkpoint.Instant
}

// take takes a sample. One whose reading failed tells nothing.
func (l *live) take(s nemb.Sample) {
	if l == nil || s.Failed {
		return
	}
	if !l.begun {
		l.begun, l.first, l.at = true, s, s.Time
	}
	l.last = s
}

// show tells what is known, where the last that was told is no longer valid.
func (l *live) show(now checkpoint.Instant, a *attribute.Attributor, names func() []checkpoint.Site) {
	if l == nil || !l.begun || now-l.shown < checkpoint.Instant(livePause) {
		return
	}
	l.shown = now
	p := Progress{Elapsed: time.Duration(now - l.first.Time), Method: nemb.Unavailable}
	for d, domain := range l.domains {
		if domain.InTotal {
			p.Energy += l.last.Energy[d] - l.first.Energy[d]
			if p.Method != nemb.Estimated {
				p.Method = domain.Method
			}
		}
	}
	if span := (l.last.Time - l.at); span > 0 {
		p.Power = (p.Energy.Joules() - l.told.Energy.Joules()) / (float64(span) * 1e-9)
		l.at = l.last.Time
	} else {
		p.Power = l.told.Power
	}
	if id := a.Busiest(); id != 0 && names != nil {
		for _, s := range names() {
			if s.ID == id {
				p.Most = s
			}
		}
	}
	l.told = p
	l.tell(p)
}
