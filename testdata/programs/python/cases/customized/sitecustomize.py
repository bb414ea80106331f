import sys
print("sitecustomize", __name__, sys.path[0])


def f():
    return "user's"
