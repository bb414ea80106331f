package measure

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"cg/checkpoint"
	"cg/launcher"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute"
)

func TestParseID(t *testing.T) {
	for _, c := range []struct {
		id   string
		want blockPoint
		fail bool
	}{
		{id: "enter:main:1#inv_1_t7f", want: blockPoint{checkpoint.Enter, "main", 1, 0x7f}},
		{id: "exit:a.<lambda>:22#inv_3_t1", want: blockPoint{checkpoint.Exit, "a.<lambda>", 22, 1}},
		{id: "suspend:Größe:2", want: blockPoint{checkpoint.Suspend, "Größe", 2, 0}},
		{id: "exit:f:by hand#t5", want: blockPoint{checkpoint.Exit, "f", 0, 0}},
		{id: "resume:x", want: blockPoint{kind: checkpoint.Resume, name: "x"}},
		{id: "leave:x:1", fail: true},
		{id: "enter", fail: true},
		{id: "", fail: true},
	} {
		p, err := parseID(c.id)
		if (err != nil) != c.fail || !c.fail && p != c.want {
			t.Errorf("%q: %+v %v", c.id, p, err)
		}
	}
}

// A block of two functions in a series of 10 W, one sample every 10 ms.
func TestFromBlocks(t *testing.T) {
	const ms = 1_000_000
	var series nemb.Series
	series.Domains = []nemb.Domain{{ID: "package-0", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1}}
	for at := int64(0); at <= 1000*ms; at += 10 * ms {
		series.Samples = append(series.Samples, nemb.Sample{
			At: checkpoint.Tick(5 * at), Time: checkpoint.Instant(at + 7*ms), Energy: []nemb.Energy{nemb.Energy(at / 100)},
			Usage: account.Usage{Program: time.Duration(at)},
		})
	}
	var b Block
	text := `{"measurements": [
		{"checkpoint_id": "enter:m.f:1#inv_1_t1", "timestamp": 107000000, "joules": null, "watts": null},
		{"checkpoint_id": "enter:m.g:2#inv_1_t1", "timestamp": 307000000, "joules": 2.0, "watts": 10.0},
		{"checkpoint_id": "nonsense", "timestamp": 1},
		{"checkpoint_id": "exit:m.g:2#inv_1_t1", "timestamp": 807000000},
		{"checkpoint_id": "exit:m.f:1#inv_1_t1", "timestamp": 907000000}]}`
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		t.Fatal(err)
	}
	o := Outcome{Blocks: []Block{b}}
	o.fromBlocks(series, attribute.Result{})
	r, sites := o.Attributed, o.BlockSites
	if len(sites) != 2 || sites[0].Func != "m.f" || len(r.Costs) != 2 || !r.Total.Balanced() {
		t.Fatalf("%+v %+v", sites, r)
	}
	for _, c := range r.Costs {
		want := map[checkpoint.SiteID]nemb.Energy{1: 3_000_000, 2: 5_000_000}[c.Site]
		if d := int64(c.Self.Energy) - int64(want); d < -2 || d > 2 || c.Calls != 1 {
			t.Errorf("site %d: %d after %d calls, want %d", c.Site, c.Self.Energy, c.Calls, want)
		}
	}
}

