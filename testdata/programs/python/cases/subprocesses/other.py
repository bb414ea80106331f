import sys


def f(x):
    if x == "fail":
        raise ValueError("child")
    return x * 2


print(f(sys.argv[-1]) if len(sys.argv) > 1 else "none", __name__, sys.argv[1:], __debug__)
