# needs 3.13
# not saved: the grammar does not know PEP 696
# Type parameters with defaults (PEP 696).
class Box[T = int, *Ts = *tuple[int, str], **P = [int]]:
    def get(self):
        return T.__default__

    def shown(self): return [(lambda: p.__name__)() for p in type(self).__type_params__]


def f[T = str](x: T = "d") -> T:
    return x, T.__default__


type A[T = list[int]] = T | None
print(Box().get(), Box().shown(), f(), A.__type_params__[0].__default__)
