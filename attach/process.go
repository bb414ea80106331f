package attach

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"cg/attach/python"
	"cg/checkpoint"
	"cg/nemb/account"
)

// scanEvery is how often processes that were started are looked for.
const scanEvery = 50 * time.Millisecond

// A process that cannot be read is tried again after firstPause, and then after pauses that
// double up to longestPause: it may run another program by then.
const (
	firstPause   = 2 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// process is one of those that are looked at.
type process struct {
	pid     int
	reader  *python.Process
	name    string
	version string
	why     error
	retry   checkpoint.Instant
	pause   time.Duration
	threads map[uint32]*thread
	round   int
	lost    int // torn stacks of readers before
	// unplaced are stacks of readers before; see Stats.
	unplaced int
	over     bool
	// identity is that of when it was met, or when its reader was made.
	identity identity
	paths    map[uint32][]checkpoint.SiteID // the last of each thread
}

func newProcess(pid int) *process {
	return &process{pid: pid, identity: identify(pid), pause: firstPause, threads: map[uint32]*thread{},
		paths: map[uint32][]checkpoint.SiteID{}}
}

func (p *process) torn() int {
	if p.reader != nil {
		return p.lost + p.reader.Torn
	}
	return p.lost
}

// nowhere counts the stacks of threads that are not known to the kernel.
func (p *process) nowhere() int {
	if p.reader != nil {
		return p.unplaced + p.reader.Unplaced
	}
	return p.unplaced
}

func (p *process) told() ProcessStats {
	told := ProcessStats{PID: p.pid, Name: p.name, Reader: p.version, Why: p.why}
	if version, ok := strings.CutPrefix(p.version, "CPython "); ok {
		told.Language, told.Version = python.Language, version
	}
	return told
}

// guarded does something with the process, which may hold anything: what cg has no answer to ends
// the looking at it, and nothing else.
func (p *process) guarded(s *Sampler, do func()) {
	defer func() {
		problem := recover()
		if problem == nil {
			return
		}
		p.lost, p.unplaced = p.torn(), p.nowhere()
		p.reader, p.version, p.over = nil, "", true
		p.why = broken(problem)
		s.mu.Lock()
		for _, t := range p.threads {
			t.settle(false)
		}
		s.mu.Unlock()
		p.close()
	}()
	do()
}

// broken is the error of a panic.
func broken(problem any) error {
	return fmt.Errorf("its memory holds what cg cannot make sense of (%v): please report it", problem)
}

// open looks for an interpreter in the process.
func (p *process) open(now checkpoint.Instant, s *sites) bool {
	if now < p.retry {
		return false
	}
	id := identify(p.pid)
	if p.over = id.start != p.identity.start; p.over { // its number is another's by now
		return false
	}
	p.identity = id
	var names *python.Names
	reader, err := python.Open(p.pid, func(f python.Function) checkpoint.SiteID {
		return s.number(names.Site(f))
	})
	if err != nil {
		p.retry = now + checkpoint.Instant(p.pause)
		p.pause = min(longestPause, 2*p.pause)
		p.over = account.Gone(p.pid)
		if !p.over && p.version == "" {
			p.why, p.name = err, command(p.pid)
		}
		return false
	}
	names = python.NamesOf(p.pid)
	p.reader, p.why, p.pause, p.name = reader, nil, firstPause, command(p.pid)
	p.version = fmt.Sprintf("CPython 3.%d", reader.Minor())
	return true
}

func command(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSpace(string(text))
}

// look looks at the process's threads.
func (p *process) look(now checkpoint.Instant, at checkpoint.Tick, s *Sampler) {
	if p.over || p.reader == nil && !p.open(now, s.sites) {
		return
	}
	stacks, err := p.reader.Read()
	if err != nil {
		p.drop(now, at, s)
		p.over = python.Gone(err) && account.Gone(p.pid)
		return
	}
	p.round++
	for _, stack := range stacks {
		t := p.threads[stack.TID]
		if t == nil {
			t = newThread(p.pid, stack.TID, len(p.threads) < mostKept)
			p.threads[stack.TID] = t
		}
		t.round = p.round
		t.met = now
		l := &Look{Thread: p.thread(stack.TID), At: at, Path: p.path(stack)}
		if s.machine.reader != nil {
			s.below.meet(l, stack.Leaf)
		}
		s.add(t, l, t.isReady())
	}
	p.leave(at, now, s)
}

// drop ends the reading of a program, be it that another runs in its place.
func (p *process) drop(now checkpoint.Instant, at checkpoint.Tick, s *Sampler) {
	p.lost, p.unplaced = p.torn(), p.nowhere()
	p.reader, p.retry = nil, now+checkpoint.Instant(firstPause)
	p.leave(at, now, s)
}

// renew drops the reader of a process that runs another program than when it was made, though
// perhaps by the same interpreter.
func (p *process) renew(now checkpoint.Instant, at checkpoint.Tick, s *Sampler) {
	if p.reader != nil && identify(p.pid) != p.identity {
		p.drop(now, at, s)
		p.retry = now
	}
}

// pythons are the processes of which the stacks of CPython are read.
func (s *Sampler) pythons() (running map[uint32]bool, all map[uint32]*process) {
	running, all = map[uint32]bool{}, map[uint32]*process{}
	for _, p := range s.processes {
		if p.reader != nil {
			running[uint32(p.pid)], all[uint32(p.pid)] = true, p
		}
	}
	return running, all
}

// mostKept is of how many threads of a process the files are kept open.
const mostKept = 128

func (p *process) thread(tid uint32) checkpoint.Thread {
	return checkpoint.Thread{PID: uint32(p.pid), TID: tid}
}

// path is a copy of a stack's path, the same one as long as the thread stays there.
func (p *process) path(stack python.Stack) []checkpoint.SiteID {
	before := p.paths[stack.TID]
	if len(before) == len(stack.Path) {
		same := true
		for i, id := range before {
			same = same && id == stack.Path[i]
		}
		if same {
			return before
		}
	}
	p.paths[stack.TID] = append([]checkpoint.SiteID(nil), stack.Path...)
	return p.paths[stack.TID]
}

// leave tells of threads that run no function any more, and forgets them. A stack that was torn
// is no sign of that, unless it is so for long: then nobody knows where the thread is.
func (p *process) leave(at checkpoint.Tick, now checkpoint.Instant, s *Sampler) {
	for tid, t := range p.threads {
		torn := p.reader != nil && p.reader.WasTorn(tid) && now-t.met <= checkpoint.Instant(openLimit)
		if torn || p.reader != nil && t.round == p.round {
			continue
		}
		s.add(t, &Look{Thread: p.thread(tid), At: at}, false)
		s.mu.Lock()
		t.settle(false)
		s.mu.Unlock()
		t.close()
		delete(p.threads, tid)
		delete(p.paths, tid)
	}
}

func (p *process) close() {
	for _, t := range p.threads {
		t.close()
	}
	clear(p.threads)
}

// scan looks for processes that those which are known have started, and forgets those that are
// over.
func (s *Sampler) scan() {
	known := map[int]*process{}
	for _, p := range s.processes {
		known[p.pid] = p
	}
	for i := 0; i < len(s.processes); i++ { // grows meanwhile
		for _, child := range children(s.processes[i].pid) {
			if k := known[child]; k != nil && (!k.over || identify(child).start == k.identity.start) {
				continue
			}
			known[child] = newProcess(child)
			delete(s.below.spans, uint32(child)) // of another one that had its number
			s.processes = append(s.processes, known[child])
		}
	}
	s.machine.find(s.processes)
	if len(s.processes) > mostProcesses {
		s.dropEnded()
	}
}

// mostProcesses is how many are kept before those that ended are forgotten.
const mostProcesses = 1 << 8

func (s *Sampler) dropEnded() {
	kept := s.processes[:0]
	for i, p := range s.processes {
		if i == 0 || !p.over {
			kept = append(kept, p)
		} else {
			s.processes[0].lost += p.lost
			s.processes[0].unplaced += p.unplaced
		}
	}
	s.processes = kept
}

// children lists the processes that a process has started and that live
// (/proc/PID/task/TID/children, which kernels with CONFIG_PROC_CHILDREN have). cg itself is none of
// them: what it uses, and what it has started, is no part of the program.
func children(pid int) (all []int) {
	if pid == os.Getpid() {
		return nil
	}
	for _, child := range allChildren(pid) {
		if child != os.Getpid() {
			all = append(all, child)
		}
	}
	return all
}

func allChildren(pid int) (all []int) {
	for _, tid := range python.Tasks(pid) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, tid))
		if errors.Is(err, os.ErrNotExist) {
			return childrenByParent(pid)
		}
		for _, f := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(f); err == nil {
				all = append(all, n)
			}
		}
	}
	return all
}

func childrenByParent(pid int) (all []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if parent, ok := account.Parent(n); ok && parent == pid {
			all = append(all, n)
		}
	}
	return all
}
