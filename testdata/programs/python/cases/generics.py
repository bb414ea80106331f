# needs 3.12
# Type parameters (PEP 695) make scopes of their own around functions.
type Pair[T] = tuple[T, T]
type Lazy = Undefined


def first[T](items: list[T]) -> T:
    """First."""
    return items[0]


class Box[T: (int, str), *Ts, **P]:
    def __init__(self, v: T):
        self.v = v

    def map[U](self, f: "Callable[[T], U]") -> "Box[U]":
        return Box(f(self.v))

    async def later[U](self): return U


def outer[A]():
    def inner[B](x: A, y: B = 1):
        return A.__name__, B.__name__, x, y
    return inner


print(first([1, 2]), first.__type_params__, first.__qualname__, first.__doc__, Pair.__value__, Box[int, str, [int]])
print(Box(2).map(lambda v: v * 2).v, Box.map.__qualname__, outer()(3), outer().__qualname__)
try:
    Lazy.__value__
except NameError as e:
    print(e)
