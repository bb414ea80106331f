import sys


def f():
    return __name__, sys._getframe(1).f_code.co_name


print(f(), __name__, __file__ if "__file__" in globals() else None)
