package python

import (
	"maps"
	"os/exec"
	"strings"
	"testing"

	"cg/checkpoint"
	"cg/instrument"
	"cg/languages"
)

// budget lets checkpoints take only a part of the program's time.
func budget(part float64) option {
	return func(_ *languages.Setup, s *instrument.Server, _ *int) {
		if s.Channel != nil {
			s.Channel.SetBudget(part)
		}
	}
}

// Frames that leave their threads, threads, exceptions and recursion, with many calls each.
const budgetProgram = `
import asyncio, threading

def leaf(n):
    return n + 1

def numbers(n):
    for i in range(n):
        yield leaf(i)

def through(n):
    yield from numbers(n)

def fails(n):
    if n == 0:
        raise ValueError
    fails(n - 1)

def caught(n):
    try:
        fails(n)
    except ValueError:
        leaf(n)

class Turn:
    def __await__(self):
        yield

async def step(n):
    leaf(n)
    await Turn()
    return leaf(n)

async def steps(n):
    for i in range(n):
        await step(i)

async def values(n):
    for i in range(n):
        yield leaf(i)

async def both(n):
    async for v in values(n):
        leaf(v)

def drive(*routines):
    left = list(routines)
    while left:
        for r in list(left):
            try:
                r.send(None)
            except StopIteration:
                left.remove(r)

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def thread(n):
    for i in range(n):
        leaf(i)
    sum(through(n))
    fib(14)

def main():
    threads = [threading.Thread(target=thread, args=(2000,)) for _ in range(4)]
    for t in threads:
        t.start()
    for i in range(300):
        caught(i % 7)
    drive(*(steps(300) for _ in range(5)))
    drive(both(1500))
    unfinished = numbers(10)
    next(unfinished)
    unfinished.close()
    for t in threads:
        t.join()

for _ in range(3):
    main()
`

// With a budget each call and each frame that leaves its thread is counted all the same,
// in threads, generators and coroutines.
func TestBudgetCountsEachCall(t *testing.T) {
	dir := write(t, map[string]string{"x.py": budgetProgram})
	for _, python := range pythons(t) {
		if purely(python) {
			continue
		}
		t.Run(version(python), func(t *testing.T) {
			each := measured(t, dir, python, []string{"x.py"}, adding)
			some := measured(t, dir, python, []string{"x.py"}, adding, budget(0.001))
			same(t, each, some)
			if each.Counted != 0 || some.Counted < 50_000 || some.Lost > 0 || len(each.Sums) < 14 {
				t.Errorf("%d and %d intervals are counted, %d events lost, %d functions", each.Counted, some.Counted,
					some.Lost, len(each.Sums))
			}
			if !maps.Equal(each.Sums, some.Sums) {
				t.Errorf("calls with a budget:\n%v\nwant\n%v", some.Sums, each.Sums)
			}
		})
	}
}

// The cost of an event is measured by a function of Python, with what the interpreter does
// to come to a checkpoint, and without one where that fails.
func TestCostIsMeasuredInPython(t *testing.T) {
	const program = `
import sys
from importlib import machinery, util
loader = machinery.ExtensionFileLoader("cgprobe", sys.argv[1])
module = util.module_from_spec(machinery.ModuleSpec("cgprobe", loader, origin=sys.argv[1]))
loader.exec_module(module)
calls = []
def batch(enter, leave):
    calls.append((int(enter.__index__()), int(leave.__index__())))
    if len(sys.argv) > 3:
        raise KeyError
    for _ in range(128):
        -enter; -leave
print(module.open(sys.argv[2], batch), len(calls), set(calls) == {(1, (1 << 21) + 1)})
begin = module.checkpoint(1)
-begin
`
	dir := write(t, map[string]string{"x.py": program})
	for _, python := range pythons(t) {
		if purely(python) {
			continue
		}
		for _, c := range []struct{ fails, want string }{{"", "True 32 True\n"}, {"fails", "True 1 True\n"}} {
			channel, err := checkpoint.New(checkpoint.SystemClock(), 0)
			if err != nil {
				t.Fatal(err)
			}
			channel.SetBudget(0.1)
			args := []string{"x.py", compiled(t, t.TempDir()).Path, channel.Path()}
			if c.fails != "" {
				args = append(args, c.fails)
			}
			cmd := exec.Command(python, args...)
			cmd.Dir = dir
			got := execute(t, cmd)
			cost := 0.0
			channel.Finish(func(r checkpoint.Run) int {
				cost = r.Cost
				return len(r.Tally.Windows)
			})
			channel.Close()
			if got.Stdout != c.want || cost <= 0 {
				t.Errorf("%s %s: %q, an event costs %g ticks\n%s", version(python), c.fails, got.Stdout, cost,
					strings.TrimSpace(got.Stderr))
			}
		}
	}
}
