# needs 3.10
# match and case are names almost everywhere else.
import dataclasses


@dataclasses.dataclass
class P:
    x: int
    y: int


def what(v):
    match v:
        case 0 | 1:
            return "small"
        case P(x=0, y=y) if y > 2:
            return f"on axis {y}"
        case P(x, y):
            return x + y
        case [a, *rest]:
            match = rest
            return a, match
        case {"k": k, **more}:
            case = k
            return case, more
        case str() as s:
            return s.upper()
        case _:
            return None


def first(match, case):
    match (case):
        case 1: return "one"
        case -1: return "minus one"
        case 1.5 | None | True: return "const"
    match, case = case, match
    return match


print([what(v) for v in (0, P(0, 3), P(1, 2), [1, 2, 3], {"k": 1, "l": 2}, "s", 9.5)], first(1, 1), first(2, -1), first(1, None), first(1, 3))
