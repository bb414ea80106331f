package codegreen

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Session measures the tasks of a program, from Start to Close. Its methods may
// be called by any goroutine at a time.
type Session struct {
	name string
	path string
	config

	began   time.Time
	mono    int64 // CLOCK_MONOTONIC of began, in ns
	woken   chan struct{}
	drained sync.WaitGroup
	signals signals

	// Of the tasks. It is taken after data, where both are.
	mu      sync.Mutex
	crowd   crowd // of tasks at depth 0
	tasks   []*Task
	pending []*Task // whose energy is not computed
	over    bool
	words   []word
	untold  []word

	// Of the samples.
	data        sync.Mutex
	source      *source
	samples     *samples
	gauges      *gauges         // nil where none are asked for
	stopped     int64           // 0 while it goes on
	still       int64           // time of the last sample of a sampler that was waited for in vain, else -1
	saidUnknown map[string]bool // slugs
	wasFull     bool            // nearly: there was a warning of it
	unsaved     error
}

type word struct {
	Slug    string `json:"slug"`
	Message string `json:"message"`
}

func (s *Session) start() {
	var why []string
	s.source, why = openSource(s.config)
	if s.source.via == "none" {
		s.note("no-backend", "no energy can be measured here: "+strings.Join(why, "; "))
	} else if why != nil {
		s.note("sensor-failed", "the total is without "+strings.Join(why, "; "))
	}
	if s.source.doubts != nil {
		s.note("sensor-suspect", "energies may be wrong: "+strings.Join(s.source.doubts, "; "))
	}
	s.samples, s.still = newSamples(s.source.domains), -1
	if s.source.ring != nil {
		s.samples.division, s.samples.gpus = s.source.ring.division, gpusOf(s.source.domains, s.source.ring.GPUs)
	}
	s.source.read(s.samples)
	if len(s.gaugeNames) > 0 {
		var without string
		if s.gauges, without = openGauges(s.source.cg, s.gaugeNames, s.period); without != "" {
			s.note("no-gauges", without)
		}
	}
	if others := meet(true); len(others) > 0 && s.neighbours {
		s.note("concurrent", "another session is active on this machine (process "+firstFive(others)+
			"): counters are the machine's, and each session has the other's energy")
	}
	if s.save && !s.writes() {
		s.note("not-written", s.path+": its folder cannot be written; the program goes on")
	}
	s.mono, s.began = monotonic(), time.Now()
	s.source.edge()
	s.woken = make(chan struct{})
	if len(s.source.domains) > 0 || s.gauges != nil {
		s.drained.Add(1)
		go s.drain()
	}
	if s.config.signals {
		s.signals.catch(s)
	}
	s.tell()
}

// writes tells whether the file's folder takes files.
func (s *Session) writes() bool {
	f, err := os.CreateTemp(filepath.Dir(s.path), ".codegreen-")
	if err != nil {
		return false
	}
	f.Close()
	os.Remove(f.Name())
	return true
}

// Close ends the session and writes its file; tasks that are open end there. The
// error is that of the file, of which there was a warning, too. A second call does
// nothing.
func (s *Session) Close() error {
	if s == nil {
		return nil
	}
	s.data.Lock()
	if s.stopped != 0 {
		defer s.data.Unlock()
		return s.unsaved
	}
	s.stopped = monotonic()
	s.abandon()
	s.settle(true)
	s.source.read(s.samples)
	s.gauges.close()
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.unsaved = s.write()
	s.source.close()
	s.data.Unlock()
	close(s.woken)
	s.drained.Wait()
	s.signals.release()
	meet(false)
	activeMu.Lock()
	active = nil
	if s.output == "" {
		finished++
	}
	activeMu.Unlock()
	s.tell()
	return s.unsaved
}

// abandon ends the tasks that are open.
func (s *Session) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, t := range slices.Backward(s.tasks) { // children first
		if t.ended == 0 {
			t.forgotten = true
			t.close(s.stopped)
			names = append(names, fmt.Sprintf("%q", t.name))
		}
	}
	if names != nil {
		slices.Reverse(names)
		s.noteLocked("forgotten", "task "+firstFive(names)+" was not ended; it ended with the session")
	}
}

// firstFive is a list as a warning shows it.
func firstFive(names []string) string { return strings.Join(names[:min(5, len(names))], ", ") }

// settle computes the energies of tasks that are over.
func (s *Session) settle(wait bool) {
	s.mu.Lock()
	pending := slices.Clone(s.pending)
	s.mu.Unlock()
	for _, t := range pending {
		s.resolve(t, wait)
	}
	s.mu.Lock()
	s.pending = slices.DeleteFunc(s.pending, func(t *Task) bool { return t.resolved })
	s.mu.Unlock()
	if lost := s.source.lost(); lost > 0 && s.stopped != 0 {
		s.note("samples-lost",
			fmt.Sprintf("%d samples were written over before they were read: use a larger Buffer", lost))
	}
}

// due is when all is there that tells the energy of a task that ended then.
func (s *Session) due(end int64) int64 { return end + aroundNs + 2*s.source.intervalNs }

