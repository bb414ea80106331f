# needs 3.14
# not saved: it lists its names, one more then
# not pure: checkpoints in Python are traced like any Python
x: int = 3
y: later
if x > 2:
    z: (lambda: later)() = 4


def f(a: later, *, b: [n for n in later.names] = 1) -> (lambda v: v)(later):
    c: nowhere = a
    return c


class A:
    m: later
    n: undefined

    def g[T: later](self: A, v: T) -> later.names: return v


class later:
    names = "p", "q"


import annotationlib
import sys

print(sorted(globals()))
print(__annotate__(1), __annotate__.__code__.co_firstlineno)
print(f.__annotations__, f(1), f.__annotate__.__qualname__)
print(A().g(2), A.g.__annotations__)
for form in annotationlib.Format.FORWARDREF, annotationlib.Format.STRING:
    print(annotationlib.get_annotations(A, format=form).keys())
print(annotationlib.get_annotations(f, format=annotationlib.Format.STRING))
try:
    A.__annotations__
except NameError as e:
    print(e, e.__traceback__.tb_next.tb_lineno)
