// Scenarios are programs that are measured in a way each: the first argument
// says which. OUT names the file.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"codegreen"
)

// spin computes until its thread has used so much processor time, however many others the processors run.
func spin(ms int) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := func() time.Duration {
		var u syscall.Rusage
		syscall.Getrusage(1, &u) // RUSAGE_THREAD, getrusage(2)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	for until := used() + time.Duration(ms)*time.Millisecond; used() < until; {
	}
}

var in = bufio.NewReader(os.Stdin)

// ready says so and waits for a line.
func ready() {
	fmt.Println("ready")
	in.ReadString('\n')
}

func start(options ...codegreen.Option) *codegreen.Session {
	if out := os.Getenv("OUT"); out != "" {
		options = append(options, codegreen.Output(out))
	}
	s, err := codegreen.Start("scenario", options...)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	return s
}

func main() {
	ctx := context.Background()
	switch os.Args[1] {
	case "shares":
		s := start()
		_, busy := s.Task(ctx, "busy")
		spin(400)
		busy.End()
		_, waits := s.Task(ctx, "waits")
		time.Sleep(400 * time.Millisecond)
		waits.End()
		fmt.Println("shares:", busy.ProgramEnergyJ() <= busy.EnergyJ(), math.IsNaN(waits.ProgramEnergyJ()))
		s.Close()
	case "units":
		s := start()
		inside, all := s.Task(ctx, "all")
		_, t := s.Task(inside, "generate")
		spin(60)
		t.Count(300, "token")
		t.Count(100, "token")
		t.Count(2, "request")
		t.End()
		all.Count(3, "request")
		fmt.Println("none:", all.Count(0, "token"))
		fmt.Println("not a number:", all.Count(math.NaN(), "token"))
		fmt.Println("no word:", all.Count(1, "a b"))
		all.End()
		fmt.Println("counted:", all.Units())
		s.Close()
	case "nested":
		s := start()
		inA, a := s.Task(ctx, "a")
		inB, b := s.Task(inA, "b")
		s.Do(inB, "c", func(context.Context) { spin(30) })
		fmt.Println("b:", b.End())
		_, d := s.Task(inA, "d, \"quoted\"")
		d.End()
		fmt.Println("a:", a.End(), "again:", a.End())
		fmt.Println("energy:", a.EnergyJ() > 0, a.EnergyJ() >= b.EnergyJ(), a.Duration() >= b.Duration())
		fmt.Println("close:", s.Close(), s.Close())
		_, e := s.Task(ctx, "after the end")
		fmt.Println("after:", e.Name() == "", e.End())
	case "formula":
		s := start()
		for _, name := range []string{"=1+1", "-5", "a\x1b[2J\nb;@x", "\t+1"} {
			s.Do(ctx, name, func(context.Context) {})
		}
		fmt.Println("close:", s.Close())
	case "requests": // without end, or so many
		for n := 0; len(os.Args) < 3 || os.Args[2] != fmt.Sprint(n); n++ {
			end := codegreen.AnnotateRequest("GET /dear")
			spin(60)
			end()
			end()
			cheap := codegreen.AnnotateRequest("GET /cheap")
			spin(20)
			cheap()
		}
	case "flood":
		for range 50_000 {
			codegreen.AnnotateRequest("GET /flood")()
		}
		fmt.Println("dropped:", codegreen.DroppedAnnotations())
	case "overlap":
		s := start()
		var all sync.WaitGroup
		for i, name := range []string{"one", "two", "three"} {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 20 * time.Millisecond)
				in, t := s.Task(ctx, name)
				defer t.End()
				_, inner := s.Task(in, "inside "+name)
				spin(60)
				inner.End()
			})
		}
		all.Wait()
		s.Close()
	case "many":
		s := start(codegreen.TimeSeries())
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				for range 5 {
					in, t := s.Task(ctx, "outer")
					time.Sleep(time.Millisecond)
					_, inner := s.Task(in, "inner")
					time.Sleep(time.Millisecond)
					inner.End()
					t.End()
				}
			})
		}
		all.Wait()
		s.Close()
	case "forgotten":
		s := start()
		_, done := s.Task(ctx, "done")
		done.End()
		in, _ := s.Task(ctx, "open")
		s.Task(in, "inside open")
		spin(20)
		codegreen.Exit(3)
	case "mismatch":
		s := start()
		in, outer := s.Task(ctx, "outer")
		_, inner := s.Task(in, "inner")
		fmt.Println(outer.End())
		inner.End()
		fmt.Println("outer:", outer.End())
		s.Close()
	case "closing":
		s := start()
		for range 3000 {
			_, t := s.Task(ctx, "t")
			t.End()
		}
		ready()
		s.Close()
		select {}
	case "unwind":
		s := start()
		func() {
			defer func() { recover() }()
			s.Do(ctx, "outer", func(in context.Context) {
				s.Task(in, "inner")
				panic("out")
			})
		}()
		s.Close()
	case "signal":
		s := start()
		_, t := s.Task(ctx, "waiting")
		ready()
		t.End()
		s.Close()
	case "sidecar":
		s := start()
		_, before := s.Task(ctx, "before")
		spin(50)
		before.End()
		fmt.Println("energy:", before.EnergyJ() > 0)
		_, t := s.Task(ctx, "killed")
		ready()
		spin(30)
		t.End()
		s.Close()
	case "gauges":
		s := start(codegreen.Gauges("cpu-util", "cpu-clock", "hwmon", "nvml-temp"), codegreen.GaugeInterval(100*time.Millisecond), codegreen.TimeSeries())
		s.Do(ctx, "long", func(context.Context) { time.Sleep(700 * time.Millisecond) })
		s.Do(ctx, "short", func(context.Context) {})
		s.Close()
		_, err := codegreen.Start("no name", codegreen.Gauges(""))
		fmt.Println("no name:", err)
		_, err = codegreen.Start("period", codegreen.GaugeInterval(99*time.Millisecond))
		fmt.Println("period:", err)
	case "series":
		s := start(codegreen.TimeSeries(), codegreen.SampleInterval(2*time.Millisecond), codegreen.Buffer(1000))
		in, t := s.Task(ctx, "long")
		time.Sleep(700 * time.Millisecond)
		_, inner := s.Task(in, "inner")
		time.Sleep(100 * time.Millisecond)
		inner.End()
		t.End()
		_, short := s.Task(ctx, "short")
		short.End()
		fmt.Println("noise:", t.Noise() != nil)
		if path := os.Getenv("PLOT"); path != "" {
			fmt.Println("plot:", s.ExportPlot(path))
		}
		s.Close()
	case "second":
		s := start()
		_, err := codegreen.Start("other")
		fmt.Println(errors.Is(err, codegreen.ErrActive), err)
		s.Close()
		for _, o := range []codegreen.Option{codegreen.Format("xml"), codegreen.Buffer(3), codegreen.SampleInterval(time.Nanosecond)} {
			nobody, err := codegreen.Start("wrong", o)
			_, t := nobody.Task(ctx, "of nobody")
			fmt.Println(err, t.End(), nobody.Close())
		}
		second := start()
		fmt.Println("second:", second != nil)
		second.Close()
	case "bench":
		s := start(codegreen.WithoutFile(), codegreen.WithoutConcurrentWarning())
		best := time.Duration(1 << 62)
		for range 30 {
			began := time.Now()
			for range 10000 {
				_, t := s.Task(ctx, "a")
				t.End()
			}
			best = min(best, time.Since(began))
		}
		fmt.Printf("%d ns a pair\n", best.Nanoseconds()/10000)
		s.Close()
	case "hold":
		s := start(codegreen.WithoutFile())
		ready()
		s.Close()
	}
}
