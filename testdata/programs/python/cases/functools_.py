# The library's wrappers call, cache and register functions by what they are:
# objects with names, signatures and attributes, that are hashed and compared.
import abc
import contextlib
import functools
import inspect
import operator
import sys


def add(a, b=2, *, c=3):
    """Adds."""
    return a + b + c


@functools.lru_cache(maxsize=2)
def cached(x, y=0):
    calls.append((x, y))
    return [x, y]


@functools.singledispatch
def kind(x): return "object"
@kind.register(int)
def _(x): return "int " + kind("s")
@kind.register(list)
def _(x): return [kind(i) for i in x]
kind.register(str, lambda s: "str")


class Counter:
    made = 0

    def __init__(self): type(self).made += 1

    @functools.cached_property
    def costly(self):
        """Costs."""
        calls.append("costly")
        return self.made

    @functools.singledispatchmethod
    def of(self, x): return "method object"
    @of.register(int)
    def _(self, x): return "method int", self.made
    @of.register(str)
    @classmethod
    def _(cls, x): return "method str", cls.made

    part = functools.partialmethod(lambda self, a, b: (a, b), 1)
    @functools.lru_cache(None)
    def method(self, x): return x
    @staticmethod
    @functools.wraps(add)
    def wrapped(*a, **k): return add(*a, **k)


@functools.total_ordering
class Version:
    def __init__(self, n): self.n = n
    def __eq__(self, o): return self.n == o.n
    def __lt__(self, o): return self.n < o.n


class Base(abc.ABC):
    @abc.abstractmethod
    def f(self): """Abstract."""
    @classmethod
    def __subclasshook__(cls, c): return any("quacks" in b.__dict__ for b in c.__mro__) or NotImplemented
    def g(self): return self.f()


class Concrete(Base):
    def f(self): return super().f(), "concrete"


class Duck:
    def quacks(self): pass


@contextlib.contextmanager
def managed(log):
    log.append("in")
    try:
        yield log
    except ZeroDivisionError:
        log.append("zero")
    else:
        log.append("else")
    finally:
        log.append("out")


class Decorating(contextlib.ContextDecorator):
    def __enter__(self): calls.append("enter"); return self
    def __exit__(self, *e): calls.append("exit")


@Decorating()
@managed([])
def decorated(x):
    return 1 / x


@contextlib.contextmanager
def yields_twice():
    yield 1
    yield 2


@contextlib.contextmanager
def never_yields():
    if False:
        yield


@contextlib.contextmanager
def stops():
    yield next(iter(()))


def cmp(a, b): return (a > b) - (a < b)


calls = []
p = functools.partial(add, 1, c=5)
print(p(2), p.func is add, p.args, p.keywords, functools.partial(p, 7)(), inspect.signature(p))
print(cached(1), cached(1), cached(2), cached(3), cached(1), cached.cache_info(), calls)
try:
    cached([1])
except TypeError as e:
    print(e)
print(kind(1), kind([1, "s", 2.0]), kind.dispatch(bool) is kind.registry[int], sorted(t.__name__ for t in kind.registry), kind.__name__)
c = Counter()
print(c.costly, c.costly, vars(c), Counter.costly.__doc__, c.of(1), c.of("s"), c.of(2.0), c.part(2), c.method(3), c.wrapped(1), Counter.wrapped.__name__, inspect.signature(Counter.wrapped))
print(Version(1) <= Version(2), Version(2) >= Version(3), functools.reduce(lambda a, b: a * b, range(1, 6)), sorted("bca", key=functools.cmp_to_key(cmp)), functools.reduce(add, [1, 2]))
print(Concrete().g(), issubclass(Duck, Base), isinstance(Duck(), Base), Base.__abstractmethods__, Base.f.__isabstractmethod__)
try:
    Base()
except TypeError as e:
    print(str(e)[:40])
log = []
with managed(log) as l:
    l.append("body")
with managed(log):
    1 / 0
print(log, decorated(1), decorated(0), calls)
for manager in yields_twice, never_yields, stops:
    try:
        with manager() as m:
            print(m)
    except (RuntimeError, StopIteration) as e:
        print(type(e).__name__, e)
try:
    with yields_twice():
        raise StopIteration("from the body")
except (StopIteration, RuntimeError) as e:
    print(repr(e))
with contextlib.ExitStack() as stack:
    for i in range(3):
        stack.enter_context(managed(log))
    stack.push(lambda *e: print("pushed", e[0] and e[0].__name__) or True)
    stack.callback(print, "callback")
    raise KeyError("hidden")
with contextlib.redirect_stdout(sys.stderr), contextlib.suppress(KeyError), contextlib.closing(stack):
    {}["k"]
print(operator.methodcaller("of", 1)(c), operator.attrgetter("costly")(c), list(map(operator.call if hasattr(operator, "call") else lambda f: f(), [lambda: 1])))
@functools.lru_cache(None)
def recursive(n): return n if n < 2 else recursive(n - 1) + recursive(n - 2)
print(recursive(60), recursive.cache_info().misses, functools.update_wrapper(lambda: 0, add).__wrapped__ is add)
