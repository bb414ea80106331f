# Class bodies, their cells and their hooks: __class__, mangled names,
# metaclasses and descriptors depend on the compiler's scopes.
import enum
import abc
import typing


class Meta(type):
    def __new__(mcs, name, bases, body, **kw):
        body["order"] = [k for k in body if not k.startswith("__")]
        return super().__new__(mcs, name, bases, body)

    @classmethod
    def __prepare__(mcs, name, bases, **kw):
        return {"prepared": name}

    def __call__(cls, *args):
        return super().__call__(*args)


class Field:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, kind=None):
        return self if obj is None else getattr(obj, self.name, 0)

    def __set__(self, obj, value):
        setattr(obj, self.name, value)


class Base(metaclass=Meta):
    value = Field()
    subclasses = []

    def __init_subclass__(cls, tag=None, **kw):
        super().__init_subclass__(**kw)
        Base.subclasses.append((cls.__name__, tag))

    def __init__(self, value):
        self.value = value
        self.__hidden = value * 2

    def hidden(self):
        return self.__hidden, __class__.__name__

    def __private(self):
        return "private"

    def call_private(self):
        return self.__private()

    def __getattr__(self, name):
        if name.startswith("dyn_"):
            return name[4:]
        raise AttributeError(name)


class Derived(Base, tag="d"):
    def __init__(self, value):
        super().__init__(value + 1)

    def hidden(self):
        return super().hidden() + (super(Derived, self).hidden()[1],)

    def comprehended(self):
        return [__class__.__name__ for _ in range(2)], (lambda: __class__.__name__)()


class Slotted:
    __slots__ = ("a", "__b")

    def __init__(self):
        self.a, self.__b = 1, 2

    def b(self):
        return self.__b


class Color(enum.Enum):
    RED = 1
    BLUE = 2

    def describe(self):
        return self.name.lower()

    @classmethod
    def favourite(cls):
        return cls.BLUE


class Flags(enum.IntFlag):
    A = enum.auto()
    B = enum.auto()


class Abstract(abc.ABC):
    @abc.abstractmethod
    def run(self): ...

    @property
    @abc.abstractmethod
    def size(self):
        """size"""


class Named(typing.NamedTuple):
    x: int
    y: int = 2

    def total(self):
        return self.x + self.y


def make():
    x = "enclosing"

    class Inner:
        y = x
        x = "own"
        z = [x for x in "ab"]

        def get(self):
            return x
    return Inner.y, Inner.x, Inner.z, Inner().get(), Inner.__qualname__


class Operators:
    def __init__(self, v): self.v = v
    def __add__(self, o): return Operators(self.v + o.v)
    def __lshift__(self, o): return "shifted"
    def __rlshift__(self, o): return "rshifted"
    def __neg__(self): return "negative"
    def __bool__(self): return False
    def __eq__(self, o): return self.v == o.v
    def __hash__(self): return hash(self.v)
    def __len__(self): return 4
    def __getitem__(self, i): return i
    def __contains__(self, i): return i == 1
    def __iter__(self): return iter((1, 2))
    def __call__(self, *a): return a
    def __class_getitem__(cls, k): return k


d = Derived(1)
print(d.value, d.hidden(), d.call_private(), d.comprehended(), d.dyn_x, Base.order, Base.subclasses, Derived.prepared)
print(Slotted().a, Slotted().b(), hasattr(Slotted(), "__dict__"), Color.RED.describe(), Color.favourite(), Flags.A | Flags.B)
try:
    Abstract()
except TypeError as e:
    print(type(e).__name__)
print(Named(1).total(), make())
o = Operators(3)
print((o + o).v, o << 1, 1 << o, -o, not o, o == Operators(3), len(o), o[2:3], 1 in o, [*o], o(1), Operators[int])


def returns_operand():
    yield Operators(5)
    return Operators(6)


f = lambda: Operators(7)
print(next(returns_operand()).v, f().v)
