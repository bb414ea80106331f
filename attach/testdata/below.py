"""Three functions of Python in turns: two that call into an extension module, and one that does not."""
import sys
import time

sys.path.insert(0, sys.argv[1])
import below


def f(n):
    below.a(n)


def g(n):
    below.b(n)


def plain(n):
    x = 0
    for i in range(n):
        x += i * i
    return x


def main(seconds, n):
    end = time.process_time() + seconds
    while time.process_time() < end:
        f(n)
        g(n)
        plain(n // 20)


if len(sys.argv) > 4:
    below.spawn()
main(float(sys.argv[2]), int(sys.argv[3]))
