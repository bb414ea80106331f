package instrument

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cg/checkpoint"
	"cg/instrument/edit"
)

const maxRequest = 1 << 28

func (s *Server) answer(c io.ReadWriter) {
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
	if op == "weave" {
		s.weave(c, r, string(body))
		return
	}
	answer, err := s.handle(op, body)
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

// requests are the requests that the server answers (see Server), with the number of
// parts that each has.
var requests = map[string]struct {
	parts  int
	answer func(s *Server, p []string) (string, error)
}{
	"plan": {4, func(s *Server, p []string) (string,
		error) {
		return s.plan(p[0], p[1], p[2] == "1", []byte(p[3]))
	}},
	"rewrite": {4, (*Server).rewrite},
	"outline": {4, (*Server).chooseOutline},
	"load":    {4, (*Server).loadWanted},
	"ahead":   {2, (*Server).lookAhead},
	"skip":    {3, func(s *Server, p []string) (string, error) { s.Skip(p[1], p[2]); return "", nil }},
	"left":    {1, (*Server).noteLeftOut},
	"refused": {2, (*Server).noteRefused},
	"chunk":   {9, (*Server).takeChunks},
	"task":    {3, (*Server).numberTask},
	"lost":    {1, (*Server).addLost},
	"pure":    {1, (*Server).notePure},
	"off":     {1, (*Server).noteOff},
}

// handle answers one request.
func (s *Server) handle(op string, body []byte) (string, error) {
	r, ok := requests[op]
	if !ok {
		return "", fmt.Errorf("no such request")
	}
	p := strings.SplitN(string(body), "\x00", r.parts)
	if len(p) != r.parts {
		return "", fmt.Errorf("%s: %d parts instead of %d", op, len(p), r.parts)
	}
	return r.answer(s, p)
}

func (s *Server) chooseOutline(p []string) (string, error) {
	o := s.options(p[0])
	if !o.FileWanted(p[1], p[2] == "1") {
		return "", errNotWanted
	}
	plan, err := DecodeOutline(p[3])
	if err != nil {
		return "", err
	}
	return s.encode(p[0], p[1], o.Choose(plan)), nil
}

func (s *Server) loadWanted(p []string) (string, error) {
	if o := s.options(p[0]); !o.FileWanted(p[1], p[2] == "1") {
		return "", errNotWanted
	}
	s.endWaiting(p[1])
	return s.load(p[0], p[1], p[3])
}

func (s *Server) lookAhead(p []string) (string, error) {
	s.mu.Lock()
	ahead := s.ahead
	s.mu.Unlock()
	if ahead == nil {
		return "", nil
	}
	s.beginWaiting(p[1])
	if !ahead(p[0], p[1]) {
		return "", nil
	}
	return "1", nil
}

func (s *Server) noteLeftOut(p []string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.leftOut) < maxRefused && !slices.Contains(s.leftOut, p[0]) {
		s.leftOut = append(s.leftOut, p[0])
	}
	return "", nil
}

func (s *Server) noteRefused(p []string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.refused) < maxRefused {
		s.refused = append(s.refused, p[0]+" "+p[1])
	}
	return "", nil
}

