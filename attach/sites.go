package attach

import (
	"slices"
	"sync"

	"cg/checkpoint"
)

// mostSites is how many functions are told apart; the rest is the program's outside of them.
const mostSites = 1 << 20

// sites numbers functions, the same in all processes.
type sites struct {
	mu  sync.Mutex
	ids map[checkpoint.Site]checkpoint.SiteID
	all []checkpoint.Site
}

func newSites() *sites { return &sites{ids: map[checkpoint.Site]checkpoint.SiteID{}} }

// number is the number of a site that comes without one.
func (s *sites) number(site checkpoint.Site) checkpoint.SiteID {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.ids[site]
	if !ok && len(s.all) < mostSites {
		id = checkpoint.SiteID(len(s.all) + 1)
		s.ids[site] = id
		site.ID = id
		s.all = append(s.all, site)
	}
	return id
}

func (s *sites) list() []checkpoint.Site {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}
