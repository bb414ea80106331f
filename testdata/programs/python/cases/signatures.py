# needs 3.11
# Annotations with stars and parameter lists stand in heads that are evaluated
# before the function is (PEP 612, 646), exceptions of several kinds in one try
# (PEP 654), and unions of types without a module (PEP 604).
from typing import Callable, Concatenate, Generic, ParamSpec, TypeVar, TypeVarTuple, Unpack, assert_never, get_type_hints, reveal_type, Self

P = ParamSpec("P")
R = TypeVar("R")
Ts = TypeVarTuple("Ts")


def logged(f: Callable[P, R]) -> Callable[P, R]:
    def inner(*args: P.args, **kwargs: P.kwargs) -> R:
        return f(*args, **kwargs)
    return inner


def with_first(f: Callable[Concatenate[int, P], R]) -> Callable[P, R]: return lambda *a, **k: f(1, *a, **k)


class Array(Generic[R, *Ts]):
    def __getitem__(self, i: int | slice | tuple[*Ts]) -> Self: return i
    def shape(self, *args: *tuple[int, *Ts]) -> "tuple[*Ts]": return self[*args, 0]


def star(*args: *Ts, key: (lambda *a: int | None)() = None, **kw: Unpack[dict]) -> tuple[*Ts]:
    try:
        try:
            raise ExceptionGroup("g", [ValueError(1), TypeError(2), ExceptionGroup("h", [KeyError(3)])])
        except* (ValueError, KeyError) as e:
            key = len(e.exceptions)
            raise LookupError("in handler")
        except* TypeError:
            pass
    except* LookupError as e:
        names = [type(x).__name__ for x in e.exceptions]
    return args, key, names


def nested_groups():
    for i in range(2):
        try:
            try:
                raise ExceptionGroup("g", [OSError(i)])
            except* ValueError:
                print("never")
            finally:
                i += 10
        except* OSError as e:
            print(i, e.exceptions)
    return i


@logged
@with_first
def decorated(first, x: int | str = 2) -> None | int: return first, x


print(decorated(5), decorated(x=6), star(1, 2), nested_groups(), Array[int, str, bytes].__args__, Array().shape(1, 2))
print(star.__annotations__, get_type_hints(decorated.__closure__[0].cell_contents), isinstance(1, int | str), Array.__parameters__)
with (open(__file__) as a,
      open(__file__) as b,):
    print(a is not b)
try:
    assert_never(1)
except AssertionError as e:
    print(e)
