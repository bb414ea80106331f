# not alike: signals come at any time
# loses: handlers that run while cg is asked for room have 1,024 events for themselves
# A signal's handler runs between any two instructions of any function, also
# of one that is about to leave; it may raise, call, or drive generators.
import os
import signal
import sys

count = 0
depth = 0


def helper(x):
    return x


def gen(n):
    for i in range(n):
        yield helper(i)


def handler(number, frame):
    global count, depth
    count += 1
    depth += 1
    if count >= 1000: # or a slow machine handles nothing else
        signal.setitimer(signal.ITIMER_REAL, 0)
    elif depth >= 20: # or they nest up to the limit of recursion
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.0001)
    for _ in gen(2):
        helper(number)
    depth -= 1


class Alarm(Exception):
    pass


def raiser(number, frame):
    raise Alarm(helper(number))


def work(n):
    return n if n < 2 else work(n - 1) + work(n - 2)


def storm(what):
    global count
    count = 0
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)
    while count < 1000:
        what()
    signal.setitimer(signal.ITIMER_REAL, 0)
    return count >= 1000


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


def sent_in_generator():
    def g():
        try:
            yield 1
            os.kill(os.getpid(), signal.SIGUSR1)
            yield 2
        except Alarm as e:
            yield "caught", e.args
    return list(g())


def frames(number, frame):
    names = []
    while frame:
        names.append((frame.f_code.co_name, frame.f_lineno > 0))
        frame = frame.f_back
    print(names[:2])


print(storm(lambda: work(8)), storm(stepped), storm(managed))
signal.signal(signal.SIGUSR1, raiser)
print(sent_in_generator())
signal.signal(signal.SIGUSR1, frames)


def waits():
    os.kill(os.getpid(), signal.SIGUSR1)
    helper(1)


waits()
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted")
signal.signal(signal.SIGTERM, lambda *a: sys.exit(helper(6)))
os.kill(os.getpid(), signal.SIGTERM)
work(20)
