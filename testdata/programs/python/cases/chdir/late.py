def f():
    return __name__
