n = 0


def work(x):
    return [helper(i) for i in range(x)]


def helper(i):
    return (lambda: i * 2)()


def count():
    global n
    n += 1
    return n


def gen(k):
    try:
        for i in range(k):
            yield helper(i)
    finally:
        count()


def fails():
    raise LookupError(work(1))


class Late:
    def __del__(self):
        helper(1)


late = Late()
