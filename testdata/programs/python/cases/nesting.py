# not saved: calls of checkpoints count for the recursion limit
# not pure: a frame of the pure runtime stands below the script
# Frames of the same function lie on top of each other, and the deepest one
# must have room for its checkpoint: the limit is reached as without.
import sys


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def outer(a):
    b = a + 1

    def middle(c):
        nonlocal b
        b += c

        class Local:
            def method(self):
                def inner():
                    return a, b, c
                return inner()
        return Local
    return middle


def depth(n):
    try:
        return depth(n + 1)
    except RecursionError as e:
        return n, str(e)


def deep(n):
    return 0 if n == 0 else 1 + deep(n - 1)


def even(n):
    return True if n == 0 else odd(n - 1)


def odd(n):
    return False if n == 0 else even(n - 1)


print(fib(12), outer(1)(2)().method(), outer(1)(2).method.__qualname__, even(10))
sys.setrecursionlimit(400)
print(depth(0) if sys.version_info >= (3, 9) else "one level less: 3.8 counts the call that runs the script")
try:
    deep(1000)
except RecursionError as e:
    print(e)
sys.setrecursionlimit(50000)
print(deep(5000))
