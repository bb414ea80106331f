package instrument

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
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
//	outline module path own plan   ok plan      what is wanted of a plan that the runtime made
//	load  module path own sites    ok base      numbers base+1 ... are the file's
//	skip  module path reason       ok
//	refused path reason            ok           a file of the cache that is not used
//	task  name path line           ok number    a span of that name, such as a test
//	chunk pid tid first parent-pid parent-tid fork-tick lost new   ok offset
//	lost  number                   ok           of events, by a thread that ended without a chunk
//	pure  reason                   ok           runs without the native module
//	off   reason                   ok           runs without checkpoints
type Server struct {
	Planner  Planner
	Language string
	Options  Options
	Channel  *checkpoint.Channel

	listener net.Listener
	wait     sync.WaitGroup

	mu      sync.Mutex
	sites   []checkpoint.Site                        // by ID - 1
	given   int                                      // numbers, without a channel
	bases   map[string]int                           // of tasks, and of files that the channel has no room for
	begun   map[checkpoint.SiteID]checkpoint.Instant // of tasks
	spans   map[checkpoint.SiteID]Span
	dropped map[int]bool
	skipped []Skip
	refused []string
	pure    string
	off     string
	isPure  bool
	isOff   bool
}

// Listen starts answering on a Unix socket at path.
func (s *Server) Listen(path string) error {
	l, err := net.Listen("unix", path)
	if err != nil {
		return fmt.Errorf("instrument: %w", err)
	}
	s.listener = l
	s.bases, s.begun, s.spans = map[string]int{}, map[checkpoint.SiteID]checkpoint.Instant{}, map[checkpoint.SiteID]Span{}
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

// Close stops answering and waits for the answers under way.
func (s *Server) Close() error {
	err := s.listener.Close()
	s.wait.Wait()
	return err
}

// Sites lists the sites given out so far; the ID of each is its index plus 1,
// or 0 if nothing has that number.
func (s *Server) Sites() []checkpoint.Site {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	return append([]checkpoint.Site(nil), s.sites...)
}

// Skipped lists the files that run without checkpoints.
func (s *Server) Skipped() []Skip {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	return append([]Skip(nil), s.skipped...)
}

// maxRefused bounds what is kept of refused files, of which few are shown.
const maxRefused = 1000

// Refused tells which files of cg's cache the program did not load, and why.
func (s *Server) Refused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.refused)
}

// Pure tells whether a process runs without the native module, and why.
func (s *Server) Pure() (reason string, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pure, s.isPure
}

// Off tells whether a process could not use the channel at all, and why.
func (s *Server) Off() (reason string, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.off, s.isOff
}

const maxRequest = 1 << 28

func (s *Server) answer(c net.Conn) {
	r := bufio.NewReader(c)
	line, err := r.ReadString('\n')
	if err != nil {
		return
	}
	op, size, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
	n, err := strconv.Atoi(size)
	if err != nil || n < 0 || n > maxRequest {
		return
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return
	}
	answer, err := s.do(op, body)
	if errors.As(err, new(*unparsed)) {
		c.Write([]byte("unparsed\x00" + err.Error()))
		return
	}
	if err != nil {
		c.Write([]byte("refused\x00" + err.Error()))
		return
	}
	c.Write([]byte("ok\x00" + answer))
}

