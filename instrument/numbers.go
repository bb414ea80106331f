package instrument

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"cg/checkpoint"
)

// load numbers the sites of a file.
func (s *Server) load(module, file, lines string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sites, _, err := s.parseSites(module, file, lines)
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
	s.addFile(module, file, lines, base, len(sites))
	return strconv.Itoa(base), nil
}

// give takes n numbers, which follow base.
func (s *Server) give(n int) (base int, err error) {
	if s.Channel != nil {
		return s.Channel.ReserveNumbers(n)
	}
	if s.given+n >= int(checkpoint.OwnSite) {
		return 0, checkpoint.ErrNumbers
	}
	s.given += n
	return s.given - n, nil
}

// parseSites reads the lines of a file's sites, whose numbers are not set.
func (s *Server) parseSites(module, file, lines string) (sites []checkpoint.Site, left []Skip, err error) {
	for line := range strings.SplitSeq(lines, "\n") {
		f := strings.Split(line, "\t")
		if line == "" {
			continue
		}
		if len(f) == 4 && f[0] == "L" {
			left = append(left, Skip{file + ":" + f[1], f[2] + " " + f[3]})
			continue
		}
		if len(f) != 6 || f[0] != "S" {
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
			Language: s.languageOf(file), Func: strings.TrimPrefix(module+"."+f[5], "."), File: file,
			Line: at[0], Col: at[1] + 1, EndLine: at[2], Kind: checkpoint.SiteKind(f[1]),
		})
	}
	return sites, left, nil
}

// addFile takes in the sites of a file that has got its numbers.
func (s *Server) addFile(module, file, lines string, base, count int) {
	if span, is := strings.CutPrefix(lines, "T\t"); is {
		if count == spanNumbers {
			s.addSpan(file, span, base+1)
		}
		return
	}
	sites, left, err := s.parseSites(module, file, lines)
	if err != nil || len(sites) != count {
		return // not written by a runtime
	}
	for i, site := range sites {
		s.set(base+i+1, site)
	}
	s.notePlaces(module, file, sites)
	s.skipped = append(s.skipped, left...)
}

// spanNumbers is how many numbers a span has: one slot each for what it reports.
const spanNumbers = 4

// addSpan takes in a span to which the program itself gave a number: when it began,
// whether it is the run of a benchmark, and its name.
func (s *Server) addSpan(file, text string, id int) {
	f := strings.SplitN(text, "\t", 3)
	if len(f) != 3 {
		return // not written by a runtime
	}
	begin, err := strconv.ParseInt(f[0], 10, 64)
	if err != nil {
		return
	}
	s.set(id, checkpoint.Site{Language: s.Language, Func: f[2], File: file, Line: 1, Col: 1, EndLine: 1,
		Kind: checkpoint.Task})
	s.begun[checkpoint.SiteID(id)] = checkpoint.Instant(begin)
	s.spans[checkpoint.SiteID(id)] = Span{Bench: f[1] == "1"}
}

// Span is what the program reported of a span that it numbered itself.
type Span struct {
	Bench      bool          // the run of a benchmark; one without Iterations is not the one that counts
	Iterations uint64        // 0 for a span that did not end
	Took       time.Duration // of wall-clock time, pauses included
	// Paused is when it began to wait for other spans, Continued when it went on; 0
	// where it did not.
	Paused, Continued checkpoint.Instant
}

// Spans are the spans that the program numbered itself. Ask before the channel
// is closed.
func (s *Server) Spans() map[checkpoint.SiteID]Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readChannel()
	spans := maps.Clone(s.spans)
	for id, span := range spans {
		span.Iterations, span.Took = s.Channel.Slot(id), time.Duration(s.Channel.Slot(id+1))
		span.Paused, span.Continued = checkpoint.Instant(s.Channel.Slot(id+2)), checkpoint.Instant(s.Channel.Slot(id+3))
		spans[id] = span
	}
	return spans
}

// DropSite says that a number stands for no site: what got it has no checkpoints.
func (s *Server) DropSite(id int) {
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

// readChannel takes in the sites that runtimes have numbered in the channel.
func (s *Server) readChannel() {
	if s.Channel != nil {
		s.Channel.Files(s.addFile)
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

// NumberSites numbers the sites of a file that was rewritten before the program
// starts. The first gets the number returned, 0 if there is none.
func (s *Server) NumberSites(file string, p *Plan) (first int, err error) {
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

// TakeNumbers takes n numbers that nobody has. They are base+1 ... base+n.
func (s *Server) TakeNumbers(n int) (base int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.give(n)
}

// PlaceSites puts the sites of a file at numbers that were taken before, the first
// of them at first: for classes that keep their numbers from run to run. lines
// are those of Encode.
func (s *Server) PlaceSites(file, lines string, first int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	sites, left, err := s.parseSites("", file, lines)
	if err != nil {
		return err
	}
	for i, site := range sites {
		s.set(first+i, site)
	}
	s.notePlaces("", file, sites)
	s.skipped = append(s.skipped, left...)
	return nil
}
