# env: PYTHONOPTIMIZE=2
# Without docstrings and asserts, a body may be empty.
"""Gone."""


def only():
    """Gone, too."""


def f(x):
    """And this."""
    assert x, "not checked"
    if __debug__:
        print("debug")
    return x


class C:
    """Gone."""
    def m(self):
        "gone"
        assert False


print(__doc__, only.__doc__, f.__doc__, C.__doc__, C.m.__doc__, only(), f(0), C().m())
