// Package kernels gathers what runs on NVIDIA GPUs while a program does, and which call path launched it.
//
// It makes a socket, and gives the variables by which cg's library is loaded into the program: by the driver
// (runtimes/native/kernels.c) or the dynamic linker does (launches.c), which sees launches and synchronisations alone.
// That sends each kernel, copy and fill there. At the end the package gives a Log: for
// each GPU, kernel and call path how often it ran, how long, and when (gpus.Work). It knows no energies, and trusts
// nothing that a program sends: a datagram that the library does not make is counted and left out.
package kernels

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ianlancetaylor/demangle"

	"cg/checkpoint"
	"cg/nemb/attribute/gpus"
	"cg/pmsampling/beside"
	"cg/scratch"
)

// Kind is what an activity is.
type Kind uint32

// The kinds of activities.
const (
	Kernel Kind = 0
	Copy   Kind = 1
	Fill   Kind = 2
)

func (k Kind) String() string {
	if k > Fill {
		return "?"
	}
	return [...]string{"kernel", "copy", "fill"}[k]
}

// Activity is what ran on a GPU under one name, launched in one call path.
type Activity struct {
	Name string // of a kernel, demangled; of copies, which way
	Kind Kind
	// Path are the sites in which it was launched, the innermost first; none where that was outside of all, or in a
	// thread without checkpoints.
	Path []checkpoint.SiteID
	// Range is the one that the program named around the launch (NVTX), nil for none.
	Range *Range
	Count uint64
	Time  time.Duration // on the GPU, of all together
	Bytes uint64        // that copies and fills moved
	// Counted are the means of the counters that were sampled while it ran, by metric; nil without (Counting).
	Counted []beside.Sum
	key     int // of GPU.Work
}

// Key is that of the activity in the Work of its GPU.
func (a *Activity) Key() int { return a.key }

// Range is a part of the program that it names by NVTX, in a range around it. Ranges of one name in one range are one,
// of all threads and processes.
type Range struct {
	Name   string
	Around *Range // nil for none
	Count  uint64 // how often it ended
	Time   time.Duration
	// Spans are when it ran, in the order of their ends; nil where there are too many to keep.
	Spans []Span
}

// Span is a time on CLOCK_MONOTONIC.
type Span struct{ From, To checkpoint.Instant }

// GPU is what ran on one.
type GPU struct {
	UUID       string // as NVML writes it: GPU-...; "" where CUDA did not tell
	Activities []*Activity
	Work       gpus.Work
}

// Stretch is when an activity ran once.
type Stretch struct {
	GPU      *GPU
	Activity *Activity
	From, To checkpoint.Instant
}

// MostStretches is how many a log has.
const MostStretches = 4000

// Log is what was gathered.
type Log struct {
	GPUs   []*GPU
	Ranges []*Range // those around others before these
	// Longest are the longest activities, in the order of their beginnings.
	Longest []Stretch
	// Told is how many processes said that they tell their activities; Refused says why others do not.
	Told    int
	Refused []string
	Lost    uint64 // activities of which there is no record
	Odd     uint64 // datagrams that the library does not make
	// Guessed is set where nothing but launches and synchronisations are known: when an activity ran is a guess within
	// known bounds, and what was launched alike and in a row is one of Longest.
	Guessed bool
	NoCUPTI string // of the Gatherer
	// Launches is set where the program was asked for launches and synchronisations in place of CUPTI's activities.
	Launches bool
}

// Counting are performance counters that are sampled beside the program.
type Counting interface {
	// Within are the means of the metrics over the samples that lie wholly between two moments, and whether they are
	// known yet.
	Within(uuid string, from, to checkpoint.Instant) (sums []beside.Sum, known bool)
	// Weight is the metric by which kernels share energy, -1 for none.
	Weight() int
}

// Gatherer gathers.
type Gatherer struct {
	NoCUPTI string // why it is without CUPTI, for the Log; "" where it is not, or nobody asked for it

	folder   *scratch.Folder
	launches bool // LaunchEnv was asked for
	socket   *net.UnixConn
	reading  sync.WaitGroup
	mu       sync.Mutex
	state    state
}