func (s *Server) do(op string, body []byte) (string, error) {
	parts := func(n int) ([]string, error) {
		p := bytes.SplitN(body, []byte{0}, n)
		if len(p) != n {
			return nil, fmt.Errorf("%s: %d parts instead of %d", op, len(p), n)
		}
		out := make([]string, n)
		for i := range p {
			out[i] = string(p[i])
		}
		return out, nil
	}
	switch op {
	case "plan":
		p, err := parts(4)
		if err != nil {
			return "", err
		}
		return s.plan(p[0], p[1], p[2] == "1", []byte(p[3]))
	case "outline":
		p, err := parts(4)
		if err != nil {
			return "", err
		}
		o := s.options(p[0])
		if !o.FileWanted(p[1], p[2] == "1") {
			return "", fmt.Errorf("not wanted")
		}
		plan, err := DecodeOutline(p[3])
		if err != nil {
			return "", err
		}
		return Encode(o.Choose(plan)), nil
	case "load":
		p, err := parts(4)
		if err != nil {
			return "", err
		}
		if o := s.options(p[0]); !o.FileWanted(p[1], p[2] == "1") {
			return "", fmt.Errorf("not wanted")
		}
		return s.load(p[0], p[1], p[3])
	case "skip":
		p, err := parts(3)
		if err != nil {
			return "", err
		}
		s.skip(p[1], p[2])
		return "", nil
	case "refused":
		p, err := parts(2)
		if err != nil {
			return "", err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.refused) < maxRefused {
			s.refused = append(s.refused, p[0]+" "+p[1])
		}
		return "", nil
	case "chunk":
		p, err := parts(9)
		if err != nil {
			return "", err
		}
		var n [9]uint64
		for i := range p {
			if n[i], err = strconv.ParseUint(p[i], 10, 64); err != nil {
				return "", fmt.Errorf("chunk: %w", err)
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.Channel == nil {
			return "", checkpoint.ErrFull
		}
		offsets, err := s.Channel.TakeSome(checkpoint.Request{
			Thread: checkpoint.Thread{PID: uint32(n[0]), TID: uint32(n[1])}, First: n[2] != 0,
			Parent: checkpoint.Thread{PID: uint32(n[3]), TID: uint32(n[4])}, ForkTick: checkpoint.Tick(n[5]), Lost: n[6], New: n[7],
			Sums: true,
		}, int(min(max(n[8], 1), 8)))
		return strings.Trim(fmt.Sprint(offsets), "[]"), err
	case "task":
		p, err := parts(3)
		if err != nil {
			return "", err
		}
		line, err := strconv.Atoi(p[2])
		if err != nil {
			return "", fmt.Errorf("task: %w", err)
		}
		return s.task(p[0], p[1], line)
	case "lost":
		n, err := strconv.ParseUint(string(body), 10, 64)
		if err != nil {
			return "", fmt.Errorf("lost: %w", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.Channel != nil {
			s.Channel.AddLost(n)
		}
		return "", nil
	case "pure", "off":
		s.mu.Lock()
		defer s.mu.Unlock()
		if op == "pure" {
			s.pure, s.isPure = string(body), true
		} else {
			s.off, s.isOff = string(body), true
		}
		return "", nil
	}
	return "", fmt.Errorf("no such request")
}

func (s *Server) options(module string) Options {
	o := s.Options
	o.Entry = module == "__main__"
	return o
}

func (s *Server) plan(module, file string, own bool, source []byte) (string, error) {
	o := s.options(module)
	if !o.FileWanted(file, own) {
		if own {
			s.skip(file, "left out by --exclude")
		}
		return "", fmt.Errorf("not wanted")
	}
	p, err := s.Planner(source, o)
	if err != nil {
		return "", &unparsed{err}
	}
	return Encode(p), nil
}

// unparsed is a source that the planner cannot place. The runtime makes an
// outline of it, or says that the file is skipped.
type unparsed struct{ error }

// Encode writes a plan as the runtimes read it: a line for each site and each
// point, in fields separated by tabs. Lines count from 1, columns from 0.
//
//	S kind line column end-line small qualified-name
//	P role line column site
//	L line qualified-name reason
//
// Sites are numbered from 1 in the order of their lines; small is 0 or 1. L is
// a function that is left alone.
func Encode(p *Plan) string {
	var b strings.Builder
	for _, s := range p.Sites {
		small := 0
		if s.Small {
			small = 1
		}
		fmt.Fprintf(&b, "S\t%s\t%d\t%d\t%d\t%d\t%s\n", s.Kind, s.Line, s.Col-1, s.EndLine, small, s.Func)
	}
	for _, l := range p.Left {
		fmt.Fprintf(&b, "L\t%d\t%s\t%s\n", l.Line, l.Name, l.Reason)
	}
	for _, q := range p.Points {
		fmt.Fprintf(&b, "P\t%s\t%d\t%d\t%d\n", q.Role, q.Line, q.Col-1, q.Site+1)
	}
	return b.String()
}

// DecodeOutline reads a plan of a whole file that a runtime has made. Its lines
// are those of Encode; each of a point has the line and the column of its end
// behind it.
func DecodeOutline(lines string) (*Plan, error) {
	p := &Plan{}
	for line := range strings.Lines(lines) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		numbers := func(from, to int) ([]int, error) {
			var out []int
			for _, s := range f[from:to] {
				n, err := strconv.Atoi(s)
				if err != nil {
					return nil, fmt.Errorf("outline: %w", err)
				}
				out = append(out, n)
			}
			return out, nil
		}
		switch {
		case f[0] == "S" && len(f) == 7:
			n, err := numbers(2, 6)
			if err != nil {
				return nil, err
			}
			p.Sites = append(p.Sites, checkpoint.Site{
				Kind: checkpoint.SiteKind(f[1]), Line: n[0], Col: n[1] + 1, EndLine: n[2], Small: n[3] == 1, Func: f[6],
			})
		case f[0] == "L" && len(f) == 4:
			n, err := numbers(1, 2)
			if err != nil {
				return nil, err
			}
			p.Left = append(p.Left, Left{Line: n[0], Name: f[2], Reason: f[3]})
		case f[0] == "P" && len(f) == 7:
			n, err := numbers(2, 7)
			if err != nil {
				return nil, err
			}
			if n[2] < 1 || n[2] > len(p.Sites) {
				return nil, fmt.Errorf("outline: a point of no site")
			}
			p.Points = append(p.Points, Point{Role: Role(f[1]), Line: n[0], Col: n[1] + 1, Site: n[2] - 1, EndLine: n[3], EndCol: n[4] + 1})
		default:
			return nil, fmt.Errorf("outline: a line that is none of a plan's")
		}
	}
	return p, nil
}

// load numbers the sites of a file.
func (s *Server) load(module, file, lines string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sites, _, err := s.read(module, file, lines)
	if err != nil {
		return "", err
	}
	key := module + "\x00" + file + "\x00" + lines
	if base, ok := s.bases[key]; ok {
		return strconv.Itoa(base), nil
	}
	if s.Channel != nil {
		if base, err := s.Channel.Number(module, file, lines, len(sites)); err == nil {
			return strconv.Itoa(base), nil
		}
	}
	base, err := s.give(len(sites))
	if err != nil {
		return "", err
	}
	s.bases[key] = base
	s.note(module, file, lines, base, len(sites))
	return strconv.Itoa(base), nil
}

// give takes n numbers, which follow base.
func (s *Server) give(n int) (base int, err error) {
	if s.Channel != nil {
		return s.Channel.Give(n)
	}
	if s.given+n >= int(checkpoint.OwnSite) {
		return 0, checkpoint.ErrNumbers
	}
	s.given += n
	return s.given - n, nil
}

// read takes apart the lines of a file's sites, whose numbers are not set.
func (s *Server) read(module, file, lines string) (sites []checkpoint.Site, left []Skip, err error) {
	for line := range strings.SplitSeq(lines, "\n") {
		f := strings.Split(line, "\t")
		if line == "" {
			continue
		}
		if len(f) == 4 && f[0] == "L" {
			left = append(left, Skip{file + ":" + f[1], f[2] + " " + f[3]})
			continue
		}
		if len(f) != 7 || f[0] != "S" {
			return nil, nil, fmt.Errorf("load: a line that is no site")
		}
		at := [3]int{}
		for i := range at {
			n, err := strconv.Atoi(f[2+i])
			if err != nil {
				return nil, nil, fmt.Errorf("load: %w", err)
			}
			at[i] = n
		}
		sites = append(sites, checkpoint.Site{
			Language: s.Language, Func: strings.TrimPrefix(module+"."+f[6], "."), File: file, Small: f[5] == "1",
			Line: at[0], Col: at[1] + 1, EndLine: at[2], Kind: checkpoint.SiteKind(f[1]),
		})
	}
	return sites, left, nil
}

// note takes in the names of a file that has got its numbers.
func (s *Server) note(module, file, lines string, base, count int) {
	if span, is := strings.CutPrefix(lines, "T\t"); is {
		s.span(file, span, base+1)
		return
	}
	sites, left, err := s.read(module, file, lines)
	if err != nil || len(sites) != count {
		return // not written by a runtime
	}
	for i, site := range sites {
		s.set(base+i+1, site)
	}
	s.skipped = append(s.skipped, left...)
}

// span takes in a span to which the program itself gave a number: when it began,
// whether it is the run of a benchmark, and its name.
func (s *Server) span(file, text string, id int) {
	f := strings.SplitN(text, "\t", 3)
	if len(f) != 3 {
		return // not written by a runtime
	}
	begin, err := strconv.ParseInt(f[0], 10, 64)
	if err != nil {
		return
	}
	s.set(id, checkpoint.Site{Language: s.Language, Func: f[2], File: file, Line: 1, Col: 1, EndLine: 1, Kind: checkpoint.Task})
	s.begun[checkpoint.SiteID(id)] = checkpoint.Instant(begin)
	s.spans[checkpoint.SiteID(id)] = Span{Bench: f[1] == "1"}
}

// Span is what the program said of a span that it numbered itself.
type Span struct {
	Bench      bool          // the run of a benchmark; one without Iterations is not the one that counts
	Iterations uint64        // 0 for a span that did not end
	Took       time.Duration // of wall-clock time
}

// Spans are the spans that the program numbered itself. Ask before the channel
// is closed.
func (s *Server) Spans() map[checkpoint.SiteID]Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	spans := maps.Clone(s.spans)
	for id, span := range spans {
		span.Iterations, span.Took = s.Channel.Counted(id), time.Duration(s.Channel.Counted(id+1))
		spans[id] = span
	}
	return spans
}

// Drop says that a number stands for no site: what got it has no checkpoints.
func (s *Server) Drop(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dropped == nil {
		s.dropped = map[int]bool{}
	}
	s.dropped[id] = true
	if id <= len(s.sites) {
		s.sites[id-1] = checkpoint.Site{}
	}
}

func (s *Server) set(id int, site checkpoint.Site) {
	if s.dropped[id] {
		return
	}
	if id > len(s.sites) {
		s.sites = append(s.sites, make([]checkpoint.Site, id-len(s.sites))...)
	}
	site.ID = checkpoint.SiteID(id)
	s.sites[id-1] = site
}

// look takes in what has been numbered in the channel.
func (s *Server) look() {
	if s.Channel != nil {
		s.Channel.Files(s.note)
	}
}

// task numbers a task, which begins now. One that is run again keeps its number.
func (s *Server) task(name, file string, line int) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := "\x00task\x00" + file + "\x00" + name
	if base, ok := s.bases[key]; ok {
		return strconv.Itoa(base + 1), nil
	}
	base, err := s.give(1)
	if err != nil {
		return "", err
	}
	s.set(base+1, checkpoint.Site{
		Language: s.Language, Func: name, File: file, Line: line, Col: 1, EndLine: line, Kind: checkpoint.Task,
	})
	s.bases[key] = base
	s.begun[checkpoint.SiteID(base+1)] = checkpoint.Monotime()
	return strconv.Itoa(base + 1), nil
}

// Number numbers the sites of a file that was rewritten before the program
// starts. The first gets the number returned, 0 if there is none.
func (s *Server) Number(file string, p *Plan) (first int, err error) {
	lines := SiteLines(p)
	if lines == "" {
		return 0, nil
	}
	base, err := s.load("", file, lines)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(base)
	return n + 1, err
}

// Give takes n numbers that nobody has. They are base+1 ... base+n.
func (s *Server) Give(n int) (base int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.give(n)
}

// Place puts the sites of a file at numbers that were taken before, the first
// of them at first: for classes that keep their numbers from run to run. lines
// are those of Encode.
func (s *Server) Place(file, lines string, first int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	sites, left, err := s.read("", file, lines)
	if err != nil {
		return err
	}
	for i, site := range sites {
		s.set(first+i, site)
	}
	s.skipped = append(s.skipped, left...)
	return nil
}

// SiteLines are the lines of a plan's sites and of what is left alone, as
// Encode writes them, without its points.
func SiteLines(p *Plan) string {
	var lines []string
	for line := range strings.Lines(Encode(p)) {
		if line[0] != 'P' {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return strings.Join(lines, "\n")
}

// FileKey is the key in the channel's table of files of one that Number
// numbers.
func FileKey(file string, p *Plan) uint64 {
	return checkpoint.Key("", file, SiteLines(p))
}

// Skip lists a file, or file:line of a function, that runs without checkpoints.
func (s *Server) Skip(file, reason string) {
	s.skip(file, reason)
}

// Small reports whether a site's calls may be counted instead of timed.
func (s *Server) Small(id checkpoint.SiteID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := func() bool { return id > 0 && int(id) <= len(s.sites) && s.sites[id-1].ID != 0 }
	if !known() {
		s.look()
	}
	return known() && s.sites[id-1].Small
}

// Begun tells when each task began for the first time.
func (s *Server) Begun() map[checkpoint.SiteID]checkpoint.Instant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.begun)
}

func (s *Server) skip(file, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.skipped {
		if k.File == file {
			return
		}
	}
	s.skipped = append(s.skipped, Skip{file, reason})
}
