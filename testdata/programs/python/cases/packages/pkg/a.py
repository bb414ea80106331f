from . import order
order.append("a")
from . import b


def use():
    return b.back()
