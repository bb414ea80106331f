# closed late: the interpreter closes what is suspended when it ends, after the report
# Generators end in many ways that no code of theirs tells: closed, thrown into,
# dropped while suspended, never started, left behind by an exception.
import gc


def steps(tag):
    try:
        yield 1
        yield 2
    except ValueError as e:
        print(tag, "caught", e)
        yield 3
    finally:
        print(tag, "finally")


def stubborn():
    try:
        yield 1
    except GeneratorExit:
        yield 2


def outer():
    try:
        yield from steps("inner")
    except KeyError as e:
        print("outer caught", e)
        yield "outer"


def consumer():
    for x in steps("loop"):
        return x


def failing():
    yield 1
    raise OSError("in generator")


g = steps("close")
next(g)
g.close()
g = steps("throw")
next(g)
print(g.throw(ValueError("v")), list(g))
g = steps("thrown")
next(g)
try:
    g.throw(TypeError("t"))
except TypeError as e:
    print("out", e)
g = steps("dropped")
next(g)
del g
gc.collect()
g = stubborn()
next(g)
try:
    g.close()
except RuntimeError as e:
    print(e)
g = outer()
next(g)
print(g.throw(ValueError("to inner")), g.throw(KeyError("to outer")), list(g))
print(consumer())
gc.collect()
never = steps("never")
never.close()
try:
    for x in failing():
        print(x)
except OSError as e:
    print(e)
cycle = steps("cycle")
next(cycle)
box = [cycle]
box.append(box)
del cycle, box
gc.collect()
left = steps("left")
next(left)
