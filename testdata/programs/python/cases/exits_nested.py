# SystemExit passes frames of every kind: in a thread it ends that thread alone,
# in a generator it ends the generator, in a task the loop, in a finally what
# else was on its way.
import asyncio
import atexit
import sys
import threading


def helper(x):
    return x


def leave(code):
    helper(code)
    sys.exit(code)


def gen():
    try:
        yield 1
        leave("in a generator")
        yield 2
    finally:
        print("generator finally")


def in_thread():
    try:
        helper(leave("in a thread"))
    finally:
        print("thread finally")


def nested():
    try:
        leave("first")
    except SystemExit as e:
        try:
            leave("second")
        finally:
            print("between", e.code)


def in_finally():
    try:
        1 / 0
    finally:
        leave("from finally")


class Quits:
    def __init__(self): leave("constructor")
    def __exit__(self, *e): leave("exit")
    def __enter__(self): return self
    def __bool__(self): leave("bool")
    def __call__(self): return [leave(x) for x in ("comprehension",)]


def with_exit():
    with Quits.__new__(Quits):
        raise KeyError("hidden")


async def task():
    try:
        await asyncio.sleep(0)
        leave("in a task")
    finally:
        print("task finally")


async def main():
    try:
        await asyncio.ensure_future(task())
    finally:
        print("main finally")


class QuitsAtExit:
    def __repr__(self): return "quits"

    def __call__(self):
        print("atexit", helper(1))
        leave(4)


t = threading.Thread(target=in_thread)
t.start()
t.join()
g = gen()
for f in (lambda: list(g), nested, in_finally, Quits, with_exit, lambda: not Quits.__new__(Quits), lambda: Quits.__new__(Quits)(),
          lambda: exit("site"), lambda: asyncio.run(main())):
    try:
        print(f())
    except SystemExit as e:
        print("left", e.code, repr(e.__context__))
print(list(g))
atexit.register(lambda: print("first registered"))
atexit.register(QuitsAtExit())
atexit.register(lambda: print("last registered"))
leave(5)
