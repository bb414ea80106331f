# not saved: the grammar does not place its text
# What the interpreter takes and the grammar does not. Its checkpoints stand where
# the interpreter's own tree says.
import sys
import traceback


def plain(x):
    if x:
        return [
 x,
x + 1, (lambda: x
)()]
    return sum(
plain(1))


class A:
# left of its body
    @property
# between
    def value(self): return plain(1)

# and of a decorated one
    @staticmethod
    def made(n):
        try:
            return 1 / n
        except ZeroDivisionError as e:
            return [f.lineno for f in traceback.extract_tb(e.__traceback__)]


def starred(a, *b):
    got = str((yield a, *(b,)))
    yield got, [n for n in (yield 1, *b)]


async def waits():
    return await nap((await nap(1), *(2,
3)))


async def nap(value):
    return value


def far(n):
    if n:
                                                                                                                                                                                                                                                                                                            while n:
                                                                                                                                                                                                                                                                                                             yield sys._getframe().f_lineno
                                                                                                                                                                                                                                                                                                             n -= 1


print(plain(0), A().value, A.made(2), A.made(0))
g = starred(1, 2, 3)
print(next(g), g.send("x"), g.send([4]), list(far(2)))
try:
    waits().send(None)
except StopIteration as e:
    print(e.value)
if __name__ == "__main__":
    plain(None)
    A().made("x")
