package python

import (
	"slices"
	"strings"
	"testing"

	"cg/long"
)

// A frame that waits for one with checkpoints stays below it: what that one
// uses is inclusive in it. They leave the thread together and come back
// together, the innermost first and last. One that waits for what has none
// leaves at once.
func TestAwaitChains(t *testing.T) {
	long.Skip(t, "")
	const begin = `
import asyncio, sys, types

@types.coroutine
def away():
    yield

class Plain:  # without checkpoints: made by exec
    exec("async def __aenter__(self): await away()\nasync def __aexit__(self, *e): await away()", globals(), locals())

exec("async def foreign(x): return await x")

def drive(c, *steps):
    try:
        c.send(None)
        for s in steps:
            c.throw(s) if isinstance(s, BaseException) else c.send(s)
    except (StopIteration, KeyError):
        pass
`
	for _, c := range []struct{ name, program, want string }{
		{"a chain", `
async def leaf(): await away()
async def mid(): await leaf()
async def top(): await mid()
drive(top(), None)
`, `enter top, enter mid, enter leaf, enter away, suspend away, suspend leaf, suspend mid, suspend top,
	resume top, resume mid, resume leaf, resume away, exit away, exit leaf, exit mid, exit top`},
		{"twice, in a generator's delegation", `
def inner():
    yield 1
    yield 2
def outer(): yield from inner()
list(outer())
`, `enter outer, enter inner, suspend inner, suspend outer, resume outer, resume inner, suspend inner, suspend outer,
	resume outer, resume inner, exit inner, exit outer`},
		{"an iterator is not waited for", `
def gen(): yield 1
def outer():
    for x in gen(): yield x
list(outer())
`, `enter outer, enter gen, suspend gen, suspend outer, resume outer, resume gen, exit gen, exit outer`},
		{"code without checkpoints", `
async def leaf(): await away()
async def top(): await foreign(leaf())
drive(top(), None)
`, `enter top, suspend top, enter leaf, enter away, suspend away, suspend leaf, resume leaf, resume away, exit away, exit leaf, resume top, exit top`},
		{"an exception that nobody meets", `
async def leaf(): await away()
async def top(): await leaf()
drive(top(), KeyError())
`, `enter top, enter leaf, enter away, suspend away, suspend leaf, suspend top, close away, close leaf, close top`},
		{"an exception that the outer one meets", `
async def leaf(): await away()
async def top():
    try:
        await leaf()
    except KeyError:
        await leaf()
drive(top(), KeyError(), None)
`, `enter top, enter leaf, enter away, suspend away, suspend leaf, suspend top, close away, close leaf, resume top,
	enter leaf, enter away, suspend away, suspend leaf, suspend top, resume top, resume leaf, resume away, exit away, exit leaf, exit top`},
		{"an exception that the inner one meets", `
async def leaf():
    try:
        await away()
    finally:
        pass
async def top(): await leaf()
drive(top(), KeyError())
`, `enter top, enter leaf, enter away, suspend away, suspend leaf, suspend top, close away, resume top, resume leaf, exit leaf, exit top`},
		{"an asynchronous generator", `
async def values():
    yield 1
    await away()
    yield 2
async def top():
    async for x in values(): pass
drive(top(), None)
`, `enter top, enter values, suspend values, unwind top, resume values, enter away, suspend away, suspend values, suspend top,
	resume top, resume values, resume away, exit away, suspend values, unwind top, resume values, exit values, unwind top, exit top`},
		{"a manager, and one without checkpoints", `
class Own:
    async def __aenter__(self): await away()
    async def __aexit__(self, *e): pass
async def top():
    async with Own():
        async with Plain(): pass
drive(top(), None, None, None)
`, `enter top, enter Own.__aenter__, enter away, suspend away, suspend Own.__aenter__, suspend top,
	resume top, resume Own.__aenter__, resume away, exit away, exit Own.__aenter__,
	suspend top, enter away, suspend away, resume away, exit away, resume top, unwind top, suspend top, enter away, suspend away, resume away, exit away, resume top,
	unwind top, enter Own.__aexit__, exit Own.__aexit__, unwind top, exit top`},
	} {
		dir := write(t, map[string]string{"main.py": begin + c.program})
		want := strings.FieldsFunc(strings.Join(strings.Fields(c.want), " "), func(r rune) bool { return r == ',' })
		for i := range want {
			want[i] = strings.TrimSpace(want[i])
		}
		for _, python := range pythons(t) {
			for mode, options := range map[string][]option{"native": nil, "pure": {pure}} {
				r := measured(t, dir, python, []string{"main.py"}, options...)
				var got []string
				for _, e := range r.Events {
					kind, name, _ := strings.Cut(e, " ")
					if name = strings.TrimPrefix(name, "__main__."); name != "<module>" && name != "drive" {
						got = append(got, kind+" "+name)
					}
				}
				if minor(python) == 8 && c.name == "an exception that the inner one meets" {
					continue // there the outer frame is not below one that is thrown into
				}
				if r.Stderr != "" || !slices.Equal(got, want) {
					t.Errorf("%s, %s %s:\n%s\nwant\n%s\n%s", c.name, version(python), mode, strings.Join(got, ", "), strings.Join(want, ", "), r.Stderr)
				}
			}
		}
	}
}
