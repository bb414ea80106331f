package account

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"cg/checkpoint"
)

// ThreadClass is work that processes of the program do besides what the program
// asks for, on threads of their own, and how the kernel calls these.
type ThreadClass struct {
	Name string
	// Threads are patterns (path.Match) of names as they are in
	// /proc/PID/task/TID/comm: of 15 bytes at most.
	Threads []string
}

// Classify counts the time of threads by their names, for Usage.Background. The
// processes are the one that is watched and those of threads that are followed,
// which are themselves in no class. Before Watch.
func (a *Account) Classify(classes []ThreadClass) {
	if len(classes) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.background = &background{
		proc: "/proc", classes: classes, kept: keptThreads(),
		used: make([]time.Duration, len(classes)), processes: map[uint32]*crew{},
	}
}

// Classes are the names of the classes of threads.
func (a *Account) Classes() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.background == nil {
		return nil
	}
	var names []string
	for _, c := range a.background.classes {
		names = append(names, c.Name)
	}
	return names
}

// background adds up the time of threads that have names of classes. What such
// a thread used is counted from its start, whenever it is found, and up to the
// last reading before its end.
type background struct {
	proc      string
	classes   []ThreadClass
	used      []time.Duration // per class, never less
	processes map[uint32]*crew
	kept      int // threads whose file may be kept open
	at        checkpoint.Instant
}

// crew are the threads of a process.
type crew struct {
	since   checkpoint.Instant
	scanned checkpoint.Instant
	threads map[uint32]*member
}

// member is a thread of a crew.
type member struct {
	thread
	class  int // -1 for none
	since  checkpoint.Instant
	looked bool // at its name
	named  bool // for good
	booked time.Duration
	keeps  bool // its file open, of those that may be
}

const (
	// The kernel brings the time of a running thread up to date no more often.
	backgroundEvery = checkpoint.Instant(10 * time.Millisecond)
	// A new process begins new threads: it is scanned every eighth of its age.
	crewFirst, crewLast = backgroundEvery, checkpoint.Instant(100 * time.Millisecond)
	// A thread that is called as the first of its process is looked at that long.
	crewNamed = checkpoint.Instant(time.Second)
)

// follow adds a process; again nothing happens.
func (b *background) follow(pid uint32) {
	if b.processes[pid] == nil {
		b.processes[pid] = &crew{threads: map[uint32]*member{}}
	}
}

// read brings the classes up to date. own tells which threads are in none.
func (b *background) read(now checkpoint.Instant, own func(checkpoint.Thread) bool) []time.Duration {
	if b.at != 0 && now-b.at < backgroundEvery {
		return slices.Clone(b.used)
	}
	b.at = now
	for pid, c := range b.processes {
		if c.since == 0 {
			c.since = now
		}
		if c.scanned == 0 || now-c.scanned >= min(crewLast, max(crewFirst, (now-c.since)/8)) {
			c.scanned = now
			if !b.scan(pid, c, now, own) {
				b.end(pid, c)
				continue
			}
		}
		for _, m := range c.threads {
			if m.class < 0 || m.gone {
				continue
			}
			if m.read(); m.gone {
				b.release(m)
			}
			b.used[m.class] += m.used - m.booked
			m.booked = m.used
		}
	}
	return slices.Clone(b.used)
}

// scan looks for threads that began or ended; false says that the process did.
func (b *background) scan(pid uint32, c *crew, now checkpoint.Instant, own func(checkpoint.Thread) bool) bool {
	folder := fmt.Sprintf("%s/%d/task", b.proc, pid)
	dir, err := os.Open(folder)
	if err != nil {
		return false
	}
	names, err := dir.Readdirnames(-1)
	dir.Close()
	if err != nil || len(names) == 0 {
		return false
	}
	first := threadName(folder, strconv.Itoa(int(pid)))
	there := make(map[uint32]bool, len(names))
	for _, name := range names {
		n, err := strconv.ParseUint(name, 10, 32)
		if err != nil {
			continue
		}
		tid := uint32(n)
		there[tid] = true
		m := c.threads[tid]
		if m == nil || m.gone { // its number may be another's now
			m = &member{class: -1, since: now}
			m.fd, m.path = -1, folder+"/"+name+"/schedstat"
			c.threads[tid] = m
		}
		if m.class >= 0 && own(checkpoint.Thread{PID: pid, TID: tid}) {
			b.leave(m)
			continue
		}
		// A thread begins with its creator's name, and gives itself its own when
		// it runs first, which may be late on a busy machine.
		if m.named {
			continue
		}
		comm, class := threadName(folder, name), -1
		m.named = m.looked && comm != first || now-m.since > crewNamed
		m.looked = true
		if !own(checkpoint.Thread{PID: pid, TID: tid}) {
			class = b.class(comm)
		}
		if class != m.class {
			b.leave(m)
			b.enter(m, class)
		}
	}
	for tid, m := range c.threads {
		if !there[tid] {
			b.leave(m)
			delete(c.threads, tid)
		}
	}
	return true
}

// threadName is what the kernel calls a thread, "" for one that is gone.
func threadName(folder, tid string) string {
	text, _ := os.ReadFile(folder + "/" + tid + "/comm")
	return strings.TrimSuffix(string(text), "\n")
}

func (b *background) enter(m *member, class int) {
	if m.class = class; class >= 0 && b.kept > 0 {
		m.open()
		m.keeps = true
		b.kept--
	}
}

// leave ends the counting of a thread; what is counted stays.
func (b *background) leave(m *member) {
	m.class = -1
	b.release(m)
}

func (b *background) release(m *member) {
	m.close()
	if m.keeps {
		m.keeps = false
		b.kept++
	}
}

func (b *background) class(comm string) int {
	return slices.IndexFunc(b.classes, func(c ThreadClass) bool {
		return slices.ContainsFunc(c.Threads, func(pattern string) bool {
			matches, err := path.Match(pattern, comm)
			return err == nil && matches
		})
	})
}

// end forgets a process.
func (b *background) end(pid uint32, c *crew) {
	for _, m := range c.threads {
		b.release(m)
	}
	delete(b.processes, pid)
}

func (b *background) close() {
	for pid, c := range b.processes {
		b.end(pid, c)
	}
}