func (s *Server) takeChunks(p []string) (string, error) {
	var n [9]uint64
	for i := range p {
		var err error
		if n[i], err = strconv.ParseUint(p[i], 10, 64); err != nil {
			return "", fmt.Errorf("chunk: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Channel == nil {
		return "", checkpoint.ErrFull
	}
	offsets, err := s.Channel.TakeChunks(checkpoint.Request{
		Thread: checkpoint.Thread{PID: uint32(n[0]), TID: uint32(n[1])}, First: n[2] != 0,
		Parent:   checkpoint.Thread{PID: uint32(n[3]), TID: uint32(n[4])},
		ForkTick: checkpoint.Tick(n[5]), Lost: n[6], New: n[7],
		Sums: true,
	}, int(min(max(n[8], 1), 8)))
	return strings.Trim(fmt.Sprint(offsets), "[]"), err
}

func (s *Server) numberTask(p []string) (string, error) {
	line, err := strconv.Atoi(p[2])
	if err != nil {
		return "", fmt.Errorf("task: %w", err)
	}
	return s.task(p[0], p[1], line)
}

func (s *Server) addLost(p []string) (string, error) {
	n, err := strconv.ParseUint(p[0], 10, 64)
	if err != nil {
		return "", fmt.Errorf("lost: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Channel != nil {
		s.Channel.AddLost(n)
	}
	return "", nil
}

func (s *Server) notePure(p []string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pure, s.isPure = p[0], true
	return "", nil
}

func (s *Server) noteOff(p []string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off, s.isOff = p[0], true
	return "", nil
}

// errNotWanted is the answer for a file that the filters leave out.
var errNotWanted = errors.New("not wanted")

func (s *Server) options(module string) Options {
	o := s.Options
	o.Entry = module == "__main__"
	return o
}

func (s *Server) plan(module, file string, own bool, source []byte) (string, error) {
	if err := s.wanted(module, file, own); err != nil {
		return "", err
	}
	s.beginWaiting(file)
	p, err := s.Planner(source, s.options(module))
	if err != nil {
		return "", &unparsed{err}
	}
	return s.encode(module, file, p), nil
}

// nameModules gives the body of a module the name of its file, where the language has no other for it.
func nameModules(p *Plan, file string) {
	for i := range p.Sites {
		if p.Sites[i].Kind == checkpoint.Module {
			p.Sites[i].Func = filepath.Base(file)
		}
	}
}

// rewrite gives a source with checkpoints, and the number before that of its first site. request has whether it is the
// file that is run, its path, whether it is the program's own, and the source. One that the planner cannot place, or
// the rewriter, is noted as skipped.
func (s *Server) rewrite(request []string) (string, error) {
	if s.Rewriter == nil {
		return "", errors.New("no such request")
	}
	file := request[1]
	if err := s.wanted("", file, request[2] == "1"); err != nil {
		return "", err
	}
	s.beginWaiting(file)
	defer s.endWaiting(file)
	o := s.options("")
	o.Entry = request[0] == "1"
	f, err := s.rewritten(file, []byte(request[3]), o)
	if err != nil {
		s.Skip(file, err.Error())
		return "", &unparsed{err}
	}
	answer := ""
	if f.Text != "" {
		base, err := s.load("", file, f.Lines)
		if err != nil {
			return "", err
		}
		answer = base + "\x00" + f.Text
	}
	s.mu.Lock()
	keep := s.keep
	s.mu.Unlock()
	if keep != nil {
		keep(request, f)
	}
	return answer, nil
}

// rewritten plans a source and puts its checkpoints into it.
func (s *Server) rewritten(file string, source []byte, o Options) (RewrittenFile, error) {
	p, err := s.Planner(source, o)
	if err != nil || len(p.Sites)+len(p.LeftAlone) == 0 {
		return RewrittenFile{}, err
	}
	nameModules(p, file)
	edits, err := s.Rewriter(source, p, 1)
	if err == nil {
		source, err = edit.Apply(source, edits)
	}
	return RewrittenFile{Text: string(source), Lines: SiteLines(p), Sites: len(p.Sites)}, err
}

// weave answers the request in which the program compiles a source that cg wants. cg answers
// "go LF", and is sent "length LF" and the compiled code. Its answer then, or at once without a
// Weaver and where places of the file are wanted, is one of
//
//	woven base length length sites places code   numbers base+1 ... are the file's; lengths of sites and places
//	ok plan                                      only the runtime can weave the source
//	unparsed reason
func (s *Server) weave(c io.Writer, r *bufio.Reader, body string) {
	p := strings.SplitN(body, "\x00", 5)
	if len(p) != 5 {
		c.Write([]byte("refused\x00no such request"))
		return
	}
	module, file, own, source := p[0], p[1], p[2] == "1", []byte(p[4])
	if err := s.wanted(module, file, own); err != nil {
		c.Write([]byte("refused\x00" + err.Error()))
		return
	}
	s.beginWaiting(file)
	if s.Weaver == nil || s.Options.PlacesIn(file) {
		c.Write(s.planAnswer(module, file, source))
		return
	}
	c.Write([]byte("go\n"))
	code, err := readBody(r)
	if err != nil {
		return
	}
	woven, err := s.Weaver(source, code, p[3], s.options(module))
	if err != nil {
		c.Write(s.planAnswer(module, file, source))
		return
	}
	s.endWaiting(file)
	sites := SiteLines(woven.Plan)
	base, err := s.load(module, file, sites)
	if err != nil {
		c.Write([]byte("refused\x00" + err.Error()))
		return
	}
	head := fmt.Sprintf("woven\x00%s\x00%d\x00%d\x00", base, len(sites), len(woven.Places))
	c.Write(slices.Concat([]byte(head), []byte(sites), woven.Places, woven.Code))
}

// planAnswer is the answer with the plan of a source, for a runtime that weaves it itself.
func (s *Server) planAnswer(module, file string, source []byte) []byte {
	plan, err := s.Planner(source, s.options(module))
	if err != nil {
		return []byte("unparsed\x00" + err.Error())
	}
	return []byte("ok\x00" + s.encode(module, file, plan))
}

// readBody reads "length LF" and as many bytes.
func readBody(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(strings.TrimSuffix(line, "\n"))
	if err != nil || n < 0 || n > maxRequest {
		return nil, fmt.Errorf("a body of %q bytes", line)
	}
	body := make([]byte, n)
	_, err = io.ReadFull(r, body)
	return body, err
}

// wanted is nil for a file that the filters admit.
func (s *Server) wanted(module, file string, own bool) error {
	if o := s.options(module); o.FileWanted(file, own) {
		return nil
	}
	if own {
		s.Skip(file, "left out by --exclude")
	}
	return errNotWanted
}

// unparsed is a source that the planner cannot place. The runtime makes an
// outline of it, or says that the file is skipped.
type unparsed struct{ error }
