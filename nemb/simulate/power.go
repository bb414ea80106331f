package simulate

import (
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Power is what a counter counts, as its integral: Energy returns the joules
// from instant 0 to t, exactly. It never decreases.
type Power interface {
	Energy(t time.Duration) float64
}

// Ramp is a power that goes from one to another in a time, over and over; the
// other way round in every second turn.
type Ramp struct {
	From, To float64 // watts
	Length   time.Duration
}

// Energy implements Power.
func (r Ramp) Energy(t time.Duration) float64 {
	if t <= 0 || r.Length <= 0 {
		return 0
	}
	turns := math.Floor(float64(t) / float64(r.Length))
	part := float64(t)/float64(r.Length) - turns
	from, to := r.From, r.To
	if math.Mod(turns, 2) == 1 {
		from, to = to, from
	}
	return r.Length.Seconds() * (turns*(r.From+r.To)/2 + part*(from+part*(to-from)/2))
}

// Sine swings around a mean. The amplitude is at most the mean.
type Sine struct {
	Mean, Amplitude float64 // watts
	Hz              float64
}

// Energy implements Power.
func (s Sine) Energy(t time.Duration) float64 {
	if t <= 0 || s.Hz <= 0 {
		return 0
	}
	w := 2 * math.Pi * s.Hz
	return s.Mean*t.Seconds() + s.Amplitude*(1-math.Cos(w*t.Seconds()))/w
}

// Sum adds powers up.
type Sum []Power

// Energy implements Power.
func (s Sum) Energy(t time.Duration) float64 {
	sum := 0.0
	for _, p := range s {
		sum += p.Energy(t)
	}
	return sum
}

// Busy is a power in proportion to real processor time: Idle watts always and
// PerCPU watts for each processor in use. Unlike all others it is no function
// of time alone: it is asked for the present, and an instant that has passed
// gets what it got when it was the present. Processor time is read at most
// once in a millisecond.
type Busy struct {
	Idle, PerCPU float64              // watts
	Used         func() time.Duration // such as HostTime, or ProcessTime of a process

	mu     sync.Mutex
	begun  bool
	origin time.Duration
	at     []time.Duration // ascending
	cpu    []time.Duration
}

// Energy implements Power.
func (b *Busy) Energy(t time.Duration) float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.at); n == 0 || t >= b.at[n-1]+time.Millisecond {
		used := b.Used()
		if !b.begun {
			b.begun, b.origin = true, used
		}
		used -= b.origin
		if n > 0 {
			used = max(used, b.cpu[n-1])
		}
		b.at, b.cpu = append(b.at, t), append(b.cpu, used)
		if len(b.at) > 1<<12 {
			b.at, b.cpu = append([]time.Duration(nil), b.at[1<<11:]...), append([]time.Duration(nil), b.cpu[1<<11:]...)
		}
	}
	i := len(b.at) - 1
	for i > 0 && b.at[i] > t {
		i--
	}
	return b.Idle*max(0, t.Seconds()) + b.PerCPU*b.cpu[i].Seconds()
}

// HostTime is the time that all processors together were in use since the
// machine started (/proc/stat, proc(5), in ticks of 10 ms).
func HostTime() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(first)
	var sum int64
	for _, i := range []int{1, 2, 3, 6, 7} { // user, nice, system, irq, softirq
		if i < len(fields) {
			v, _ := strconv.ParseInt(fields[i], 10, 64)
			sum += v
		}
	}
	return time.Duration(sum) * 10 * time.Millisecond
}

// ProcessTime returns what tells the processor time of a process, in ns, its
// threads included and its children not (clock_getcpuclockid(3)); once the
// process has ended, what it reported last.
func ProcessTime(pid int) func() time.Duration {
	var last time.Duration
	return func() time.Duration {
		var ts unix.Timespec
		if unix.ClockGettime(int32(^pid<<3|2), &ts) == nil {
			last = time.Duration(ts.Nano())
		}
		return last
	}
}
