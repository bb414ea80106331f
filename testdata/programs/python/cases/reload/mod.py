def f():
    return "original"
