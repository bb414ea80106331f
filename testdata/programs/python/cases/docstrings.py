"""The module's own docstring."""
# A docstring and "from __future__" must stay in front of every checkpoint, and
# a body that is only a docstring has nothing to be wrapped.
from __future__ import annotations
from __future__ import generator_stop


def only():
    """Only a docstring."""


def followed():
    """Followed by code."""
    return 1


def same_line(): """On the line of the head."""; return 2


def joined():
    "two " "parts"
    return 3


def no_text():
    b"bytes are no docstring"
    return 4


def formatted():
    f"nor is {1}"


class Documented:
    """Of a class."""

    def method(self):
        """Of a method."""

    async def coroutine(self):
        """Of a coroutine."""


def annotated(x: Undefined) -> AlsoUndefined:
    return x


print(__doc__, only.__doc__, followed.__doc__, same_line.__doc__, joined.__doc__, no_text.__doc__, formatted.__doc__)
print(Documented.__doc__, Documented.method.__doc__, Documented.coroutine.__doc__)
print(only(), followed(), same_line(), joined(), no_text(), formatted(), annotated(5), annotated.__annotations__)
