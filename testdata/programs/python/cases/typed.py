# not alike: the class body's namespace is asked for the name of the runtime
# needs 3.9
# Annotations, and the classes that the library makes of them, see the body that
# was written: names, order, defaults and nothing more.
import dataclasses
import enum
import typing
from typing import Generic, NamedTuple, Optional, Protocol, TypedDict, TypeVar, get_type_hints, overload, runtime_checkable

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Point(Generic[T]):
    x: int
    y: "list[T]" = dataclasses.field(default_factory=lambda: [1], compare=False)
    z: typing.ClassVar[int] = 3
    w: dataclasses.InitVar[int] = 4

    def __post_init__(self, w):
        object.__setattr__(self, "sum", self.x + w)

    def __lt__(self, o: "Point") -> bool: return self.x < o.x if o else NotImplemented


class Color(enum.Enum):
    def _generate_next_value_(name, start, count, last): return name.lower() + str(count)
    RED = enum.auto()
    GREEN = enum.auto()
    alias = RED

    def describe(self): return self.name, type(self).RED is self
    @property
    def pretty(self): return self.value.title()
    def __str__(self): return "<%s>" % self.pretty
    @classmethod
    def _missing_(cls, value): return cls.GREEN


class Perm(enum.Flag):
    R = enum.auto()
    W = enum.auto()
    RW = R | W

    def __contains__(self, o): return super().__contains__(o)


class Operation(enum.Enum):
    ADD = (lambda a, b: a + b,)
    def __call__(self, *a): return self.value[0](*a)


class Level(enum.IntEnum):
    LOW = 1

    def __new__(cls, v):
        o = int.__new__(cls, v)
        o._value_ = v * 10
        return o


class Named(NamedTuple):
    """A tuple."""
    x: int
    y: Optional[str] = None
    def both(self): return self.x, self.y
    @property
    def twice(self): return self.x * 2


class Options(TypedDict, total=False):
    a: int
    b: "str"


@runtime_checkable
class Sized(Protocol):
    size: int
    def area(self, by: int = 1) -> float: ...


class Square:
    size = 2
    def area(self, by=1): return self.size ** 2 * by


@overload
def double(x: int) -> int: ...
@overload
def double(x: str) -> str: ...
def double(x): return x * 2


def annotated(a: "Point[int]", *b: "int | None" if False else "int", c: (lambda: int)() = 1, **d: "Named") -> Optional["Color"]:
    local: Undefined = 1
    e: "not kept"
    return local


class Annotated:
    x: int
    y: "Annotated" = None
    (z): str = "z"
    for i in range(2):
        w: typing.List[int]
    if i:
        v: list


p, q = Point(1), Point(2, [3])
print(p, p < q, p == Point(1, [9]), hash(p) == hash(Point(1)), p.sum, dataclasses.asdict(q), dataclasses.replace(p, x=5, w=1).sum)
print([f.name for f in dataclasses.fields(Point)], Point.__match_args__ if hasattr(Point, "__match_args__") else "", Point[int](3).x, list(Point.__annotations__))
try:
    p.x = 1
except dataclasses.FrozenInstanceError as e:
    print(e)
print(list(Color), Color.alias, Color.RED.describe(), Color("nothing"), Color["GREEN"].pretty, str(Color.RED), list(Color.__members__))
print(Perm.R | Perm.W, Perm.RW & Perm.R, Perm.R in Perm.RW, ~Perm.R == Perm.W, Operation.ADD(1, 2), Level.LOW, Level.LOW.value)
print(Named(1), Named(1).both(), Named(2).twice, Named._fields, Named._field_defaults, Named.__doc__, Named.__annotations__, Named(1)._replace(y="y"))
print(Options(a=1), Options.__annotations__, Options.__total__, sorted(Options.__optional_keys__), get_type_hints(Options))
print(isinstance(Square(), Sized), isinstance(1, Sized), Square().area(2), double(2), double("a"))
print(annotated.__annotations__, annotated(1), sorted(get_type_hints(annotated)), Annotated.__annotations__, list(get_type_hints(Annotated)))
print(get_type_hints(Point.__lt__), typing.get_origin(Point[int]), Point.__parameters__)


class Ordered(type):
    seen = []

    class Space(dict):
        def __setitem__(self, k, v):
            Ordered.seen.append(k)
            super().__setitem__(k, v)

        def __getitem__(self, k):
            if k.startswith("auto_"):
                return k
            return super().__getitem__(k)

    @classmethod
    def __prepare__(mcs, name, bases, **kw): return mcs.Space()
    def __new__(mcs, name, bases, body, **kw): return super().__new__(mcs, name, bases, dict(body))


class Body(metaclass=Ordered):
    """Doc."""
    a = auto_1
    def f(self): return __class__
    b = [x for x in range(2)]
    c = {x: (lambda: x)() for x in "ab"}
    g = lambda self: super().__repr__()[:1]
    try:
        d = undefined_
    except (KeyError, NameError) as e:
        d = type(e).__name__
    h = locals() is not None
    i = sorted(vars())
    with open(__file__) as j: k = j.readline()[:3]
    class Inner:
        z = 1
    del j
    async def l(self): return self


print(Ordered.seen, Body.a, Body().f().__name__, Body.b, Body.c, Body().g(), Body.d, Body.i, Body.k, Body.Inner.__qualname__)
