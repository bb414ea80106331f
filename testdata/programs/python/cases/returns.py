# not saved: its lines move
# The value of a return is computed while the function still runs, whichever
# block the return leaves and whatever takes its place.
import sys


class Closing:
    def __init__(self, hides=False): self.hides = hides
    def __enter__(self): return self
    def __exit__(self, kind, *rest):
        print("leaves", kind and kind.__name__)
        return self.hides


def value(x):
    print("value", x, "for", sys._getframe(1).f_code.co_name, "at", sys._getframe(1).f_lineno)
    return x


def plain(): return value(1)


def bare():
    value(2)
    return


def falls():
    value(3)


def from_loop():
    for i in range(3):
        while True:
            if i == 1:
                return value(i)
            break
    else:
        return value("else")


def from_with():
    with Closing(), Closing(True):
        return value(4)


def from_hidden():
    with Closing(True):
        return value(1 / 0)
    return value("behind")


def from_try(x):
    try:
        if x:
            raise KeyError(x)
        return value("try")
    except KeyError:
        return value("except")
    else:
        return value("never")
    finally:
        value("finally")


def overridden():
    try:
        return value("first")
    finally:
        return value("second")


def swallowed():
    try:
        raise KeyError("lost")
    finally:
        return value("instead")


def swallowed_deep():
    for i in range(3):
        try:
            try:
                swallowed_by(i)
            finally:
                if i == 2:
                    return value(i)
        except ZeroDivisionError:
            value("handled")


def swallowed_by(i):
    try:
        return 1 / 0
    finally:
        value(i)


def replaced():
    try:
        return value("replaced")
    finally:
        raise LookupError("by this")


def exits():
    try:
        sys.exit(3)
    finally:
        return value("stays")


def conditional(x):
    return value("a") if x else value("b") or value("c")


def composed():
    return (value(1), [value(2), *[value(3)]],
            {value("k"): value("v")}, f"{value(4)}",
            lambda: value(5))


def computed(n):
    return value(n) * computed(n - 1) if n else value(1)


def chained(): return plain() and value(6) and plain


for f in plain, bare, falls, from_loop, from_with, from_hidden, overridden, swallowed, swallowed_deep, exits:
    print(f.__name__, f())
print(from_try(0), from_try(1), conditional(0), conditional(1), composed()[4](), computed(3), chained()())
try:
    replaced()
except LookupError as e:
    print(repr(e), repr(e.__context__))
