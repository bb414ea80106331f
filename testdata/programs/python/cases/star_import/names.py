import os as _os


def f():
    return "f"


value = [lambda: 1 for _ in range(2)]
