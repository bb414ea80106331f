package codegreen

import (
	"os"
	"os/signal"
)

// signals ends the session, and then the program, on SIGTERM and SIGINT.
type signals struct {
	heard chan os.Signal
}

func (g *signals) catch(s *Session) {
	for _, n := range deadly {
		if signal.Ignored(n) {
			continue
		}
		if g.heard == nil {
			g.heard = make(chan os.Signal, 1)
		}
		signal.Notify(g.heard, n)
	}
	if g.heard == nil {
		return
	}
	go func(heard chan os.Signal) {
		n, any := <-heard
		if !any {
			return
		}
		s.note("forgotten", "the session ended with the program, on a signal: "+n.String())
		s.Close()          // or wait until another goroutine did
		signal.Stop(heard) // which it may not have come to
		raise(n)           // nobody hears it now but the program itself
	}(g.heard)
}

func (g *signals) release() {
	if g.heard != nil {
		signal.Stop(g.heard)
		close(g.heard)
		g.heard = nil
	}
}
