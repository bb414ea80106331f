def fails():
    import pkg.lazy
    print(pkg.lazy.dynamic)
    raise RuntimeError("while importing")


fails()
