# needs 3.11
# not saved: its lines move
# not pure: checkpoints in Python are traced like any Python
# A debugger steps from line to line of what was written and nowhere else.
import bdb
import io
import os
import pdb
import sys


def inner(x):
    y = x + 1
    return y


def outer(n):
    """Documented."""
    total = 0
    for i in range(n):
        total += inner(i)
    try:
        total /= 0
    except ZeroDivisionError:
        total = -1
    finally:
        total *= 2
    return total


def gen():
    x = yield 1
    yield from (a for a in [x])


class Shape:
    def area(self): return self.side

    @property
    def side(self):
        return (lambda: 3)()


def main():
    print(outer(2))
    g = gen()
    print(next(g), list(g))
    print(Shape().area())
    with open(os.devnull) as f:
        f.read()
    return 5


def scripted(what, *commands):
    out = io.StringIO()
    p = pdb.Pdb(stdin=io.StringIO("\n".join(commands) + "\n"), stdout=out, nosigint=True, readrc=False)
    p.use_rawinput = False
    p.prompt = "> "
    try:
        p.runcall(what)
    except bdb.BdbQuit:
        print("quit", file=out)
    print(out.getvalue().replace(os.path.dirname(os.path.abspath(__file__)), "DIR"))


class Recorder(bdb.Bdb):
    def user_call(self, frame, args): self.note("call", frame)
    def user_line(self, frame): self.note("line", frame)
    def user_return(self, frame, value): self.note("return", frame, value)
    def user_exception(self, frame, info): self.note("exception", frame, info[0].__name__)

    def note(self, what, frame, *more):
        if frame.f_code.co_filename == __file__:
            print(what, frame.f_code.co_name, frame.f_lineno, *map(repr, more))
        self.set_step()


scripted(main, *["step"] * 60, "quit")
scripted(main, *["next"] * 12, "continue")
scripted(main, "break inner", "continue", "where", "args", "p x", "next", "p y", "display y", "next", "return", "up", "p total", "list", "until", "tbreak gen", "clear 1", "continue", "next", "step", "longlist", "return", "jump 1", "quit")
scripted(main, "break outer", "continue", "next", "next", "jump 19", "p total", "whatis outer", "source Shape", "interact" if False else "pp locals()", "continue")
scripted(main, "break inner, x == 1", "commands", "p 'hit', x", "end", "continue", "continue")
Recorder().runcall(main)
try:
    pdb.Pdb(stdin=io.StringIO(), stdout=sys.stdout, nosigint=True, readrc=False).run("print(outer(1))", {"outer": outer})
except bdb.BdbQuit:
    print("end of input")
