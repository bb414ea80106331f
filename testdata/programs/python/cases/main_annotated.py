# not saved: it lists its names, one more then
# Annotations make names of their own in the main module.
x: int = 3
y: "str"


def f(a: x, b: y_ if False else int = 2) -> None:
    z: int = a
    return z


print(__annotations__, f(1), f.__annotations__, sorted(globals()))
