# not saved: its lines move
# not pure: a frame of the pure runtime stands below the script
# Code that counts frames finds the ones it knows; a warning is shown once for
# each place, also when modules are woven in between.
import sys
import warnings


def deprecated():
    warnings.warn("old", DeprecationWarning, stacklevel=2)


def caller():
    deprecated()
    return sys._getframe(1).f_code.co_name, sys._getframe(0).f_lineno, sys._getframe(1).f_lineno


def depth():
    n, f = 0, sys._getframe()
    while f:
        n, f = n + 1, f.f_back
    return n


def twice():
    for _ in range(2):
        warnings.warn("only once")
        import stacklevel_more


print(caller(), depth(), (lambda: depth())(), [depth() for _ in range(1)][0] > 0)
deprecated()
twice()
warnings.simplefilter("error")
try:
    deprecated()
except DeprecationWarning as e:
    print("raised", e)
