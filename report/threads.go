package report

import (
	"cg/checkpoint"
	"cg/measure"
)

// Thread is what a thread with checkpoints is called.
type Thread struct {
	PID uint32 `json:"pid"`
	TID uint32 `json:"tid"`
	// Name is that of the program's language, none where it has no names for threads or did not say. Comm is the
	// kernel's, of 15 bytes at most; none of a thread that ended before it was asked.
	Name string `json:"name,omitempty"`
	Comm string `json:"comm,omitempty"`
	// Strands is set where stacks go from thread to thread, as goroutines do.
	Strands bool `json:"strands,omitempty"`
}

func (r *Run) threads(names []measure.ThreadName) {
	for _, n := range names {
		r.Threads = append(r.Threads, Thread{n.PID, n.TID, n.Name, n.Comm, n.Strands})
	}
}

// ThreadNames are what threads are called for people. A thread has none where it has only the name of its process: the
// kernel gives a new thread that of the one that made it. One that runs strands is "M", as Go's runtime calls it.
func (r *Run) ThreadNames() map[checkpoint.Thread]string {
	first := map[uint32]string{} // by process: of its first thread
	for _, t := range r.Threads {
		if t.PID == t.TID {
			first[t.PID] = t.Comm
		}
	}
	names := map[checkpoint.Thread]string{}
	for _, t := range r.Threads {
		of := checkpoint.Thread{PID: t.PID, TID: t.TID}
		switch process, known := first[t.PID]; {
		case t.Name != "":
			names[of] = t.Name
		case t.Comm != "" && (t.PID == t.TID || known && t.Comm != process):
			names[of] = t.Comm // a name of 15 bytes may be whole, or cut by the kernel
		case t.Strands:
			names[of] = "M"
		}
	}
	return names
}
