package python

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// placesProgram has kinds of code in which frames leave and come back. A comment "= N" says how often a line is come
// to where a trace function sees it another number of times: when a frame goes on, it comes to its line again, and an
// exception comes back to no with.
const placesProgram = `from contextlib import suppress
from types import coroutine

@coroutine
def pause():  # = 1
    yield  # = 12

def fib(n):
    if n < 2:
        return n
    a = fib(n - 1)
    b = fib(n - 2)
    return a + b

def swallows():
    with suppress(KeyError):  # = 1
        yield 1  # = 1
    for i in range(2):
        yield i  # = 4

def caller():
    it = swallows()
    a = next(it)
    b = it.throw(KeyError)
    c = list(it)
    return a, b, c

def forever():
    n = 0
    while True:  # = 1
        n += 1
        if n > 5:
            break
        else:
            if n:
                n += 0
            n += 0
    return n

async def numbers():
    for i in range(3):
        await pause()  # = 6
        yield i  # = 6

class Manager:  # = 1
    async def __aenter__(self):
        await pause()  # = 2

    async def __aexit__(self, *what):
        await pause()  # = 2
        return True

async def main():
    t = 0
    async for i in numbers():  # = 4
        t += i
        t += 1
    async with Manager():  # = 1
        t += 1
        raise KeyError
    with suppress(KeyError):  # = 1
        await pause()  # = 2
        raise KeyError
    return t

fib(12)
caller()
forever()
for _ in iter(main().__await__()):  # = 1
    pass
`

// tracing counts the line events of a trace function.
const tracing = `import json, sys
seen = {}
def trace(frame, event, arg):
    if frame.f_code.co_filename != "main.py":
        return None
    if event == "line":
        seen[frame.f_lineno] = seen.get(frame.f_lineno, 0) + 1
    return trace
code = compile(open("main.py").read(), "main.py", "exec")
sys.settrace(trace)
exec(code, {"__name__": "main"})
sys.settrace(None)
print(json.dumps(seen))
`

// TestPlaces: calls come to a line as often as a trace function sees it, whether frames leave, come back by an
// exception that is caught, or call themselves. The tree grows with the depth of calls and not with their number.
func TestPlaces(t *testing.T) {
	for _, python := range interpretersFrom(t, 10) {
		if purely(python) {
			continue
		}
		t.Run(version(python), func(t *testing.T) {
			dir := write(t, map[string]string{"main.py": placesProgram, "trace.py": tracing})
			var want map[string]uint64
			if err := json.Unmarshal([]byte(plainly(t, dir, python, "trace.py").Stdout), &want); err != nil {
				t.Fatal(err)
			}
			got := measured(t, dir, python, []string{"main.py"}, placing("line"), adding)
			for i, text := range strings.Split(placesProgram, "\n") {
				line := strconv.Itoa(i + 1)
				n, is := got.Places[fmt.Sprintf("line %s-%s", line, line)]
				wanted := want[line]
				if _, said, found := strings.Cut(text, "# = "); found {
					wanted, _ = strconv.ParseUint(said, 10, 64)
				}
				if is && n != wanted {
					t.Errorf("line %s: %d, want %d: %s", line, n, wanted, text)
				}
			}
			if len(got.Places) < 40 || got.Lost > 0 {
				t.Errorf("%d lines, %d events lost", len(got.Places), got.Lost)
			}
			if got.Nodes > 500 {
				t.Errorf("the tree has %d nodes", got.Nodes)
			}
			blocks := measured(t, dir, python, []string{"main.py"}, placing("block"), adding).Places
			for place, n := range map[string]uint64{
				"block 30-37": 6, "block 35-36": 5, "block 35-37": 10, // a loop, an if in an else, the else
				"block 41-43": 7, "block 55-57": 4, // for, async for
			} {
				if blocks[place] != n {
					t.Errorf("%s: %d, want %d; all: %v", place, blocks[place], n, blocks)
				}
			}
		})
	}
}
