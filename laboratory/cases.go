package laboratory

import "time"

// Cases are the rows of the table in docs/accuracy.md: each differs in one thing or two from the first.
func Cases() (all []Case) {
	const ms = time.Millisecond
	machine := Machine{Idle: 4}
	add := func(name, language string, every time.Duration, p Program, m Machine) *Case {
		if p.Length == 0 {
			p.Length = 3 * time.Second
		}
		all = append(all, Case{Name: name, Language: language, Program: p, Machine: m, Every: every,
			Baseline: time.Second})
		return &all[len(all)-1]
	}
	five := Program{Functions: 5, Mean: 5 * ms}
	for _, language := range Languages() {
		add("five, 5 ms", language, ms, five, machine)
	}
	add("five, 50 us", "c", ms, Program{Functions: 5, Mean: ms / 20}, machine)
	add("five, 0.5 ms", "c", ms, Program{Functions: 5, Mean: ms / 2}, machine)
	add("five, 0.5 ms", "c", 10*ms, Program{Functions: 5, Mean: ms / 2}, machine)
	add("five, 0.5 ms", "python", 10*ms, Program{Functions: 5, Mean: ms / 2}, machine)
	add("two, 1 s", "c", 10*ms, Program{Functions: 2, Mean: time.Second, Strict: true,
		Length: 6 * time.Second}, machine)
	add("two, 5 s", "c", 100*ms, Program{Functions: 2, Mean: 5 * time.Second, Strict: true,
		Length: 9 * time.Second}, machine)
	add("call trees, 2 ms", "python", ms, Program{Functions: 6, Mean: 2 * ms, Nested: true}, machine)
	add("one for two callers, 5 ms", "python", ms, Program{Functions: 3, Mean: 5 * ms,
		Callers: []float64{20, 5}}, machine)
	add("one that sleeps 10 ms", "python", ms, Program{Functions: 3, Mean: 5 * ms, Waits: 10 * ms}, machine)
	add("noise 10 %", "c", ms, Program{Functions: 5, Mean: 5 * ms, Noise: 0.1}, machine)
	add("power rising by half", "c", ms, Program{Functions: 5, Mean: 5 * ms, Drift: 0.5}, machine)
	for _, language := range []string{"cpp", "go", "java", "python"} {
		add("two threads", language, ms, Program{Functions: 3, Mean: 5 * ms, Threads: 2,
			Length: 2 * time.Second}, machine)
	}
	add("two processes", "python", ms, Program{Functions: 3, Mean: 5 * ms, Processes: 2,
		Length: 2 * time.Second}, machine)
	add("two processes on two sockets", "c", ms, Program{Functions: 3, Mean: 5 * ms, Processes: 2,
		Length: 2 * time.Second},
		Machine{Idle: 4, Sockets: 2})
	add("eight sockets", "c", 10*ms, five, Machine{Idle: 4, Sockets: 8})
	add("counter low-passed, 5 ms", "c", ms, five, Machine{Idle: 4, Filter: 5 * ms})
	addNeighbours(add, five)
	add("two frequencies, 300 ms", "c", ms, five, Machine{Idle: 4, Clocks: 300 * ms})
	add("a big and a little core", "c", ms, Program{Functions: 3, Mean: 5 * ms, Processes: 2,
		Length: 2 * time.Second}, Machine{Idle: 4, Little: true})
	add("a quota of half a processor", "c", ms, five, machine).Quota = 0.5
	add("idle power not measured", "c", ms, five, machine).Baseline = 0
	add("waits for its processor", "c", ms, five, machine).Waiting = true
	for _, language := range []string{"c", "python"} {
		add("five, 5 ms, stack samples", language, ms, Program{Functions: 5, Mean: 5 * ms, Computes: true},
			machine).Sampled = true
	}
	add("estimate, five, 0.5 ms", "python", 10*ms, Program{Functions: 5, Mean: ms / 2}, Machine{}).Estimate = true
	add("estimate, five, 5 ms", "java", 10*ms, five, Machine{}).Estimate = true
	return all
}

// addNeighbours adds the rows of a neighbour that runs in bursts of 60 ms. /proc/stat tells its time in ticks of 10 ms.
func addNeighbours(add func(name, language string, every time.Duration, p Program, m Machine) *Case, five Program) {
	const ms = time.Millisecond
	const ticks = "the neighbour's power: its time is told in ticks of 10 ms, and 3 s may not show it"
	bursts := Neighbour{Watts: 16, Busy: 60 * ms, Quiet: 60 * ms}
	later := bursts
	later.After = 1500 * ms
	long := five
	long.Length = 12 * time.Second
	add("neighbour of 16 W in bursts", "c", 10*ms, five, Machine{Idle: 4, Neighbour: bursts}).Unknown = ticks
	dear := bursts
	dear.Watts = 40
	add("neighbour of 40 W in bursts", "c", 10*ms, five, Machine{Idle: 4, Neighbour: dear}).Unknown =
		"idle power: it is measured beside the neighbour"
	add("neighbour of 16 W, idle before", "c", 10*ms, five, Machine{Idle: 4, Neighbour: later}).Unknown = ticks
	add("neighbour of 16 W, idle before, 12 s", "c", 10*ms, long, Machine{Idle: 4, Neighbour: later})
	add("neighbour on the same core", "c", 10*ms, five,
		Machine{Idle: 4, Siblings: true, Neighbour: later}).Unknown = ticks
}
