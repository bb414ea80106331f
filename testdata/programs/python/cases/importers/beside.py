def f():
    return __name__, "ORIGINAL"
