package measure

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"cg/checkpoint"
	"cg/nemb/account"
)

// mostThreads is of how many threads the names are kept.
const mostThreads = 4096

// ThreadName is what a thread with checkpoints is called.
type ThreadName struct {
	checkpoint.Thread
	Name string // by the program's language, "" where it has no names or did not say
	Comm string // by the kernel, which keeps 15 bytes (proc_pid_comm(5)), "" where it ended before it was asked
	// Strands is set where stacks go from thread to thread, as goroutines do.
	Strands bool
}

// threads learns what the threads of the program are called. A thread is asked again after 1, 2, 4, 8 ... samples:
// many take their name when they have begun.
type threads struct {
	known map[checkpoint.Thread]*namedThread
	comm  func(checkpoint.Thread) string
}

type namedThread struct {
	name, comm string
	samples    int // since it was seen first
	ended      bool
	strands    bool
}

func newThreads() *threads {
	return &threads{known: map[checkpoint.Thread]*namedThread{}, comm: comm}
}

// comm is the kernel's name of a thread, "" of one that has ended.
func comm(t checkpoint.Thread) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/comm", t.PID, t.TID))
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(strings.TrimSuffix(string(b), "\n"), "?")
}

// see takes what a run of words or sums tells of its thread. A thread that comes with the numbers of another has its
// name.
func (t *threads) see(run checkpoint.Run) {
	k := t.known[run.Thread]
	if run.First || k == nil {
		if k == nil && len(t.known) >= mostThreads {
			return
		}
		k = &namedThread{comm: t.comm(run.Thread)}
		t.known[run.Thread] = k
	}
	if run.Name != "" {
		k.name = run.Name
	}
	k.ended = k.ended || run.Last
	k.strands = k.strands || run.Strands || run.Tally != nil && run.Tally.Strands
}

// sample is called for each sample.
func (t *threads) sample() {
	for thread, k := range t.known {
		if k.samples++; k.ended || k.samples&(k.samples-1) != 0 {
			continue
		}
		if c := t.comm(thread); c != "" {
			k.comm = c
		}
	}
}

// list gives the names in the order of threads.
func (t *threads) list() []ThreadName {
	var out []ThreadName
	for _, thread := range slices.SortedFunc(maps.Keys(t.known), account.CompareThreads) {
		k := t.known[thread]
		out = append(out, ThreadName{thread, k.name, k.comm, k.strands})
	}
	return out
}