// run measures a program without checkpoints of its own: launch, channel,
// sampler, attribution.
func run(t testing.TB, args ...string) *Outcome {
	channel, err := checkpoint.New(checkpoint.SystemClock(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer channel.Close()
	found, err := nemb.Discover(nemb.Root{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	account := account.New()
	defer account.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	o, err := Run(Config{
		Command: launcher.Cmd{Args: args, Stdin: null, Stdout: null, Stderr: null, Pty: launcher.Never},
		Sensors: found.Sensors, Account: account, Interval: 10 * time.Millisecond, Channel: channel,
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestRun(t *testing.T) {
	o := run(t, "sh", "-c", "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; exit 3")
	if o.Result.Status != 3 || !o.Attributed.Total.Balanced() || len(o.Series.Samples) < 2 {
		t.Errorf("%+v", o.Attributed)
	}
	used, said := o.Result.User+o.Result.System, o.Attributed.CPU
	if float64(said) < 0.99*float64(used) {
		t.Errorf("the account has %v, wait4 says %v", said, used)
	}
}

// A process that the program leaves running holds its output open; the run
// ends with the program all the same.
func TestEndOfRun(t *testing.T) {
	channel, err := checkpoint.New(checkpoint.SystemClock(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer channel.Close()
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	account := account.New()
	defer account.Close()
	begin := checkpoint.Monotime()
	o, err := Run(Config{
		Command:  launcher.Cmd{Args: []string{"sh", "-c", "sleep 3 & echo $!"}, Stdout: out, Stderr: out, Pty: launcher.Never},
		Account:  account,
		Interval: 10 * time.Millisecond, Channel: channel, Merge: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	whole := time.Duration(checkpoint.Monotime() - begin)
	if len(o.Result.Left) != 1 {
		t.Errorf("left running: %v", o.Result.Left)
	}
	for _, pid := range o.Result.Left {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	// The wait for the output is in one of the two, and not in the other.
	if 2*o.Attributed.Wall > whole {
		t.Errorf("the run took %v of %v", o.Attributed.Wall, whole)
	}
}

// BenchmarkStart is what measuring adds to the start and end of a program. The
// reference starts the same program plainly.
func BenchmarkStart(b *testing.B) {
	b.Run("measured", func(b *testing.B) {
		for range b.N {
			run(b, "true")
		}
	})
	b.Run("reference-plain", func(b *testing.B) {
		for range b.N {
			if err := exec.Command("true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkDrainAndAttribute reads full chunks of a program of 200 functions
// and attributes them: all that cg does for each event.
func BenchmarkDrainAndAttribute(b *testing.B) {
	const chunks, words = 64, 8184
	c, err := checkpoint.New(checkpoint.Monotonic, chunks)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	self := checkpoint.Thread{PID: uint32(os.Getpid()), TID: uint32(os.Getpid())}
	file, err := os.OpenFile(c.Path(), os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	a := attribute.New([]nemb.Domain{{ID: "package-0", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1}}, 2)
	tick := checkpoint.Monotonic.Now()
	a.Close(nemb.Sample{At: tick, Time: checkpoint.Instant(tick), Energy: []nemb.Energy{0}})
	var stack []checkpoint.SiteID
	seed := uint32(1)
	buf := make([]checkpoint.Word, words)
	total, first := 0, true
	for i := range b.N {
		b.StopTimer()
		for range chunks {
			offset, err := c.TakeChunk(checkpoint.Request{Thread: self, First: first})
			if err != nil {
				b.Fatal(err)
			}
			first = false
			for k := range buf {
				tick += 30
				seed = seed*1664525 + 1013904223
				if len(stack) == 0 || len(stack) < 8 && seed>>16&1 == 0 {
					site := checkpoint.SiteID(1)
					if len(stack) > 0 {
						site = (stack[len(stack)-1]*7+checkpoint.SiteID(seed>>20%3))%200 + 1
					}
					stack = append(stack, site)
					buf[k] = checkpoint.Pack(tick, checkpoint.Enter, site)
				} else {
					buf[k] = checkpoint.Pack(tick, checkpoint.Exit, stack[len(stack)-1])
					stack = stack[:len(stack)-1]
				}
			}
			if _, err := file.WriteAt(unsafe.Slice((*byte)(unsafe.Pointer(&buf[0])), 8*words), int64(offset)+64); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		done := 0
		for done < chunks*words {
			// The writer is alive and its chunks are not released: finish
			// them as at the end of a run.
			n := c.Finish(func(r checkpoint.Run) int { return a.Fold(r, tick+1, tick+1) })
			if n == 0 {
				b.Fatal(fmt.Sprint("stuck at ", done))
			}
			done += n
		}
		total += done
		a.Close(nemb.Sample{At: tick + 1, Time: checkpoint.Instant(tick + 1), Energy: []nemb.Energy{nemb.Energy(i)}, Usage: account.Usage{Program: time.Duration(tick)}})
	}
	b.ReportMetric(float64(total)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}
