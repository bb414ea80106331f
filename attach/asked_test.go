package attach

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cg/checkpoint"
)

// times is a stand-in for what /proc tells of a thread: whether it is ready, and how long it ran and waited.
type times struct {
	ready       bool
	ran, waited time.Duration
}

// asked is a sampler without perf events beside a thread whose account the returned function writes.
func asked(t *testing.T) (s *Sampler, l *lastRun, show func(times)) {
	dir := t.TempDir()
	s = &Sampler{config: Config{Clock: checkpoint.SystemClock()}, sites: newSites()}
	var path []checkpoint.SiteID
	for _, name := range []string{"main", "draw"} {
		path = append(path, s.sites.number(checkpoint.Site{Func: name, Kind: checkpoint.Function}))
	}
	syscall, schedstat := filepath.Join(dir, "syscall"), filepath.Join(dir, "schedstat")
	l = &lastRun{path: path, kernel: &kernel{thread: &thread{ready: file{fd: -1, path: syscall},
		times: file{fd: -1, path: schedstat}}}}
	return s, l, func(a times) {
		state := "running\n"
		if !a.ready {
			state = "230 0x0 0x0 0x7ffc 0x0 0x0 0x0 0x7ffc 0x7f00\n"
		}
		for name, text := range map[string]string{syscall: state, schedstat: fmt.Sprintln(int64(a.ran), int64(a.waited), 1)} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// said is what looks say, one after the other.
func said(s *Sampler, looks []*Look) string {
	var all []string
	for _, l := range looks {
		word := "ran"
		if l.Waiting {
			word = "waited"
		}
		if l.open || l.inside && !l.placed {
			word = "open"
		}
		names := []string{}
		for _, id := range l.Path {
			names = append(names, s.sites.list()[id-1].Func)
		}
		all = append(all, word+" "+strings.Join(names, ">"))
	}
	return strings.Join(all, "; ")
}

// What a thread does between two samples is told without them, as where the kernel permits perf no samples of its own
// time: it runs in the kernel, waits for a processor, or waits.
func TestAskedWithoutSamples(t *testing.T) {
	const ms = checkpoint.Instant(time.Millisecond)
	for _, test := range []struct {
		name   string
		after  func(n int) times // n ms
		looks  int               // one a millisecond
		resume string            // of main and which function a sample comes then
		want   string
	}{
		{"it runs in the kernel", func(n int) times { return times{true, time.Duration(n) * time.Millisecond, 0} }, 3,
			"other", "ran main>[kernel]; ran main>[kernel]; ran main>[kernel]"},
		{"it runs in the kernel, maybe in another function between two calls of one", func(n int) times {
			return times{true, time.Duration(n) * time.Millisecond, 0}
		}, 2, "draw", "ran main>[kernel]; ran main>[kernel]"},
		{"it waits for a processor", func(n int) times { // which is told once it has one
			return times{true, 0, time.Duration(n/3*3) * time.Millisecond}
		}, 3, "other", "waited main>[kernel]; waited main>[kernel]; waited main>[kernel]"},
		{"nothing is known yet", func(int) times { return times{ready: true} }, 2, "",
			"open [kernel]; open [kernel]"},
		{"it sleeps, and is not asked each time", func(int) times { return times{} }, 40, "",
			"waited main>draw"},
		{"it never leaves the kernel", func(n int) times { return times{true, time.Duration(n) * time.Millisecond, 0} },
			102, "", strings.Repeat("ran [kernel]; ", 101) + "open [kernel]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, l, show := asked(t)
			thread := checkpoint.Thread{PID: 7, TID: 8}
			var looks []*Look
			now := checkpoint.Instant(0)
			for n := range test.looks {
				show(test.after(n))
				now = checkpoint.Instant(1+n) * ms
				if look := s.askKernel(thread, l, now, checkpoint.Tick(now)); look != nil {
					looks = append(looks, look)
				}
			}
			if test.resume != "" {
				show(test.after(test.looks))
				other := s.sites.number(checkpoint.Site{Func: test.resume, Kind: checkpoint.Function})
				if !l.kernel.resume(now+ms, l.path, []checkpoint.SiteID{l.path[0], other}) {
					t.Error("it did not run until the sample")
				}
			}
			if got := said(s, looks); got != test.want {
				t.Errorf("%s\nwant %s", got, test.want)
			}
		})
	}
}

// A thread that sleeps is asked after pauses that double up to longestWait.
func TestPausesBetweenQuestions(t *testing.T) {
	s, l, show := asked(t)
	show(times{})
	var questions []int
	for n := range 80 {
		next := l.kernel.next
		s.askKernel(checkpoint.Thread{PID: 7, TID: 8}, l, checkpoint.Instant(n)*1e6, 1)
		if l.kernel.next != next {
			questions = append(questions, n)
		}
	}
	if got := fmt.Sprint(questions); got != "[0 1 3 7 15 31 47 63 79]" {
		t.Errorf("asked after %s ms", got)
	}
}
