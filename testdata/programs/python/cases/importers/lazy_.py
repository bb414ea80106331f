def f():
    return __name__, "ORIGINAL"
print("lazy_ is loaded")
