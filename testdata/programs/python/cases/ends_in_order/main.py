# not saved: it ends its recording before the interpreter finalises
# What the interpreter finalises at its end comes in the order of a plain run, also in the
# first run, which adds the checkpoints: globals by module, what was left on sys and
# builtins, then cycles. The collector is off: it would end some cycles earlier, at a
# point that depends on how many objects there were before the program.
import gc

gc.disable()
import ast
import builtins
import sys
import threading
import weakref

import one
import two
from one import Kept

write = sys.stdout.write
alone = Kept("main", "global")
cycle = Kept("main", "cycle")
cycle.me = cycle
listed = []
for number in range(40):
    kept = two.Kept("main", "cycle %d" % number)
    kept.me = kept
    if number % 7 == 0:
        listed.append(kept)
local = threading.local()
local.kept = Kept("main", "local of a thread")


def late():
    import three

    global of_late
    of_late = three.Kept("main", "of a late import")


def suspended():
    yield Kept("main", "in a generator")
    yield Kept("main", "never made")


late()
generator = suspended()
first = next(generator)
tree = ast.parse("x = 1")
tree.kept = Kept("main", "on a syntax tree")
tree.me = tree
weak = weakref.WeakValueDictionary(alone=alone)
weakref.finalize(alone, write, "finalize\n")
one.given = Kept("main", "given to a module")
sys.kept = Kept("main", "on sys")
builtins.kept = Kept("main", "on builtins")
print("end")