// socketLength is the size of sun_path (unix(7)), the closing zero included.
const socketLength = 108

// socketName is the socket in its folder.
const socketName = "kernels"

// Listen makes a socket in a folder of its own and reads from it until End. counting may be nil. It has to end before
// End.
func Listen(counting Counting) (*Gatherer, error) {
	dir := os.TempDir()
	if len(dir) > socketLength-32 {
		dir = "/tmp"
	}
	folder, err := scratch.NewFolder(dir)
	if err != nil {
		return nil, fmt.Errorf("kernels: %w", err)
	}
	path := filepath.Join(folder.Path, socketName)
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		folder.Remove()
		return nil, fmt.Errorf("kernels: %w", err)
	}
	socket.SetReadBuffer(4 << 20) // what does not fit waits in the program
	g := &Gatherer{folder: folder, socket: socket, state: state{counting: counting}}
	g.reading.Go(g.read)
	return g, nil
}

// Env are the variables that a program needs to tell what CUPTI does. library is cg's (kernels.c), cupti NVIDIA's,
// channel the path of that of the program's checkpoints, "" for none.
func (g *Gatherer) Env(library, cupti, channel string) []string {
	return append(g.env(library, channel), "CUDA_INJECTION64_PATH="+library, "CG_KERNELS_CUPTI="+cupti)
}

// LaunchEnv are those that it needs to tell what it launches, without CUPTI. library is cg's (launches.c), preloaded
// what LD_PRELOAD names already. A space or a colon would end the library's name there (ld.so(8)): it gets another in
// the Gatherer's folder.
func (g *Gatherer) LaunchEnv(library, preloaded, channel string) ([]string, error) {
	if strings.ContainsAny(library, separators) {
		link := filepath.Join(g.folder.Path, "launches.so")
		if strings.ContainsAny(link, separators) {
			return nil, fmt.Errorf("LD_PRELOAD cannot name %s nor a link in %s, as both have a space or a colon: "+
				"set TMPDIR to a folder without", library, filepath.Dir(g.folder.Path))
		}
		if err := os.Symlink(library, link); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("kernels: %w", err)
		}
		library = link
	}
	g.launches = true
	if preloaded != "" {
		preloaded = ":" + preloaded
	}
	return append(g.env(library, channel), "LD_PRELOAD="+library+preloaded), nil
}

// separators are what is between the names in LD_PRELOAD.
const separators = " :"

func (g *Gatherer) env(library, channel string) []string {
	return []string{"NVTX_INJECTION64_PATH=" + library, "CG_KERNELS_CHANNEL=" + channel,
		"CG_KERNELS=" + filepath.Join(g.folder.Path, socketName)}
}

func (g *Gatherer) read() {
	datagram := make([]byte, 1<<16)
	for {
		n, err := g.socket.Read(datagram)
		if errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		if err != nil {
			continue
		}
		g.mu.Lock()
		g.state.take(datagram[:n])
		g.mu.Unlock()
	}
}

// drained is how long End waits for what is still in the socket.
const drained = 20 * time.Millisecond

// End reads what has been sent, and gives the log; the second time nil. Programs that go on are told nothing: what
// they send is lost.
func (g *Gatherer) End() *Log {
	if g.folder == nil {
		return nil
	}
	g.socket.SetReadDeadline(time.Now().Add(drained))
	g.reading.Wait()
	g.socket.Close()
	g.folder.Remove()
	g.folder = nil
	l := g.state.log()
	l.NoCUPTI, l.Launches = g.NoCUPTI, g.launches
	return l
}

// longestName is the length of a demangled name from which on it is cut, as a power of two: a short name may stand for
// one of gigabytes.
const longestName = 14

// name is that of a kernel as its source has it, without what the compiler adds.
func name(mangled string) string {
	return demangle.Filter(mangled, demangle.NoClones, demangle.MaxLength(longestName))
}
