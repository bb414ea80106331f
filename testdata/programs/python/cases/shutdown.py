# not saved: names vanish before the last calls
# While the interpreter shuts down, names vanish; checkpoints are no names.
import atexit
import sys
import weakref


class Late:
    def __init__(self, tag):
        self.tag = tag

    def __del__(self, write=sys.stdout.write):
        self.show(write)

    def show(self, write):
        write("del %s\n" % self.tag)


def called(ref, write=sys.stdout.write):
    write("weakref\n")


def last():
    print("atexit", helper())


def helper():
    return "helped"


def gen(write=sys.stdout.write):
    try:
        yield
    finally:
        write("generator finally\n")


atexit.register(last)
kept = Late("global")
cycle = Late("cycle")
cycle.me = cycle
sys.late = Late("in sys")
ref = weakref.ref(kept, called)
weakref.finalize(kept, lambda: print("finalize"))
suspended = gen()
next(suspended)
Late("now")
