package instrument

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"cg/checkpoint"
)

// Skip is a file that runs without checkpoints, and why.
type Skip struct {
	File   string
	Reason string
}

// Server answers the runtimes of the program while it loads its modules: it
// plans the sources they send and numbers the sites. A file that several
// processes of the program load gets its numbers once.
//
// A request is a line "op TAB length LF" and as many bytes: parts separated by
// zero bytes. The answer is parts separated by zero bytes, up to the end of the
// connection; the first is "ok" or says why not. Runtimes that can number sites
// themselves do so in the channel's table of files, where the server's numbers
// stand, too.
//
//	plan  module path own source   ok plan, or "unparsed" and why
//	weave module path own version source        see Server.weave
//	rewrite entry path own source  ok base text the source with checkpoints of sites 1 ..., which have the
//	                                            numbers base+1 ...; ok alone if it gets none
//	outline module path own plan   ok plan      what is wanted of a plan that the runtime made
//	load  module path own sites    ok base      numbers base+1 ... are the file's
//	ahead module path              ok 1         the runtime's cache has the file now, see SetAhead; else ok
//	skip  module path reason       ok
//	left  package                  ok           an installed package without checkpoints
//	refused path reason            ok           a file of the cache that is not used
//	task  name path line           ok number    a span of that name, such as a test
//	chunk pid tid first parent-pid parent-tid fork-tick lost new   ok offset
//	lost  number                   ok           of events, by a thread that ended without a chunk
//	pure  reason                   ok           runs without the native module
//	off   reason                   ok           runs without checkpoints
type Server struct {
	Planner  Planner
	Weaver   Weaver   // nil for none
	Rewriter Rewriter // nil for none
	Language string   // of the target
	// LanguageOf is the language of a file by its ending, "" for that of the target: a program may have
	// functions of several. nil if it has not.
	LanguageOf func(file string) string
	Options    Options
	Channel    *checkpoint.Channel
	Waiting    Waiting

	ahead    func(module, path string) bool
	keep     func(request []string, f RewrittenFile)
	listener net.Listener
	pipe     *os.File // see PipeOf; nil without one
	wait     sync.WaitGroup

	mu      sync.Mutex
	sites   []checkpoint.Site                        // by ID - 1
	given   int                                      // numbers, without a channel
	bases   map[string]int                           // of tasks, and of files that the channel has no room for
	begun   map[checkpoint.SiteID]checkpoint.Instant // of tasks
	spans   map[checkpoint.SiteID]Span
	placed  map[int]bool // those of Options.PlacesOf of which places were loaded, by index
	dropped map[int]bool
	skipped []Skip
	refused []string
	leftOut []string
	pure    string
	off     string
	isPure  bool
	isOff   bool
	waiting waiting
}

func (s *Server) languageOf(file string) string {
	if s.LanguageOf != nil {
		if l := s.LanguageOf(file); l != "" {
			return l
		}
	}
	return s.Language
}

// Listen starts answering on a Unix socket at path, and with a Rewriter at the pipe beside it.
func (s *Server) Listen(path string) error {
	l, err := net.Listen("unix", path)
	if err != nil {
		return fmt.Errorf("instrument: %w", err)
	}
	s.listener = l
	s.bases = map[string]int{}
	s.begun, s.spans = map[checkpoint.SiteID]checkpoint.Instant{}, map[checkpoint.SiteID]Span{}
	if s.Rewriter != nil {
		if err := s.listenAtPipe(PipeOf(path)); err != nil {
			l.Close()
			return err
		}
	}
	s.wait.Go(func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				// Out of descriptors, most likely: the program waits in the
				// queue of the socket meanwhile.
				time.Sleep(5 * time.Millisecond)
				continue
			}
			s.wait.Go(func() {
				defer c.Close()
				s.answer(c)
			})
		}
	})
	return nil
}

// SetAhead lets ahead answer for a file that the program meets and that the runtime's cache has not: whether the
// cache has it now, because a process of cg's has put it there, ahead of the program.
func (s *Server) SetAhead(ahead func(module, path string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead = ahead
}

// SetKeep has keep take what rewrite has answered, with the parts of the request, for later runs. It is called by
// several goroutines.
func (s *Server) SetKeep(keep func(request []string, f RewrittenFile)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep = keep
}

// Close stops answering and waits for the answers under way.
func (s *Server) Close() error {
	err := s.listener.Close()
	if s.pipe != nil {
		s.pipe.Close()
	}
	s.wait.Wait()
	return err
}

// Sites lists the sites given out so far; the ID of each is its index plus 1,
// or 0 if nothing has that number.
func (s *Server) Sites() []checkpoint.Site {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readChannel()
	return append([]checkpoint.Site(nil), s.sites...)
}

// Skipped lists the files that run without checkpoints.
func (s *Server) Skipped() []Skip {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readChannel()
	return append([]Skip(nil), s.skipped...)
}

// maxRefused bounds what is kept of refused files, of which few are shown.
const maxRefused = 1000

// RefusedFiles lists the files of cg's cache that the program did not load, and why.
func (s *Server) RefusedFiles() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.refused)
}

// LeftOut lists the installed packages that the program imported and that run without
// checkpoints, in the order of their imports.
func (s *Server) LeftOut() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.leftOut)
}

// PureRuntime reports whether a process runs without the native module, and why.
func (s *Server) PureRuntime() (reason string, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pure, s.isPure
}

// WithoutChannel reports whether a process could not use the channel at all, and why.
func (s *Server) WithoutChannel() (reason string, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.off, s.isOff
}

// TaskStarts is when each task began for the first time.
func (s *Server) TaskStarts() map[checkpoint.SiteID]checkpoint.Instant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.begun)
}

// Skip lists a file, or file:line of a function, that runs without checkpoints. The first
// reason of each is kept.
func (s *Server) Skip(file, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.skipped {
		if k.File == file {
			return
		}
	}
	s.skipped = append(s.skipped, Skip{file, reason})
}
