# not alike: signals come at any time
# not pure: a handler may raise inside a checkpoint
# A handler that raises does so between any two instructions: before a frame's
# checkpoint, behind its last one, or on the way from one to the other.
import signal


def helper(x):
    return x


def gen(n):
    for i in range(n):
        yield helper(i)


class Alarm(Exception):
    pass


def raiser(number, frame):
    raise Alarm(helper(number))


def work(n):
    return n if n < 2 else work(n - 1) + work(n - 2)


def raised(what):
    signal.signal(signal.SIGALRM, raiser)
    n = 0
    while n < 300:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.00005)
            while True:
                what()
        except Alarm:
            n += 1
    return n


def stepped():
    try:
        for x in gen(5):
            helper(x)
    except KeyError:
        pass
    finally:
        helper(0)


def managed():
    with Manager():
        return (lambda: helper(1))()


class Manager:
    def __enter__(self): return helper(self)
    def __exit__(self, *e): helper(e)


print(raised(stepped), raised(lambda: work(8)), raised(managed))
