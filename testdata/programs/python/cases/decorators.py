# Decorators run on behalf of the definer; the function they get must look and
# behave as the one that was written, one frame deep.
import dataclasses
import functools
import sys


def logged(tag):
    def decorate(f):
        @functools.wraps(f)
        def wrapper(*args, **kwargs):
            print(tag, f.__name__, f.__qualname__)
            return f(*args, **kwargs)
        return wrapper
    return decorate


@logged("outer")
@logged("inner")
def stacked(x):
    return x * 2


class Account:
    def __init__(self, balance):
        self._balance = balance

    @property
    def balance(self):
        return self._balance

    @balance.setter
    def balance(self, value):
        if value < 0:
            raise ValueError("negative")
        self._balance = value

    @staticmethod
    def currency():
        return "EUR"

    @classmethod
    def empty(cls):
        return cls(0)

    @functools.lru_cache(maxsize=None)
    def cached(self, n):
        return n + 1


@dataclasses.dataclass(order=True)
class Point:
    x: int
    y: int = 0
    tags: list = dataclasses.field(default_factory=lambda: ["t"])

    def __post_init__(self):
        self.sum = self.x + self.y

    @functools.cached_property
    def norm(self):
        return abs(self.x) + abs(self.y)


@functools.singledispatch
def kind(value):
    return "object"


@kind.register
def _(value: int):
    return "int"


@functools.total_ordering
class Version:
    def __init__(self, n): self.n = n
    def __eq__(self, other): return self.n == other.n
    def __lt__(self, other): return self.n < other.n


print(stacked(4), stacked.__name__, stacked.__wrapped__.__wrapped__(5))
account = Account.empty()
account.balance = 5
try:
    account.balance = -1
except ValueError as e:
    print(e, account.balance, account.currency(), account.cached(1), account.cached.__wrapped__(account, 2))
print(Point(1, 2), Point(1) < Point(2), Point(1, 2).sum, Point(3, -4).norm, dataclasses.replace(Point(1), x=9))
print(kind(1), kind("1"), Version(1) >= Version(0))