// resolve computes a task's energy once, s.data being locked. To wait is to let
// the samples come that tell it.
func (s *Session) resolve(t *Task, wait bool) {
	s.mu.Lock()
	end := t.ended
	s.mu.Unlock()
	if end == 0 || t.resolved {
		return
	}
	source := s.source
	due := s.due(end)
	if wait && len(source.domains) > 0 && !s.isOver() {
		limit := max(due, monotonic()) + patienceNs
		source.read(s.samples)
		// One that stands still is waited for once, and not for every task.
		for s.samples.latest() < due && s.samples.latest() != s.still && !source.ended() {
			if monotonic() > limit {
				s.still = s.samples.latest()
			}
			time.Sleep(2 * time.Millisecond)
			source.read(s.samples)
		}
		source.read(s.samples)
		s.awaitGPUs(end)
	} else if !wait && (s.samples.latest() < due || s.samples.awaitsGPU(end, monotonic())) {
		return
	}
	s.mu.Lock()
	parts := partsOf(t.started, end, t.crowds())
	s.mu.Unlock()
	t.resolved = true
	if !source.counts() {
		return
	}
	t.energy, t.gpus = energyOf(s.samples, t.started, end, parts)
	s.sayOfGPUs(t)
	if t.energy == nil {
		s.unknown(t)
		return
	}
	if t.energy.program == nil && source.via == "run" {
		s.say("share-unknown", fmt.Sprintf("the program's share of the energy of task %q is not known: %s", t.name,
			s.samples.noShare()))
	}
}

// sayOfGPUs says once of each GPU and reason why energy of it is in no task.
func (s *Session) sayOfGPUs(t *Task) {
	for _, u := range t.gpus {
		if u.reason == "" || !u.held {
			continue
		}
		key, text := "gpu-unattributed", fmt.Sprintf("%s: nothing tells whose all of its energy in task %q is, "+
			"and the task is without that: %s", u.domain, t.name, u.why)
		if u.reason == gpuTasks {
			text = u.why + ": what " + u.domain + " used meanwhile is in none of them"
		}
		if s.saidUnknown == nil {
			s.saidUnknown = map[string]bool{}
		}
		if said := key + u.domain + u.reason; !s.saidUnknown[said] {
			s.saidUnknown[said] = true
			s.note(key, text)
		}
	}
}

// unknown says once of each reason why the energy of a task is not known.
func (s *Session) unknown(t *Task) {
	slug, text := "sampler-ended", fmt.Sprintf("the samples end before task %q does: its energy is not known", t.name)
	if why := s.samples.unknown(t.started, t.ended); why == "" && t.gpus != nil {
		return // only GPUs are measured, of which a warning tells why it is not known
	} else if why != "" {
		slug, text = "energy-unknown", fmt.Sprintf("the energy of task %q is not known: %s", t.name, why)
	}
	s.say(slug, text)
}

// say notes a reason once.
func (s *Session) say(slug, text string) {
	if s.saidUnknown == nil {
		s.saidUnknown = map[string]bool{}
	}
	if !s.saidUnknown[slug] {
		s.saidUnknown[slug] = true
		s.note(slug, text)
	}
}

func (s *Session) isOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// drain empties the ring before it is full; how often follows how full it was.
func (s *Session) drain() {
	defer s.drained.Done()
	period, calm := time.Duration(drainNs), 0
	ring := time.Duration(s.source.intervalNs) * 512
	if ring <= 0 { // there are gauges alone
		ring = drainMostNs
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(min(period, max(10*time.Millisecond, ring)))
		select {
		case <-s.woken:
			return
		case <-timer.C:
		}
		s.data.Lock()
		if s.stopped != 0 {
			s.data.Unlock()
			return
		}
		s.source.read(s.samples)
		s.gauges.read()
		fill := s.source.fill()
		switch {
		case fill > drainFullPart:
			period, calm = max(drainLeastNs, period/2), 0
		case fill >= drainCalmPart:
			calm = 0
		default:
			if calm++; calm >= drainCalmTimes {
				period, calm = min(drainMostNs, period*2), 0
			}
		}
		if fill > drainWarnPart && !s.wasFull {
			s.wasFull = true
			s.note("buffer-full",
				fmt.Sprintf("the ring of samples was %.0f %% full when it was read: use a larger Buffer", 100*fill))
		}
		if !s.record && len(s.samples.times) > s.samples.prunedAt+pruneAfter {
			s.prune()
		}
		s.data.Unlock()
	}
}

// prune forgets samples that no task needs.
func (s *Session) prune() {
	s.settle(false)
	s.mu.Lock()
	edges := []int64{s.mono}
	oldest := monotonic()
	for _, t := range s.pending {
		edges = append(edges, t.started)
		if t.ended != 0 {
			edges = append(edges, t.ended)
		}
		oldest = min(oldest, t.started)
	}
	crowds := []*crowd{&s.crowd}
	for _, t := range s.pending {
		crowds = append(crowds, &t.inside)
	}
	for _, c := range crowds {
		c.forget(oldest)
		for _, change := range c.changes {
			edges = append(edges, change.at)
		}
	}
	s.mu.Unlock()
	s.samples.prune(edges, s.samples.reach(s.source.intervalNs))
}

// write writes the file, s.data being locked.
func (s *Session) write() error {
	if !s.save || s.format == "none" {
		return nil
	}
	pieces := s.json
	if s.csv(s.path) {
		pieces = s.csvLines
	}
	err := replace(s.path, pieces)
	if err != nil {
		s.note("not-written", fmt.Sprintf("%s cannot be written: %v", s.path, err))
		err = errors.Join(errors.New("codegreen: the session's file is not written"), err)
	}
	return err
}

// File is the path of the file that Close writes.
func (s *Session) File() string {
	if s == nil {
		return ""
	}
	return s.path
}

// Tasks are the tasks so far, in the order in which they began.
func (s *Session) Tasks() []*Task {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tasks)
}

func (s *Session) note(slug, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteLocked(slug, message)
}

func (s *Session) noteLocked(slug, message string) {
	if w := (word{slug, message}); !slices.Contains(s.words, w) {
		s.words, s.untold = append(s.words, w), append(s.untold, w)
	}
}

// tell says what was noted, with no lock held.
func (s *Session) tell() {
	s.mu.Lock()
	untold := s.untold
	s.untold = nil
	s.mu.Unlock()
	for _, w := range untold {
		s.warn(w.Slug, w.Message)
	}
}
