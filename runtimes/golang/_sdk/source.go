package codegreen

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// source is where a session has its samples from.
type source struct {
	via        string // run, sidecar, powercap, none
	intervalNs int64
	domains    []domain
	topology   json.RawMessage // nil where it is made of the domains
	support    string
	cg         string // path of cg, "" where there is none
	cgVersion  string
	cpuModel   string
	version    int      // of the ring
	doubts     []string // what is wrong with the units of counters

	ring    *ring
	counter *powercap
	stop    func() // of the sidecar
}

func (s *source) read(to *samples) {
	switch {
	case s.ring != nil:
		s.ring.read(to)
	case s.counter != nil:
		s.counter.read(to)
	}
}

// edge is called at the beginning and the end of a task.
func (s *source) edge() {
	if s.counter != nil {
		s.counter.take()
	}
}

func (s *source) ended() bool {
	return s.ring != nil && s.ring.ended() || s.counter != nil && s.counter.hangs()
}

// counts tells whether a domain makes up the total.
func (s *source) counts() bool {
	return slices.ContainsFunc(s.domains, func(d domain) bool { return d.InTotal })
}

func (s *source) lost() int {
	if s.ring == nil {
		return 0
	}
	return s.ring.lost
}

func (s *source) fill() float64 {
	if s.ring == nil {
		return 0
	}
	return s.ring.fill
}

// close ends what samples, and waits for it. Nothing is read after it.
func (s *source) close() {
	if s.stop != nil {
		s.stop()
	}
	if s.counter != nil {
		s.counter.close()
	}
	if s.ring != nil {
		s.ring.close()
	}
}

// openSource finds the first source that is there: the run's samples, those of
// a sidecar, powercap. why says what stands in the way of the others, or what the
// counters of powercap are without.
func openSource(c config) (s *source, why []string) {
	interval, buffer, record := c.interval, c.buffer, c.record
	writer := ""
	if path := os.Getenv("CG_SAMPLES"); path != "" {
		if r, err := openRing(path); err == nil {
			if !r.ended() && buffer == 0 && (interval == 0 || int64(interval) == r.intervalNs) {
				return ofRing("run", r, findCg(r.Writer)), nil
			}
			writer = r.Writer
			r.close()
		}
	}
	if cg := findCg(writer); cg == "" {
		why = append(why, "cg is not in PATH, and CODEGREEN_CG does not name it")
	} else if s, err := startSidecar(cg, interval, buffer, c.program); err == nil {
		return s, nil
	} else {
		why = append(why, err.Error())
	}
	s, more := openPowercap(interval, record)
	if s != nil {
		return s, more
	}
	return &source{via: "none", support: supports[0], cg: findCg(writer)}, append(why, more...)
}

func ofRing(via string, r *ring, cg string) *source {
	return &source{
		via: via, intervalNs: r.intervalNs, domains: r.Domains, topology: r.Topology, support: r.Support,
		cg: cg, version: r.version, ring: r,
	}
}

// findCg is the path of cg, "" where there is none.
func findCg(writer string) string {
	for _, path := range []string{os.Getenv("CODEGREEN_CG"), writer} {
		if path != "" {
			if found, err := exec.LookPath(path); err == nil {
				return found
			}
		}
	}
	found, err := exec.LookPath("cg")
	if err != nil {
		return ""
	}
	if all, err := filepath.Abs(found); err == nil {
		return all
	}
	return found
}

// startSidecar starts cg sampler (docs/session.md of cg). program is the process that the session is of, 0 for this
// one.
func startSidecar(cg string, interval time.Duration, buffer, program int) (*source, error) {
	if buffer == 0 {
		buffer = sidecarSlots
	}
	flags := []string{"--buffer", strconv.Itoa(buffer)}
	if interval > 0 {
		flags = append(flags, "-p", fmt.Sprintf("%dus", interval.Microseconds()))
	}
	if program > 0 {
		flags = append(flags, "--program", strconv.Itoa(program))
	}
	line, stop, err := startHelper(cg, flags...)
	if err != nil {
		return nil, err
	}
	r, err := openRing(line.Ring)
	if err != nil {
		stop()
		return nil, err
	}
	s := ofRing("sidecar", r, cg)
	s.cgVersion, s.cpuModel, s.stop = line.CgVersion, line.CPUModel, stop
	return s, nil
}

// startHelper starts a cg sampler, and gives what it says of itself, and what ends it.
func startHelper(cg string, flags ...string) (line greeting, stop func(), err error) {
	args := append([]string{"sampler", "--pid", strconv.Itoa(os.Getpid())}, flags...)
	var files []*os.File
	pipe := func() (r, w *os.File) {
		r, w, err := os.Pipe()
		if err == nil {
			files = append(files, r, w)
		}
		return r, w
	}
	inRead, in := pipe()
	out, outWrite := pipe()
	said, saidWrite := pipe()
	closeAll := func() {
		for _, f := range files {
			f.Close()
		}
	}
	if len(files) < 6 {
		closeAll()
		return line, nil, errors.New("cg sampler: no more files can be opened")
	}
	c := exec.Command(cg, args...)
	c.Stdin, c.Stdout, c.Stderr, c.SysProcAttr = inRead, outWrite, saidWrite, apart()
	if err := c.Start(); err != nil {
		closeAll()
		return line, nil, err
	}
	inRead.Close()
	outWrite.Close()
	saidWrite.Close()
	gone := make(chan struct{})
	go func() {
		c.Wait()
		close(gone)
	}()
	stop = func() {
		in.Close()
		select {
		case <-gone:
		case <-time.After(5 * time.Second):
		}
		out.Close()
	}
	line, err = hear(out, said)
	said.Close()
	if err != nil {
		stop()
		return line, nil, err
	}
	return line, stop, nil
}

// greeting is what cg sampler says first.
type greeting struct {
	Sampler   int    `json:"cg_sampler"`
	Ring      string `json:"ring"`
	CgVersion string `json:"cg_version"`
	CPUModel  string `json:"cpu_model"`

	Without []string `json:"without"` // gauges that are not read, and why
}

// hear waits for READY, for readyNs. What answers otherwise is no cg.
func hear(out, said *os.File) (line greeting, err error) {
	out.SetReadDeadline(time.Now().Add(readyNs))
	from := bufio.NewReader(io.LimitReader(out, 1<<16))
	first, err := from.ReadBytes('\n')
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return line, errors.New("cg sampler does not answer")
	}
	if err != nil {
		said.SetReadDeadline(time.Now().Add(time.Second))
		all, _ := io.ReadAll(io.LimitReader(said, 4096))
		if words := strings.TrimSpace(string(all)); words != "" {
			return line, errors.New(words)
		}
		return line, errors.New("cg sampler ended at once")
	}
	if json.Unmarshal(first, &line) != nil || line.Sampler != 1 {
		return line, errors.New("what answers is no cg sampler")
	}
	if ready, err := from.ReadBytes('\n'); err != nil || !bytes.Equal(ready, []byte("READY\n")) {
		return line, errors.New("cg sampler is not ready")
	}
	return line, nil
}
