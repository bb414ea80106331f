# The compiler's warnings are shown as often as without checkpoints: for the
# script and its modules, on every run.
import noisy


def odd(x):
    assert (x, "always true")
    return x is 1


print(odd(1) in (True, False), noisy.pattern)
