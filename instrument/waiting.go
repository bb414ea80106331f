package instrument

import (
	"time"

	"cg/checkpoint"
)

// Waiting is what is said of a program that waits for its files to get checkpoints.
type Waiting struct {
	// Patience is how long the program has to wait in all before something is said.
	Patience time.Duration
	// Say gets how many files have got checkpoints by then. It is called once.
	Say func(files int)
}

// waiting adds up how long the program waits for new files. The server's lock guards it.
type waiting struct {
	since map[string]checkpoint.Instant // by file
	sum   time.Duration
	files int
	said  bool
}

// beginWaiting notes that the program waits for a file from now on.
func (s *Server) beginWaiting(file string) {
	if s.Waiting.Say == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting.since == nil {
		s.waiting.since = map[string]checkpoint.Instant{}
	}
	s.waiting.since[file] = checkpoint.Monotime()
}

// endWaiting notes that the program has a file, if it has waited for it.
func (s *Server) endWaiting(file string) {
	if s.Waiting.Say == nil {
		return
	}
	s.mu.Lock()
	w := &s.waiting
	since, waits := w.since[file]
	if waits {
		delete(w.since, file)
		w.files++
		w.sum += time.Duration(checkpoint.Monotime() - since)
	}
	say := waits && !w.said && w.sum >= s.Waiting.Patience
	w.said = w.said || say
	files := w.files
	s.mu.Unlock()
	if say {
		s.Waiting.Say(files)
	}
}
