import sys


class Kept:
    def __init__(self, where, name, write=sys.stdout.write):
        self.where, self.name, self.write = where, name, write

    def __del__(self):
        self.write("%s: %s\n" % (self.where, self.name))


kept = Kept(__name__, "global")
_kept = Kept(__name__, "global with an underscore")
cycle = Kept(__name__, "cycle")
cycle.me = cycle
cycle.closure = lambda: cycle


def function():
    return kept


function.kept = Kept(__name__, "on a function")


class Inner(Kept):
    kept = Kept(__name__, "on a class")

    def method(self):
        return __class__


inner = Inner(__name__, "instance")
