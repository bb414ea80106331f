def f():
    raise LookupError("in sitecustomize")


f()
